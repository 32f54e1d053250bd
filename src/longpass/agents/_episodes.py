"""One whole episode of a trained network: for films and for the browser."""

from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Float, Int

from longpass.agents._evaluation import rollout_policy
from longpass.envs import AnyEnvironment, AnyEpisode, Params, film, play_episode
from longpass.networks import ActorCritic


class PlayedEpisode(NamedTuple):
    """An episode of E actions, as frames 0 to E, and what the network made of it."""

    episode: AnyEpisode
    actions: Int[np.ndarray, " steps"]
    values: Float[np.ndarray, " frames"]
    """The value of each frame. NaN on the last one, which the agent does not read."""
    memory: list[Float[np.ndarray, "frames size"]]
    """What the memory holds after each frame: one array per pool, fastest first, or per part of
    another memory's state. The last frame has the contents of the one before."""


def play_policy(
    env: AnyEnvironment, params: Params, network: ActorCritic, seed: int
) -> PlayedEpisode:
    """Play one episode with actions drawn from the policy, as in training.

    **Arguments:**

    - `env`, `params`: the environment.
    - `network`: plays.
    - `seed`: of the hidden draws and of the actions.

    **Returns:** the episode up to its end, or up to `film.MOST_STEPS` steps.
    """
    key = jax.random.key(seed)
    hidden = env.draw(key, params)
    played = rollout_policy(env, params, hidden, network, key, film.MOST_STEPS)
    played = jax.tree.map(np.asarray, played)
    episode = film.cut_after_end(play_episode(env, params, hidden, played.actions))
    steps = len(episode) - 1
    # A chain's state is one array of all pools; an LSTM's is its hidden state and its cells.
    leaves = jax.tree.leaves(played.memory)
    parts = list(np.moveaxis(leaves[0], 1, 0)) if leaves[0].ndim == 3 else leaves
    return PlayedEpisode(
        episode=episode,
        actions=played.actions[:steps],
        values=np.append(played.values[:steps], np.float32(np.nan)),
        memory=[np.concatenate([part[:steps], part[steps - 1 : steps]]) for part in parts],
    )
