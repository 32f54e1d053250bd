"""The network of a run, and what the fast learner takes from it.

All that streams use of the packages `memory` and `networks` is in this file.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from longpass.memory import unroll_batch
from longpass.memory._concrete import AbstractReadPools
from longpass.memory._linear import responses
from longpass.networks import Classifier
from longpass.streams._settings import StreamSettings
from longpass.streams._tasks import make_task


def make_network(settings: StreamSettings, dtype: Any) -> Classifier:
    """Make the network of a run, with its initial weights.

    **Arguments:**

    - `settings`: of the run, complete.
    - `dtype`: of the weights.
    """
    task = make_task(settings.task, settings.words_seed)
    options: dict[str, Any] = {"D": settings.state_size}
    if settings.has_pools:
        options = {
            "D": settings.pool_size,
            "k": settings.num_pools,
            "V": settings.viewport_size,
            "b": settings.base,
            "normalise": settings.normalise or "none",
        }
    return Classifier(
        settings.memory,
        len(task.alphabet),
        len(task.classes),
        M=settings.hidden_size,
        **options,
        dtype=dtype,
        key=jax.random.fold_in(jax.random.key(settings.seed), 0),
    )


def network_shape(settings: StreamSettings, dtype: Any) -> Classifier:
    """As `make_network`, with shapes and dtypes in the place of arrays: nothing is computed."""
    return eqx.filter_eval_shape(lambda: make_network(settings, dtype))


class RatelessPools(eqx.Module):
    """The weights of a memory with pools, without the rates of the pools.

    Runs that are trained together share one compiled program, but may have pools of different
    rates: those are in the readout (`PoolReadout`), not in the network. This memory can be written
    and read, but has no `step` and no `unroll`, so that it cannot be run with wrong rates.
    """

    gradient_pools: int = eqx.field(static=True)
    write: Float[Array, "size input"]
    reader: Any

    def read(
        self, pools: Float[Array, "S k size"], inputs: Float[Array, "S input"]
    ) -> Float[Array, "S output"]:
        """The output of the memory where the contents of its pools are known."""
        views = jax.vmap(self.reader.view_all)(pools)
        return self.reader.summarise(inputs, [views])


def remove_rates(network: Classifier) -> Classifier:
    """The network with a `RatelessPools` as its memory; one without pools is left as it is.

    The arrays stay the same, in the same order.
    """
    memory = network.memory
    if not isinstance(memory, AbstractReadPools):
        return network
    rateless = RatelessPools(memory.gradient_pools, memory.write, memory.reader)
    return eqx.tree_at(lambda network: network.memory, network, rateless)


def pool_responses(network: Classifier, steps: int) -> tuple[np.ndarray, np.ndarray] | None:
    """What the pools of a network hold up to `steps` steps later; None if it has no pools.

    **Returns:** (powers of shape (steps, k, k), impulse responses of shape (steps, k)).
    `powers[t]` gives the pools after step t from the pools before step 0; `responses[t]` is what
    the pools hold t steps after an input of 1.
    """
    memory = network.memory
    if not isinstance(memory, AbstractReadPools):
        return None
    return responses(memory.pools.filter, steps)


def num_symbols(network: Classifier) -> int:
    """The number of different symbols that a network reads."""
    return network.symbols


def initial_states(network: Classifier, batch: int) -> Any:
    """Empty states of a memory, with a leading axis of `batch` streams."""
    empty = network.memory.initial_state()
    return jax.tree.map(lambda leaf: jnp.zeros((batch, *leaf.shape), leaf.dtype), empty)


def unroll_streams(
    network: Classifier,
    states: Any,
    symbols: Float[Array, "T B A"],
    starts: Bool[Array, "T B"] | None,
) -> tuple[Any, Float[Array, "T B output"]]:
    """Run the memory of a network over one-hot symbols of B streams, step by step."""
    return unroll_batch(network.memory, states, network.embed(symbols), starts)
