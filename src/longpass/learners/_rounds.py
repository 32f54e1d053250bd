"""A round of a member of a population: so many episodes, as a pure function of bytes.

No file is read or written, so that a round can be trained by any process on any machine.
"""

import dataclasses
import time
from typing import Any

import jax
import numpy as np

from longpass._names import OptimiserState
from longpass.jobs import OnProgress
from longpass.learners._acting import Actors
from longpass.learners._agent_settings import AgentSettings
from longpass.learners._config import Config
from longpass.learners._impala import Training, fresh
from longpass.learners._learning import Weights, begin
from longpass.learners._progress import Progress, saved, to_save
from longpass.results import from_bytes, to_bytes


@dataclasses.dataclass(frozen=True)
class Round:
    """What is to be trained. Hashable, and made of strings, numbers and bytes alone."""

    config: str
    """The member's settings, as `Config.text` gives them. Its hyper-parameters hold, whoever's
    weights these are."""
    number: int
    """Of the round, from 0."""
    episodes: int
    """Train until so many more have ended; looked at between calls of the program."""
    window: int
    """How many of the last scores are returned."""
    state: bytes | None = None
    """The member as its last round left it; None before its first."""
    donor: bytes | None = None
    """The member whose weights are copied first, as its last round left it; None: nobody's."""
    optimiser_state: OptimiserState = "fresh"
    """What becomes of the optimiser's state at a copy: fresh, copied too, or kept."""


def train_round(task: Round, on_progress: OnProgress) -> dict[str, Any]:
    """Train a round: what is left of the member, as a dict.

    `state`: bytes for the next round, in the form of a run's checkpoint; `scores`: of the last
    `window` episodes; `records`: lines for the member's records; the last one is the round's. A
    member whose loss is no longer a number ends its round where it began it, with no scores.
    """
    config = Config.parse(task.config)
    trainer, hyper, per_update = config.trainer(), config.hypers(), config.settings.steps
    state, progress = _begin(task, config)
    first = progress.episodes
    ended: list[np.ndarray] = []
    records: list[dict[str, Any]] = []
    while progress.episodes - first < task.episodes:
        began = time.monotonic()
        state, update = trainer.run(state, hyper, config.dispatch)
        update = jax.tree.map(np.asarray, update)
        scores, broken = progress.note(update, per_update, time.monotonic() - began)
        if broken:
            records = [{"event": "diverged", "updates": progress.updates, "what": broken}]
            ended = []
            state, progress = _begin(task, config)
            break
        ended.append(scores)
        records.append(progress.record())
        mean = progress.mean(task.window)
        fraction = (progress.episodes - first) / task.episodes
        on_progress(fraction, [] if mean is None else [mean])
    scores = np.concatenate([np.zeros(0, np.float32), *ended])[-task.window :]
    mean = float(np.mean(scores, dtype=np.float64)) if len(scores) else None
    counts = {"updates": progress.updates, "steps": progress.steps, "episodes": progress.episodes}
    records.append({"event": "round", "round": task.number, **counts, "mean": mean})
    data = to_bytes(to_save(state, progress), config.about())
    return {"state": data, "scores": scores.tolist(), "records": records}


def _begin(task: Round, config: Config) -> tuple[Training, Progress]:
    """The member at the beginning of its round, with the weights that it copies."""
    state, progress = config.trainer().init(jax.random.key(config.seed)), Progress()
    if task.state is not None:
        like = to_save(state, progress)
        tree = from_bytes(task.state, like, config.about())
        state, progress = saved(tree, config.settings.steps)
        if task.donor is not None:
            donor = from_bytes(task.donor, like, None)["training"]
            state = copied(state, donor, config.settings, task.optimiser_state)
    return state, progress


def copied(
    state: Training, donor: Training, settings: AgentSettings, optimiser_state: OptimiserState
) -> Training:
    """A training with the donor's weights: its network, what is averaged into its writer, and the
    older networks that act if there is a lag.

    The actors stay in their worlds, but what their memories hold was written by other weights: they
    are cleared as at a start, and the episodes under way are not counted.
    """
    network = donor.weights.network
    optimiser = {
        "fresh": lambda: begin(network, settings).optimiser,
        "copied": lambda: donor.weights.optimiser,
        "own": lambda: state.weights.optimiser,
    }[optimiser_state]()
    weights = Weights(network, donor.weights.learned, optimiser)
    actors = Actors(state.actors.env, state.actors.frame, *fresh(network, settings.envs))
    return Training(weights, donor.older, actors, state.key, state.updates)
