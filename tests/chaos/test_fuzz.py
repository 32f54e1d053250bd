"""Some hundred cases of nonsense, always the same: `make chaos` tries ten thousand others."""

import pytest

pytest.importorskip("torch")

from chaos import fuzz
from chaos._commands_to_fuzz import CONTRADICTIONS, command_flags
from chaos._constructors import CONSTRUCTORS
from longpass.cli import COMMANDS

pytestmark = pytest.mark.usefixtures("unchecked_types")


def test_nonsense_is_refused_by_a_message_that_names_it():
    lost = [case for case in fuzz.try_cases(seed=0, count=300) if case.problem]
    assert lost == []


def test_every_contradiction_is_named():
    for words, names in CONTRADICTIONS:
        assert fuzz.try_command(words, names).problem == "", words


def test_every_command_is_tried():
    tried = {flags.words[0] for flags in command_flags()}
    tried |= {words[0] for words, _ in CONTRADICTIONS if words}
    assert tried >= set(COMMANDS)
    assert len({constructor.name for constructor in CONSTRUCTORS}) == len(CONSTRUCTORS) > 20


def test_what_is_lost_is_found():
    """The harness itself: accepted nonsense, a traceback, silence and no end are all problems."""

    def accept(**_: object) -> None:
        return None

    def crash(**_: object) -> None:
        raise KeyError("size")

    def mumble(**_: object) -> None:
        raise ValueError("something is wrong")

    assert fuzz.find_problem(accept, {}, ["size"]) == ""
    assert fuzz.find_problem(crash, {}, ["size"]).startswith("KeyError")
    assert "does not name size" in fuzz.find_problem(mumble, {}, ["size"])
    assert fuzz.try_command(["pools"], ["pools"]).problem == "was accepted"
    assert "does not name base" in fuzz.try_command(["pools", "--pools", "0"], ["base"]).problem
