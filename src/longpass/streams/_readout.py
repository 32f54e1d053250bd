"""Fast exact forms of a classifier that is read only where labels are.

A label comes once in a hundred symbols, so viewports, hidden layer and logits are computed only
there. For pools, two more consequences of their linearity are used. A linear map may be applied
after the filter: one-hot symbols are filtered, one channel per symbol, and written into the pools
only where the network is read. And what symbols leave in the pools up to a label, or to the end of
the chunk, does not depend on the weights: it is computed for many minibatches at once, before the
loop that learns.

So `longpass classify` never calls `Concrete.unroll`. The reference learner (`_reference.py`) does,
and tests hold the fast one equal to it, in weights and states, for every task and memory.

In shapes: T steps, B streams, S labels (slots), A symbols in the alphabet, k pools of size D.
"""

import abc
from typing import Any, Generic, NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PyTree, UInt8

from longpass.networks import Classifier
from longpass.streams._network import RatelessPools, pool_responses
from longpass.streams._slots import Slots

State = TypeVar("State")
Prepared = TypeVar("Prepared")


class Chunk(NamedTuple):
    """One minibatch: the next T symbols of B streams.

    `last_start[t]` is the step of the latest start of a sequence up to step t, -1 if there is none.
    It is None if starts do not clear the memory.
    """

    symbols: UInt8[Array, "T B"]
    last_start: Int[Array, "T B"] | None


class AbstractReadout(eqx.Module, Generic[State, Prepared]):
    """How a network is run over a chunk and read at slots.

    Networks come from `remove_rates`: what depends on the rates of pools is in the readout.
    """

    @abc.abstractmethod
    def initial_state(self, network: Classifier, batch: int) -> State:
        """Empty memories of `batch` streams."""

    @abc.abstractmethod
    def prepare(self, chunk: Chunk, slots: Slots) -> Prepared:
        """What can be computed of a chunk without weights."""

    @abc.abstractmethod
    def read(
        self, network: Classifier, state: State, chunk: Chunk, slots: Slots, prepared: Prepared
    ) -> tuple[State, Float[Array, "S classes"]]:
        """Run over a chunk. **Returns:** (the state after it, logits at the slots)."""

    @abc.abstractmethod
    def skip(self, network: Classifier, state: State, chunk: Chunk, prepared: Prepared) -> State:
        """Run over a chunk without labels. **Returns:** the state after it."""


class FilteredChunk(NamedTuple):
    """The symbols of a chunk after the filters, and how much of the entering pools remains."""

    at_slots: Float[Array, "S k A"]
    """What the symbols have left in the pools at the slots."""
    remaining_at_slots: Float[Array, "S k k"]
    """The map from the pools before the chunk to those at the slots."""
    at_end: Float[Array, "k B A"]
    """What the symbols have left in the pools after the chunk."""
    remains: Bool[Array, " B"] | None
    """Whether anything of the pools before the chunk is left after it; None if starts do not clear
    the memory."""


