"""Probe environments: worlds so small that what must be learned is known.

All probes are one environment whose kind is a parameter, so that one program trains them all.
"""

from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from longpass.envs import Environment

VALUE_ONLY, ACTION_ONLY, DELAYED, RECALL = range(4)


class ProbeParams(eqx.Module):
    """`length`: steps of an episode. `truncate_at_timeout`: whether its end is a time limit."""

    kind: int | Array = VALUE_ONLY
    length: int | Array = 1
    truncate_at_timeout: bool = eqx.field(static=True, default=False)


class ProbeState(eqx.Module):
    frame: Array
    bit: Array


class Probe(Environment[ProbeParams, ProbeState, Array]):
    """The first frame shows a bit, later ones do not; the last is marked.

    - value only: pays the bit, whatever is done.
    - action only: pays 1 for action 2, whatever is shown.
    - delayed: pays 1 at the end, whatever is done.
    - recall: pays 1 at the end for the action that the bit named at the beginning.
    """

    name: ClassVar[str] = "probe"
    title: ClassVar[str] = "Probe"
    rows, cols, planes = 1, 1, " 01!"

    @property
    def default_params(self):
        return ProbeParams()

    def draw(self, key, params):
        return jax.random.bits(key, (), jnp.uint32).astype(jnp.int32) & 1

    def check_hidden(self, hidden, params):
        assert hidden.shape == ()

    def begin(self, hidden, params):
        return ProbeState(jnp.int32(0), jnp.asarray(hidden, jnp.int32))

    def advance(self, key, state, action, params):
        frame = state.frame + 1
        last = frame >= params.length
        pays = (state.bit == 1, action == 2, last, last & (action == state.bit))
        return ProbeState(frame, state.bit), jnp.stack(pays)[params.kind].astype(jnp.float32)

    def codes(self, state, params):
        ending = state.frame == params.length - 1
        code = jnp.where(state.frame == 0, state.bit + 1, jnp.where(ending, 3, 0))
        return code.astype(jnp.uint8)[None, None]

    def over(self, state, params):
        return state.frame >= params.length

    def timed_out(self, state, params):
        return self.over(state, params)

    def phase(self, state, params):
        return "on"

    def max_score(self, params=None, hidden=None):
        return 1.0

    def perfect_actions(self, params, hidden):
        answers = (0, 2, 0, int(hidden))
        return np.full(int(params.length), answers[int(params.kind)], np.int32)

    def episode_length(self, params):
        return int(params.length)

    def memory_span(self, params):
        return int(params.length)


class Clock(Probe):
    """Shows how many frames the episode has had (below 8), and pays nothing."""

    planes = "01234567"

    def advance(self, key, state, action, params):
        return ProbeState(state.frame + 1, state.bit), jnp.float32(0.0)

    def codes(self, state, params):
        return state.frame.astype(jnp.uint8)[None, None]
