"""IMPALA on Ray: actors on any node make rollouts, this process learns from them.

Each actor has `settings.envs` copies of the environment of its own, so that one update learns from
one rollout, as on one machine. It acts with the weights that it was sent; V-trace corrects for the
updates since then. An actor starts its next rollout when the learner takes its last one, so that at
most one rollout per actor waits. It starts, with the newest weights, before the learner learns.
"""

import contextlib
import dataclasses
import functools
import os
from collections.abc import Callable

import jax
import numpy as np
from jaxtyping import PRNGKeyArray

from longpass import _checks
from longpass.agents._gymnasium import GymnasiumImpala
from longpass.agents._impala import (
    ActorStatistics,
    Impala,
    TrainState,
    UpdateResult,
    apply_rollout,
)
from longpass.agents._rollouts import Rollout
from longpass.agents._settings import HyperParams, LearnerSettings, RunSettings
from longpass.agents._trainers import make_trainer
from longpass.jobs import (
    MOST_WORKERS,
    FailedStartsError,
    Job,
    Message,
    RayHandle,
    RayTransport,
    RayWorker,
    Scheduler,
    ray_cluster,
    single_threaded_environment,
)

_TIMEOUT = 600.0  # seconds without a rollout from any actor after which the run ends
_START_TRIES = 3  # actors, per actor asked for, that may die in a row before their first rollout


