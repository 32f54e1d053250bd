"""The paper's M and J against its own recurrence."""

import numpy as np
import pytest

from longpass import theory
from longpass.memory import rates


@pytest.mark.parametrize("base", [1.5, 2.0, 3.0])
def test_diffusion_matrix_is_the_papers_formula(base):
    M = theory.diffusion_matrix(base, 6)
    for i in range(1, 7):
        for j in range(1, 7):
            product = np.prod([base**-k for k in range(i + 1, j + 1)])
            expected = (1 - base**-i) * product if i <= j else 0.0
            assert M[i - 1, j - 1] == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("base", [1.5, 2.0, 3.0])
def test_history_operator_is_the_recurrence(base):
    length = 20
    x = np.cos(np.arange(length) ** 2.0)
    M, Y = theory.diffusion_matrix(base, length), np.zeros(length)
    for value in x:
        Y = (np.eye(1, length)[0] * value + Y) @ M
    np.testing.assert_allclose(x[::-1] @ theory.history_operator(base, length), Y, atol=1e-14)


@pytest.mark.parametrize("base", [1.5, 2.0, 3.0])
def test_history_operator_is_the_impulse_response_but_for_its_input_weight(base):
    """The appendix feeds pool 1 with weight 1 - 1/b, section 2 with 1/b: equal for base 2 only."""
    J = theory.history_operator(base, 15)
    response = theory.impulse_response(rates(base, 15), 15)
    weight = (1 - 1 / base) / (1 / base)
    np.testing.assert_allclose(J, weight * response.T, rtol=1e-12, atol=1e-300)
    assert (weight == 1) == (base == 2.0)
