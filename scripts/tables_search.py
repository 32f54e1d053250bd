"""Tables about the search for defaults of classification and about linear readers.

Those of the search are made from records, those of readers from the CSV of their figure.
"""

import csv
import itertools
from pathlib import Path

from longpass.records import RECORDS, Line, Records
from longpass.streams import SOLVED
from tables_settings import in_words

ROOT = Path(__file__).parent.parent
SEARCH = ROOT / "results" / "defaults"
READER = ROOT / "results" / "figures" / "linear-reader.csv"


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
        row = tuple(in_words(line["settings"][name]) for name in (*names, "epsilon"))
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
