"""Bad input raises before any work; the message names the argument, its value and what is right."""

import pytest
import torch
from torch.nn.utils.rnn import pack_sequence

from longpass.torch import Concrete, ConcreteCell, Parallel, ParallelCell, PoolBank, PoolChain
from tests.helpers import wrong

X = torch.zeros(7, 2, 5)
STARTS = torch.zeros(7, 2, dtype=torch.bool)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"input_size": 0}, "input_size is 0: it must be at least 1"),
        ({"hidden_size": 2.5}, "hidden_size is 2.5: it must be a whole number"),
        ({"num_layers": 0}, "num_layers is 0: it must be 1 to 1000"),
        ({"output_size": -1}, "output_size is -1: it must be at least 1"),
        ({"output_size": 0}, "output_size is 0: it must be at least 1"),
        ({"base": 1.0}, "base is 1.0: it must be finite and above 1"),
        ({"viewport_size": 0}, "viewport_size is 0"),
        ({"gradient_pools": 9}, "gradient_pools is 9: it must be 0 to 8"),
        ({"normalise": "batch"}, "normalise is 'batch': it must be one of None, 'layer'"),
        ({"activation": "relu"}, "activation is 'relu': it must be a function"),
        ({"state": "rnn"}, "state is 'rnn': it must be one of 'gru', 'lstm'"),
        ({"state": "lstm", "num_layers": 7}, "num_layers is 7: with state='lstm' it must be even"),
        ({"bidirectional": True}, "bidirectional is True: it must be False"),
        ({"dropout": 0.1}, "dropout is 0.1: it must be 0.0"),
        ({"bias": False}, "bias is False: it must be True"),
        ({"proj_size": 3}, "proj_size is 3: it must be 0"),
    ],
)
@pytest.mark.parametrize("kind", [Concrete, ConcreteCell])
def test_arguments_of_the_class(kind, options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        kind(**({"input_size": 5, "hidden_size": 8} | wrong(options)))


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ({"input": X[0, 0]}, r"input has shape \(5,\): it must be \(time, batch, input_size\)"),
        ({"input": X[..., :4]}, r"input has shape \(7, 2, 4\): .* input_size 5"),
        ({"input": X.double()}, "input has dtype torch.float64: it must be torch.float32"),
        ({"input": X.bfloat16()}, "input has dtype torch.bfloat16: it must be torch.float32"),
        ({"input": X.to("meta")}, "input is on meta: it must be on cpu"),
        ({"input": [1.0]}, r"input is \[1.0\]: it must be a tensor"),
        ({"hx": torch.zeros(8, 3, 6)}, r"hx has shape \(8, 3, 6\): it must be \(8, 2, 6\)"),
        ({"hx": torch.zeros(8, 6)}, r"hx has shape \(8, 6\): it must be \(8, 2, 6\)"),
        ({"hx": torch.zeros(8, 2, 6).double()}, "hx has dtype torch.float64"),
        ({"hx": torch.zeros(8, 2, 6, device="meta")}, "hx is on meta: it must be on cpu"),
        ({"hx": (torch.zeros(8, 2, 6),) * 2}, "hx is a tuple: with state='gru' it must be a tens"),
        ({"starts": STARTS[:6]}, r"starts has shape \(6, 2\): it must be \(7, 2\)"),
        ({"starts": STARTS.float()}, "starts has dtype torch.float32: it must be torch.bool"),
        ({"starts": wrong(True)}, "starts is True: it must be a tensor"),
        ({"start_states": torch.zeros(7, 2, 8, 6)}, "start_states is given without starts"),
        (
            {"starts": STARTS, "start_states": torch.zeros(7, 8, 2, 6)},
            r"start_states has shape \(7, 8, 2, 6\): it must be \(7, 2, 8, 6\)",
        ),
        ({"block_every": 0}, "block_every is 0: it must be at least 1"),
        ({"block_every": 1.5}, "block_every is 1.5: it must be a whole number"),
        (
            {"input": pack_sequence([X[:, 0]]), "starts": STARTS},
            "starts is given with a PackedSequence: it must be None",
        ),
        (
            {"input": pack_sequence([X[:, 0, :4]])},
            r"PackedSequence has shape \(7, 4\): it must be \(steps, input_size\)",
        ),
    ],
)
def test_arguments_of_a_call(args, message):
    with pytest.raises((ValueError, TypeError), match=message):
        Concrete(5, 6)(**({"input": X} | wrong(args)))


def test_a_pair_is_a_pair():
    module = Concrete(5, 6, state="lstm")
    with pytest.raises(TypeError, match=r"hx is a Tensor: with state='lstm' it must be a pair"):
        module(X, torch.zeros(8, 2, 6))
    with pytest.raises(ValueError, match=r"hx has shape \(8, 2, 6\): it must be \(4, 2, 6\)"):
        module(X, (torch.zeros(8, 2, 6),) * 2)
    with pytest.raises(TypeError, match=r"start_states has 1 tensors: .* it must have 2"):
        module(X, starts=STARTS, start_states=torch.zeros(7, 2, 8, 6))


def test_batch_first_says_so():
    with pytest.raises(ValueError, match=r"it must be \(batch, time, input_size\)"):
        Concrete(5, 6, batch_first=True)(X[..., :3])


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((X,), r"input has shape \(7, 2, 5\): it must be \(batch, input_size\)"),
        ((X[0].double(),), "input has dtype"),
        ((X[0], torch.zeros(8, 3, 6)), r"hx has shape \(8, 3, 6\): it must be \(8, 2, 6\)"),
        ((X[0], None, STARTS), r"start has shape \(7, 2\): it must be \(2,\)"),
    ],
)
def test_arguments_of_a_step(args, message):
    with pytest.raises((ValueError, TypeError), match=message):
        ConcreteCell(5, 6)(*args)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_pools_in_16_bits_are_refused(dtype):
    """Slow pools would stall: nothing is added to them any more, far from their input."""
    message = f"dtype is {str(dtype)[6:]}: it must be float32 or float64 for pools"
    for kind in (Concrete, Parallel, ConcreteCell, ParallelCell):
        with pytest.raises(ValueError, match=message):
            kind(5, 6, dtype=dtype)
    with pytest.raises(ValueError, match=message):
        Concrete(5, 6).to(dtype)(X.to(dtype))
    for kind in (PoolChain, PoolBank):
        with pytest.raises(ValueError, match=message):
            kind(5, [0.5])(X.to(dtype))
        # Under autocast, layers before the pools give 16 bits.
        with torch.autocast("cpu", dtype=dtype):
            pools, _ = kind(5, [0.5, 0.25])(X.to(dtype))
        assert torch.equal(pools, kind(5, [0.5, 0.25])(X.to(dtype).float())[0])


@pytest.mark.parametrize("kind", [PoolChain, PoolBank])
def test_arguments_of_pools(kind):
    with pytest.raises(ValueError, match=r"rates\[1\] is .*0.0.*: it must be in \(0, 1\]"):
        kind(3, [0.5, 0.0])
    with pytest.raises(ValueError, match="rates has 3 numbers: with state='lstm' it must have"):
        kind(3, [0.5, 0.2, 0.1], state="lstm")
    with pytest.raises(ValueError, match="input has shape"):
        kind(3, [0.5])(X)
    with pytest.raises(TypeError, match=r"hx has dtype torch.float32: it must be torch.float64"):
        kind(5, [0.5])(X.double(), torch.zeros(1, 2, 5))
