"""`python -m chaos`: every part of the harness, or some, in a bounded time."""

import argparse
import dataclasses
import importlib
import importlib.util
import inspect
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

# Parts in the order in which they run, and their shares of the time.
PARTS = {
    "kills": 0.4,
    "signals": 0.1,
    "locks": 0.05,
    "resources": 0.1,
    "cluster": 0.15,
    "long": 0.1,
    "fuzz": 0.05,
    "damage": 0.05,
}


def main() -> None:
    """Run the parts that were asked for, one after the other, and show their rows."""
    # One thread per process: commands are forks of this one, and a fork takes no threads along.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # In the background (`nohup make chaos &`) commands would inherit that signals are ignored.
    for kind in (signal.SIGINT, signal.SIGHUP):
        if signal.getsignal(kind) is signal.SIG_IGN:
            signal.signal(kind, lambda *_: None)
    args = _parse()
    rows = []
    scratch = Path(tempfile.mkdtemp(prefix="chaos-"))
    try:
        for part in args.parts:
            rows += _run_part(part, args, scratch / part)
    finally:
        if not args.keep:
            shutil.rmtree(scratch, ignore_errors=True)
    _show(rows, sys.stderr if args.json else sys.stdout)
    if args.out:
        _record(rows, args)
    if args.json:
        print(json.dumps(rows))
    sys.exit(any(row["lost"] for row in rows))


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m chaos", description="Do to longpass on purpose what happens by accident."
    )
    parser.add_argument("parts", nargs="*", help=f"of {', '.join(PARTS)}; by default all")
    parser.add_argument("--commands", nargs="*", default=[], help="that are hurt; by default all")
    parser.add_argument("--kills", type=int, default=100, help="of each command")
    parser.add_argument("--minutes", type=float, default=10.0, help="for all parts together")
    parser.add_argument("--seed", type=int, default=0, help="of everything that is drawn")
    parser.add_argument("--out", type=Path, help="append rows to this file of records")
    parser.add_argument("--cache", type=Path, help="where compiled programs are kept")
    parser.add_argument("--keep", action="store_true", help="keep the folders of the runs")
    parser.add_argument("--json", action="store_true", help="print rows as JSON")
    args = parser.parse_args()
    for part in args.parts:
        if part not in PARTS:
            parser.error(f"part is {part!r}: it must be one of {', '.join(PARTS)}")
    if args.minutes <= 0:
        parser.error(f"minutes is {args.minutes}: it must be above 0")
    args.parts = args.parts or list(PARTS)
    return args


def _run_part(part: str, args: argparse.Namespace, scratch: Path) -> list[dict[str, object]]:
    """The rows of a part, with how they were made."""
    from chaos._processes import share_compiled_programs

    name = f"chaos.{part}"
    if importlib.util.find_spec(name) is None:
        sys.stderr.write(f"{part}: there is no {name}, so nothing was tried\n")
        return []
    scratch.mkdir(parents=True)
    share_compiled_programs(args.cache or scratch.parent / "compiled")
    seconds = 60.0 * args.minutes * PARTS[part] / sum(PARTS[one] for one in args.parts)
    module = importlib.import_module(name)
    began = time.monotonic()
    # Not every part needs a folder or a choice of commands.
    more = {"scratch": scratch, "names": tuple(args.commands), "goal": args.kills}
    wanted = inspect.signature(module.run).parameters
    rows = module.run(
        seconds, args.seed, **{name: one for name, one in more.items() if name in wanted}
    )
    sys.stderr.write(f"{part}: {time.monotonic() - began:.0f} s\n")
    return [{"part": part, **dataclasses.asdict(row), "seed": args.seed} for row in rows]


def _show(rows: list[dict[str, object]], file: object) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("part", "fault", "tries", "survived", "lost", "seconds", "note")
    for row in rows:
        cost = row["seconds"]
        shown = "" if cost is None else f"{cost:.1f}"
        words = [str(row[name]) for name in ("part", "fault", "tries", "survived", "lost")]
        table.add_row(*words, shown, str(row["note"]))
    Console(file=file).print(table)  # pyright: ignore[reportArgumentType]


def _record(rows: list[dict[str, object]], args: argparse.Namespace) -> None:
    from longpass.records import Records, provenance

    made = {"event": "chaos", "minutes": args.minutes, **provenance()}
    Records(args.out).append([row | made for row in rows])


if __name__ == "__main__":
    main()
