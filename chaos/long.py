"""Long: memory, open files, threads and memory maps at the beginning and at the end.

A sweep of 2,000 tiny runs, which are made up if there is little time, in the driver and the workers
that real ones have; and a training for as long as there is time.
"""

import json
import os
import signal
import sys
import time
from pathlib import Path

from chaos._commands import COMMANDS
from chaos._made_up import Numbers, square
from chaos._processes import Victim, descendants, preload
from chaos._rows import Row

RUNS = 2000
_SECONDS_FOR_RUNS = 600.0  # so much time a sweep of tiny runs takes on two cores that are busy
GROWTH = 1.05  # that is no leak
WARM_UP = 0.2  # of all runs, or of the time


def run(seconds: float, seed: int, scratch: Path, names: tuple[str, ...] = ()) -> list[Row]:
    """The rows of the sweep and of the training.

    **Arguments:**

    - `seconds`: for the training, which takes what the sweep leaves.
    - `seed`: nothing is drawn here.
    - `scratch`: a folder for the runs.
    - `names`: "sweep", "train" or both; none: both.
    """
    preload()
    began = time.monotonic()
    rows = []
    if not names or "sweep" in names:
        sweep = _sweep if seconds >= _SECONDS_FOR_RUNS else _make_up_sweep
        rows.append(sweep(scratch / "sweep", RUNS))
    if not names or "train" in names:
        left = seconds - (time.monotonic() - began)
        rows.append(_train(scratch / "train", max(60.0, left)))
    return rows


def _sweep(out: Path, runs: int) -> Row:
    """A sweep of the command line, in which every run is trained."""
    flags = ["--runs", str(runs // 2), "--symbols", "1000"]
    victim = Victim(COMMANDS["sweep"].words(out, *flags), out.with_suffix(".log"))
    began, records, first, last = time.monotonic(), out / "records.jsonl", {}, {}
    while victim.status() is None:
        done = records.read_bytes().count(b"\n") if records.exists() else 0
        if done >= WARM_UP * runs and not first:
            first = _measure_family(victim.pid)
        # The last measure before the end counts.
        if first and done < runs - 2:
            last = _measure_family(victim.pid) or last
        time.sleep(0.5)
    found = [json.loads(line)["run"] for line in records.read_text().splitlines()]
    whole = sorted(found) == list(range(runs)) and victim.status() == 0
    note = f"{time.monotonic() - began:.0f} s; all runs recorded once: {whole}"
    return _row(f"a sweep of {runs:,} tiny runs", first, last, note, whole)


def _make_up_sweep(out: Path, runs: int) -> Row:
    from longpass.jobs import LocalEngine
    from longpass.streams import Sweep

    sweep = Sweep(Numbers(runs), out)  # pyright: ignore[reportArgumentType]
    began, done, first, last = time.monotonic(), 0, {}, {}
    for progress in sweep.run(LocalEngine(square, 2)):  # pyright: ignore[reportArgumentType]
        done += progress.state == "done"
        if done == int(WARM_UP * runs) and not first:
            first = _measure_family(os.getpid())
        if done == runs - 2 and not last:
            last = _measure_family(os.getpid())
    squares = sorted(line["square"] for line in sweep.records.read())
    whole = squares == [number**2 for number in range(runs)]
    note = f"{time.monotonic() - began:.0f} s; all runs recorded once: {whole}"
    return _row(f"a sweep of {runs:,} runs, made up", first, last, note, whole)


def _train(out: Path, seconds: float) -> Row:
    # Settings of the last flag hold: it does not end, and saves now and then.
    words = COMMANDS["train"].words(out, "--steps", "1e12", "--save-minutes", "0.1")
    victim = Victim(words, out.with_suffix(".log"))
    records = out / "records.jsonl"
    while not records.exists() and victim.status() is None:
        time.sleep(0.1)
    began = time.monotonic()
    time.sleep(WARM_UP * seconds)
    first = _measure(victim.pid)
    time.sleep((1 - WARM_UP) * seconds)
    last = _measure(victim.pid)
    os.kill(victim.pid, signal.SIGTERM)
    status = victim.wait()
    updates = records.read_text().count('"progress"') * 2
    note = f"{(time.monotonic() - began) / 60:.1f} minutes, {updates:,} updates"
    return _row("a long training", first, last, note, status == 130)


def _row(fault: str, first: dict[str, int], last: dict[str, int], note: str, whole: bool) -> Row:
    grown = [name for name in first if last.get(name, 0) > GROWTH * first[name]]
    shown = ", ".join(f"{name} {first[name]:,} to {last.get(name, 0):,}" for name in first)
    if grown:
        sys.stderr.write(f"{fault}: {', '.join(grown)} grew: {shown}\n")
    lost = len(grown) + (not whole)
    tries = len(first) + 1
    return Row(fault, tries, tries - lost, lost, None, f"{note}; {shown}")


def _measure_family(pid: int) -> dict[str, int]:
    """A process and those that it has started; nothing if one of them ends meanwhile."""
    try:
        driver = _measure(pid)
        workers = [_measure(one) for one in descendants(pid)]
    except OSError:
        return {}
    total = {f"workers' {name}": sum(one[name] for one in workers) for name in driver}
    return {f"driver's {name}": value for name, value in driver.items()} | total


def _measure(pid: int) -> dict[str, int]:
    folder = Path(f"/proc/{pid}")
    pages = int((folder / "statm").read_text().split()[1])
    return {
        "MB": pages * os.sysconf("SC_PAGE_SIZE") // 1_000_000,
        "files": len(list((folder / "fd").iterdir())),
        "threads": len(list((folder / "task").iterdir())),
        "maps": (folder / "maps").read_text().count("\n"),
    }
