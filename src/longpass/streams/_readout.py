"""Fast exact forms of a classifier that is read only where labels are.

A label comes once in a hundred symbols, so viewports, hidden layer and logits are computed there
only. For pools, two more facts of their linearity serve. A linear map may be applied after the
filter: symbols are filtered as they are, one channel a symbol, and written into pools where the
network is read. And what symbols leave in the pools until the chunk ends, or a label comes, does
not depend on the weights: it is found for many minibatches at once, ahead of the loop that learns.

In shapes: T steps, B streams, S labels (slots), A symbols in the alphabet, k pools of size D.
"""

import abc
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, UInt8

from longpass.memory import Filter, PooledMemory, impulse_responses
from longpass.networks import Classifier


class Slots(NamedTuple):
    """Where labels are in a chunk: the network is read there. Those not `valid` mean nothing."""

    time: Int[Array, " S"]
    stream: Int[Array, " S"]
    label: Int[Array, " S"]
    valid: Bool[Array, " S"]


class Chunk(NamedTuple):
    """One minibatch: the next T symbols of B streams.

    `since[t]` is the step of the last start up to t, where starts clear the memory; None where
    they do not.
    """

    symbols: UInt8[Array, "T B"]
    since: Int[Array, "T B"] | None


class AbstractForm(eqx.Module):
    """How a network is run over a chunk, and read at slots."""

    @abc.abstractmethod
    def initial_state(self, network: Classifier, batch: int) -> Any:
        """Empty memories of `batch` streams."""

    @abc.abstractmethod
    def ahead(self, chunk: Chunk, slots: Slots) -> Any:
        """What can be known of a chunk without weights."""

    @abc.abstractmethod
    def read(
        self, network: Classifier, state: Any, chunk: Chunk, slots: Slots, ahead: Any
    ) -> tuple[Any, Float[Array, "S classes"]]:
        """(State after the chunk, logits at the slots)."""

    @abc.abstractmethod
    def skip(self, network: Classifier, state: Any, chunk: Chunk, ahead: Any) -> Any:
        """State after a chunk that has no label."""


class Ahead(NamedTuple):
    """Symbols filtered ahead, and how much of the pools that enter the chunk is left."""

    at_slots: Float[Array, "S k A"]
    left_at_slots: Float[Array, "S k k"]
    at_end: Float[Array, "k B A"]
    enters: Bool[Array, " B"] | None


class PoolsForm(AbstractForm):
    """Pools, linear and without links. The state is all pools, (k, B, D)."""

    powers: Float[Array, "T k k"]
    responses: Float[Array, "T k"]
    symbols: int = eqx.field(static=True)

    def __init__(self, filt: Filter, truncation: int, symbols: int, pools: int, dtype: Any):
        """`pools` may be more than the filter has: those beyond stay empty."""
        powers, response = impulse_responses(filt, truncation)
        more = pools - len(filt.rates)
        self.powers = jnp.asarray(np.pad(powers, ((0, 0), (0, more), (0, more))), dtype)
        self.responses = jnp.asarray(np.pad(response, ((0, 0), (0, more))), dtype)
        self.symbols = symbols

    def initial_state(self, network, batch):
        memory = _pooled(network)
        return jnp.zeros((memory.num_pools, batch, memory.pool_size), memory.dtype)

    def ahead(self, chunk, slots):
        length, batch = chunk.symbols.shape
        everywhere = jnp.arange(batch)
        since = (None, None)
        if chunk.since is not None:
            since = (chunk.since[slots.time, slots.stream], chunk.since[-1])
        left = self.powers[slots.time]
        if since[0] is not None:
            left = jnp.where((since[0] < 0)[:, None, None], left, 0)
        return Ahead(
            at_slots=self._filtered(chunk, slots.time, slots.stream, since[0]).swapaxes(0, 1),
            left_at_slots=left,
            at_end=self._filtered(chunk, jnp.full(batch, length - 1), everywhere, since[1]),
            enters=None if since[1] is None else since[1] < 0,
        )

    def _filtered(self, chunk, time, stream, since) -> Float[Array, "k S A"]:
        """What the chunk's symbols have left in the pools by `time` of each `stream`."""
        lag = jnp.arange(chunk.symbols.shape[0])[:, None]
        at = time - lag  # (T, S), newest first
        seen = at >= 0 if since is None else at >= jnp.maximum(since, 0)
        symbols = jnp.where(seen, chunk.symbols[at, stream], self.symbols)
        channels = jax.nn.one_hot(symbols, self.symbols, dtype=self.responses.dtype)
        return jnp.einsum("tn,tsa->nsa", self.responses, channels)

    def read(self, network, state, chunk, slots, ahead):
        memory = _pooled(network)
        drives = self._written(network)
        entered = state[:, slots.stream]  # (k, S, D)
        live = memory.gradient_pools
        frozen = jax.lax.stop_gradient(drives)
        pools = jnp.einsum("snk,ksd->snd", ahead.left_at_slots, entered)
        pools += jnp.concatenate(
            [ahead.at_slots[:, :live] @ drives, ahead.at_slots[:, live:] @ frozen], axis=1
        )
        symbols = chunk.symbols[slots.time, slots.stream]
        inputs = network.embed(jax.nn.one_hot(symbols, self.symbols, dtype=memory.dtype))
        ys = memory.read(pools, inputs)
        return self._advance(state, frozen, ahead), network.classify(ys)

    def skip(self, network, state, chunk, ahead):
        return self._advance(state, self._written(network), ahead)

    def _advance(self, state, drives, ahead):
        if ahead.enters is not None:
            state = jnp.where(ahead.enters[:, None], state, 0)
        return jnp.einsum("nk,kbd->nbd", self.powers[-1], state) + ahead.at_end @ drives

    def _written(self, network) -> Float[Array, "A D"]:
        """What each symbol writes into pool 1."""
        memory = _pooled(network)
        inputs = network.embed(jnp.eye(self.symbols, dtype=memory.dtype))
        return inputs @ memory.write.T


class GatedForm(AbstractForm):
    """Any other memory, such as an LSTM: every step is taken. The state is its own, (B, ...)."""

    symbols: int = eqx.field(static=True)

    def initial_state(self, network, batch):
        return network.memory.initial_state((batch,))

    def ahead(self, chunk, slots):
        return None

    def read(self, network, state, chunk, slots, ahead):
        state, seen = self._unroll(network, state, chunk)
        return state, network.classify(seen[slots.time, slots.stream])

    def skip(self, network, state, chunk, ahead):
        return self._unroll(network, state, chunk)[0]

    def _unroll(self, network, state, chunk):
        memory = network.memory
        xs = network.embed(jax.nn.one_hot(chunk.symbols, self.symbols, dtype=memory.dtype))
        starts = None
        if chunk.since is not None:
            starts = chunk.since == jnp.arange(chunk.symbols.shape[0])[:, None]
        return memory.unroll_batch(state, xs, starts)


def form_of(network: Classifier, truncation: int, symbols: int, pools: int | None = None):
    """The fast form for a network; `pools` if it is to be padded to so many."""
    memory = network.memory
    if isinstance(memory, PooledMemory) and memory.link is None:
        count = pools or memory.num_pools
        return PoolsForm(memory.filter, truncation, symbols, count, memory.dtype)
    return GatedForm(symbols)


def _pooled(network: Classifier) -> PooledMemory:
    assert isinstance(network.memory, PooledMemory)
    return network.memory
