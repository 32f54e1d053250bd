"""Write the tables of settings, claims, linear readers, defaults and faults into the docs.

Each stands between its markers. The linear reader's are made from the CSV of its figure, those of
claims, of the search for defaults and of faults from records.

python scripts/make_tables.py          # write
python scripts/make_tables.py --check  # exit with 1 if a page would change
"""

import csv
import functools
import itertools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from longpass._fields import describe_fields, flag_name
from longpass.agents import (
    COMMON,
    GATES,
    POOLS,
    HyperParams,
    LearnerSettings,
    NetworkSettings,
    PopulationSettings,
    default_words,
    load_pretrained,
    pretrained_names,
)
from longpass.claims import Finding, TaskFinding, evaluate_agents, evaluate_classification
from longpass.records import RECORDS, Line, Records
from longpass.streams import (
    SOLVED,
    StreamSettings,
    SweepPlan,
    memory_defaults,
)

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
SEARCH = ROOT / "results" / "defaults"
READER = ROOT / "results" / "figures" / "linear-reader.csv"
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


def search_space_table() -> str:
    """What the random search for settings of agents draws."""
    rows = ["| setting | drawn from | for |", "|---|---|---|"]
    spaces = {"all memories": COMMON, "chain, parallel": POOLS, "lstm, gru": GATES}
    for memories, space in spaces.items():
        rows += [f"| `{flag_name(name)}` | {how} | {memories} |" for name, how in space.items()]
    return "\n".join(rows)


def pretrained_table() -> str:
    """The agents that come with longpass, from their cards."""
    rows = [
        "| name | mean return (95 % interval) | highest possible | steps | seed | commit |",
        "|---|---|---:|---:|---:|---|",
    ]
    for name in pretrained_names():
        card = load_pretrained(name).card
        of = card["scores"]["sampled"]
        rows.append(
            f"| `{name}` | {of['mean']:.3f} ({of['low']:.3f} to {of['high']:.3f}) "
            f"| {card['return_max']:.3f} | {card['steps']:,} | {card['seed']} | {card['commit']} |"
        )
    return "\n".join(rows)


def plain_table(cls: type) -> str:
    """The settings of a class whose defaults do not depend on anything."""
    return make_table(cls, lambda name: _in_words(getattr(cls(), name)))


def read_reader() -> list[dict[str, str]]:
    """The cells of the linear reader's figure."""
    with READER.open(newline="") as file:
        return list(csv.DictReader(file))


def make_pair_table(title: str, cells: list[dict[str, str]], column: str, digits: int) -> str:
    """A table of the linear reader's cells, with chain / parallel in each place.

    **Arguments:**

    - `title`: of the first column.
    - `cells`: of one task.
    - `column`: what is shown of a cell.
    - `digits`: after the point.
    """
    noises, bases, pools = (
        list(dict.fromkeys(cell[name] for cell in cells)) for name in ("noise", "base", "pools")
    )
    shown = {
        (
            cell["noise"],
            cell["base"],
            cell["pools"],
            cell["wiring"],
        ): f"{float(cell[column]):.{digits}f}"
        for cell in cells
    }
    rows = [f"| {title} | base | {' | '.join(f'{n} pools' for n in pools)} |"]
    rows.append("|---|---|" + "---|" * len(pools))
    for noise, base in itertools.product(noises, bases):
        pairs = [
            f"{shown[noise, base, n, 'chain']} / {shown[noise, base, n, 'parallel']}" for n in pools
        ]
        rows.append(f"| noise {noise} | {base} | {' | '.join(pairs)} |")
    return "\n".join(rows)


def reader_tables() -> str:
    """The accuracies of linear readers, one table per task."""
    cells = read_reader()
    return "\n\n".join(
        make_pair_table(task, [cell for cell in cells if cell["task"] == task], "accuracy", 2)
        for task in dict.fromkeys(cell["task"] for cell in cells)
    )


