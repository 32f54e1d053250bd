"""Tables of the truncation benchmark and of agents over delays, from records."""

from pathlib import Path

from longpass.agents import RunSettings
from longpass.cli._benchmark import make_markdown
from longpass.records import Line, Records
from longpass.streams import read_benchmark, score_memories, tabulate_scores

ROOT = Path(__file__).parent.parent


def benchmark_table() -> str:
    """The scores of all memories, as `longpass benchmark --show --markdown` prints them."""
    scores = score_memories(read_benchmark(ROOT / "results" / "benchmark"))
    return make_markdown(tabulate_scores(scores))


def delays_table() -> str:
    """Agents on Delayed Cue: how many solved it, after how many steps."""
    cells: dict[tuple[str, int], dict[int, list[Line]]] = {}
    for line in Records(ROOT / "results" / "agents" / "delays" / "records.jsonl").read():
        run = RunSettings.from_json(line["settings"])
        row = (run.agent.network.memory, run.agent.learner.block_every)
        delay = line["settings"]["params"]["delay"]
        cells.setdefault(row, {}).setdefault(delay, []).append(line)
    delays = sorted({delay for row in cells.values() for delay in row})
    rows = ["| memory | gradients over | " + " | ".join(f"delay {one}" for one in delays) + " |"]
    rows.append("|---|---:|" + "---|" * len(delays))
    for (memory, block_every), by_delay in cells.items():
        found = [_in_words(by_delay.get(delay, [])) for delay in delays]
        rows.append(f"| {memory} | {block_every} | " + " | ".join(found) + " |")
    return "\n".join(rows)


def _in_words(lines: list[Line]) -> str:
    """How many agents solved their world, at which million steps; else what they earned."""
    if not lines:
        return ""
    solved = sorted(line["steps"] / 1e6 for line in lines if line["solved"])
    words = f"{len(solved)} of {len(lines)}"
    if solved:
        words += f", at {', '.join(f'{steps:.2g}' for steps in solved)} million"
    failed = sorted(line["return_500"] for line in lines if not line["solved"])
    if failed:
        words += f"; else {', '.join(f'{value:.2f}' for value in failed)}"
    return words