class PoolReadout(AbstractReadout[Float[Array, "k B D"], FilteredChunk]):
    """The readout of linear pools without links. The state is all pools, (k, B, D)."""

    powers: Float[Array, "T k k"]
    responses: Float[Array, "T k"]
    num_symbols: int = eqx.field(static=True)

    def initial_state(self, network, batch):
        size, _ = _rateless(network).write.shape
        return jnp.zeros((self.responses.shape[-1], batch, size), self.responses.dtype)

    def prepare(self, chunk, slots):
        length, batch = chunk.symbols.shape
        streams = jnp.arange(batch)
        at_slots, at_end = None, None
        if chunk.last_start is not None:
            at_slots = chunk.last_start[slots.time, slots.stream]
            at_end = chunk.last_start[-1]
        remaining = self.powers[slots.time]
        if at_slots is not None:
            remaining = jnp.where((at_slots < 0)[:, None, None], remaining, 0)
        return FilteredChunk(
            at_slots=self._filter(chunk, slots.time, slots.stream, at_slots).swapaxes(0, 1),
            remaining_at_slots=remaining,
            at_end=self._filter(chunk, jnp.full(batch, length - 1), streams, at_end),
            remains=None if at_end is None else at_end < 0,
        )

    def read(self, network, state, chunk, slots, prepared):
        memory = _rateless(network)
        written = self._write_symbols(network)
        entered = state[:, slots.stream]  # (k, S, D)
        live = memory.gradient_pools
        frozen = jax.lax.stop_gradient(written)
        pools = jnp.einsum("snk,ksd->snd", prepared.remaining_at_slots, entered)
        pools += jnp.concatenate(
            [prepared.at_slots[:, :live] @ written, prepared.at_slots[:, live:] @ frozen], axis=1
        )
        symbols = chunk.symbols[slots.time, slots.stream]
        inputs = network.embed(jax.nn.one_hot(symbols, self.num_symbols, dtype=memory.write.dtype))
        logits = network.classify(memory.read(pools, inputs))
        return self._advance(state, frozen, prepared), logits

    def skip(self, network, state, chunk, prepared):
        return self._advance(state, self._write_symbols(network), prepared)

    def _filter(
        self,
        chunk: Chunk,
        time: Int[Array, " S"],
        stream: Int[Array, " S"],
        last_start: Int[Array, " S"] | None,
    ) -> Float[Array, "k S A"]:
        """What the symbols of the chunk have left in the pools at `time` of each `stream`."""
        lag = jnp.arange(chunk.symbols.shape[0])[:, None]
        at = time - lag  # (T, S), newest first
        seen = at >= 0 if last_start is None else at >= jnp.maximum(last_start, 0)
        symbols = jnp.where(seen, chunk.symbols[at, stream], self.num_symbols)
        channels = jax.nn.one_hot(symbols, self.num_symbols, dtype=self.responses.dtype)
        return jnp.einsum("tn,tsa->nsa", self.responses, channels)

    def _advance(
        self,
        state: Float[Array, "k B D"],
        written: Float[Array, "A D"],
        prepared: FilteredChunk,
    ) -> Float[Array, "k B D"]:
        """The pools after the chunk."""
        if prepared.remains is not None:
            state = jnp.where(prepared.remains[:, None], state, 0)
        return jnp.einsum("nk,kbd->nbd", self.powers[-1], state) + prepared.at_end @ written

    def _write_symbols(self, network: Classifier) -> Float[Array, "A D"]:
        """What each symbol writes into pool 1."""
        memory = _rateless(network)
        inputs = network.embed(jnp.eye(self.num_symbols, dtype=memory.write.dtype))
        return inputs @ memory.write.T


class StepwiseReadout(AbstractReadout[PyTree[Array], None]):
    """The readout of LSTM and GRU, which take every step. The state is theirs, (B, ...)."""

    num_symbols: int = eqx.field(static=True)

    def initial_state(self, network, batch):
        return network.memory.initial_state((batch,))

    def prepare(self, chunk, slots):
        return None

    def read(self, network, state, chunk, slots, prepared):
        state, outputs = self._unroll(network, state, chunk)
        return state, network.classify(outputs[slots.time, slots.stream])

    def skip(self, network, state, chunk, prepared):
        return self._unroll(network, state, chunk)[0]

    def _unroll(
        self, network: Classifier, state: PyTree[Array], chunk: Chunk
    ) -> tuple[PyTree[Array], Float[Array, "T B output"]]:
        symbols = jax.nn.one_hot(chunk.symbols, self.num_symbols, dtype=network.memory.dtype)
        starts = None
        if chunk.last_start is not None:
            starts = chunk.last_start == jnp.arange(chunk.symbols.shape[0])[:, None]
        return network.memory.unroll_batch(state, network.embed(symbols), starts)


Readout = AbstractReadout[Any, Any]


def make_readout(network: Classifier, truncation: int, num_symbols: int) -> Readout:
    """The fast readout for a network.

    **Arguments:**

    - `network`: with its rates; its arrays may be `jax.ShapeDtypeStruct`s.
    - `truncation`: steps in a chunk.
    - `num_symbols`: symbols in the alphabet.
    """
    filtered = pool_responses(network, truncation)
    if filtered is None:
        return StepwiseReadout(num_symbols)
    powers, responses = (jnp.asarray(table, network.memory.dtype) for table in filtered)
    return PoolReadout(powers=powers, responses=responses, num_symbols=num_symbols)


def _rateless(network: Classifier) -> RatelessPools:
    memory = network.memory
    assert isinstance(memory, RatelessPools), "the network of a group has no rates"
    return memory
