"""V-trace (Espeholt et al. 2018, arXiv:1802.01561): off-policy values and advantages."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float


class VTrace(NamedTuple):
    """Targets and advantages of every step, without gradient."""

    targets: Float[Array, "time *batch"]
    """vs_t: the regression target of the value of x_t."""
    advantages: Float[Array, "time *batch"]
    """The weight of the log-probability of a_t, including its clipped ratio."""


def vtrace(
    v_tm1: Float[Array, "time *batch"],
    v_t: Float[Array, "time *batch"],
    r_t: Float[Array, "time *batch"],
    discount_t: Float[Array, "time *batch"],
    rho_tm1: Float[Array, "time *batch"],
    *,
    cut_t: Bool[Array, "time *batch"] | Bool[np.ndarray, "time *batch"] | None = None,
    lambda_: float = 1.0,
    clip_rho: float = 1.0,
    clip_c: float = 1.0,
) -> VTrace:
    """V-trace targets and advantages of a rollout, time first.

    vs = v + errors, where error_t = rho_t (r + discount v' - v) + discount c_t error_{t+1}, with
    rho and c the clipped ratios. An advantage is rho (r + discount vs' - v).

    **Arguments:**

    - `v_tm1`, `v_t`: values before and after each action. `v_t[t]` is `v_tm1[t + 1]` except at
      cuts and at the last step.
    - `r_t`: the reward of the action.
    - `discount_t`: the discount; 0 where the action ended the episode.
    - `rho_tm1`: probability of the action now over that when it was taken.
    - `cut_t`: true where the next row does not follow (an episode was truncated, or the horizon
      ends): errors are not carried over, and `v_t` is used as it is.
    - `lambda_`: how far errors are carried.
    - `clip_rho`, `clip_c`: rho-bar and c-bar.

    **Returns:** targets and advantages.
    """
    for name, array in (("v_t", v_t), ("r_t", r_t), ("discount_t", discount_t), ("rho", rho_tm1)):
        if array.shape != v_tm1.shape:
            raise ValueError(f"{name} has shape {array.shape}: it must be {v_tm1.shape}, as v_tm1")
    rho = jnp.minimum(rho_tm1, clip_rho)
    c = lambda_ * jnp.minimum(rho_tm1, clip_c)
    carried = jnp.full(v_tm1.shape, lambda_, v_tm1.dtype)
    if cut_t is not None:
        c, carried = jnp.where(cut_t, 0.0, c), jnp.where(cut_t, 0.0, carried)
    deltas = rho * (r_t + discount_t * v_t - v_tm1)

    def back(error, inputs):
        delta, decay = inputs
        error = delta + decay * error
        return error, error

    zero = jnp.zeros(v_tm1.shape[1:], deltas.dtype)
    _, errors = jax.lax.scan(back, zero, (deltas, discount_t * c), reverse=True)
    targets = v_tm1 + errors
    # Bootstrap from the next step's V-trace target; the last step has none.
    later = jnp.concatenate([errors[1:], zero[None]])
    advantages = rho * (r_t + discount_t * (v_t + carried * later) - v_tm1)
    return jax.lax.stop_gradient(VTrace(targets, advantages))
