"""What PyTorch expects of a module: derivatives, copies, precision, compiling and export."""

import copy
import subprocess
import sys
import warnings

import numpy as np
import pytest
import torch

from longpass.torch import Concrete, ConcreteCell, Parallel, PoolChain
from tests.torch.zoo import NAMES, OPTIONS, assert_close, build, sample

SMOOTH = ["concrete, two gradients", "parallel, layer", "chain", "bank"]


def test_importing_it_imports_neither_jax_nor_matplotlib():
    script = (
        "import sys, longpass.torch; "
        "sys.exit(any(name in sys.modules for name in ('jax', 'equinox', 'matplotlib')))"
    )
    assert subprocess.run([sys.executable, "-c", script]).returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", SMOOTH)
def test_first_and_second_derivatives(name):
    x, state, starts = sample(name, 20, batch=2)
    module = build(name)
    live = getattr(module, "gradient_pools", 4)
    # Only what passes gradients is an argument; more chunks than one.
    rest = state[live:]

    def call(x, state):
        return module(x, torch.cat([state, rest]), starts)[0][::7]

    frozen = "gradient_pools" in module.__dict__ and live < 4
    inputs = (x.requires_grad_(), state[:live].detach().requires_grad_())
    if not frozen:
        assert torch.autograd.gradcheck(call, inputs)
        assert torch.autograd.gradgradcheck(call, inputs, fast_mode=True)
        return
    # Frozen pools pass no gradient though outputs depend on them: differentiate in the reader.
    names = [key for key, _ in module.named_parameters() if key.startswith("reader")]
    weights = [module.get_parameter(key).detach().clone().requires_grad_() for key in names]

    def read(*weights):
        given = dict(zip(names, weights, strict=True))
        return torch.func.functional_call(module, given, (x.detach(), state, starts))[0][::7]

    assert torch.autograd.gradcheck(read, weights)
    assert torch.autograd.gradgradcheck(read, weights, fast_mode=True)


@pytest.mark.parametrize("name", OPTIONS)
def test_torch_func(name):
    """Gradients per sequence, by vmap over grad, are those of each sequence alone."""
    x, state, starts = sample(name, 20)
    module = build(name)
    parameters = {key: weight.detach() for key, weight in module.named_parameters()}

    def loss(parameters, x, state, starts):
        return torch.func.functional_call(module, parameters, (x, state, starts))[0].sum()

    each = torch.vmap(torch.func.grad(loss), in_dims=(None, 1, 1, 1))(parameters, x, state, starts)
    for place in range(3):
        y, _ = module(x[:, place], state[:, place], starts[:, place])
        grads = torch.autograd.grad(
            y.sum(), list(module.parameters()), allow_unused=True, materialize_grads=True
        )
        assert_close([each[key][place] for key in parameters], list(grads))


@pytest.mark.parametrize("name", NAMES)
def test_copies_and_state_dicts(name):
    x, state, starts = sample(name, 20)
    module = build(name)
    twin = copy.deepcopy(module)
    fresh = build(name)
    for parameter in fresh.parameters():
        torch.nn.init.normal_(parameter)
    fresh.load_state_dict(module.state_dict())
    for other in (twin, fresh):
        assert_close(list(other(x, state, starts)), list(module(x, state, starts)))
    assert list(module.state_dict()) == [key for key, _ in module.named_parameters()]


def test_a_converted_module_has_the_rates_of_its_precision():
    """Constants are made anew in double precision, not widened from single."""
    module, cell = Concrete(5, 6, 4, base=1.7).double(), ConcreteCell(5, 6, 4, base=1.7).double()
    cell.load_state_dict(module.state_dict())
    x, state, _ = sample("concrete", 2)
    whole, _ = module(x, state)
    first, state = cell(x[0], state)
    assert_close([first, cell(x[1], state)[0]], [whole[0], whole[1]], 1e-12)


@pytest.mark.parametrize("kind", [Concrete, Parallel])
@pytest.mark.parametrize("length", [1, 40])
def test_autocast_keeps_pools_in_single_precision(kind, length):
    torch.manual_seed(0)
    module = kind(5, 16, 4, gradient_pools=2)
    x = torch.randn(length, 3, 5)
    _, exact = module(x)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y, last = module(x)
        y, last = module(torch.cat([x[:0], x]), last * 0)
        pools, _ = PoolChain(5, [0.5, 0.25])(x)
    assert y.dtype == torch.bfloat16
    assert last.dtype == pools.dtype == torch.float32
    # What is written was rounded once to 8 bits; nothing is rounded on the way through the pools.
    assert (last - exact).abs().max() < 2**-8 * exact.abs().max()
    assert torch.equal(pools, PoolChain(5, [0.5, 0.25])(x)[0])
    y.float().sum().backward()
    assert module.write.grad is not None


