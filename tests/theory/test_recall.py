"""What can be read back from pools."""

import numpy as np
import pytest

from longpass import theory
from longpass.memory import rates

CHAIN = rates(1.5, 10)


def test_reconstruction_gives_the_same_contents_and_is_the_smallest():
    past = np.random.default_rng(0).normal(size=(300, 3))
    responses = theory.impulse_response(CHAIN, 300)
    guess = theory.reconstruct(responses @ past, CHAIN, 300)
    np.testing.assert_allclose(responses @ guess, responses @ past, atol=1e-10)
    assert np.linalg.norm(guess) < np.linalg.norm(past)
    np.testing.assert_allclose(guess, np.linalg.pinv(responses) @ responses @ past, atol=1e-8)


def test_as_many_pools_as_moments_remember_all():
    past = np.array([1.0, -2.0, 0.5])
    a = (0.5, 0.4, 0.3)
    contents = theory.impulse_response(a, 3) @ past
    np.testing.assert_allclose(theory.reconstruct(contents, a, 3), past, atol=1e-12)


@pytest.mark.parametrize("wiring", ["chain", "parallel"])
def test_capacity_is_the_squared_correlation_of_the_estimate(wiring):
    """Measured on white noise, against the closed form."""
    generator = np.random.default_rng(1)
    noise, length, samples = 0.02, 120, 40_000
    past = generator.normal(size=(length, samples))
    contents = theory.impulse_response(CHAIN, length, wiring) @ past
    contents += noise * generator.normal(size=contents.shape)
    guess = theory.reconstruct(contents, CHAIN, length, wiring=wiring, noise=noise)
    measured = [np.corrcoef(true, said)[0, 1] ** 2 for true, said in zip(past, guess, strict=True)]
    capacity = theory.memory_capacity(CHAIN, length, wiring=wiring, noise=noise)
    np.testing.assert_allclose(measured, capacity, atol=0.02)


@pytest.mark.parametrize("wiring", ["chain", "parallel"])
def test_capacity_is_at_most_the_number_of_pools(wiring):
    exact = theory.memory_capacity(CHAIN, 1000, wiring=wiring)
    noisy = theory.memory_capacity(CHAIN, 1000, wiring=wiring, noise=0.01)
    assert exact.sum() == pytest.approx(len(CHAIN), rel=1e-6)
    assert noisy.sum() < exact.sum()
    assert np.all(noisy >= 0)
    assert np.all(exact <= 1 + 1e-12)


def test_chain_keeps_more_of_the_distant_past_than_the_bank():
    """Temporal tiling, in one number: with equal noise the chain recalls more, and further."""
    a, noise = rates(2.0, 8), 1e-3
    chain, bank = (
        theory.memory_capacity(a, 2000, wiring=wiring, noise=noise)
        for wiring in ("chain", "parallel")
    )
    assert chain.sum() > bank.sum()
    assert chain[100:].sum() > bank[100:].sum()
