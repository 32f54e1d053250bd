"""The network of a run, and what the fast learner takes from it."""

from typing import Any

import equinox as eqx
import jax
import numpy as np
from jax.typing import DTypeLike
from jaxtyping import Array, Float, UInt32

from longpass.memory import PooledMemory, impulse_responses
from longpass.networks import Classifier, make_classifier
from longpass.streams._settings import StreamSettings
from longpass.streams._tasks import make_task


def make_network(
    settings: StreamSettings, dtype: DTypeLike, seed: int | UInt32[Array, ""] | None = None
) -> Classifier:
    """Make the network of a run, with its initial weights.

    **Arguments:**

    - `settings`: of the run, complete.
    - `dtype`: of the weights.
    - `seed`: in the place of that in the settings.

    **Returns:**

    The network with initial weights.
    """
    task = make_task(settings.task, settings.words_seed, settings.span)
    # `make_classifier` has one argument for the size of a pool and of an LSTM, as the paper has D.
    options: dict[str, Any] = {}
    if settings.state_size is not None:
        options = {"pool_size": settings.state_size}
    if settings.has_pools:
        names = ("pool_size", "num_pools", "viewport_size", "base", "normalise")
        options = {name: getattr(settings, name) for name in names}
    return make_classifier(
        settings.memory,
        len(task.alphabet),
        len(task.classes),
        hidden_size=settings.hidden_size,
        memory_options=settings.memory_options,
        **options,
        dtype=dtype,
        key=jax.random.fold_in(jax.random.key(settings.seed if seed is None else seed), 0),
    )


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
    if not isinstance(memory, PooledMemory):
        return network
    rateless = RatelessPools(memory.gradient_pools, memory.write, memory.reader)
    return eqx.tree_at(lambda network: network.memory, network, rateless)


def network_shape(settings: StreamSettings, dtype: DTypeLike) -> Classifier:
    """As `make_network`, with shapes and dtypes in the place of arrays: nothing is computed."""
    return eqx.filter_eval_shape(lambda: make_network(settings, dtype))


def rateless_shape(settings: StreamSettings, dtype: DTypeLike) -> Classifier:
    """The same without rates (`remove_rates`)."""
    return eqx.filter_eval_shape(lambda: remove_rates(make_network(settings, dtype)))


def pool_responses(network: Classifier, steps: int) -> tuple[np.ndarray, np.ndarray] | None:
    """What the pools of a network hold up to `steps` steps later; None if it has no pools.

    **Returns:** (powers of shape (steps, k, k), impulse responses of shape (steps, k)).
    `powers[t]` gives the pools after step t from the pools before step 0; `responses[t]` is what
    the pools hold t steps after an input of 1.
    """
    memory = network.memory
    if not isinstance(memory, PooledMemory):
        return None
    return impulse_responses(memory.filter, steps)
