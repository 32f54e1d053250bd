"""The kit finds what is wrong with a module of PyTorch, and passes what is right."""

import subprocess
import sys

import pytest
import torch
from torch import nn

import longpass.torch
from longpass.testing import LAWS, check_module, check_step
from tests.testing.wrong_modules import WRONG, Right, WrongAxis

LENGTH = 20
RIGHT = {
    "a plain module": Right,
    "nn.GRU": lambda: nn.GRU(3, 4),
    "nn.LSTM, batch first": lambda: nn.LSTM(3, 4, 2, batch_first=True),
    "nn.RNN": lambda: nn.RNN(3, 4),
    "Concrete": lambda: longpass.torch.Concrete(3, 4, 5),
    "Concrete, pair of states": lambda: longpass.torch.Concrete(3, 4, 4, state="lstm"),
    "Concrete, layer": lambda: longpass.torch.Concrete(3, 4, 5, normalise="layer"),
    "Parallel": lambda: longpass.torch.Parallel(3, 4, 5, gradient_pools=2, batch_first=True),
    "PoolChain": lambda: longpass.torch.PoolChain(3, [0.5, 0.25]),
    "PoolBank": lambda: longpass.torch.PoolBank(3, [0.5, 0.25]),
}


@pytest.mark.parametrize("name", RIGHT)
def test_right_modules_keep_every_law(name):
    report = check_module(RIGHT[name](), length=LENGTH)
    assert report, report
    # Nothing of PyTorch's own takes starts or blocks gradients.
    theirs = name.startswith("nn.")
    assert sum(one.status == "does not apply" for one in report.results) == (5 if theirs else 0)
    assert [one.law for one in report.results] == [law for law in LAWS if law != "interface"]


@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: wrong.__name__)
def test_every_wrong_module_is_caught_by_the_law_that_names_it(wrong):
    torch.manual_seed(0)
    report = check_module(wrong(), length=LENGTH)
    broken = [result.law for result in report.failures]
    assert WRONG[wrong] in broken, report
    # What mixes up axes mixes up everything.
    assert WRONG[wrong] == broken[0] or wrong is WrongAxis, report
    assert all(result.example for result in report.failures)


def test_dropout_is_named():
    report = check_module(nn.GRU(3, 4, 2, dropout=0.5), length=LENGTH)
    assert "dropout" in str(report)
    assert check_module(nn.GRU(3, 4, 2, dropout=0.5).eval(), length=LENGTH)


def test_a_cell_is_its_sequence():
    module, cell = longpass.torch.Concrete(3, 4, 5), longpass.torch.ConcreteCell(3, 4, 5)
    cell.load_state_dict(module.state_dict())
    assert check_module(module, cell=cell, length=LENGTH)
    other = longpass.torch.ConcreteCell(3, 4, 5)
    report = check_module(module, cell=other, length=LENGTH)
    assert [result.law for result in report.failures] == ["steps are unroll"]


def test_functions_of_one_step():
    cell = nn.GRUCell(3, 4)

    def step(x, state, start):
        state = cell(x, torch.where(start[:, None], torch.zeros_like(state), state))
        return state, state

    def late(x, state, start):
        y = cell(x, state)
        return y, torch.where(start[:, None], torch.zeros_like(y), y)

    assert check_step(step, 3, torch.zeros(1, 4), length=LENGTH)
    report = check_step(late, 3, torch.zeros(1, 4), length=LENGTH)
    assert report.failures[0].law == "start on time"
    assert "one step late" in report.failures[0].example
    concrete = longpass.torch.ConcreteCell(3, 4, 5)
    assert check_step(concrete, 3, torch.zeros(5, 1, 4), batch_axis=1, length=LENGTH)


@pytest.mark.parametrize(("name", "other"), [("check_module", "jax"), ("check_memory", "torch")])
def test_checks_of_one_framework_do_not_import_the_other(name, other):
    code = f"import sys; from longpass.testing import {name}; sys.exit({other!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
