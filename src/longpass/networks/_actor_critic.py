"""The paper's actor-critic: convolutional torso, memory, linear heads."""

from typing import Any, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Num, PRNGKeyArray, PyTree

from longpass import _checks
from longpass._names import Embedding, Family, Writer
from longpass.memory import GRU, LSTM, AbstractMemory, Concrete, Normalise, Parallel
from longpass.networks._torso import Torso

EMBEDDING = 128
POOL_SIZE = 198


class ActorCritic(eqx.Module):
    """Observations in; action logits and a value out, at every step.

    All families share torso and heads. The chain is fed the 128-unit embedding, parallel pools an
    embedding as wide as a pool, as in the paper. The torso sees all frames of an unroll at once;
    only the memory runs along time. Methods see one example and have time as their first axis, as
    memories do; `embed` takes any number of leading axes.

    **Arguments:**

    - `family`: the memory.
    - `observation`: shape of an observation: (rows, columns, features), or any other for a torso
      without convolution.
    - `actions`: how many there are.
    - `pools`: how many, for chain and parallel (see `longpass.theory.pools_for`).
    - `pool_size`, `viewport_size`, `summary_size`: of chain and parallel. `size`: of LSTM and GRU;
      128 has about as many parameters as a chain of 9 pools (131,584 and 127,872).
    - `normalise`: `"none"` (the paper) or `"layer"` (ours; chain and parallel): see `Concrete`.
    - `writer`: how what writes into the memory (the torso, and the pools' input matrix) learns.
      `"learned"`: with all the rest, as in the paper. `"frozen"`: not at all. `"slow"`: what writes
      is an exponential average of what is learned. This is a mark for the learner, which also keeps
      the weights that are averaged.
    - `embedding`: `"plain"` (the paper, as far as it says), or ours: `"sparse"`, or `"centred"`,
      which is sparse and less its mean. A mark for the learner too: it has the frames that
      `Torso.sparse` needs. `threshold`: how sparse.
    - `logit_scale`: deviation of the policy's initial weights, times 1 / sqrt(fan-in). Larger: the
      first policy is less even, and wanders less in place.
    - `dtype`: of parameters and state. `pool_options` go to `Concrete` or `Parallel`.
    """

    writer: Writer = eqx.field(static=True)
    embedding: Embedding = eqx.field(static=True)
    threshold: float = eqx.field(static=True)
    torso: Torso
    memory: AbstractMemory
    policy: eqx.nn.Linear
    value: eqx.nn.Linear

    def __init__(
        self,
        family: Family,
        observation: tuple[int, ...],
        *,
        actions: int = 5,
        pools: int = 9,
        pool_size: int = POOL_SIZE,
        viewport_size: int = 32,
        summary_size: int = 128,
        size: int = 128,
        normalise: Normalise = "none",
        writer: Writer = "learned",
        embedding: Embedding = "plain",
        threshold: float = 1.0,
        logit_scale: float = 0.01,
        dtype: Any = jnp.float32,
        key: PRNGKeyArray,
        **pool_options: Any,
    ):
        _checks.one_of("family", family, get_args(Family))
        _checks.one_of("writer", writer, get_args(Writer))
        _checks.one_of("embedding", embedding, get_args(Embedding))
        actions = _checks.positive_int("actions", actions)
        logit_scale = _checks.real("logit_scale", logit_scale, least=0.0)
        self.threshold = _checks.real("threshold", threshold)
        shape = tuple(_checks.positive_int("observation", length) for length in observation)
        if normalise != "none" and family in ("lstm", "gru"):
            raise ValueError(
                f"normalise is {normalise!r}: it must be 'none' for {family}, which has no pools"
            )
        torso_key, memory_key, policy_key, value_key = jax.random.split(key, 4)
        width = pool_size if family == "parallel" else EMBEDDING
        self.writer, self.embedding = writer, embedding
        self.torso = Torso(shape, width, dtype=dtype, key=torso_key)
        if family in ("chain", "parallel"):
            self.memory = (Concrete if family == "chain" else Parallel)(
                width,
                pool_size=pool_size,
                pools=pools,
                base=2.0,
                viewport_size=viewport_size,
                summary_size=summary_size,
                normalise=normalise,
                dtype=dtype,
                key=memory_key,
                **pool_options,
            )
        else:
            cell = LSTM if family == "lstm" else GRU
            self.memory = cell(width, size, dtype=dtype, key=memory_key)
        (width,) = self.memory.output_shape
        self.policy = _head(width, actions, logit_scale, dtype, policy_key)
        self.value = _head(width, 1, 0.01, dtype, value_key)

    def initial_state(self) -> Any:
        """The empty memory."""
        return self.memory.initial_state()

    def embed(self, frames: Num[Array, "..."]) -> Float[Array, "... embedding"]:
        """What the memory reads of frames (..., *observation)."""
        return self.torso(frames)

    def step(
        self, state: Any, frame: Num[Array, "*observation"], start: Any = False
    ) -> tuple[Any, Float[Array, " actions"], Float[Array, ""]]:
        """Read one frame: (state after it, action logits, value)."""
        state, y = self.memory.step(state, self.embed(frame), start)
        return state, *self.decide(y)

    def unroll(
        self,
        state: Any,
        frames: Num[Array, "time *observation"],
        starts: Bool[Array, " time"] | None = None,
        block_every: int | None = None,
    ) -> tuple[Any, Float[Array, "time actions"], Float[Array, " time"]]:
        """Read frames one after the other: (state after the last, action logits, values)."""
        state, ys = self.memory.unroll(state, self.embed(frames), starts, block_every)
        return state, *self.decide(ys)

    def decide(
        self, y: Float[Array, "*batch width"]
    ) -> tuple[Float[Array, "*batch actions"], Float[Array, "*batch"]]:
        """(Action logits, value) from what the memory gives."""
        assert self.policy.bias is not None
        assert self.value.bias is not None
        logits = y @ self.policy.weight.T + self.policy.bias
        return logits, y @ self.value.weight[0] + self.value.bias[0]

    def writing(self) -> PyTree[bool]:
        """True for each array that writes into the memory, in the form of this network.

        An LSTM or GRU writes and reads with the same weights: there it is the torso alone.
        """
        nothing = jax.tree.map(lambda _: False, self)
        spec = eqx.tree_at(lambda net: net.torso, nothing, jax.tree.map(lambda _: True, self.torso))
        if isinstance(self.memory, Concrete | Parallel):
            spec = eqx.tree_at(lambda net: net.memory.write, spec, True)
        return spec


def _head(width: int, size: int, scale: float, dtype: Any, key: PRNGKeyArray) -> eqx.nn.Linear:
    """A linear layer, nearly silent at first: policies begin even, values at 0."""
    linear = eqx.nn.Linear(width, size, dtype=dtype, key=key)
    normal = jax.nn.initializers.lecun_normal(in_axis=-1, out_axis=-2)
    weight = scale * normal(key, (size, width), dtype)
    return eqx.tree_at(
        lambda head: (head.weight, head.bias), linear, (weight, jnp.zeros(size, dtype))
    )