def distinct_pools_table() -> str:
    """How many pools a reader can tell apart: the same for all tasks, and all where no noise is."""
    cells = read_reader()
    task = cells[0]["task"]
    some = [cell for cell in cells if cell["task"] == task and float(cell["noise"]) > 0]
    return make_pair_table("distinct pools", some, "distinct", 1)


def solved_table() -> str:
    """How many cells a linear reader solves, by task and noise."""
    cells = read_reader()
    noises = list(dict.fromkeys(cell["noise"] for cell in cells))
    rows = [f"| task | {' | '.join(f'noise {noise}' for noise in noises)} |"]
    rows.append("|---|" + "---|" * len(noises))
    for task in dict.fromkeys(cell["task"] for cell in cells):
        pairs = []
        for noise in noises:
            solved = [
                cell["wiring"]
                for cell in cells
                if (cell["task"], cell["noise"]) == (task, noise)
                and float(cell["accuracy"]) >= SOLVED
            ]
            pairs.append(f"{solved.count('chain')} / {solved.count('parallel')}")
        rows.append(f"| {task} | {' | '.join(pairs)} |")
    return "\n".join(rows)


def _in_words(value: Any) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    return "" if value is None else str(value)


def defaults_table() -> str:
    """The defaults that depend on the memory, at three truncations and the default batch size."""
    names = ("pool_size", "num_pools", "viewport_size", "base", "state_size")
    truncations, batch = (2, 16, 128), StreamSettings().batch_size
    rates = [f"`learning_rate`, {batch} x {truncation}" for truncation in truncations]
    rows = [f"| memory | {' | '.join([*rates, *(f'`{name}`' for name in names)])} |"]
    rows.append("|---" * (1 + len(rates) + len(names)) + "|")
    for memory in ("chain", "parallel", "lstm", "gru"):
        found = [memory_defaults(memory, batch * truncation) for truncation in truncations]
        cells = [f"{one['learning_rate']:g}" for one in found]
        cells += [_in_words(found[0].get(name)) for name in names]
        rows.append(f"| {memory} | {' | '.join(cells)} |")
    return "\n".join(rows)


def search_table(zero_bias: bool) -> str:
    """The accuracies of all runs of the search for defaults, by memory and learning rate.

    **Arguments:**

    - `zero_bias`: those of networks whose embedding begins with a bias of 0, or the older ones.
    """
    paths = sorted(SEARCH.glob(f"*/{RECORDS}"))
    chosen = [path for path in paths if (path.parent.name == "zero-bias") == zero_bias]
    lines = [line for path in chosen for line in Records(path).read()]
    names = ("memory", "truncation", "symbols", "pool_size", "state_size", "base", "num_pools")
    rows: dict[tuple[str, ...], list[Line]] = {}
    # Some runs belong to two searches. If initial weights changed between them, both are shown.
    for line in {f"{line['settings']} {line['curve']}": line for line in lines}.values():
        row = tuple(_in_words(line["settings"][name]) for name in (*names, "epsilon"))
        rows.setdefault(row, []).append(line)
    order = {memory: n for n, memory in enumerate(("chain", "parallel", "lstm"))}
    title = "| memory | T | symbols | D | b | k | epsilon "
    return _accuracies_by_rate(
        title,
        {
            f"| {memory} | {t} | {float(symbols):.1e} | {d or size} | {b} | {k} | {epsilon} ": found
            for (memory, t, symbols, d, size, b, k, epsilon), found in sorted(
                rows.items(), key=lambda item: (order[item[0][0]], int(item[0][1]), item[0][2:])
            )
        },
    )


def variants_table() -> str:
    """The accuracies of variants of parallel filters, by learning rate."""
    rows: dict[str, list[Line]] = {}
    for line in Records(SEARCH / "variants.jsonl").read():
        rows.setdefault(f"| {line['variant']} ", []).append(line)
    return _accuracies_by_rate("| variant ", rows)


