"""What a worker of a study does: train one agent, and make one line of it."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from longpass.agents._curves import learning_curve
from longpass.agents._progress import Progress
from longpass.agents._run import train_agent
from longpass.agents._settings import KIND
from longpass.agents._study import SOLVED, StudyJob, StudyRun
from longpass.records import Diverged, Line, provenance

CURVE_POINTS = 100
"""Points of the learning curve in a line."""
LAST = 500
"""A world is solved if the mean return of the last episodes, this many, is high enough."""
_CURVE = ("steps", "optimiser_steps", "episodes", "return_100", "entropy", "gradient_norm")

OnProgress = Callable[[float, Sequence[float]], None]
"""Called with (fraction done, [mean return])."""


def train_study_run(job: StudyJob, on_progress: OnProgress) -> Line:
    """Train one agent to the end, from its last checkpoint if there is one.

    **Arguments:**

    - `job`: the agent and its folder.
    - `on_progress`: called after every compiled call.

    **Returns:** its result line, with a curve of at most `CURVE_POINTS` points.
    """
    task = job.task
    latest = Progress()

    def report(progress: Progress) -> None:
        nonlocal latest
        latest = progress
        mean = progress.mean_return(100)
        on_progress(progress.steps / task.steps, [] if mean is None else [mean])

    diverged = None
    try:
        latest = train_agent(
            task.run,
            job.folder,
            task.steps,
            resume=True,
            enough=lambda progress: progress.steps >= task.enough_steps and _solved(task, progress),
            on_progress=report,
        )
    except Diverged as error:
        diverged = error.line["updates"]
    return {
        "event": "result",
        "kind": KIND,
        **task.to_json(),
        **latest.summary(),
        f"return_{LAST}": latest.mean_return(LAST),
        "return_max": task.run.max_return(),
        "solved": _solved(task, latest),
        "diverged": diverged,
        "curve": _thin_curve(job.folder),
        **provenance(),
    }


def _solved(task: StudyRun, progress: Progress) -> bool:
    best, mean = task.run.max_return(), progress.mean_return(LAST)
    enough_episodes = len(progress.scores) >= LAST
    return bool(enough_episodes and best and mean is not None and mean >= SOLVED * best)


def _thin_curve(folder: Path) -> dict[str, list[int | float]]:
    """The learning curve, thinned evenly: numbers by the name of what they count."""
    lines = [line for line in learning_curve(folder) if line["return_100"] is not None]
    count = min(CURVE_POINTS, len(lines))
    chosen = [lines[i] for i in np.linspace(0, len(lines) - 1, count).round().astype(int)]
    return {name: [_round(line[name]) for line in chosen] for name in _CURVE}


def _round(value: int | float) -> int | float:
    return value if isinstance(value, int) else float(f"{value:.5g}")