class RayImpala:
    """A trainer like `Impala`, whose rollouts are made by actors on a Ray cluster.

    A checkpoint holds what it holds on one machine, except for the copies of the environment, which
    stay with the actors: a resumed run begins new episodes. A run may be resumed on one machine,
    and the other way round.

    It is a context manager: at its end the actors are stopped, and the cluster, if it was started
    here.

    **Arguments:**

    - `run`: the settings.
    - `actors`: the number of actors, with one core each; by default one per CPU of the cluster.
    - `address`: of the cluster, "auto" for the one that runs on this machine; None: start one here.
    - `make`: makes the trainer that starts and acts, from the settings, in every process.
    """

    def __init__(
        self,
        run: RunSettings,
        actors: int | None = None,
        address: str | None = None,
        make: Callable[[RunSettings], Impala | GymnasiumImpala] = make_trainer,
    ):
        self._run, self.settings, self._make = run, run.agent.learner, make
        if actors is not None:
            _checks.int_within("actors", actors, 1, MOST_WORKERS)
        if self.settings.lag:
            raise ValueError(
                f"lag is {self.settings.lag}: it must be 0 for the engine 'ray', where it is real"
            )
        self._resources = contextlib.ExitStack()
        self._ray = self._resources.enter_context(ray_cluster(address, actors))
        self.actors = actors or int(self._ray.cluster_resources().get("CPU", 1))
        self._actor_type = self._ray.remote(num_cpus=1)(Actor)
        self._scheduler: Scheduler[RayWorker, None, tuple[int, Rollout]] = Scheduler(
            RayTransport(self._ray, self._start_actor, self._request_rollout),
            self.actors,
            tries=None,
            start_tries=_START_TRIES,
            await_ready=False,
            timeout=_TIMEOUT,
        )
        self._resources.callback(self._scheduler.stop_workers)
        self._updates = -1  # of the training for which actors act
        self._weights: RayHandle = None  # Ray's reference to the newest ones
        self._started_actors = 0

    def __enter__(self) -> "RayImpala":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop the actors, and the cluster if it was started for them."""
        self._resources.close()

    def start(self, key: PRNGKeyArray) -> TrainState:
        """The state before the first update."""
        return self._make(self._run).start(key)

    def restore(self, state: TrainState) -> TrainState:
        """Prepare a loaded state for further training: actors begin new episodes."""
        return state

    def state_shapes(self) -> TrainState:
        """The shapes and dtypes of a state. Nothing is compiled or played."""
        return self._make(self._run).state_shapes()

    def train_steps(
        self, state: TrainState, hyper: HyperParams, updates: int
    ) -> tuple[TrainState, UpdateResult]:
        """Make several updates. `state` is donated: it cannot be used afterwards.

        **Returns:** (the next state, what was measured, updates first).
        """
        if self._updates != int(state.updates):
            self._start_acting(state)
        results, lags = [], []
        for _ in range(updates):
            acted, rollout = self._take_rollout()
            lags.append(self._updates - acted)
            state, result = learn_rollout(self.settings, state, rollout, hyper)
            self._updates += 1
            self._publish_weights(state)
            results.append(result)
        result = jax.tree.map(lambda *leaves: np.stack(leaves), *results)
        statistics = ActorStatistics(
            lag=np.array(lags),
            lag_most=np.full(updates, max(lags)),
            actors=np.full(updates, self.actors),
            lost=np.full(updates, self._scheduler.lost_workers),
        )
        return state, result._replace(actors=statistics)

    def _start_acting(self, state: TrainState) -> None:
        """Let new actors act for this training."""
        self._scheduler.stop_workers()
        self._updates = int(state.updates)
        self._publish_weights(state)
        self._scheduler.add(*(Job(index, None) for index in range(self.actors)))

    def _publish_weights(self, state: TrainState) -> None:
        """Put the weights where each node fetches them, once for all its actors."""
        leaves = jax.tree.leaves(state.weights.network)
        self._weights = self._ray.put([np.asarray(leaf) for leaf in leaves])

    def _start_actor(self, index: int) -> RayWorker:
        """Start an actor with a seed of its own, also after a restart."""
        words = np.random.SeedSequence([self._run.seed, self._updates, self._started_actors])
        seed = int(words.generate_state(1)[0] >> 1)
        self._started_actors += 1
        run = dataclasses.replace(self._run, seed=seed)
        return RayWorker(self._actor_type.remote(single_threaded_environment(), run, self._make))

    def _request_rollout(self, actor: RayHandle, _: None) -> RayHandle:
        return actor.make_rollout.remote(self._updates, self._weights)

    def _take_rollout(self) -> tuple[int, Rollout]:
        """(Updates of the weights that acted, rollout); its actor starts the next one."""
        try:
            progress = self._scheduler.next_progress()
        except FailedStartsError as error:
            raise ConnectionError(
                f"{error.count} actors died in a row before delivering a rollout, the last one "
                f"with {error.reason}"
            ) from None
        except TimeoutError:
            free = self._ray.available_resources().get("CPU", 0)
            raise ConnectionError(
                f"no actor has delivered a rollout for {_TIMEOUT:.0f} s; the cluster has {free:g} "
                f"free CPUs, and {self.actors} actors need one each"
            ) from None
        self._scheduler.add(progress.job)
        assert progress.result is not None
        return progress.result


@functools.partial(jax.jit, static_argnums=0, donate_argnums=1)
def learn_rollout(
    settings: LearnerSettings, state: TrainState, rollout: Rollout, hyper: HyperParams
) -> tuple[TrainState, UpdateResult]:
    """Learn from a rollout that an actor made elsewhere. `state` is donated.

    **Arguments:**

    - `settings`: of the learner.
    - `state`: of the training.
    - `rollout`: what the actor played.
    - `hyper`: as arrays, see `hyper_arrays`.

    **Returns:**

    The state after the update, and what to report of it.
    """
    return apply_rollout(settings, state, rollout, hyper, state.actors, state.key)


class Actor:
    """Acts in its own copies of the environment, in a process of the cluster."""

    def __init__(
        self,
        environment: dict[str, str],
        run: RunSettings,
        make: Callable[[RunSettings], Impala | GymnasiumImpala],
    ):
        os.environ.update(environment)  # JAX reads it when it is first used.
        self._trainer = make(run)
        begin, self._key = jax.random.split(jax.random.key(run.seed))
        state = self._trainer.start(begin)
        self._actors = state.actors
        self._structure = jax.tree.structure(state.weights.network)

    def make_rollout(self, updates: int, weights: list[np.ndarray]) -> Message:
        """Act with these weights: (`updates`, rollout as NumPy arrays)."""
        network = jax.tree.unflatten(self._structure, weights)
        self._key, key = jax.random.split(self._key)
        self._actors, rollout = self._trainer.make_rollout(network, self._actors, key)
        return Message("done", 1.0, result=(updates, jax.tree.map(np.asarray, rollout)))