# PyTorch's own modules warn when the compiler imports them.
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning:torch")
@pytest.mark.parametrize("name", ["concrete", "parallel, layer"])
def test_compiling_breaks_no_graph_and_changes_nothing(name):
    x, state, starts = sample(name, 300, dtype=torch.float32)
    module = build(name, torch.float32)
    x.requires_grad_()
    compiled = torch.compile(module, fullgraph=True)
    y, last = compiled(x, state, starts, block_every=7)
    ours = torch.autograd.grad(y.sum(), [x, *module.parameters()])
    y_plain, last_plain = module(x, state, starts, block_every=7)
    theirs = torch.autograd.grad(y_plain.sum(), [x, *module.parameters()])
    assert_close([y, last, *ours], [y_plain, last_plain, *theirs], 1e-5)


def test_a_longer_sequence_is_no_larger_program():
    """So the time to compile does not depend on the length."""
    counts = []

    def backend(graph, _):
        counts.append(len(graph.graph.nodes))
        return graph.forward

    for length in (30, 300):
        torch._dynamo.reset()
        compiled = torch.compile(Concrete(5, 8), backend=backend, fullgraph=True)
        compiled(torch.ones(length, 2, 5))
    assert counts[0] == counts[1] < 100


@pytest.mark.slow
@pytest.mark.parametrize("state", ["gru", "lstm"])
def test_an_exported_cell_runs_in_onnxruntime(state, tmp_path):
    """500 steps with starts: the state goes out of one step and into the next."""
    import onnxruntime

    torch.manual_seed(0)
    cell = ConcreteCell(5, 8, 6, normalise="layer", state=state).eval()
    x, start = torch.randn(500, 2, 5), torch.rand(500, 2) < 0.02
    h, c = torch.zeros(cell.num_layers, 2, 8), torch.zeros(cell.num_layers, 2, 8)
    hx = h if state == "gru" else (h, c)
    exported = torch.export.export(cell, (x[0], hx, start[0]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(exported, (), tmp_path / "cell.onnx", dynamo=True, verbose=False)
    with torch.no_grad():
        assert_close(exported.module()(x[0], hx, start[0])[0], cell(x[0], hx, start[0])[0], 1e-6)
    session = onnxruntime.InferenceSession(tmp_path / "cell.onnx")
    names = [one.name for one in session.get_inputs()]
    parts = [np.zeros((cell.num_layers, 2, 8), np.float32)] * (1 if state == "gru" else 2)
    worst = 0.0
    for t in range(500):
        values = [x[t].numpy(), *parts, start[t].numpy()]
        y, *parts = session.run(None, dict(zip(names, values, strict=True)))
        with torch.no_grad():
            ours, hx = cell(x[t], hx, start[t])
        worst = max(worst, float(np.abs(y - ours.numpy()).max()))
    assert worst < 1e-5


def test_inference_mode_comes_before_training():
    """Tables that are made in inference mode are not inference tensors, which cannot be trained."""
    module = Concrete(5, 9, 3, base=1.9)
    x = torch.randn(23, 2, 5)
    with torch.inference_mode():
        acted, _ = module(x)
    learned, _ = module(x)
    torch.testing.assert_close(learned, acted)
    learned.sum().backward()
    for name, weight in module.named_parameters():
        assert weight.grad is not None, name
        assert weight.grad.any(), name


def test_attributes_that_callers_read():
    module, gru = Concrete(5, 8, 4), torch.nn.GRU(5, 8, 4)
    for name in ("input_size", "hidden_size", "num_layers", "batch_first", "bias", "dropout"):
        assert getattr(module, name) == getattr(gru, name), name
    assert (module.bidirectional, module.proj_size) == (gru.bidirectional, gru.proj_size)
    module.flatten_parameters()
    module.reset_parameters()
    for output, state in (module(torch.ones(3, 2, 5)), gru(torch.ones(3, 2, 5))):
        assert (output.shape, state.shape) == ((3, 2, 8), (4, 2, 8))
