"""Bad input gets an error that names the argument, its value and what is right."""

from typing import Any

import jax
import jax.numpy as jnp
import pytest

from longpass.memory import GRU, LSTM, Concrete, Gate, Parallel, PoolBank, PoolChain, Projection
from tests.helpers import wrong
from tests.memory.zoo import SIZES

KEY = jax.random.key(0)
pytestmark = pytest.mark.usefixtures("unchecked_types")


STALLS = "dtype is b?float16: it must be float32 or float64 for pools, because slow pools stall"


def concrete(kind: Any = Concrete, inputs=4, **options):
    return kind(inputs, **{"output_size": 5, **SIZES, **options}, key=KEY)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: PoolChain(0, [0.5]), ValueError, "size is 0: it must be at least 1"),
        (lambda: PoolBank(wrong(2.5), [0.5]), TypeError, "size is 2.5: it must be a whole number"),
        (lambda: PoolChain(3, [0.5, 1.5]), ValueError, r"rates\[1\] is .*1.5.*\(0, 1\]"),
        (lambda: PoolBank(3, [float("nan")]), ValueError, r"rates\[0\] is .*nan"),
        (lambda: PoolChain(3, wrong("fast")), TypeError, "rates is 'fast'"),
        (lambda: PoolChain(3, []), ValueError, "at least one number"),
        (lambda: concrete(inputs=0), ValueError, "input_size is 0"),
        (lambda: concrete(pool_size=-1), ValueError, "size is -1"),
        (lambda: concrete(num_pools=0), ValueError, "pools is 0"),
        (lambda: concrete(base=1.0), ValueError, "base is 1.0: it must be finite and above 1"),
        (lambda: concrete(base="two"), TypeError, "base is 'two': it must be a number"),
        (lambda: concrete(viewport_size=0), ValueError, "viewport_size is 0"),
        (lambda: concrete(output_size=0), ValueError, "output_size is 0"),
        (lambda: concrete(gradient_pools=4), ValueError, "gradient_pools is 4: it must be 0 to 3"),
        (lambda: concrete(gradient_pools=-1), ValueError, "gradient_pools is -1"),
        (lambda: concrete(normalise="batch"), ValueError, "normalise is 'batch'.*'layer'"),
        (lambda: concrete(activation="relu"), TypeError, "activation is 'relu'"),
        (lambda: concrete(normalise="none"), ValueError, "normalise is 'none'.*None, 'layer'"),
        (lambda: concrete(link="gate"), TypeError, "link is 'gate': it must be None or a link"),
        (
            lambda: concrete(link=Projection(4, 2)),
            ValueError,
            "link is for 2 pools of size 4: it must be for 3 pools of size 4",
        ),
        (lambda: PoolChain(5, [0.5], link=Gate(4, 1)), ValueError, "1 pools of size 4.*size 5"),
        (lambda: PoolChain(2, [0.5], dtype="bfloat16"), ValueError, STALLS),
        (lambda: PoolBank(2, [0.5], dtype="float16"), ValueError, STALLS),
        (lambda: concrete(dtype="bfloat16"), ValueError, STALLS),
        (lambda: concrete(Parallel, dtype="float16"), ValueError, STALLS),
        (lambda: concrete(num_pools=1001), ValueError, "pools is 1001: it must be 1 to 1000"),
        (lambda: concrete(base=1e9, num_pools=40), ValueError, "at most 34 with base 1e"),
        (lambda: concrete(base=1e400), ValueError, "base is inf: it must be finite"),
        (lambda: Gate(0, 3), ValueError, "size is 0"),
        (lambda: Gate(4, 0), ValueError, "num_pools is 0"),
        (lambda: concrete(Parallel, link=None), TypeError, "link"),
        (lambda: Concrete.for_horizon(3, horizon=-1.0, key=KEY), ValueError, "horizon is -1.0"),
        (lambda: LSTM(3, 0, key=KEY), ValueError, "hidden_size is 0"),
        (lambda: GRU(True, 2, key=KEY), TypeError, "input_size is True"),
        (
            lambda: LSTM(3, 2, longest_time=2, key=KEY),
            ValueError,
            "longest_time is 2: it must be 3",
        ),
        (lambda: GRU(3, 2, forget_bias=wrong("one"), key=KEY), TypeError, "forget_bias is 'one'"),
    ],
)
def test_at_construction(make, error, message):
    with pytest.raises(error, match=message):
        make()


