"""The classifier: any memory, and the paper's networks by name."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from longpass.memory import GRU, LSTM, Concrete, Parallel
from longpass.networks import Classifier, make_classifier, make_memory
from tests.helpers import given, wrong

KEY = jax.random.key(0)
POOLS = {"num_pools": 3, "viewport_size": 4, "base": 1.5}


def by_hand(name):
    """The network of a memory object, with keys as `make_classifier` splits them."""
    embedding_key, memory_key, _, _ = jax.random.split(KEY, 4)
    if name == "chain":
        return Classifier(Concrete(8, 7, pool_size=6, **POOLS, key=memory_key), 4, key=KEY)
    if name == "parallel":
        memory = Parallel(6, 7, pool_size=6, **POOLS, key=memory_key)
        embedding = eqx.nn.Linear(8, 6, key=embedding_key)
        embedding = eqx.tree_at(lambda layer: layer.bias, embedding, jnp.zeros(6))
        return Classifier(memory, 4, embedding=embedding, key=KEY)
    kind = LSTM if name == "lstm" else GRU
    return Classifier(kind(8, 6, key=memory_key), 4, hidden_size=7, key=KEY)


def linear(layer: eqx.nn.Linear | None, xs):
    """A layer at every step."""
    return xs @ given(layer).weight.T + given(given(layer).bias)


@pytest.mark.parametrize("name", ["chain", "parallel", "lstm", "gru"])
def test_names_are_a_convenience(name):
    options = POOLS if name in ("chain", "parallel") else {}
    network = make_classifier(name, 8, 4, hidden_size=7, pool_size=6, **options, key=KEY)
    same = by_hand(name)
    assert jax.tree.structure(network) == jax.tree.structure(same)
    assert jax.tree.all(jax.tree.map(jnp.array_equal, network, same))
    assert network.num_symbols == 8
    symbols = jax.nn.one_hot(jnp.arange(10) % 8, 8)
    state, logits = network.unroll(network.memory.initial_state(), symbols, None, 2)
    assert logits.shape == (10, 4)
    # Logits are the layers' of what the memory gives.
    xs = symbols
    if name == "parallel":
        xs = linear(network.embedding, symbols)
    last, ys = network.memory.unroll(network.memory.initial_state(), xs)
    if name in ("lstm", "gru"):
        ys = jax.nn.relu(linear(network.hidden, ys))
    np.testing.assert_allclose(logits, linear(network.logits, ys))
    assert jax.tree.all(jax.tree.map(jnp.array_equal, state, last))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: make_memory(wrong("tape"), 3, key=KEY),
            "memory is 'tape': it must be one of 'chain'",
        ),
        (lambda: make_memory("lstm", 3, num_pools=2, key=KEY), "num_pools is 2: it must not be"),
        (lambda: Classifier(GRU(3, 4, key=KEY), 0, key=KEY), "num_classes is 0"),
        (lambda: Classifier(GRU(3, 4, key=KEY), 2, hidden_size=0, key=KEY), "hidden_size is 0"),
        (
            lambda: Classifier(
                GRU(3, 4, key=KEY), 2, embedding=eqx.nn.Linear(5, 2, key=KEY), key=KEY
            ),
            "embedding has 2 units: it must have 3",
        ),
    ],
)
def test_bad_settings_are_refused(make, message, unchecked_types):
    with pytest.raises(ValueError, match=message):
        make()
