"""Tables of the paper's claims, the benchmark, agents inside sb3-contrib and faults."""

import statistics
from pathlib import Path

from longpass.agents import find_returns
from longpass.claims import (
    Finding,
    TaskFinding,
    evaluate_agents,
    evaluate_classification,
)
from longpass.cli._benchmark import make_markdown
from longpass.records import Line, Records
from longpass.streams import read_benchmark, score_memories, tabulate_scores

ROOT = Path(__file__).parent.parent
_SOLVED = 0.9  # of a highest return of 1


def claims_table() -> str:
    """The paper's claims about classification, evaluated from the committed records."""
    findings = evaluate_classification(ROOT / "results" / "classification")
    tasks = [one.task for one in findings[0].tasks]
    rows = ["| claim | value (holds above) | " + " | ".join(tasks) + " | verdict |"]
    rows.append("|---|---|" + "---|" * len(tasks) + "---|")
    rows += [_claim_row(one, [_task_in_words(task) for task in one.tasks]) for one in findings]
    return "\n".join(rows)


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


def _claim_row(finding: Finding, measured: list[str]) -> str:
    claim = finding.claim
    about = [f"{claim.text} (`{claim.id}`)", f"{claim.statistic} ({claim.threshold:g})"]
    return "| " + " | ".join([*about, *measured, f"**{finding.verdict}**"]) + " |"


def _task_in_words(one: TaskFinding) -> str:
    value = "" if one.value is None else f"{one.value:.2f}"
    interval = "" if one.interval is None else " ({:.2f} to {:.2f})".format(*one.interval)
    return f"{value}{interval}, n = {one.n}: {one.verdict}".removeprefix(", ")


def benchmark_table() -> str:
    """The scores of all memories, as `longpass benchmark --show --markdown` prints them."""
    scores = score_memories(read_benchmark(ROOT / "results" / "benchmark"))
    return make_markdown(tabulate_scores(scores))


def delays_table() -> str:
    """What chains and LSTMs earn on Delayed Cue, by delay: the mean, and how many solve it."""
    runs: dict[tuple[str, int], dict[int, list[float]]] = {}
    for run in find_returns(ROOT / "results" / "agents" / "delays"):
        network, learner = run.settings.agent.network, run.settings.agent.learner
        memory = network.memory + (", chrono" if network.longest_time else "")
        cells = runs.setdefault((memory, learner.block_every), {})
        cells.setdefault(run.settings.params.delay, []).append(run.score)
    delays = sorted({delay for scores in runs.values() for delay in scores})
    rows = ["| memory | gradients over | " + " | ".join(f"delay {one}" for one in delays) + " |"]
    rows.append("|---|---:|" + "---|" * len(delays))
    for (memory, block_every), by_delay in sorted(runs.items()):
        found = [_solved_in_words(by_delay.get(delay, [])) for delay in delays]
        rows.append(f"| {memory} | {block_every} steps | " + " | ".join(found) + " |")
    return "\n".join(rows)


def _solved_in_words(scores: list[float]) -> str:
    solved = sum(score >= _SOLVED for score in scores)
    return f"{statistics.mean(scores):.2f}, {solved} of {len(scores)}" if scores else ""


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


_PARTS = ("kills", "signals", "locks", "resources", "cluster", "long", "fuzz", "damage")


def reliability_table() -> str:
    """What the harness measured last of each fault with each seed, in one row per fault."""
    last: dict[str, dict[int, Line]] = {}
    for line in Records(ROOT / "results" / "reliability.jsonl").read():
        # The same seed draws the same faults: it replaces what was tried before.
        last.setdefault(line["fault"], {})[line["seed"]] = line
    lines: list[Line] = []
    for by_seed in last.values():
        every = list(by_seed.values())
        sums = {name: sum(one[name] for one in every) for name in ("tries", "survived", "lost")}
        costs = [one["seconds"] for one in every if one["seconds"] is not None]
        lines.append(
            {
                **every[-1],
                **sums,
                "seconds": statistics.median(costs) if costs else None,
                "note": "; ".join(one["note"] for one in every),
                "commit": ", ".join(dict.fromkeys(one["commit"] for one in every)),
            }
        )
    rows = [
        "| fault | tries | survived | lost | seconds | what else | made by |",
        "|---|---:|---:|---:|---:|---|---|",
    ]
    for line in sorted(lines, key=lambda line: _PARTS.index(line["part"])):
        cost = "" if line["seconds"] is None else f"{line['seconds']:.1f}"
        counts = " | ".join(str(line[name]) for name in ("tries", "survived", "lost"))
        made = f"`{line['part']}`, {line['commit']}, {line['date']}"
        note = " ".join(line["note"].replace("|", "\\|").split())
        rows.append(f"| {line['fault']} | {counts} | {cost} | {note} | {made} |")
    return "\n".join(rows)
