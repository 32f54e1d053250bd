"""The scheduler over a made-up transport: order, retries, failed starts, giving up."""

import pytest

from longpass.jobs import FailedStartsError, Job, JobProgress, Message, Scheduler


class FakeWorker:
    def __init__(self, index):
        self.index = index


class FakeTransport:
    """Workers that answer at once.

    `starts`: for each worker started, whether it becomes ready (later ones do). `answer(payload,
    attempt)`: the states that a worker reports for a payload, where `attempt` counts from 1.
    """

    def __init__(self, starts=(), answer=lambda payload, attempt: ["done"], ready=True):
        self._starts, self._answer, self._ready = list(starts), answer, ready
        self.started, self.sent, self.stopped, self.waited = [], [], [], []
        self._messages = {}

    def start(self, index):
        worker = FakeWorker(index)
        good = self._starts.pop(0) if self._starts else True
        first = [] if good and not self._ready else [Message("ready")]
        self._messages[worker] = first if good else [Message("lost", error="no luck")]
        self.started.append(worker)
        return worker

    def send(self, worker, payload):
        self.sent.append(payload)
        states = self._answer(payload, self.sent.count(payload))
        self._messages[worker] += [
            Message(state, result=payload, error="no luck" if state == "lost" else None)
            for state in states
        ]

    def wait(self, workers, timeout):
        assert workers, "it would wait for nobody"
        self.waited.append([worker.index for worker in workers])
        for worker in workers:
            if self._messages[worker]:
                return worker, self._messages[worker].pop(0)
        assert timeout is not None, "it would wait without end"
        return None

    def stop(self, worker):
        self.stopped.append(worker)

    @property
    def living(self):
        return [worker for worker in self.started if worker not in self.stopped]


def jobs(*payloads):
    return [Job(index, payload) for index, payload in enumerate(payloads)]


def finished(progress):
    return [(one.job.payload, one.state) for one in progress if one.state != "running"]


def lose(*payloads, times=1):
    """Workers that are lost with these payloads, this many times."""
    return lambda payload, attempt: (
        ["lost"] if payload in payloads and attempt <= times else ["running", "done"]
    )


@pytest.mark.parametrize("workers", [1, 2, 3, 8])
def test_jobs_are_sent_in_order_and_each_ends_once(workers):
    transport = FakeTransport()
    scheduler = Scheduler(transport, workers)
    progress = list(scheduler.run(jobs(*"abcde")))
    assert transport.sent == list("abcde")
    assert sorted(finished(progress)) == [(name, "done") for name in "abcde"]
    assert all(one.result == one.job.payload for one in progress)
    # No more workers than jobs, each with an index of its own, and they stay.
    assert sorted(worker.index for worker in transport.living) == list(range(min(workers, 5)))
    assert scheduler.unfinished == 0


def test_workers_stay_for_the_next_jobs():
    transport = FakeTransport()
    scheduler = Scheduler(transport, 3)
    list(scheduler.run(jobs("a", "b")))
    list(scheduler.run(jobs(*"cdefg")))
    assert len(transport.started) == 3
    assert not transport.stopped
    assert list(scheduler.run([])) == []


def test_a_free_worker_is_sent_its_next_job_before_progress_is_returned():
    transport = FakeTransport()
    progress = Scheduler(transport, 1).run(jobs("a", "b"))
    assert next(progress).job.payload == "a"
    assert transport.sent == ["a", "b"]


def test_progress_is_passed_on_as_it_is():
    class Transport(FakeTransport):
        def send(self, worker, payload):
            self._messages[worker] = [
                Message("running", 0.25, [1.0, 2.0]),
                Message("failed", error="MemoryError: no room"),
            ]

    (job,) = jobs("a")
    running, failed = Scheduler(Transport(), 1).run([job])
    assert running == JobProgress(job, "running", 0.25, [1.0, 2.0])
    assert failed == JobProgress(job, "failed", error="MemoryError: no room")


def test_the_job_of_a_lost_worker_is_the_next_one_to_begin():
    transport = FakeTransport(answer=lose("b"))
    scheduler = Scheduler(transport, 1)
    progress = list(scheduler.run(jobs(*"abc")))
    assert transport.sent == ["a", "b", "b", "c"]
    assert finished(progress) == [("a", "done"), ("b", "done"), ("c", "done")]
    # One worker was replaced by another with its index.
    assert [worker.index for worker in transport.started] == [0, 0]
    assert len(transport.living) == 1
    assert scheduler.lost_workers == 1


