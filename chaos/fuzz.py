"""Nonsense: every command and every public constructor with values that make no sense.

A case is survived if it is refused by a message that names what was wrong (a command exits with 1
or 2), or if the values happened to be allowed. It is lost on any other error, without a name in the
message, if nonsense is accepted by a command, or if it takes too long.
"""

import contextlib
import dataclasses
import io
import random
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from chaos._commands_to_fuzz import CONTRADICTIONS, Flags, command_flags
from chaos._constructors import CONSTRUCTORS, Constructor
from chaos._limits import TooSlow, take_within, time_limit
from chaos._rows import Row
from chaos._wrong_values import draw_value, draw_wrong_text
from longpass.cli import main

CASES = 10_000
_SECONDS_PER_CASE = 60.0
_COMMANDS_IN = 10  # cases of which one is a command, which takes longer


@dataclasses.dataclass(frozen=True)
class Case:
    """What came of one case; `problem` is empty if it was survived."""

    kind: str
    what: str
    problem: str


def run(seconds: float, seed: int) -> list[Row]:
    """Try nonsense for at most `seconds`: one row for constructors and one for commands."""
    cases = list(take_within(seconds, try_cases(seed, CASES)))
    return [_make_row(kind, cases) for kind in ("constructor", "command")]


def try_cases(seed: int, count: int) -> Iterator[Case]:
    """`count` cases: mostly constructors, and every tenth a command."""
    rng = random.Random(seed)
    flags = command_flags()
    for number in range(count):
        if number % _COMMANDS_IN:
            yield try_constructor(rng, rng.choice(CONSTRUCTORS))
        elif rng.random() < 0.2:
            words, names = rng.choice(CONTRADICTIONS)
            yield try_command(words, names)
        else:
            yield try_command(*draw_command(rng, rng.choice(flags)))


def draw_command(rng: random.Random, command: Flags) -> tuple[list[str], list[str]]:
    """(Words of a command with one to three flags that cannot be right, names of the flags)."""
    words, names = list(command.words), []
    for setting in rng.sample(command.settings, min(len(command.settings), rng.randint(1, 3))):
        text = draw_wrong_text(rng, setting)
        if text is not None:
            words.append(f"{setting.flag}={text}")
            names.append(setting.flag.removeprefix("--"))
    return (words, names) if names else ([*words, "--no-such-flag=1"], ["no-such-flag"])


def try_command(words: list[str], names: list[str]) -> Case:
    """Run a command that must fail, and name one of `names`."""
    problem = ""
    printed, failed = io.BytesIO(), io.BytesIO()
    out = io.TextIOWrapper(printed, "utf-8")
    err = io.TextIOWrapper(failed, "utf-8", errors="backslashreplace")
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        try:
            with (
                time_limit(_SECONDS_PER_CASE),
                contextlib.redirect_stdout(out),
                contextlib.redirect_stderr(err),
            ):
                main(words)
            problem = "was accepted"
        except SystemExit as stop:
            if stop.code not in (1, 2):
                problem = f"exits with {stop.code}"
        except TooSlow:
            problem = f"took more than {_SECONDS_PER_CASE:g} s"
        except BaseException as error:
            problem = f"{type(error).__name__}: {error}"
        left = [path.name for path in Path(folder).iterdir()]
    if not problem and left:
        problem = f"left {left[0]!r}"
    text = ""
    for stream, content in ((out, printed), (err, failed)):
        stream.flush()
        text += content.getvalue().decode()
    if not problem and not _names_any(text, names):
        problem = f"does not name {' or '.join(names)}: {text[-300:]}"
    return Case("command", ascii(" ".join(words)), problem)


def try_constructor(rng: random.Random, constructor: Constructor) -> Case:
    """Call a constructor with some values that may make no sense."""
    chosen = rng.sample(constructor.settings, rng.randint(1, min(3, len(constructor.settings))))
    values = {setting.name: draw_value(rng, setting) for setting in chosen}
    problem = find_problem(constructor.make, values, [setting.name for setting in chosen])
    return Case("constructor", ascii(f"{constructor.name}({values})"), problem)


def find_problem(make: Callable[..., object], values: dict[str, Any], names: list[str]) -> str:
    try:
        with time_limit(_SECONDS_PER_CASE):
            make(**values)
    except TooSlow:
        return f"took more than {_SECONDS_PER_CASE:g} s"
    except (ValueError, TypeError) as error:
        named = _names_any(str(error), names)
        return "" if named else f"does not name {' or '.join(names)}: {error}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def _names_any(text: str, names: list[str]) -> bool:
    """Whether a message has any of these names, by dashes or by underscores."""
    # Boxes of help break lines anywhere.
    plain = "".join(text.split()).replace("│", "").replace("-", "_")
    return any(name.removesuffix("_").replace("-", "_") in plain for name in names)


def _make_row(kind: str, cases: list[Case]) -> Row:
    tried = [case for case in cases if case.kind == kind]
    lost = [case for case in tried if case.problem]
    note = "; ".join(f"{case.what}: {case.problem}" for case in lost[:3])
    return Row(f"nonsense for a {kind}", len(tried), len(tried) - len(lost), len(lost), None, note)
