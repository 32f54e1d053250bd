"""What a worker does around its jobs."""

import jax

from longpass.jobs import _worker


def compile_and_count(programs):
    """A work function: compile a program, and count those of earlier jobs that are kept."""

    def work(payload, on_progress):
        program = jax.jit(lambda x: x + payload)
        program(1.0)
        programs.append(program)
        return [one._cache_size() for one in programs]

    return work


def test_programs_of_earlier_jobs_are_kept_while_there_are_memory_maps():
    work = compile_and_count([])
    messages = [_worker.run_job(work, float(job), lambda *_: None) for job in range(3)]
    assert messages[-1].result == [1, 1, 1]


def test_programs_of_earlier_jobs_are_dropped_before_memory_maps_run_out(monkeypatch, tmp_path):
    maps = tmp_path / "maps"
    maps.write_text("a map\n" * (_worker._MOST_MAPS + 1))
    monkeypatch.setattr(_worker, "_MAPS", maps)
    work = compile_and_count([])
    messages = [_worker.run_job(work, float(job), lambda *_: None) for job in range(3)]
    assert messages[-1].result == [0, 0, 1]
