"""Hyper-parameters as a learner takes them: which of them change as it trains."""

import dataclasses

import jax.numpy as jnp
import pytest

from longpass.agents import HyperParams
from longpass.agents._hyper import decay_hyper
from tests.agents.zoo import hyper


@pytest.mark.parametrize(
    ("name", "rate"),
    [
        ("learning_rate", "lr_halvings_per_million_steps"),
        ("entropy_cost", "entropy_halvings_per_million_steps"),
    ],
)
def test_what_is_halved_with_the_steps(name, rate):
    before = hyper(**{rate: 2.0})
    after = decay_hyper(before, jnp.float32(1.5e6))
    for field in dataclasses.fields(HyperParams):
        factor = 1 / 8 if field.name == name else 1.0
        assert getattr(after, field.name) == factor * getattr(before, field.name)
