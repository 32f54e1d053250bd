"""Everything recorded below some folders, read once and then kept up to date."""

import contextlib
import gc
import itertools
import os
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

from longpass._json import JsonObject
from longpass.agents import AUDIT, MEMBERS, POPULATION, STUDY
from longpass.records import LOCK, RECORDS, SETTINGS, Line, read_json
from longpass.report._activity import Activity, count_planned, is_held
from longpass.report._population import Population
from longpass.report._run import (
    ODD,
    Run,
    Source,
    is_result,
    read_about,
    read_progress,
    read_result,
)
from longpass.report._tail import Tail
from longpass.report._walk import Walk
from longpass.streams import KIND as STREAM
from longpass.streams import PLAN

_ENDING = ".jsonl"


class _File:
    """A file of records and the run that it is of, if it is of one."""

    def __init__(self, place: str, name: str, shown: str, collection: str):
        self.place, self.folder, self.name = place, Path(place), f"{place}/{name}"
        self.shown, self.collection = shown, collection
        self.tail = Tail(self.name)
        self.lines = 0
        self.odd = 0
        self.error = ""
        self.run: Run | None = None
        self.ids: list[str] = []


class Store:
    """The runs, populations and activities below some folders.

    `refresh` reads what is new: of files that have grown, only what was appended. Every change has
    a version, so that a page can ask for what changed since it last asked.

    **Arguments:**

    - `folders`: where to look. ValueError if one is not there.
    """

    def __init__(self, folders: Sequence[Path]):
        for folder in folders:
            if not Path(folder).is_dir():
                raise ValueError(
                    f"DIR is {str(folder)!r}: it must be a folder with records in it or below it"
                )
        self.folders = [Path(folder) for folder in folders]
        self.runs: dict[str, Run] = {}
        self.removed: dict[str, int] = {}
        """Versions at which runs disappeared."""
        self.populations: dict[str, Population] = {}
        self.activities: dict[str, Activity] = {}
        self.version = 0
        self.lock = threading.RLock()
        """Held while anything changes."""
        self._files: dict[str, _File] = {}
        self._marked: dict[str, set[str]] = {}
        self._members: dict[str, dict[str, Run]] = {}  # of populations, by folder
        self._walks = [Walk(folder) for folder in self.folders]

    def refresh(self) -> bool:
        """Read what is new. Returns whether there was anything."""
        with self.lock, _no_garbage_collection():
            before = self.version
            found: set[str] = set()
            for top, walk in zip(self.folders, self._walks, strict=True):
                for folder, names in walk.look():
                    for name in names:
                        if name in (PLAN, STUDY, POPULATION, SETTINGS, LOCK):
                            self._mark(folder, name, top)
                        elif name.endswith(_ENDING) and name != AUDIT:
                            found.add(self._read(folder, name, top))
            for one in self._files.keys() - found:
                self._forget(one)
            for population in self.populations.values():
                if population.update(list(self._members.get(population.shown, {}).values())):
                    self._change(population.run)
            self._look_at_activities()
            return self.version != before

    def notes(self) -> list[str]:
        """What was found and cannot be shown, in words."""
        odd = [
            f"{file.shown}: {file.odd} of {file.lines} lines are not runs of a known form"
            for file in self._files.values()
            if file.odd
        ]
        unread = [f"{file.shown}: {file.error}" for file in self._files.values() if file.error]
        return odd + unread

    def ordered(self) -> list[Run]:
        """All runs, in the order of their files."""
        return [
            self.runs[one]
            for path in sorted(self._files)
            for one in self._files[path].ids
            if one in self.runs
        ]

    def note_places(self, run: Run) -> None:
        """Say that the places of a run in the figures have changed, and nothing else of it."""
        with self.lock:
            self.version += 1
            run.placed = self.version

    def _change(self, run: Run) -> None:
        self.version += 1
        run.version = self.version
        self.runs[run.id] = run
        if run.member is not None and run.population is not None:
            self._members.setdefault(run.population, {})[run.id] = run
        self.removed.pop(run.id, None)

    def _mark(self, place: str, name: str, top: Path) -> None:
        """Take note of a file that says what a folder is."""
        names = self._marked.setdefault(place, set())
        if name in names:
            return
        names.add(name)
        if name in (SETTINGS, LOCK):
            return
        folder = Path(place)
        shown = _show(folder)
        if name == PLAN:
            total = count_planned(_read_object(folder / name))
            self.activities[shown] = Activity(folder, shown, "sweep", "runs", total)
        elif name == STUDY:
            self.activities[shown] = Activity(folder, shown, "study", "agents")
        elif name == POPULATION:
            plan = _read_object(folder / name)
            population = Population(folder, shown, _collection(folder, top), plan)
            self.populations[str(folder)] = population
            total = population.size * population.rounds
            self.activities[shown] = Activity(folder, shown, "population", "rounds", total)

    def _read(self, place: str, name: str, top: Path) -> str:
        """Read what is new in a file, and return its full name."""
        whole = f"{place}/{name}"
        file = self._files.get(whole)
        if file is None:
            one_run = SETTINGS in self._marked.get(place, ())
            shown = _show(place if one_run or name == RECORDS else whole)
            file = _File(place, name, shown, _collection(Path(place), top))
            self._files[whole] = file
        try:
            new = file.tail.read()
        except OSError:
            return whole  # it was just deleted, or may not be read: the next look will tell
        except ValueError as error:
            file.error = str(error)
            return whole
        file.error = ""
        if new.anew:
            self._forget_runs(file)
            file.run, file.lines, file.odd = None, 0, 0
        file.lines += len(new.records) + new.bad
        file.odd += new.bad
        first = file.lines - len(new.records) - new.bad
        numbered = enumerate(new.records, first)
        for event, group in itertools.groupby(numbered, lambda one: one[1].get("event")):
            if event == "progress" and file.run is not None:
                file.odd += read_progress(file.run, [line for _, line in group])
                continue
            for number, line in group:
                try:
                    self._take(file, number, line)
                except ODD:
                    file.odd += 1
        if new.bad or new.anew:
            self.version += 1
        if new.records and file.run is not None:
            self._change(file.run)
        return whole

    def _take(self, file: _File, number: int, line: Line) -> None:
        """Take in one line that is not progress of a run."""
        event = line.get("event")
        if event == "begin":
            run = self._new_run(file, file.name, "folder")
            run.state = "unfinished"
            read_about(run, line)
            file.run = run
            file.ids.append(run.id)
        elif is_result(line):
            if file.run is not None:
                read_result(file.run, line)
                return
            marks = self._marked.get(file.place, set())
            source = "study" if STUDY in marks else "sweep" if PLAN in marks else "other"
            run = self._new_run(file, f"{file.name}:{number}", source)
            read_result(run, line)
            file.ids.append(run.id)
            self._change(run)
        elif file.run is None:
            raise ValueError("neither a result nor of a run")
        elif event == "round":
            file.run.rounds[int(line["round"])] = line["mean"]
        elif event == "diverged":
            file.run.state = "diverged"

    def _new_run(self, file: _File, name: str, source: Source) -> Run:
        run = Run(name, file.shown, file.collection, source)
        folder = file.folder
        above = folder.parent.parent
        if folder.parent.name == MEMBERS and (above / POPULATION).exists():
            run.population = _show(above)
            run.member = int(folder.name) if folder.name.isdigit() else None
        return run

    def _forget(self, path: str) -> None:
        self._forget_runs(self._files.pop(path))
        self.version += 1

    def _forget_runs(self, file: _File) -> None:
        for name in file.ids:
            run = self.runs.pop(name, None)
            if run is not None:
                self._members.get(run.population or "", {}).pop(name, None)
                self.version += 1
                self.removed[name] = self.version
        file.ids.clear()

    def _look_at_activities(self) -> None:
        """Count what is done in each folder, and time it."""
        counts: dict[str, int] = {}
        for file in self._files.values():
            counts[file.shown] = counts.get(file.shown, 0) + len(file.ids)
            run = file.run
            if run is not None and run.population is None:
                self._look_at_run(file, run)
        for shown, activity in self.activities.items():
            if activity.kind == "population":
                activity.look(self.populations[str(activity.folder)].rounds_done)
            elif activity.kind != "run":
                activity.look(counts.get(shown, 0))

    def _look_at_run(self, file: _File, run: Run) -> None:
        """Keep a single run among the activities while it runs."""
        folder = file.folder
        held = LOCK in self._marked.get(file.place, ()) and is_held(folder)
        if run.state in ("complete", "diverged") or not held:
            self.activities.pop(file.shown, None)
            state = "unfinished" if run.state == "running" else run.state
        else:
            unit = "symbols" if run.kind == STREAM else "steps"
            activity = self.activities.setdefault(
                file.shown, Activity(folder, file.shown, "run", unit)
            )
            activity.look(run.steps or 0.0, run.recent_rate())
            state = "running"
        if state != run.state:
            run.state = state
            self._change(run)


@contextlib.contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """Nearly all that is read stays: looking for garbage in it would take a fifth of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _collection(folder: Path, top: Path) -> str:
    parts = folder.relative_to(top).parts
    return _show(Path(parts[0])) if parts else _show(Path(top.resolve().name))


def _show(path: str | Path) -> str:
    """A path as text that any encoding of the page can hold."""
    return os.fsencode(path).decode("utf-8", "replace")


def _read_object(path: Path) -> JsonObject:
    try:
        return read_json(path, "a plan")
    except (OSError, ValueError):
        return {}
