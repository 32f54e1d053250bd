"""The smallest commands that still write several checkpoints or records."""

import dataclasses
from pathlib import Path

_WORLD = ["cued-catch", "--num-trials", "3", "--initial-cue-duration", "1"]
_WORLD += ["--reward-free-trials", "0"]
_AGENT = ["--pool-size", "8", "--viewport-size", "4", "--output-size", "8", "--num-pools", "3"]
_AGENT += ["--envs", "4", "--rollout", "20", "--block-every", "5", "--slices", "2"]
_AGENT += ["--updates-per-call", "2"]
_STREAM = ["--pool-size", "4", "--viewport-size", "4", "--hidden-size", "8", "--num-pools", "3"]
_STREAM += ["--batch-size", "4", "--truncation", "2"]
_SWEEP = ["--tasks", "two-markers", "--memories", "chain", "--truncations", "2", "4"]
_SWEEP += ["--batch-sizes", "4", "--runs", "5", "--symbols", "2e4", "--workers", "1"]
_MEMBERS = ["--members", "2", "--rounds", "3", "--episodes", "8", "--window", "8"]
_MEMBERS += ["--significance", "0.9"]


@dataclasses.dataclass(frozen=True)
class Command:
    """A command of longpass that works in a folder.

    **Arguments:**

    - `name`: of the command.
    - `flags`: all its flags but `--out`.
    - `resume`: the flags that continue what is in the folder, or begin it.
    """

    name: str
    flags: tuple[str, ...]
    resume: tuple[str, ...] = ()

    def words(self, out: Path, *more: str) -> list[str]:
        """The words after `longpass`."""
        return [self.name, *self.flags, *self.resume, "--out", str(out), *more]


COMMANDS = {
    "classify": Command(
        "classify", (*_STREAM, "--symbols", "5e5", "--save-minutes", "1e-4"), ("--resume",)
    ),
    "train": Command(
        "train", (*_WORLD, *_AGENT, "--steps", "3200", "--save-minutes", "1e-5"), ("--resume",)
    ),
    "sweep": Command(
        "sweep",
        tuple(_SWEEP),
    ),
    "pbt": Command("pbt", (*_WORLD, *_AGENT, *_MEMBERS, "--workers", "1"), ("--resume",)),
}
