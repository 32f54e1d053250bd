"""The laws by name, and the report of a check. This file imports neither JAX nor PyTorch."""

import dataclasses
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from longpass._json import JsonObject

if TYPE_CHECKING:
    from rich.console import Group

LAWS = {
    "interface": "It has everything that the contract names.",
    "shapes": "Every step leaves a state of the same structure, shapes and dtypes, and gives an "
    "output of the declared shape.",
    "initial state": "Every row of a batch begins with the same state, whatever the batch size.",
    "deterministic": "The same call gives the same result, to the bit.",
    "finite": "Outputs, states and gradients are finite.",
    "cut is whole": "A sequence that is cut anywhere and carried on with the returned state gives "
    "what it gives uncut, in outputs, state and gradients.",
    "steps are unroll": "A whole sequence in one call gives what its steps give one by one, in "
    "outputs, state and gradients.",
    "start on time": "A start clears the state before the input of its step is read: not one step "
    "late, and not after that input.",
    "start of a chunk": "A start at the first step of a call clears the state that was passed in.",
    "packed is separate": "Several sequences in one call give what each gives alone: neither "
    "contents nor gradients pass a start.",
    "block leaves outputs": "block_every changes no output and no state, not by a bit.",
    "block cuts gradients": "block_every stops gradients through the state at its multiples, "
    "exactly there and nowhere else.",
    "rows are separate": "Every row of a batch gives what it gives alone: nothing leaks between "
    "rows, and time and batch are not mixed up.",
}
"""What each law means, in the order in which they are checked."""

Status = Literal["holds", "fails", "does not apply"]


class Failure(NamedTuple):
    """How a law fails."""

    step: int | None
    """The first step at which something is wrong; None if it is not about a step."""
    example: str
    """What was called, what it gave and what is right."""


class DoesNotApply(Exception):
    """Raised by a law that cannot be checked, with the reason."""


@dataclasses.dataclass(frozen=True)
class LawResult:
    """One law, checked.

    **Arguments:**

    - `law`: its name, a key of `LAWS`.
    - `status`: whether it holds.
    - `step`: the first step at which something is wrong, in the example.
    - `example`: the shortest example found that breaks the law, or why it does not apply.
    """

    law: str
    status: Status
    step: int | None = None
    example: str = ""

    @property
    def passed(self) -> bool:
        """Whether the law is not broken."""
        return self.status != "fails"

    @property
    def meaning(self) -> str:
        """What the law says."""
        return LAWS[self.law]


@dataclasses.dataclass(frozen=True, repr=False)
class Report:
    """What a check found. It is true if no law is broken, and renders itself with rich.

    **Arguments:**

    - `subject`: what was checked.
    - `results`: one per law, in the order of `LAWS`.
    """

    subject: str
    results: tuple[LawResult, ...]

    @property
    def passed(self) -> bool:
        """Whether no law is broken."""
        return not self.failures

    @property
    def failures(self) -> tuple[LawResult, ...]:
        """The laws that are broken."""
        return tuple(result for result in self.results if not result.passed)

    def __bool__(self) -> bool:
        return self.passed

    def raise_if_failed(self) -> None:
        """AssertionError that says which laws are broken, what they mean and how."""
        if not self.passed:
            raise AssertionError(str(self))

    def to_json(self) -> JsonObject:
        """The report as a JSON object."""
        laws = [dataclasses.asdict(one) | {"meaning": one.meaning} for one in self.results]
        return {"subject": self.subject, "ok": self.passed, "laws": laws}

    def __repr__(self) -> str:
        held = sum(result.status == "holds" for result in self.results)
        lines = [f"{self.subject}: {held} laws hold, {len(self.failures)} fail"]
        for result in self.failures:
            lines += [f"{result.law}: {result.meaning}", *indent(result.example)]
        return "\n".join(lines)

    def __rich__(self) -> "Group":
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        colours = {"holds": "green", "fails": "red", "does not apply": "dim"}
        table = Table("law", "", "what it means", title=self.subject)
        for result in self.results:
            colour = colours[result.status]
            table.add_row(result.law, Text(result.status, style=colour), result.meaning)
        details = [
            Text(f"{result.law}: {result.status}\n" + "\n".join(indent(result.example)) + "\n")
            for result in self.results
            if result.example
        ]
        return Group(table, *details)


