"""The kit finds what is wrong with a memory, and passes what is right."""

import pytest

from longpass.testing import LAWS, check_memory
from tests.testing.wrong_memories import WRONG, Right

LENGTH = 20


def test_a_right_memory_keeps_every_law():
    report = check_memory(Right(), length=LENGTH)
    assert report, report
    assert [result.law for result in report.results] == list(LAWS)
    assert all(result.status == "holds" for result in report.results)
    report.raise_if_failed()


@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: wrong.__name__)
def test_every_wrong_memory_is_caught_by_the_law_that_names_it(wrong):
    report = check_memory(wrong(), length=LENGTH, stop=True)
    (result,) = report.failures
    assert result.law == WRONG[wrong], report
    assert result.example
    assert result.meaning == LAWS[result.law]
    with pytest.raises(AssertionError, match=result.law):
        report.raise_if_failed()
