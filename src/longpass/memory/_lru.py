"""The linear recurrent unit (Orvieto et al., 2023): a diagonal linear memory, as a baseline."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from longpass import _checks
from longpass.memory._abstract import AbstractMemory, clear
from longpass.memory._arguments import check_step, check_unroll
from longpass.memory._gates import scan_gates
from longpass.memory._types import DType


class LRU(AbstractMemory):
    """Linear recurrent unit: complex states that decay and turn, each at a rate that is learned.

    h_t = lambda * h_{t-1} + gamma * B x_t and y_t = Re(C h_t) + D x_t, elementwise in h, where
    |lambda| < 1 by construction. The state has its real and imaginary parts, `(2, state_size)`.

    >>> memory = LRU(3, 8, key=jax.random.key(0))
    >>> state, ys = memory.unroll(memory.initial_state(), jnp.ones((100, 3)))
    >>> state.shape, ys.shape
    ((2, 8), (100, 8))
    """

    input_size: int = eqx.field(static=True)
    output_size: int = eqx.field(static=True)
    dtype: np.dtype = eqx.field(static=True)
    log_decay: Float[Array, " state"]
    log_phase: Float[Array, " state"]
    log_scale: Float[Array, " state"]
    write: Float[Array, "2 state input"]
    read: Float[Array, "2 output state"]
    skip: Float[Array, "output input"]

    def __init__(
        self,
        input_size: int,
        output_size: int,
        *,
        state_size: int | None = None,
        least_radius: float = 0.5,
        most_radius: float = 0.999,
        most_phase: float = 0.314,
        dtype: DType = None,
        key: PRNGKeyArray,
    ):
        """**Arguments:**

        - `input_size`: width of the input.
        - `output_size`: width of the output.
        - `state_size`: number of complex states. None: `output_size`.
        - `least_radius`, `most_radius`: initial |lambda| are drawn between these, evenly in area.
          A state with radius r keeps an input for about 1 / (1 - r) steps.
        - `most_phase`: initial phases are drawn between 0 and this.
        - `dtype`: of parameters, inputs and state. None: JAX's default, float32.
        - `key`: for the initial weights.
        """
        self.input_size = _checks.positive_int("input_size", input_size)
        self.output_size = _checks.positive_int("output_size", output_size)
        size = self.output_size if state_size is None else state_size
        size = _checks.positive_int("state_size", size)
        most_radius = _checks.real("most_radius", most_radius, above=0.0, most=0.99999)
        least_radius = _checks.real("least_radius", least_radius, least=0.0, most=most_radius)
        most_phase = _checks.real("most_phase", most_phase, above=0.0)
        self.dtype = jnp.zeros((), dtype).dtype
        keys = jax.random.split(key, 5)
        area = jax.random.uniform(
            keys[0], (size,), self.dtype, max(least_radius**2, 1e-4), most_radius**2
        )
        phase = jax.random.uniform(keys[1], (size,), self.dtype, 1e-3, 1.0)
        self.log_decay = jnp.log(-0.5 * jnp.log(area))
        self.log_phase = jnp.log(most_phase * phase)
        self.log_scale = 0.5 * jnp.log(1 - area)
        self.write = jax.random.normal(keys[2], (2, size, self.input_size), self.dtype)
        self.write /= jnp.sqrt(jnp.asarray(2 * self.input_size, self.dtype))
        self.read = jax.random.normal(keys[3], (2, self.output_size, size), self.dtype)
        self.read /= jnp.sqrt(jnp.asarray(size, self.dtype))
        glorot = jax.nn.initializers.glorot_normal(in_axis=1, out_axis=0)
        self.skip = glorot(keys[4], (self.output_size, self.input_size), self.dtype)

    @property
    def output_shape(self) -> tuple[int, ...]:
        return (self.output_size,)

    def initial_state(self, batch_shape: tuple[int, ...] = ()) -> Float[Array, "*batch 2 state"]:
        return jnp.zeros((*batch_shape, 2, self.log_decay.size), self.dtype)

    def step(self, state, x, start=False):
        x = check_step(self, state, x, start)
        state, _ = self._advance(clear(state, start), self._project(x))
        return state, self._read_out(state, x)

    def unroll(self, state, xs, starts=None, block_every=None):
        xs = check_unroll(self, state, xs, starts, block_every)
        # All numbers of a step in a row, as the scan has them.
        projected = jax.vmap(self._project)(xs)
        state, states = scan_gates(self._advance, state, projected, starts, block_every)
        return state, jax.vmap(self._read_out)(states.reshape(len(xs), *state.shape), xs)

    def _project(self, x: Float[Array, " input"]) -> Float[Array, " numbers"]:
        return (jnp.exp(self.log_scale) * (self.write @ x)).ravel()

    def _advance(self, state: Float[Array, "2 state"], projected: Float[Array, " numbers"]):
        radius, phase = jnp.exp(-jnp.exp(self.log_decay)), jnp.exp(self.log_phase)
        cos, sin = radius * jnp.cos(phase), radius * jnp.sin(phase)
        real, imaginary = state
        turned = jnp.stack([cos * real - sin * imaginary, sin * real + cos * imaginary])
        state = turned + projected.reshape(2, -1)
        return state, state.ravel()

    def _read_out(
        self, state: Float[Array, "2 state"], x: Float[Array, " input"]
    ) -> Float[Array, " output"]:
        return self.read[0] @ state[0] - self.read[1] @ state[1] + self.skip @ x
