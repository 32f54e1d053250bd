"""The paper's actor-critic: convolutional torso, memory, linear heads.

Section 5.2 of the paper, figure 1 and appendix D (schematics).
"""

from typing import Unpack, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.typing import DTypeLike
from jaxtyping import Array, Bool, Float, Int, Num, PRNGKeyArray, PyTree

from longpass import _checks
from longpass._options import NO_OPTIONS, Options
from longpass.memory import MemoryLike, MemoryName, PooledMemory, Start, State, has_pools
from longpass.networks._memories import MemoryOptions, SizedMemoryOptions, make_memory
from longpass.networks._names import Embedding, Writer
from longpass.networks._torso import Torso


class ActorCritic(eqx.Module):
    """Observations in; action logits and a value out, at every step, around any memory.

    The torso reads all frames of an unroll at once; only the memory runs along time. `step` and
    `unroll` take one example, with time as the first axis, as memories do; `embed` and `decide`
    take any number of leading axes.

    Three settings are read by the learner, which has what they need:

    - `writer`: how the weights that write into the memory are trained (see `writing`).
      `"learned"`: with all others, as in the paper. `"frozen"`: not at all. `"slow"`: they are an
      exponential average of weights that the learner trains.
    - `embedding`: how the torso starts. `"plain"`: with random weights, as in the paper.
      `"sparse"` and `"centred"`: adapted to a sample of frames, see `Torso.sparse`.
    - `threshold`: the threshold of `Torso.sparse`.

    With `read_last_step` the memory reads the last action and the last reward beside the embedding:
    functions then take them as `last_step`, see `encode_last_step`.

    >>> from longpass.memory import GRU
    >>> memory_key, key = jax.random.split(jax.random.key(0))
    >>> network = ActorCritic(GRU(32, 16, key=memory_key), (5, 6, 3), 4, key=key)
    >>> _, logits, values = network.unroll(network.initial_state(), jnp.ones((10, 5, 6, 3)))
    >>> logits.shape, values.shape
    ((10, 4), (10,))
    """

    writer: Writer = eqx.field(static=True)
    embedding: Embedding = eqx.field(static=True)
    threshold: float = eqx.field(static=True)
    read_last_step: bool = eqx.field(static=True)
    torso: Torso
    memory: MemoryLike
    policy: eqx.nn.Linear
    value: eqx.nn.Linear

    def __init__(
        self,
        memory: MemoryLike,
        observation_shape: tuple[int, ...],
        num_actions: int,
        *,
        writer: Writer = "learned",
        embedding: Embedding = "plain",
        threshold: float = 1.0,
        logit_scale: float = 0.01,
        read_last_step: bool = False,
        key: PRNGKeyArray,
    ):
        """**Arguments:**

        - `memory`: any memory with outputs of shape `(width,)`. The torso's embedding has
          `memory.input_size` units, less `num_actions + 1` if `read_last_step`.
        - `observation_shape`: `(rows, columns, features)`, or any other shape for a torso without
          convolution.
        - `num_actions`: number of actions.
        - `writer`, `embedding`, `threshold`: see above.
        - `logit_scale`: standard deviation of the policy's initial weights, times
          1 / sqrt(fan-in). With a larger one the first policy is less even.
        - `read_last_step`: whether the memory reads the last action and reward.
        - `key`: for the initial weights.
        """
        _checks.one_of("writer", writer, get_args(Writer))
        _checks.one_of("embedding", embedding, get_args(Embedding))
        num_actions = _checks.positive_int("num_actions", num_actions)
        logit_scale = _checks.real("logit_scale", logit_scale, least=0.0)
        shape = tuple(
            _checks.positive_int("observation_shape", length) for length in observation_shape
        )
        # The second key belongs to the memory, see `make_actor_critic`.
        torso_key, _, policy_key, value_key = jax.random.split(key, 4)
        (width,) = memory.output_shape
        self.writer, self.embedding = writer, embedding
        self.threshold = _checks.real("threshold", threshold)
        self.read_last_step = read_last_step
        embedding_size = memory.input_size - (num_actions + 1 if read_last_step else 0)
        if embedding_size < 1:
            raise ValueError(
                f"memory.input_size is {memory.input_size}: it must be at least {num_actions + 2}, "
                f"for an embedding, {num_actions} actions and a reward"
            )
        self.torso = Torso(shape, embedding_size, dtype=memory.dtype, key=torso_key)
        self.memory = memory
        self.policy = _make_head(width, num_actions, logit_scale, memory.dtype, policy_key)
        self.value = _make_head(width, 1, 0.01, memory.dtype, value_key)

    def initial_state(self, batch_shape: tuple[int, ...] = ()) -> State:
        """The empty memory: `memory.initial_state(batch_shape)`."""
        return self.memory.initial_state(batch_shape)

    def encode_last_step(
        self,
        actions: Int[Array, "*batch"],
        rewards: Float[Array, "*batch"],
        starts: Bool[Array, "*batch"],
    ) -> Float[Array, "*batch last"] | None:
        """The last step as the memory reads it: the action as one-hot vector, then the reward.

        **Arguments:**

        - `actions`, `rewards`: of the last step.
        - `starts`: where an episode begins. There is no last step there: all is 0.

        **Returns:** of width `num_actions + 1`; None if the network does not read it.
        """
        if not self.read_last_step:
            return None
        dtype = self.value.weight.dtype
        one_hot = jax.nn.one_hot(actions, self.policy.weight.shape[0], dtype=dtype)
        encoded = jnp.concatenate([one_hot, rewards[..., None].astype(dtype)], axis=-1)
        return jnp.where(starts[..., None], 0, encoded)

    def embed(
        self, frames: Num[Array, "..."], last_step: Float[Array, "*batch last"] | None = None
    ) -> Float[Array, "*batch input"]:
        """The memory's input.

        **Arguments:**

        - `frames`: of shape `(..., *observation_shape)`.
        - `last_step`: from `encode_last_step`, with the same leading axes.
        """
        self._check_last_step(last_step)
        return self.append_last_step(self.torso(frames), last_step)

    def append_last_step(
        self,
        embedded: Float[Array, "*batch embedding"],
        last_step: Float[Array, "*batch last"] | None,
    ) -> Float[Array, "*batch input"]:
        """The memory's input, from embeddings of frames.

        **Arguments:**

        - `embedded`: what the torso makes of the frames.
        - `last_step`: from `encode_last_step`, with the same leading axes.

        **Returns:** what `embed` returns.
        """
        self._check_last_step(last_step)
        if last_step is None:
            return embedded
        # First: where pools have fewer units than inputs, the last inputs are not stored at first.
        return jnp.concatenate([last_step, embedded], axis=-1)

    def _check_last_step(self, last_step: Float[Array, "*batch last"] | None) -> None:
        if (last_step is None) is self.read_last_step:
            raise ValueError(
                f"last_step is {'None' if last_step is None else 'given'}: it must be given if the "
                f"network reads the last step, and only then"
            )

    def step(
        self,
        state: State,
        frame: Num[Array, "*observation"],
        start: Start = False,
        last_step: Float[Array, " last"] | None = None,
    ) -> tuple[State, Float[Array, " actions"], Float[Array, ""]]:
        """Read one frame.

        **Arguments:**

        - `state`: from `initial_state` or an earlier call.
        - `frame`: of shape `observation_shape`.
        - `start`: whether an episode begins here.
        - `last_step`: as for `embed`.

        **Returns:**

        The state after the frame, action logits and the value.
        """
        state, y = self.memory.step(state, self.embed(frame, last_step), start)
        return state, *self.decide(y)

    def unroll(
        self,
        state: State,
        frames: Num[Array, "time *observation"],
        starts: Bool[Array, " time"] | None = None,
        block_every: int | None = None,
        last_steps: Float[Array, "time last"] | None = None,
    ) -> tuple[State, Float[Array, "time actions"], Float[Array, " time"]]:
        """Read a sequence of frames.

        **Arguments:**

        - `state`: from `initial_state` or an earlier call.
        - `frames`: of shape `(time, *observation_shape)`.
        - `starts`, `block_every`: as for `AbstractMemory.unroll`.
        - `last_steps`: as for `embed`, with time first.

        **Returns:**

        The state after the last frame, action logits and values at every step.
        """
        state, ys = self.memory.unroll(state, self.embed(frames, last_steps), starts, block_every)
        return state, *self.decide(ys)

    def decide(
        self, y: Float[Array, "*batch width"]
    ) -> tuple[Float[Array, "*batch actions"], Float[Array, "*batch"]]:
        """Action logits and value from outputs of the memory."""
        assert self.policy.bias is not None
        assert self.value.bias is not None
        logits = y @ self.policy.weight.T + self.policy.bias
        return logits, y @ self.value.weight[0] + self.value.bias[0]

    def writing(self) -> PyTree[bool]:
        """Which weights write into the memory, as a tree of bools like this network.

        These are the torso and, if the memory has pools, its input matrix. Other memories write and
        read with the same weights, so there it is the torso only.
        """
        nothing = jax.tree.map(lambda _: False, self)
        spec = eqx.tree_at(lambda net: net.torso, nothing, jax.tree.map(lambda _: True, self.torso))
        if isinstance(self.memory, PooledMemory):
            spec = eqx.tree_at(lambda net: net.memory.write, spec, True)
        return spec


