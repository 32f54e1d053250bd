"""kill -9 at random moments, then resume: what is left must be what an unharmed twin leaves.

A run is killed up to five times and then resumed to its end. Half of the moments are drawn from
the time that the twin took; the others follow a write to the folder by a few milliseconds. Where a
command has workers, every fourth kill hits one of them, or any other process of its session, in
place of the driver. Commands that have an engine are killed on Ray too, on a cluster that stays.
"""

import dataclasses
import os
import random
import shutil
import signal
import statistics
import sys
import time
from pathlib import Path

from chaos._commands import COMMANDS, Command
from chaos._folders import list_incomplete, name_difference, read_folder
from chaos._processes import Victim, preload
from chaos._ray import SharedCluster
from chaos._rows import Row
from chaos._watch import kill_watch

KILLS_PER_RUN = 5
OVER_RAY = {"sweep-ray": "sweep", "pbt-ray": "pbt"}


@dataclasses.dataclass
class Tally:
    """What the kills of one command did."""

    kills: int = 0
    lost: int = 0
    seconds: list[float] = dataclasses.field(default_factory=list)
    notes: list[str] = dataclasses.field(default_factory=list)

    def row(self, fault: str, note: str) -> Row:
        """The table's row."""
        cost = statistics.median(self.seconds) if self.seconds else None
        notes = "; ".join([note, *self.notes[:2]])
        return Row(fault, self.kills, self.kills - self.lost, self.lost, cost, notes)


def run(
    seconds: float, seed: int, scratch: Path, names: tuple[str, ...] = (), goal: int = 100
) -> list[Row]:
    """Kill every command until the goal is reached or its share of the time is over.

    **Arguments:**

    - `seconds`: for all commands together.
    - `seed`: of the moments.
    - `scratch`: a folder for the runs.
    - `names`: of the commands; none: all.
    - `goal`: kills of each command.
    """
    preload()
    chosen = names or (*COMMANDS, "watch", *OVER_RAY)
    rows = []
    for place, name in enumerate(chosen):
        share = seconds / (len(chosen) - place)
        began = time.monotonic()
        rows.append(_kill_named(name, share, seed, scratch / name, goal))
        seconds -= time.monotonic() - began
    return rows


def _kill_named(name: str, seconds: float, seed: int, scratch: Path, goal: int) -> Row:
    if name == "watch":
        return kill_watch(seconds, seed, scratch, goal)
    if name not in OVER_RAY:
        return kill_command(Killed(COMMANDS[name], f"`{name}`"), seconds, seed, scratch, goal)
    label = f"`{OVER_RAY[name]}` on Ray"
    try:
        cluster = SharedCluster()
    except RuntimeError as error:
        sys.stderr.write(f"{label}: SKIPPED, {error}\n")
        return Row(f"kill -9 of {label}", 0, 0, 0, None, f"skipped: {error}")
    with cluster:
        command = COMMANDS[OVER_RAY[name]].over_ray(cluster.address)
        return kill_command(Killed(command, label, cluster), seconds, seed, scratch, goal)


@dataclasses.dataclass(frozen=True)
class Killed:
    """What is killed.

    **Arguments:**

    - `command`: the command.
    - `label`: for the table.
    - `cluster`: where its workers are; None: they are processes of its session.
    """

    command: Command
    label: str
    cluster: SharedCluster | None = None

    def workers(self, victim: Victim) -> list[int]:
        """The processes that work for a command."""
        if self.cluster is not None:
            return self.cluster.workers()
        return [pid for pid in victim.session() if pid != victim.pid]

    def orphans(self, victim: Victim) -> list[int]:
        """Processes that a command has left."""
        left = victim.orphans()
        return left if self.cluster is None else left + self.cluster.orphans()


