"""`python -m benchmarks`: every section, or one."""

import dataclasses
import importlib
import json as json_module
from typing import Literal

import tyro
from rich.console import Console


@dataclasses.dataclass
class Bench:
    """Time longpass against its peers on this machine. Run nothing else meanwhile."""

    section: Literal[
        "all", "ray", "sweep", "memory", "torch", "envs", "classify", "agents", "population", "web"
    ] = "all"
    """Which part."""
    json: bool = False
    """Print one JSON object on standard output, and nothing else there."""


def main() -> None:
    args = tyro.cli(Bench, prog="python -m benchmarks")
    console = Console(stderr=args.json, width=140)
    # Ray comes first: it is to be started before JAX is used.
    every = ["ray", "sweep", "memory", "torch", "envs", "classify", "agents", "population", "web"]
    sections = every if args.section == "all" else [args.section]
    results = {
        name: importlib.import_module(f"benchmarks.{name}").main(console) for name in sections
    }
    if args.json:
        print(json_module.dumps(results))


if __name__ == "__main__":
    main()
