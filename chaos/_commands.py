"""The smallest commands that still write several checkpoints or records."""

import dataclasses
from pathlib import Path

ROOT = Path(__file__).parent.parent
RECORDED = ROOT / "results" / "agents" / "conditioning"  # what a report is made of

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
_MEMBERS += ["--significance", "0.9", "--workers", "1"]


@dataclasses.dataclass(frozen=True)
class Command:
    """A command of longpass that works in a folder, or writes a file there.

    **Arguments:**

    - `name`: of the command.
    - `flags`: all its flags but `--out`.
    - `resume`: the flags that continue what is in the folder, or begin it.
    - `file`: the file in the folder that it writes; None: it works in the folder.
    - `begun`: which files are there once it has begun; None: it writes only at its end.
    - `writes`: whether it writes anything.
    """

    name: str
    flags: tuple[str, ...]
    resume: tuple[str, ...] = ()
    file: str | None = None
    begun: str | None = "*.json*"
    writes: bool = True

    def words(self, out: Path, *more: str) -> list[str]:
        """The words after `longpass`."""
        where = ["--out", str(out / (self.file or ""))] if self.writes else []
        return [self.name, *self.flags, *self.resume, *where, *more]

    def over_ray(self, address: str) -> "Command":
        """The same on a Ray cluster."""
        flags = (*self.flags, "--engine", "ray", "--address", address)
        return dataclasses.replace(self, flags=flags)


# They write a file or nothing, at their end, and cannot be resumed.
FIGURE = Command("figure", ("impulse",))
FILM = Command("film", ("t-maze", "--level", "0"), file="film.gif")
EVALUATE = Command("evaluate", ("pretrained:t-maze-chain", "--episodes", "1"), writes=False)
BY_JAX = Command("classify", (*_STREAM, "--symbols", "2e4", "--learner", "jax"), ("--resume",))

COMMANDS = {
    "classify": Command(
        "classify", (*_STREAM, "--symbols", "5e5", "--save-minutes", "1e-4"), ("--resume",)
    ),
    "train": Command(
        "train", (*_WORLD, *_AGENT, "--steps", "3200", "--save-minutes", "1e-5"), ("--resume",)
    ),
    "sweep": Command("sweep", tuple(_SWEEP)),
    "pbt": Command(
        "pbt", (*_WORLD, *_AGENT, *_MEMBERS), ("--resume",), begun="members/*/records.jsonl"
    ),
    "report": Command("report", (str(RECORDED),), file="report.html", begun=None),
}
# These hold their folder; the others write a file, and wait for each other.
HOLDING = ("classify", "train", "sweep", "pbt")
