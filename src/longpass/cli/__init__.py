"""The console script `longpass`: one file per command, and only that file is imported.

A command is a dataclass whose fields are its flags and whose `run` does the work: it may print
to the console that it is given, and returns what `--json` prints. Files of commands import JAX
inside `run` only, so that `longpass CMD --help` answers at once.
"""

import contextlib
import dataclasses
import difflib
import importlib
import json
import os
import sys
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import tyro
from rich.console import Console
from rich.table import Table

from longpass import __version__
from longpass._extras import explain_missing
from longpass._signals import STOPPED, leave_on_signals
from longpass.cli._again import remember_words
from longpass.cli._compiled import keep_compiled_programs


class Command(NamedTuple):
    """Where a command is, and what it does in a few words."""

    module: str
    name: str
    summary: str
    loads_jax: bool = False
    """Whether it says that it loads, which takes seconds."""


COMMANDS = {
    "pools": Command("_pools", "Pools", "how many pools reach how far back, and what each holds"),
    "check": Command("_check", "Check", "whether a memory keeps the contract, law by law", True),
    "classify": Command("_classify", "Classify", "train one network on streams of symbols", True),
    "sweep": Command("_sweep", "RunSweep", "many such trainings, with random settings"),
    "benchmark": Command("_benchmark", "Benchmark", "which memory learns from short gradients"),
    "train": Command("_train", "Train", "train an agent that remembers", True),
    "pbt": Command("_pbt", "Pbt", "train a population of agents that copy the better ones", True),
    "study": Command("_study", "RunStudy", "many agents, recorded in one file"),
    "evaluate": Command("_evaluate", "Evaluate", "what a trained agent earns", True),
    "export": Command("_export", "Export", "a trained agent as one file, with its score", True),
    "play": Command("_play", "Play", "play one of the worlds yourself, in the terminal"),
    "film": Command("_film", "Film", "an episode as an animated picture", True),
    "replay": Command("_replay", "Replay", "compare recorded episodes frame by frame", True),
    "figure": Command("_figure", "Figure", "draw one figure"),
    "claims": Command("_claims", "Claims", "which of the paper's claims hold, from records"),
    "report": Command("_report", "WriteReport", "all runs in one HTML file, for any browser"),
    "watch": Command("_watch", "Watch", "the same live, while runs train"),
    "reproduce": Command("_reproduce", "Reproduce", "the paper's claims, with tables and figures"),
}
_TOUR = """Low-pass recurrent neural networks: a memory that learns long correlations from short
gradients.

A tour, of commands that take minutes at most:
  longpass pools --horizon 300       how many pools reach 300 steps back, and what each holds
  longpass check memax:LRU           whether anybody's memory keeps the contract
  longpass figure impulse            the windows through which pools see the past
  longpass classify --symbols 4e6    classify sequences of 100 symbols from 2-step gradients
  longpass sweep --runs 1 --symbols 1e6   many such runs, with random settings
  longpass benchmark                 which memory still learns from short gradients?
  longpass claims                    which of the paper's claims hold, from recorded runs
  longpass reproduce                 the paper's main claim, with a table and figures
  longpass play t-maze --level 0     play one of the worlds yourself
  longpass film cued-catch -o a.gif  an episode as an animated picture
  longpass train t-maze --level 0    train an agent that remembers, in a folder of its own
  longpass evaluate runs/agent       what it earns, greedily and as it was trained
  longpass film t-maze --policy pretrained:t-maze-chain   an agent that comes with longpass
  longpass report -o report.html     all runs, figures and claims in one page for the browser
  longpass watch                     the same page, live while runs train
  longpass pbt t-maze --level 0 --members 3 --rounds 2 --episodes 3000
                                     a population of agents that copy the better ones
  longpass study onset --runs 1 --tasks cued-catch --memories lstm --steps 1e6
                                     many agents: from which difficulty on does an LSTM learn?
  longpass replay tests/golden       recorded episodes of the original games, frame by frame

Every command takes --json (one JSON object on standard output, nothing else) and explains
itself with --help. Exit status: 0 success, 1 the command failed, 2 bad flags, 130 stopped.
"""
_COMPLETION = ("--tyro-print-completion", "--tyro-write-completion")
# Flags of a world may stand before or after those of the command that plays it.
_FLAGS = (
    tyro.conf.CascadeSubcommandArgs,
    tyro.conf.OmitSubcommandPrefixes,
    tyro.conf.OmitArgPrefixes,
)