def kill_command(killed: Killed, seconds: float, seed: int, scratch: Path, goal: int) -> Row:
    """The row of one command."""
    command = killed.command
    rng = random.Random(f"{seed} {command.name}")
    until = time.monotonic() + seconds
    scratch.mkdir(parents=True)
    # The first run compiles; the second takes as long as the killed ones.
    for name in ("compiled", "twin"):
        twin = Victim(command.words(scratch / name), scratch / f"{name}.log")
        if twin.wait(600) != 0:
            raise RuntimeError(f"the unharmed {command.name} failed:\n{twin.text()[-2000:]}")
        duration = time.monotonic() - twin.began
    expected = read_folder(scratch / "twin")
    difference = name_difference(read_folder(scratch / "compiled"), expected)
    if difference:
        raise RuntimeError(f"two unharmed runs of {command.name} differ: {difference}")
    tally, number = Tally(), 0
    while tally.kills < goal and time.monotonic() < until:
        number += 1
        _kill_one_run(killed, scratch / f"run-{number}", rng, duration, expected, tally, goal)
    sys.stderr.write(f"{killed.label}: {tally.kills} kills of {number} runs, {tally.lost} lost\n")
    if tally.kills < goal:
        sys.stderr.write(f"{killed.label}: no time was left for {goal - tally.kills} kills\n")
    return tally.row(f"kill -9 of {killed.label}", f"{number} runs, seed {seed}")


def _kill_one_run(
    killed: Killed,
    out: Path,
    rng: random.Random,
    duration: float,
    expected: dict[str, object],
    tally: Tally,
    goal: int,
) -> None:
    """Kill one run several times, resume it to its end, and compare."""
    command, kills, wrong, began = killed.command, 0, [], time.monotonic()
    log = out.with_suffix(".log")
    for _ in range(min(KILLS_PER_RUN, goal - tally.kills)):
        victim = Victim(command.words(out), log)
        # A command that writes one file has begun to write it after the first change.
        writes = rng.randrange(1, 6) if command.begun else 1
        at = _await_moment(victim, out, rng, duration, writes)
        if victim.status() is not None:
            break
        workers = killed.workers(victim)
        target = rng.choice(workers) if workers and rng.random() < 0.25 else victim.pid
        with log.open("a") as file:
            who = "driver" if target == victim.pid else "worker"
            file.write(f"\nchaos: kill {who} after {at:.3f} s\n")
        _kill(target)
        kills += 1
        victim.wait()
        if left := killed.orphans(victim):
            wrong.append(f"{len(left)} processes were left")
    last = Victim(command.words(out), log)
    status = last.wait()
    if kills:
        tally.seconds.append((time.monotonic() - began - duration) / kills)
    if left := killed.orphans(last):
        wrong.append(f"{len(left)} processes were left at the end")
    if status != 0:
        wrong.append(f"it ended with {status}")
    else:
        difference = name_difference(read_folder(out), expected)
        wrong += [difference] if difference else []
        wrong += [f"{name} was left" for name in list_incomplete(out)]
    tally.kills += kills
    if wrong:
        tally.lost += max(kills, 1)
        tally.notes.append(wrong[0])
        sys.stderr.write(f"{out}: {'; '.join(wrong)}\n")
    else:
        shutil.rmtree(out)
        log.unlink()


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def _await_moment(
    victim: Victim, out: Path, rng: random.Random, duration: float, writes: int
) -> float:
    """Wait until the moment of the kill, or until the command has ended: seconds since it began."""
    if rng.random() < 0.5:
        until = victim.began + rng.uniform(0.0, duration)
        while time.monotonic() < until and victim.status() is None:
            time.sleep(0.001)
    else:
        before = _stamp(out)
        while writes and victim.status() is None:
            now = _stamp(out)
            writes -= now != before
            before = now
            time.sleep(0.0005)
        time.sleep(rng.uniform(0.0, 0.01))
    return time.monotonic() - victim.began


def _stamp(folder: Path) -> int:
    """A number that changes with every file that is written."""
    stamp = 0
    for root, _, names in os.walk(folder):
        for name in names:
            try:
                found = (Path(root) / name).stat()
            except FileNotFoundError:
                continue
            stamp = hash((stamp, name, found.st_mtime_ns, found.st_size))
    return stamp