def indent(text: str) -> list[str]:
    """The lines of a text, moved to the right."""
    return [f"    {line}" for line in text.splitlines()]


Law = Callable[[int], Failure | None]
"""Checks one law on sequences of this length; None if it holds."""


def run_laws(
    subject: str, laws: Iterable[tuple[str, Law]], length: int, stop: bool = False
) -> Report:
    """Check laws one after the other; shorten the example of each that fails.

    The first two are about the interface: if one of them fails, the others are not checked.

    **Arguments:**

    - `subject`: what is checked.
    - `laws`: by name.
    - `length`: steps of the longest sequences.
    - `stop`: whether to stop at the first law that fails.
    """
    results: list[LawResult] = []
    for name, law in laws:
        result = _check(name, law, length)
        if result.status == "fails":
            result = _shorten(result, law, length)
        results.append(result)
        if not result.passed and (stop or name in ("interface", "shapes")):
            break
    return Report(subject, tuple(results))


def _check(name: str, law: Law, length: int) -> LawResult:
    # A memory of somebody else's may raise anything: it is then the law's example.
    try:
        failure = law(length)
    except DoesNotApply as reason:
        return LawResult(name, "does not apply", example=str(reason))
    except Exception as error:
        failure = Failure(None, f"with {length} steps it raises {type(error).__name__}: {error}")
    return LawResult(name, "holds") if failure is None else LawResult(name, "fails", *failure)


def _shorten(result: LawResult, law: Law, length: int) -> LawResult:
    """The same failure on the shortest sequences that show it."""
    for shorter in (2, 3, 4, 6, 9, 17, 33):
        if shorter >= length:
            break
        found = _check(result.law, law, shorter)
        if found.status == "fails":
            return found
    return result


def find_difference(
    ours: np.ndarray, right: np.ndarray, tolerance: float
) -> tuple[int, float] | None:
    """The first place along the first axis at which two arrays differ, and by how much there.

    **Arguments:**

    - `ours`, `right`: of one shape. A NaN in one of them is a difference.
    - `tolerance`: times the largest number of `right`, or 1.
    """
    if ours.shape != right.shape:
        return 0, float("inf")
    if ours.size == 0:
        return None
    known = right[np.isfinite(right)]
    scale = max(1.0, float(np.max(np.abs(known), initial=0.0)))
    with np.errstate(invalid="ignore"):
        wrong = ~(np.abs(ours - right) <= tolerance * scale) & (ours != right)
    wrong &= ~(np.isnan(ours) & np.isnan(right))
    if not wrong.any():
        return None
    steps = wrong.reshape(len(wrong), -1).any(axis=1)
    first = int(np.argmax(steps))
    return first, float(np.max(np.abs(ours[first] - right[first])))


def show_numbers(array: np.ndarray) -> str:
    """The first numbers of an array, in few words."""
    flat = np.ravel(array)
    shown = " ".join(f"{number:.4g}" for number in flat[:4])
    return f"[{shown}{' ...' if flat.size > 4 else ''}]"


def show_both(ours: np.ndarray, right: np.ndarray) -> tuple[str, str]:
    """The numbers of two arrays where they differ most, in few words."""
    if ours.shape != right.shape or ours.size == 0:
        return f"of shape {ours.shape}", f"of shape {right.shape}"
    width = ours.shape[-1] if ours.ndim else 1
    with np.errstate(invalid="ignore"):
        away = np.abs(ours - right).reshape(-1, width)
    row = int(np.argmax(np.where(np.isnan(away), np.inf, away).max(axis=1)))
    return show_numbers(ours.reshape(-1, width)[row]), show_numbers(right.reshape(-1, width)[row])


def show_starts(starts: np.ndarray) -> str:
    """Where starts are, in few words."""
    places = np.flatnonzero(starts).tolist()
    shown = ", ".join(map(str, places[:5])) + (", ..." if len(places) > 5 else "")
    return f"starts at {shown}" if places else "no starts"
