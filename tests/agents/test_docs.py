"""The tables of settings in the documentation are those of the code."""

import dataclasses
import importlib
from pathlib import Path

import pytest

from longpass._fields import all_names, flag_name
from longpass.agents import (
    TASK_DEFAULTS,
    AgentSettings,
    PopulationSettings,
    default_settings,
    default_words,
)

ROOT = Path(__file__).parents[2]
SCRIPT = importlib.import_module("make_tables")


@pytest.mark.parametrize("page", SCRIPT.TABLES)
def test_tables_are_up_to_date(page):
    text = (ROOT / "docs" / page).read_text()
    filled = SCRIPT.fill_page(text, SCRIPT.TABLES[page])
    assert text == filled, "run python scripts/make_tables.py"


def test_the_words_for_a_default_name_every_world_that_has_another():
    general = AgentSettings()
    for part in dataclasses.fields(general):
        for name, usual in vars(getattr(general, part.name)).items():
            for world in (*TASK_DEFAULTS, "delayed-cue"):
                value = getattr(getattr(default_settings(world), part.name), name)
                assert (value != usual) == (world in read_worlds(name, value)), (name, world)


def read_worlds(name, value):
    """The worlds that a setting has this value in, according to the words for its default."""
    cases = default_words(name).split("; ")[1:]
    (words,) = [case for case in cases if case.startswith(f"{value} for ")] or [""]
    worlds = words.removeprefix(f"{value} for ").split(", ")
    return [world.removesuffix(" and worlds of your own") for world in worlds]


def test_every_setting_is_in_a_table():
    for page, cls in (("agents.md", AgentSettings), ("populations.md", PopulationSettings)):
        text = (ROOT / "docs" / page).read_text()
        for name in all_names(cls):
            assert f"| `{flag_name(name)}` |" in text, name
