"""Damaged files: each kind that longpass reads, with each kind of damage.

A case is survived if the file is refused by a clear message that names it, or if what was not
damaged is used instead: the older checkpoint, the lines before the damage. It is lost if anything
else is raised, if other content is read than was written, or if a pickle is executed.
"""

import dataclasses
import json
import pickle
import random
import shutil
import struct
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from chaos._damaged_files import TARGETS, Target
from chaos._limits import TooSlow, take_within, time_limit
from chaos._rows import Row

CASES = 800
_SECONDS_PER_CASE = 20.0
_TERABYTES = 2**42


class Bomb:
    """Makes a file if it is unpickled."""

    def __init__(self, path: Path):
        self._path = path

    def __reduce__(self) -> tuple[Callable[..., object], tuple[str, str]]:
        return open, (str(self._path), "w")


def truncate(path: Path, rng: random.Random) -> None:
    """Keep some of its bytes, from the first on."""
    data = path.read_bytes()
    path.write_bytes(data[: rng.randrange(1, len(data))])


def flip(path: Path, rng: random.Random) -> None:
    """Flip one bit."""
    data = bytearray(path.read_bytes())
    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    path.write_bytes(data)


def empty(path: Path, rng: random.Random) -> None:
    """Keep nothing of it."""
    path.write_bytes(b"")


def replace_by_folder(path: Path, rng: random.Random) -> None:
    """Put a folder in its place."""
    path.unlink()
    path.mkdir()


def replace_by_other_version(path: Path, rng: random.Random) -> None:
    """Put a file of the same format in its place, with other names in it."""
    if path.suffix == ".npz":
        with path.open("wb") as file:
            np.savez(file, version=np.int32(99), content=np.zeros(3))
    elif path.suffix == ".safetensors":
        _write_safetensors(path, {"__metadata__": {"format": "other"}}, b"")
    else:
        lines = 2 if path.suffix == ".jsonl" else 1
        values: list[object] = [{"version": 99, "event": "result", "kind": "stream"}, [], None]
        value = rng.choice(values) if lines == 1 else values[0]
        path.write_text((json.dumps(value) + "\n") * lines)


def claim_terabytes(path: Path, rng: random.Random) -> None:
    """Let it claim to be larger than any disk."""
    if path.suffix == ".npz":
        with np.load(path) as archive:
            arrays = {name: archive[name] for name in archive.files}
        with path.open("wb") as file:
            np.savez(file, **arrays)
        data = path.read_bytes()
        name = rng.choice(list(arrays))
        shape = f"({arrays[name].shape[0]},)" if arrays[name].ndim == 1 else "()"
        huge = data.replace(f"'shape': {shape}, ".encode(), f"'shape': ({_TERABYTES},), ".encode())
        if huge == data or rng.random() < 0.5:
            # The directory of the archive claims it instead, of its first member.
            place = data.rindex(b"PK\x01\x02", 0, len(data))
            huge = (
                data[: place + 20] + struct.pack("<II", 2**32 - 2, 2**32 - 2) + data[place + 28 :]
            )
        path.write_bytes(huge)
    elif path.suffix == ".safetensors":
        tensor = {"dtype": "F32", "shape": [_TERABYTES], "data_offsets": [0, 4 * _TERABYTES]}
        _write_safetensors(path, {"write": tensor}, b"\0" * 8)
    else:
        with path.open("r+b") as file:
            file.truncate(_TERABYTES)  # of which the disk keeps nothing


def nest_deeply(path: Path, rng: random.Random) -> None:
    """Put a list in a list in a list, and so on, where it has JSON."""
    deep = "[" * 100_000
    if path.suffix == ".npz":
        with np.load(path) as archive:
            arrays = {name: archive[name] for name in archive.files}
        text = np.frombuffer(deep.encode(), np.uint8)
        nested = {"settings": text, "params": np.array(deep)}
        with path.open("wb") as file:
            np.savez(file, **arrays | {name: nested[name] for name in nested if name in arrays})
    elif path.suffix == ".safetensors":
        names = ("longpass", "longpass-agent")
        _write_safetensors(path, {"__metadata__": dict.fromkeys(names, deep)}, b"")
    else:
        path.write_text(f"{deep}\n" * 2)


def replace_by_pickle(path: Path, rng: random.Random) -> None:
    """Put a pickled object in its place, which does harm if it is loaded."""
    bomb = Bomb(path.parent / "executed")
    if path.suffix == ".npz" and rng.random() < 0.5:
        with path.open("wb") as file:
            np.savez(file, settings=np.array([bomb], object), actions=np.array([bomb], object))
    else:
        path.write_bytes(pickle.dumps(bomb))


FAULTS: dict[str, Callable[[Path, random.Random], None]] = {
    "cut": truncate,
    "one bit flipped": flip,
    "emptied": empty,
    "replaced by a folder": replace_by_folder,
    "of another version": replace_by_other_version,
    "claims terabytes": claim_terabytes,
    "nested without end": nest_deeply,
    "a pickled object": replace_by_pickle,
}


@dataclasses.dataclass(frozen=True)
class Case:
    """What came of one damaged file; `problem` is empty if it was survived."""

    fault: str
    target: str
    seed: int
    problem: str


def run(seconds: float, seed: int) -> list[Row]:
    """Damage files for at most `seconds`: one row per kind of damage."""
    cases = list(take_within(seconds, try_cases(seed, CASES)))
    return [_make_row(fault, [case for case in cases if case.fault == fault]) for fault in FAULTS]


def try_cases(seed: int, count: int) -> Iterator[Case]:
    """`count` cases, in turn over all kinds of files and of damage."""
    kinds = [(target, fault) for target in TARGETS for fault in FAULTS]
    for number in range(count):
        target, fault = kinds[number % len(kinds)]
        yield try_case(target, fault, seed + number)


def try_case(target: Target, fault: str, seed: int) -> Case:
    """Damage one file and read it."""
    folder = Path(tempfile.mkdtemp(prefix="longpass-damage-"))
    try:
        return Case(fault, target.name, seed, _find_problem(target, fault, seed, folder))
    finally:
        shutil.rmtree(folder)


def _find_problem(target: Target, fault: str, seed: int, folder: Path) -> str:
    """What went wrong, or nothing."""
    path = target.make(folder)
    good = target.read(folder)
    FAULTS[fault](path, random.Random(seed))
    try:
        with time_limit(_SECONDS_PER_CASE):
            found = target.read(folder)
    except TooSlow:
        return f"took more than {_SECONDS_PER_CASE:g} s"
    except (ValueError, OSError) as error:
        text = str(error)
        if target.older is not None and fault != "replaced by a folder":
            return f"did not fall back to the older one: {text}"
        return "" if str(folder) in text else f"the message does not name the file: {text}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    if (folder / "executed").exists():
        return "a pickle was executed"
    older = target.older if target.older is not None else good
    if target.checked and found not in (good, older):
        return f"read {found!r}"
    return ""


def _make_row(fault: str, cases: list[Case]) -> Row:
    lost = [case for case in cases if case.problem]
    note = "; ".join(f"{case.target}: {case.problem}" for case in lost[:3])
    return Row(f"file {fault}", len(cases), len(cases) - len(lost), len(lost), None, note)


def _write_safetensors(path: Path, header: object, data: bytes) -> None:
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
