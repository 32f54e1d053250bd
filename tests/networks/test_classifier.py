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
    assert jax.tree.all(jax.tree.map(np.array_equal, network, same))
    assert network.num_symbols == 8

    @eqx.filter_jit
    def both(network, symbols):
        """What the network gives, and what its layers make of what its memory gives."""
        ours = network.unroll(network.memory.initial_state(), symbols, None, 2)
        xs = linear(network.embedding, symbols) if name == "parallel" else symbols
        last, ys = network.memory.unroll(network.memory.initial_state(), xs)
        if name in ("lstm", "gru"):
            ys = jax.nn.relu(linear(network.hidden, ys))
        return ours, (last, linear(network.logits, ys))

    (state, logits), (last, expected) = both(network, np.eye(8)[np.arange(10) % 8])
    assert logits.shape == (10, 4)
    np.testing.assert_allclose(logits, expected)
    assert jax.tree.all(jax.tree.map(np.array_equal, state, last))


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
