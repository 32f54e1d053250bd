"""The console script `longpass`: one subcommand a dataclass, one file a subcommand.

A command is a dataclass whose fields are its flags and whose `run` does the work: it may print
to the console it is given and returns what `--json` prints. Heavy imports stay inside `run`, so
that `--help` answers at once.
"""

import json
import os
import sys
from typing import Annotated, NoReturn

import tyro
from rich.console import Console

from longpass.cli._classify import Classify
from longpass.cli._evaluate import Evaluate
from longpass.cli._figure import Figure
from longpass.cli._film import Film
from longpass.cli._pbt import Pbt
from longpass.cli._play import Play
from longpass.cli._pools import Pools
from longpass.cli._replay import Replay
from longpass.cli._reproduce import Reproduce
from longpass.cli._sweep import RunSweep
from longpass.cli._train import Train

_TOUR = """Low-pass recurrent neural networks: a memory that learns long correlations from short
gradients.

A tour:
  longpass pools --horizon 300       how many pools reach 300 steps back, and what each holds
  longpass figure impulse            the windows through which pools see the past
  longpass classify --truncation 2   learn to tell sequences of 100 symbols from 2-step gradients
  longpass sweep --runs 10           many such runs, with settings drawn at random
  longpass reproduce                 the paper's main claim, with a table and every figure
  longpass play t-maze --level 0     play one of the three tasks yourself
  longpass film cued-catch -o a.gif  an episode as an animated picture
  longpass train t-maze --level 0    train an agent that remembers; it leaves a run's folder
  longpass pbt t-maze --level 0      a population of agents that copy the better ones
  longpass evaluate runs/agent       what it earns, greedily and as it was trained
  longpass replay tests/golden       recorded episodes of the original games, frame by frame

Every command takes --json (one JSON object on standard output, nothing else) and says with
--help what it does. Exit status: 0 success, 1 the command failed, 2 bad flags, 130 stopped.
"""

_Command = (
    Annotated[Pools, tyro.conf.subcommand("pools")]
    | Annotated[Figure, tyro.conf.subcommand("figure")]
    | Annotated[Reproduce, tyro.conf.subcommand("reproduce")]
    | Annotated[Classify, tyro.conf.subcommand("classify")]
    | Annotated[RunSweep, tyro.conf.subcommand("sweep")]
    | Annotated[Play, tyro.conf.subcommand("play")]
    | Annotated[Film, tyro.conf.subcommand("film")]
    | Annotated[Replay, tyro.conf.subcommand("replay")]
    | Annotated[Train, tyro.conf.subcommand("train")]
    | Annotated[Pbt, tyro.conf.subcommand("pbt")]
    | Annotated[Evaluate, tyro.conf.subcommand("evaluate")]
)
# Flags of a task may stand before or after those of the command that plays it.
_FLAGS = (
    tyro.conf.CascadeSubcommandArgs,
    tyro.conf.OmitSubcommandPrefixes,
    tyro.conf.OmitArgPrefixes,
)


def main(args: list[str] | None = None) -> None:
    """Run one command and exit."""
    command = tyro.cli(_Command, prog="longpass", description=_TOUR, args=args, config=_FLAGS)  # pyright: ignore[reportCallIssue, reportArgumentType]
    # With --json, what is for people goes to standard error.
    console = Console(stderr=command.json)
    try:
        result = command.run(console)
    except KeyboardInterrupt:
        _leave_stopped(args)
    except (ValueError, TypeError, OSError) as error:
        Console(stderr=True).print(
            f"longpass: {error}", style="red", markup=False, highlight=False, soft_wrap=True
        )
        sys.exit(1)
    if command.json:
        print(json.dumps(result))
    # A command that has looked and found something wrong says so in what it returns.
    if not result.get("ok", True):
        sys.exit(1)


def _leave_stopped(args: list[str] | None) -> NoReturn:
    """Exit with 130. A process that Ctrl-C found inside JAX may crash while Python shuts down, so
    the console script does not wait for that."""
    if args is not None:
        sys.exit(130)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(130)