MEMORIES = {
    "PoolChain": PoolChain(4, [0.5, 0.2]),
    "PoolBank": PoolBank(4, [0.5]),
    "Concrete": concrete(),
    "LSTM": LSTM(4, 3, key=KEY),
    "GRU": GRU(4, 3, key=KEY),
}
XS = jnp.zeros((6, 4))


@pytest.mark.parametrize("name", MEMORIES)
@pytest.mark.parametrize(
    ("args", "error", "message"),
    [
        ((XS[:, :3],), ValueError, r"xs has shape \(6, 3\): it must be of shape \(6, 4\)"),
        ((XS[0],), ValueError, r"xs has shape \(4,\).*for a batch, use jax.vmap"),
        ((XS[None],), ValueError, r"xs has shape \(1, 6, 4\)"),
        ((XS.astype(jnp.float32),), TypeError, "xs has dtype float32.*dtype float64"),
        ((XS.astype(complex),), TypeError, "xs has dtype complex128"),
        (([[0.0] * 4],), TypeError, "xs is .*it must be an array"),
        ((XS, jnp.zeros(6)), TypeError, "starts has dtype float64.*dtype bool"),
        ((XS, jnp.zeros(5, bool)), ValueError, r"starts has shape \(5,\).*\(6,\)"),
        ((XS, jnp.zeros((6, 1), bool)), ValueError, r"starts has shape \(6, 1\)"),
        ((XS, None, 0), ValueError, "block_every is 0: it must be at least 1"),
        ((XS, None, 1.5), TypeError, "block_every is 1.5: it must be a whole number"),
    ],
)
def test_of_unroll(name, args, error, message):
    memory = MEMORIES[name]
    with pytest.raises(error, match=message) as caught:
        jax.eval_shape(lambda state: memory.unroll(state, *args), memory.initial_state())
    if "block_every" not in message:
        assert str(caught.value).startswith(f"{name}: ")


@pytest.mark.parametrize("name", MEMORIES)
def test_of_step(name):
    memory = MEMORIES[name]
    state = memory.initial_state()
    with pytest.raises(ValueError, match=r"x has shape \(3,\): it must be of shape \(4,\)"):
        memory.step(state, jnp.zeros(3))
    with pytest.raises(TypeError, match=r"start has dtype int64.*dtype bool"):
        memory.step(state, jnp.zeros(4), jnp.array(1))
    with pytest.raises(TypeError, match="start is 1: it must be an array"):
        memory.step(state, jnp.zeros(4), 1)
    with pytest.raises(ValueError, match=r"state has shape \(1, "):
        memory.step(jax.tree.map(lambda leaf: leaf[None], state), jnp.zeros(4))
    with pytest.raises(TypeError, match=r"state is a .* it must be what initial_state"):
        memory.step((state, state, state), jnp.zeros(4))


@pytest.mark.parametrize("name", MEMORIES)
def test_of_unroll_batch(name):
    memory = MEMORIES[name]
    states, xs = memory.initial_state((2,)), jnp.zeros((6, 2, 4))
    with pytest.raises(ValueError, match=r"xs has shape \(6, 4\): .* shape \(time, batch, 4\)"):
        memory.unroll_batch(states, XS)
    with pytest.raises(ValueError, match=r"state has shape .* it must be of shape \(2, "):
        memory.unroll_batch(memory.initial_state(), xs)
    with pytest.raises(ValueError, match=r"starts has shape \(6,\): it must be of shape \(6, 2\)"):
        memory.unroll_batch(states, xs, jnp.zeros(6, bool))
    with pytest.raises(TypeError, match="starts has dtype float64"):
        memory.unroll_batch(states, xs, jnp.zeros((6, 2)))
    with pytest.raises(ValueError, match="block_every is 0"):
        memory.unroll_batch(states, xs, None, 0)
