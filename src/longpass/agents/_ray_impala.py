"""IMPALA over Ray: players on any node make rollouts, this process learns from them.

A player has copies of the world of its own, `settings.envs` of them, so that one rollout is what
one update learns from, as on one machine. It plays with the weights that it was given; the learner
corrects for the updates since then by V-trace. The queue is what has been played and not yet been
learned from: one rollout a player at most, since a player begins its next one only when the last
was taken. The taken one's player begins, with the newest weights, before learning does.
"""

import collections
import contextlib
import dataclasses
import functools
import os
from typing import Any

import jax
import numpy as np
from jaxtyping import PRNGKeyArray

from longpass import _checks
from longpass._ray import cluster
from longpass._ray_worker import single_threaded
from longpass.agents._config import Config
from longpass.agents._impala import Training, Update, learned
from longpass.agents._loss import Metrics
from longpass.agents._rollouts import Rollout
from longpass.agents._settings import AgentSettings, Hyper

_PATIENCE = 600.0  # seconds without a rollout of anybody after which something is wrong
_TRIES = 3  # players, for each place, that may be lost in a row without a rollout

LaggedMetrics = collections.namedtuple(
    "LaggedMetrics", (*Metrics._fields, "lag", "lag_most", "actors", "lost")
)
LaggedMetrics.__doc__ = """`Metrics`, and of the players:

`lag`: updates between the weights that played and those that learn; `lag_most`: the most in this
call; `actors`: how many players there are; `lost`: how many were lost and replaced so far.
"""


class RayImpala:
    """A trainer as `Impala` is one, whose rollouts are made by players on a Ray cluster.

    What a checkpoint holds is what it holds on one machine, but for where copies of the world
    stand, which the players keep to themselves: a run that is resumed begins new episodes. It may
    be resumed on one machine, and the other way round.

    **Arguments:** `config`: the run; `actors`: players of one core each, by default one a core of
    the cluster; `address`: of the cluster, "auto" for the one that runs on this machine, None to
    start one here. It is a context: at its end players are gone, and a cluster started here.
    """

    def __init__(self, config: Config, actors: int | None = None, address: str | None = None):
        self.config, self.settings = config, config.settings
        if actors is not None:
            _checks.positive_int("actors", actors)
        if self.settings.lag:
            raise ValueError(
                f"lag is {self.settings.lag}: it must be 0 for the engine 'ray', where it is real"
            )
        self._ends = contextlib.ExitStack()
        self._ray = self._ends.enter_context(cluster(address, actors))
        self._ends.callback(self._dismiss_all)
        self.actors = actors or int(self._ray.cluster_resources().get("CPU", 1))
        self._type = self._ray.remote(num_cpus=1)(Player)
        self._playing: dict[Any, Any] = {}  # what is being played, by whom; oldest first
        self._updates = -1  # of the training that they play for
        self._weights: Any = None
        self._hired = self._lost = self._in_a_row = 0

    def __enter__(self) -> "RayImpala":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Dismiss the players, and end the cluster if it was started for them."""
        self._ends.close()

    def init(self, key: PRNGKeyArray) -> Training:
        """A training before its first update."""
        return self.config.trainer().init(key)

    def resumed(self, state: Training) -> Training:
        """A saved training, gone on with in new episodes."""
        return state

    def run(self, state: Training, hyper: Hyper, updates: int) -> tuple[Training, Update]:
        """So many updates; what they tell has them as its first axis. `state` is used up."""
        if self._updates != int(state.updates):
            self._begin(state)
        told, lags = [], []
        for _ in range(updates):
            acted, rollout = self._next()
            lags.append(self._updates - acted)
            state, update = _learned(self.settings, state, rollout, hyper)
            self._updates += 1
            self._publish(state)
            told.append(update)
        metrics, scores = jax.tree.map(lambda *leaves: np.stack(leaves), *told)
        same = [np.full(updates, n) for n in (max(lags), self.actors, self._lost)]
        lagged = LaggedMetrics(*metrics, np.array(lags), *same)
        return state, Update(lagged, scores)  # pyright: ignore[reportArgumentType]

    def _begin(self, state: Training) -> None:
        """Let players play for this training."""
        self._dismiss_all()
        self._updates = int(state.updates)
        self._publish(state)
        for _ in range(self.actors):
            self._hire()

    def _publish(self, state: Training) -> None:
        """Put the weights where every node fetches them from, once for all its players."""
        leaves = jax.tree.leaves(state.weights.network)
        self._weights = self._ray.put([np.asarray(leaf) for leaf in leaves])

    def _hire(self) -> None:
        """A player of its own seed, also after a restart."""
        words = np.random.SeedSequence([self.config.seed, self._updates, self._hired])
        seed = int(words.generate_state(1)[0] >> 1)
        self._hired += 1
        own = dataclasses.replace(self.config, seed=seed)
        self._play(self._type.remote(single_threaded(), own))

    def _play(self, player: Any) -> None:
        self._playing[player.play.remote(self._updates, self._weights)] = player

    def _next(self) -> tuple[int, Rollout]:
        """(Updates of the weights that acted, what was played)."""
        errors = self._ray.exceptions
        while True:
            ready, _ = self._ray.wait(list(self._playing), num_returns=1, timeout=_PATIENCE)
            if not ready:
                free = self._ray.available_resources().get("CPU", 0)
                raise ConnectionError(
                    f"no player has played anything for {_PATIENCE:.0f} s; the cluster has "
                    f"{free:g} free CPUs, and {self.actors} players need one each"
                )
            player = self._playing.pop(ready[0])
            try:
                acted, rollout = self._ray.get(ready[0])
            except (errors.RayActorError, errors.ObjectLostError) as error:
                self._ray.kill(player)
                self._lost += 1
                self._in_a_row += 1
                if self._in_a_row == _TRIES * self.actors:
                    raise ConnectionError(f"one player after the other dies: {error}") from None
                self._hire()
                continue
            self._in_a_row = 0
            self._play(player)
            return acted, rollout

    def _dismiss_all(self) -> None:
        for player in self._playing.values():
            self._ray.kill(player)
        self._playing.clear()


@functools.partial(jax.jit, static_argnums=0, donate_argnums=1)
def _learned(
    settings: AgentSettings, state: Training, rollout: Rollout, hyper: Hyper
) -> tuple[Training, Update]:
    return learned(settings, state, rollout, hyper, state.actors, state.key)


class Player:
    """Plays its copies of the world, in a process of the cluster."""

    def __init__(self, environment: dict[str, str], config: Config):
        os.environ.update(environment)  # JAX reads it when it is first used
        self._trainer = config.trainer()
        begin, self._key = jax.random.split(jax.random.key(config.seed))
        training = self._trainer.init(begin)
        self._actors = training.actors
        self._form = jax.tree.structure(training.weights.network)

    def play(self, updates: int, weights: list[np.ndarray]) -> tuple[int, Rollout]:
        """(`updates`, a rollout by these weights, as NumPy arrays)."""
        network = jax.tree.unflatten(self._form, weights)
        self._key, key = jax.random.split(self._key)
        self._actors, rollout = self._trainer.play(network, self._actors, key)
        return updates, jax.tree.map(np.asarray, rollout)
