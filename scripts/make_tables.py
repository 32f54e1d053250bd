"""Write the tables of settings and claims into the documentation, between their markers.

python scripts/make_tables.py          # write
python scripts/make_tables.py --check  # exit with 1 if a page would change
"""

import functools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from longpass._fields import describe_fields, flag_name
from longpass.agents import (
    HyperParams,
    LearnerSettings,
    NetworkSettings,
    PopulationSettings,
    default_words,
)
from longpass.claims import TaskFinding, evaluate_claims
from longpass.streams import StreamSettings, SweepPlan

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
END = "<!-- end -->"


def make_table(cls: type, default: Callable[[str], str]) -> str:
    """A table of the fields of a settings class.

    **Arguments:**

    - `cls`: the class.
    - `default`: the default of a field in words, by its name.
    """
    rows = [f"| `{cls.__name__}` | default | meaning |", "|---|---|---|"]
    for field in describe_fields(cls):
        help_text = field.help.replace("|", "\\|")
        rows.append(f"| `{flag_name(field.name)}` | {default(field.name)} | {help_text} |")
    return "\n".join(rows)


def agent_tables() -> str:
    """The settings of agents."""
    classes = (NetworkSettings, LearnerSettings, HyperParams)
    return "\n\n".join(make_table(cls, default_words) for cls in classes)


def plain_table(cls: type) -> str:
    """The settings of a class whose defaults do not depend on anything."""
    return make_table(cls, lambda name: _in_words(getattr(cls(), name)))


def _in_words(value: Any) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    return "" if value is None else str(value)


def claims_table() -> str:
    """The paper's claims about classification, evaluated from the committed records."""
    findings = evaluate_claims(ROOT / "results" / "paper")
    tasks = [one.task for one in findings[0].tasks]
    rows = ["| claim | value (holds above) | " + " | ".join(tasks) + " | verdict |"]
    rows.append("|---|---|" + "---|" * len(tasks) + "---|")
    for finding in findings:
        claim = finding.claim
        cells = [f"{claim.text} (`{claim.id}`)", f"{claim.statistic} ({claim.threshold:g})"]
        cells += [_task_in_words(one) for one in finding.tasks]
        rows.append("| " + " | ".join([*cells, f"**{finding.verdict}**"]) + " |")
    return "\n".join(rows)


def _task_in_words(one: TaskFinding) -> str:
    value = "" if one.value is None else f"{one.value:.2f}"
    interval = "" if one.interval is None else " ({:.2f} to {:.2f})".format(*one.interval)
    return f"{value}{interval}, n = {one.n}: {one.verdict}".removeprefix(", ")


TABLES: dict[str, dict[str, Callable[[], str]]] = {
    "agents.md": {"<!-- settings of agents -->": agent_tables},
    "populations.md": {
        "<!-- settings of populations -->": functools.partial(plain_table, PopulationSettings)
    },
    "classification.md": {
        "<!-- settings of a run -->": functools.partial(plain_table, StreamSettings),
        "<!-- settings of a sweep -->": functools.partial(plain_table, SweepPlan),
    },
    "results.md": {"<!-- claims of classification -->": claims_table},
}


def fill_page(text: str, tables: dict[str, Callable[[], str]]) -> str:
    """The text of a page with its tables as they are now."""
    for marker, make in tables.items():
        before, _, rest = text.partition(marker)
        _, found, after = rest.partition(END)
        if not found:
            raise ValueError(f"{marker} is not on the page, or {END} does not follow")
        text = f"{before}{marker}\n\n{make()}\n\n{END}{after}"
    return text


def main() -> None:
    changed = []
    for name, tables in TABLES.items():
        page = DOCS / name
        text = page.read_text()
        filled = fill_page(text, tables)
        if filled != text:
            changed.append(name)
            if "--check" not in sys.argv:
                page.write_text(filled)
    print("changed:", ", ".join(changed) or "nothing")
    if "--check" in sys.argv and changed:
        sys.exit(1)


if __name__ == "__main__":
    main()