def main(args: list[str] | None = None) -> None:
    """Run one command and exit.

    **Arguments:**

    - `args`: the words after `longpass`; None takes those of this process.
    """
    if args is None:
        leave_on_signals()
    words = sys.argv[1:] if args is None else args
    try:
        remember_words(words)
        command = _expand_home(_parse(words))
        keep_compiled_programs()
        _show_sign_of_life(words[0])
        # With --json, everything for people goes to standard error.
        result = command.run(Console(stderr=command.json))
    except KeyboardInterrupt:
        _exit_stopped(args)
    except (ValueError, TypeError, OSError) as error:
        _fail(str(error))
    except ModuleNotFoundError as error:
        named = isinstance(error.__cause__, ModuleNotFoundError)  # the extra, where it is needed
        _fail(str(error if named else explain_missing(error, f"longpass {words[0]}")))
    except MemoryError as error:
        _fail(f"there is not enough memory: smaller sizes are needed ({error})")
    except RuntimeError as error:
        # JAX's own kind of error is not imported here, because JAX would be.
        if "RESOURCE_EXHAUSTED" not in str(error):
            raise
        reason = str(error).splitlines()[0]
        _fail(f"there is not enough memory: smaller sizes are needed ({reason})")
    if command.json:
        print(json.dumps(result))
    # A command that found something wrong says so in its result.
    if not result.get("ok", True):
        sys.exit(1)


def load_command(name: str) -> type:
    """The dataclass of the command with this name."""
    command = COMMANDS[name]
    return getattr(importlib.import_module(f"longpass.cli.{command.module}"), command.name)


def _parse(words: list[str]) -> Any:
    """The command that was asked for, with its flags; exits after --help and bad flags."""
    name = words[0] if words else None
    if name in ("-h", "--help"):
        _print_help(Console())
        sys.exit(0)
    if name == "--version":
        print(f"longpass {__version__}")
        sys.exit(0)
    if name in _COMPLETION:
        loaded = {command: load_command(command) for command in COMMANDS}
        tyro.extras.subcommand_cli_from_dict(loaded, prog="longpass", args=words, config=_FLAGS)
    if name not in COMMANDS:
        _refuse(name)
    return tyro.cli(load_command(name), prog=f"longpass {name}", args=words[1:], config=_FLAGS)


def _expand_home(command: Any) -> Any:
    """The command with ~ replaced in its paths, which no shell does in `--out=~/run`."""
    changes = {
        field.name: _expand(field.name, getattr(command, field.name))
        for field in dataclasses.fields(command)
    }
    return dataclasses.replace(command, **changes)


def _expand(name: str, value: object) -> object:
    if type(value) is tuple:
        return tuple(_expand(name, one) for one in value)
    if not isinstance(value, Path):
        return value
    try:
        return value.expanduser()
    except RuntimeError as error:
        raise ValueError(f"{name} is {str(value)!r}: {error}") from None


def _show_sign_of_life(name: str) -> None:
    """Say at once that a command has begun that takes seconds to load."""
    if COMMANDS[name].loads_jax:
        text = f"longpass {name}: loading"
        Console(stderr=True).print(text, style="dim", highlight=False)


def _fail(message: str) -> NoReturn:
    """Print an error and exit with 1."""
    Console(stderr=True).print(
        f"longpass: {message}", style="red", markup=False, highlight=False, soft_wrap=True
    )
    sys.exit(1)


def _print_help(console: Console) -> None:
    console.print(_TOUR, markup=False, highlight=False, soft_wrap=True)
    table = Table(box=None, padding=(0, 2), show_header=False)
    for name, command in COMMANDS.items():
        table.add_row(name, command.summary)
    console.print("Commands:")
    console.print(table)


def _refuse(name: str | None) -> NoReturn:
    """Name what is wrong with the command, and exit with 2."""
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    listed = ", ".join(COMMANDS)
    if name is None:
        console.print(f"longpass: no command: it must be one of {listed}", style="red")
    else:
        close = difflib.get_close_matches(name, COMMANDS, 1)
        hint = f" (did you mean {close[0]}?)" if close else ""
        text = f"longpass: command is {name!r}: it must be one of {listed}{hint}"
        console.print(text, style="red", markup=False)
    sys.exit(2)


def _exit_stopped(args: list[str] | None) -> NoReturn:
    """Exit with 130. A process that Ctrl-C found inside JAX may crash while Python shuts down, so
    the console script does not wait for that."""
    if args is not None:
        sys.exit(STOPPED)
    with contextlib.suppress(OSError):  # The terminal may be gone.
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(STOPPED)
