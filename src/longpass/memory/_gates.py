"""What the LSTM and the GRU share: initial weights, and the scan along time."""

from collections.abc import Callable
from typing import TypeVar

import jax
import jax.numpy as jnp
from jax.typing import DTypeLike
from jaxtyping import Array, Float, PRNGKeyArray

from longpass import _checks
from longpass.memory._abstract import block_gradient, block_steps, clear
from longpass.memory._types import Starts

StateT = TypeVar("StateT")


def init_gate_weights(
    num_gates: int, hidden_size: int, input_size: int, dtype: DTypeLike, key: PRNGKeyArray
) -> tuple[Float[Array, "gates input"], Float[Array, "gates hidden"]]:
    """Input weights (Glorot-uniform) and recurrent weights (orthogonal), gate by gate."""
    glorot = jax.nn.initializers.glorot_uniform(in_axis=1, out_axis=0)
    orthogonal = jax.nn.initializers.orthogonal()
    keys = jax.random.split(key, (2, num_gates))
    return (
        jnp.concatenate([glorot(one, (hidden_size, input_size), dtype) for one in keys[0]]),
        jnp.concatenate([orthogonal(one, (hidden_size, hidden_size), dtype) for one in keys[1]]),
    )


def init_keep_bias(
    hidden_size: int,
    forget_bias: float,
    longest_time: int | None,
    dtype: DTypeLike,
    key: PRNGKeyArray,
) -> Float[Array, " hidden"]:
    """The initial bias of the gates that keep the state.

    A gate with bias b keeps a value for about 1 + exp(b) steps. Chrono initialisation (Tallec and
    Ollivier, 2018) draws 1 + exp(b) uniformly from 2 to `longest_time` steps, unit by unit.

    **Arguments:**

    - `hidden_size`: number of units.
    - `forget_bias`: the bias of all units, if `longest_time` is None.
    - `longest_time`: in steps; None: no chrono initialisation.
    - `dtype`: of the bias.
    - `key`: for the drawn times.
    """
    forget_bias = _checks.real("forget_bias", forget_bias, least=-100.0, most=100.0)
    if longest_time is None:
        return jnp.full(hidden_size, forget_bias, dtype)
    longest = _checks.int_within("longest_time", longest_time, 3, 10**9)
    # A key is folded and not split off, so that the other weights do not depend on this setting.
    times = jax.random.uniform(
        jax.random.fold_in(key, 1), (hidden_size,), dtype, minval=1.0, maxval=longest - 1.0
    )
    return jnp.log(times)


def scan_gates(
    advance: Callable[[StateT, Array], tuple[StateT, Array]],
    state: StateT,
    projected: Float[Array, "time gates"],
    starts: Starts,
    block_every: int | None,
) -> tuple[StateT, Float[Array, "time hidden"]]:
    """Apply `advance(state, projected)` to every step: (state after the last, outputs)."""
    blocks = block_steps(projected.shape[0], block_every)

    def body(state, inputs):
        projected, start, block = inputs
        state = block_gradient(state, block)
        return advance(state if start is None else clear(state, start), projected)

    return jax.lax.scan(body, state, (projected, starts, blocks))