def collapse_table() -> str:
    """What happens to a network that collapses, and to one that learns."""
    forms = {
        "updates": "{:,.0f}",
        "dead_hidden": "{:.2f}",
        "dead_viewports": "{:.2f}",
        "logit_spread": "{:.4f}",
        "pool_rms": "{:.2f}",
        "embedding_norm": "{:.1f}",
        "summariser_norm": "{:.1f}",
        "gradient_rms": "{:.0e}",
        "below_epsilon": "{:.2f}",
        "accuracy": "{:.2f}",
    }
    title = "| memory | learning rate | " + " | ".join(name.replace("_", " ") for name in forms)
    rows = [f"{title} |", "|---|---|" + "---|" * len(forms)]
    runs: dict[str, list[Line]] = {}
    for line in Records(SEARCH / "collapse.jsonl").read():
        runs.setdefault(str(line["settings"]), []).append(line)
    for found in runs.values():
        for line in (found[0], *found[1::2]):
            cells = [form.format(line[name]) for name, form in forms.items()]
            settings = line["settings"]
            begin = f"| {settings['memory']} | {settings['learning_rate']:g}"
            rows.append(f"{begin} | {' | '.join(cells)} |")
    return "\n".join(rows)


def _accuracies_by_rate(title: str, rows: dict[str, list[Line]]) -> str:
    """A table with one column per learning rate and the accuracy of each seed in its cells."""
    rates = sorted({line["settings"]["learning_rate"] for found in rows.values() for line in found})
    table = [title + "".join(f"| {rate:g} " for rate in rates) + "|"]
    table.append("|---" * (title.count("|") + len(rates)) + "|")
    for begin, found in rows.items():
        cells = [
            " ".join(
                f"{line['accuracy'] or 0.0:.2f}"
                for line in sorted(found, key=lambda line: line["settings"]["seed"])
                if line["settings"]["learning_rate"] == rate
            )
            for rate in rates
        ]
        table.append(begin + "".join(f"| {cell} " for cell in cells) + "|")
    return "\n".join(table)


def agent_claims_table() -> str:
    """The paper's claims about agents, evaluated from the committed records."""
    rows = ["| claim | value (holds above) | measured | verdict |", "|---|---|---|---|"]
    for finding in evaluate_agents(ROOT / "results" / "agents"):
        measured = [_task_in_words(one) for one in finding.tasks]
        if len(finding.tasks) > 1:
            tasks = (one.task for one in finding.tasks)
            measured = [f"{task}: {words}" for task, words in zip(tasks, measured, strict=True)]
        rows.append(_claim_row(finding, ["; ".join(measured)]))
    return "\n".join(rows)


def sb3_table() -> str:
    """Concrete against the LSTM inside sb3-contrib's RecurrentPPO."""
    lines = Records(ROOT / "results" / "sb3.jsonl").read()
    rows = [
        "| core | delay | steps | mean return of the last 100 episodes, by seed |",
        "|---|---:|---:|---|",
    ]
    cells: dict[tuple[str, int, int], list[str]] = {}
    for line in lines:
        key = (line["core"], line["delay"], line["steps"])
        cells.setdefault(key, []).append(f"{line['return']:.2f}")
    rows += [
        f"| {core} | {delay} | {steps:,} | {', '.join(returns)} |"
        for (core, delay, steps), returns in cells.items()
    ]
    return "\n".join(rows)


