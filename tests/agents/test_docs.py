"""The tables of settings in the documentation are those of the code."""

import importlib
from pathlib import Path

import pytest

from longpass._fields import all_names, flag_name
from longpass.agents import AgentSettings, PopulationSettings

ROOT = Path(__file__).parents[2]
SCRIPT = importlib.import_module("make_tables")


@pytest.mark.parametrize("page", SCRIPT.TABLES)
def test_tables_are_up_to_date(page):
    text = (ROOT / "docs" / page).read_text()
    filled = SCRIPT.fill_page(text, SCRIPT.TABLES[page])
    assert text == filled, "run python scripts/make_tables.py"


def test_every_setting_is_in_a_table():
    for page, cls in (("agents.md", AgentSettings), ("populations.md", PopulationSettings)):
        text = (ROOT / "docs" / page).read_text()
        for name in all_names(cls):
            assert f"| `{flag_name(name)}` |" in text, name
