"""The network of an agent, from the names under which its settings are recorded."""

from collections.abc import Mapping
from typing import Any

from jaxtyping import PRNGKeyArray

from longpass.networks import ActorCritic, make_actor_critic

_POOLED = {"pools": "num_pools", "viewport_size": "viewport_size", "summary_size": "output_size"}
_GATED = {"size": "output_size"}


def build_network(
    network: Mapping[str, Any],
    observation_shape: tuple[int, ...],
    num_actions: int,
    key: PRNGKeyArray,
) -> ActorCritic:
    """Make the network that `Config.network` describes.

    **Arguments:**

    - `network`: settings under their recorded names (`family`, `pools`, `size`, ...).
    - `observation_shape`, `num_actions`: of the environment.
    - `key`: for the initial weights.
    """
    given = dict(network)
    memory = given.pop("family")
    pooled = memory in ("chain", "parallel")
    own = _POOLED if pooled else _GATED
    others = _GATED if pooled else _POOLED
    if given.get("normalise") == "none":
        del given["normalise"]
    # What only other memories have is recorded too.
    arguments = {own.get(name, name): value for name, value in given.items() if name not in others}
    return make_actor_critic(memory, observation_shape, num_actions, **arguments, key=key)