def test_a_replacement_takes_the_free_index():
    transport = FakeTransport(answer=lose("b"))
    list(Scheduler(transport, 3).run(jobs(*"abcdef")))
    assert [worker.index for worker in transport.started] == [0, 1, 2, 1]


@pytest.mark.parametrize(
    ("tries", "times"), [(1, "once"), (2, "twice"), (3, "3 times"), (4, "4 times")]
)
def test_a_job_that_loses_every_worker_fails_and_breaks_no_other(tries, times):
    transport = FakeTransport(answer=lose("b", times=99))
    progress = list(Scheduler(transport, 2, tries=tries).run(jobs(*"abc")))
    assert sorted(finished(progress)) == [("a", "done"), ("b", "failed"), ("c", "done")]
    assert transport.sent.count("b") == tries
    (failed,) = [one for one in progress if one.state == "failed"]
    assert failed.error == f"the worker process died {times}, last with no luck"


@pytest.mark.parametrize("workers", [1, 3])
def test_workers_that_cannot_start_end_the_run(workers):
    transport = FakeTransport(starts=[False] * 99)
    with pytest.raises(FailedStartsError) as caught:
        list(Scheduler(transport, workers).run(jobs(*"abcde")))
    count = 2 * workers
    message = f"{count} workers failed to start, the last one with no luck"
    assert (str(caught.value), caught.value.count) == (message, count)
    assert not transport.living
    assert not transport.sent


def test_failed_starts_are_counted_in_a_row_and_are_no_fault_of_a_job():
    transport = FakeTransport(starts=[False, True, False, True], answer=lose("a"))
    progress = list(Scheduler(transport, 1).run(jobs("a", "b")))
    assert finished(progress) == [("a", "done"), ("b", "done")]
    assert len(transport.started) == 4


def test_jobs_without_a_limit_of_tries_are_begun_until_they_are_done():
    transport = FakeTransport(answer=lose("b", times=5))
    scheduler = Scheduler(transport, 1, tries=None)
    assert finished(scheduler.run(jobs("a", "b"))) == [("a", "done"), ("b", "done")]
    assert scheduler.lost_workers == 5


def test_without_ready_a_start_fails_if_the_worker_is_lost_before_its_first_result():
    """As the actors of IMPALA: they are sent work at once, and what they send first is a result."""
    options = {"tries": None, "start_tries": 3, "await_ready": False}
    # The first worker has sent the result of "a": its loss is no failed start, later ones are.
    transport = FakeTransport(answer=lose("b", times=3), ready=False)
    scheduler = Scheduler(transport, 1, **options)
    assert finished(scheduler.run(jobs("a", "b"))) == [("a", "done"), ("b", "done")]
    assert scheduler.lost_workers == 3
    transport = FakeTransport(answer=lose("b", times=4), ready=False)
    scheduler = Scheduler(transport, 1, **options)
    with pytest.raises(FailedStartsError, match=r"^3 workers failed to start"):
        list(scheduler.run(jobs("a", "b")))
    assert not transport.living


def test_what_is_added_is_sent_to_a_free_worker_at_once():
    transport = FakeTransport(ready=False)
    scheduler = Scheduler(transport, 2, await_ready=False)
    scheduler.add(*jobs("a", "b"))
    assert transport.sent == ["a", "b"]
    progress = scheduler.next_progress()
    assert progress.result == "a"
    scheduler.add(Job(0, "c"))
    assert transport.sent == ["a", "b", "c"]
    # The oldest result first.
    assert [scheduler.next_progress().result for _ in range(2)] == ["b", "c"]


def test_every_workers_turn_comes():
    """Also if another one always has something to send."""
    transport = FakeTransport(answer=lambda payload, attempt: ["running"] * 20 + ["done"])
    progress = Scheduler(transport, 3).run(jobs(*"abc"))
    assert {next(progress).job.payload for _ in range(3)} == set("abc")


def test_silence_ends_in_an_error():
    transport = FakeTransport(answer=lambda payload, attempt: [])
    with pytest.raises(TimeoutError, match="no worker has sent a message for 7 s"):
        list(Scheduler(transport, 1, timeout=7.0).run(jobs("a")))
    assert not transport.living


@pytest.mark.parametrize("error", [GeneratorExit, KeyboardInterrupt, OSError])
def test_a_run_that_is_ended_stops_all_workers_and_leaves_no_job(error):
    transport = FakeTransport()
    scheduler = Scheduler(transport, 2)
    progress = scheduler.run(jobs(*"abcde"))
    next(progress)
    with pytest.raises(error):
        progress.throw(error)
    assert not transport.living
    assert scheduler.unfinished == 0
    assert finished(scheduler.run(jobs("f"))) == [("f", "done")]