def make_actor_critic(
    memory: MemoryName,
    observation_shape: tuple[int, ...],
    num_actions: int,
    *,
    output_size: int = 128,
    pool_size: int = 64,
    embedding_size: int = 128,
    writer: Writer = "learned",
    embedding: Embedding = "plain",
    threshold: float = 1.0,
    logit_scale: float = 0.01,
    read_last_step: bool = False,
    memory_options: Options = NO_OPTIONS,
    dtype: DTypeLike = jnp.float32,
    key: PRNGKeyArray,
    **options: Unpack[MemoryOptions],
) -> ActorCritic:
    """Make one of the paper's actor-critics by the name of its memory.

    All share torso and heads. As in the paper, parallel pools read an embedding as wide as a pool.

    **Arguments:**

    - `memory`: its name, such as `"chain"`, `"parallel"`, `"lstm"` or `"gru"`.
    - `observation_shape`, `num_actions`: as for `ActorCritic`.
    - `output_size`: units of the summariser, or of a memory without pools.
    - `pool_size`: units of each pool. Memories without pools ignore it.
    - `embedding_size`: units of the torso's embedding; for parallel pools it is `pool_size`.
    - `writer`, `embedding`, `threshold`, `logit_scale`, `read_last_step`: as for `ActorCritic`.
    - `memory_options`: further arguments of the memory by name, see `make_memory`.
    - `dtype`: of parameters and state.
    - `key`: for the initial weights.
    - `options`: those of our own memories, see `make_memory`.

    **Returns:**

    The network with initial weights.
    """
    memory_key = jax.random.split(key, 4)[1]
    # Parallel pools store as many inputs as they have units: the embedding makes room for the rest.
    width = pool_size if memory == "parallel" else embedding_size
    if read_last_step and memory != "parallel":
        width += num_actions + 1
    sized: SizedMemoryOptions = {**options}
    if has_pools(memory):
        sized["pool_size"] = pool_size
    core = make_memory(
        memory,
        width,
        output_size,
        dtype=dtype,
        key=memory_key,
        memory_options=memory_options,
        **sized,
    )
    return ActorCritic(
        core,
        observation_shape,
        num_actions,
        writer=writer,
        embedding=embedding,
        threshold=threshold,
        logit_scale=logit_scale,
        read_last_step=read_last_step,
        key=key,
    )


def _make_head(
    input_size: int, size: int, scale: float, dtype: DTypeLike, key: PRNGKeyArray
) -> eqx.nn.Linear:
    """A linear layer with small weights: policies start nearly even, values near 0."""
    linear = eqx.nn.Linear(input_size, size, dtype=dtype, key=key)
    normal = jax.nn.initializers.lecun_normal(in_axis=-1, out_axis=-2)
    weight = scale * normal(key, (size, input_size), dtype)
    return eqx.tree_at(
        lambda head: (head.weight, head.bias), linear, (weight, jnp.zeros(size, dtype))
    )