def reliability_table() -> str:
    """What the harness measured last of each fault."""
    lines: dict[str, Line] = {}
    for line in Records(ROOT / "results" / "reliability.jsonl").read():
        before = lines.get(line["fault"])
        # Another seed adds to what was tried; the same one replaces it.
        if before is not None and before["seed"] != line["seed"]:
            for name in ("tries", "survived", "lost"):
                line[name] += before[name]
            line["note"] = f"{before['note']}; {line['note']}"
        lines[line["fault"]] = line
    rows = [
        "| fault | tries | survived | lost | seconds | what else | made by |",
        "|---|---:|---:|---:|---:|---|---|",
    ]
    for line in lines.values():
        cost = "" if line["seconds"] is None else f"{line['seconds']:.1f}"
        counts = " | ".join(str(line[name]) for name in ("tries", "survived", "lost"))
        made = f"`{line['part']}`, {line['commit']}, {line['date']}"
        note = " ".join(line["note"].replace("|", "\\|").split())
        rows.append(f"| {line['fault']} | {counts} | {cost} | {note} | {made} |")
    return "\n".join(rows)


def claims_table() -> str:
    """The paper's claims about classification, evaluated from the committed records."""
    findings = evaluate_classification(ROOT / "results" / "classification")
    tasks = [one.task for one in findings[0].tasks]
    rows = ["| claim | value (holds above) | " + " | ".join(tasks) + " | verdict |"]
    rows.append("|---|---|" + "---|" * len(tasks) + "---|")
    rows += [_claim_row(one, [_task_in_words(task) for task in one.tasks]) for one in findings]
    return "\n".join(rows)


SHORT = (
    "chain-short-truncation",
    "lstm-needs-long-truncation",
    "chain-above-parallel",
    "cued-catch-chain",
    "cued-catch-lstm",
)
"""The claims that the README shows."""


def short_claims_table() -> str:
    """Some claims in short: the tasks they are about, their runs and verdicts."""
    findings = {
        finding.claim.id: finding
        for finding in (
            *evaluate_classification(ROOT / "results" / "classification"),
            *evaluate_agents(ROOT / "results" / "agents"),
        )
    }
    rows = ["| the paper says | runs | verdict |", "|---|---:|---|"]
    rows += [
        f"| {findings[name].claim.text} | {findings[name].n} | {findings[name].verdict} |"
        for name in SHORT
    ]
    return "\n".join(rows)


def _claim_row(finding: Finding, measured: list[str]) -> str:
    claim = finding.claim
    about = [f"{claim.text} (`{claim.id}`)", f"{claim.statistic} ({claim.threshold:g})"]
    return "| " + " | ".join([*about, *measured, f"**{finding.verdict}**"]) + " |"


def _task_in_words(one: TaskFinding) -> str:
    value = "" if one.value is None else f"{one.value:.2f}"
    interval = "" if one.interval is None else " ({:.2f} to {:.2f})".format(*one.interval)
    return f"{value}{interval}, n = {one.n}: {one.verdict}".removeprefix(", ")


TABLES: dict[str, dict[str, Callable[[], str]]] = {
    "../README.md": {"<!-- claims in short -->": short_claims_table},
    "reliability.md": {"<!-- faults -->": reliability_table},
    "agents.md": {
        "<!-- settings of agents -->": agent_tables,
        "<!-- space of the search -->": search_space_table,
        "<!-- pretrained agents -->": pretrained_table,
    },
    "populations.md": {
        "<!-- settings of populations -->": functools.partial(plain_table, PopulationSettings)
    },
    "classification.md": {
        "<!-- settings of a run -->": functools.partial(plain_table, StreamSettings),
        "<!-- cells that a linear reader solves -->": solved_table,
        "<!-- linear reader -->": reader_tables,
        "<!-- distinct pools -->": distinct_pools_table,
        "<!-- settings of a sweep -->": functools.partial(plain_table, SweepPlan),
        "<!-- defaults by memory -->": defaults_table,
        "<!-- search for defaults -->": functools.partial(search_table, zero_bias=False),
        "<!-- search with a bias of 0 -->": functools.partial(search_table, zero_bias=True),
        "<!-- collapse -->": collapse_table,
        "<!-- variants -->": variants_table,
    },
    "results.md": {
        "<!-- claims of classification -->": claims_table,
        "<!-- claims of agents -->": agent_claims_table,
        "<!-- sb3 -->": sb3_table,
    },
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
