"""Tables of settings and their defaults, from their declarations."""

from collections.abc import Callable
from typing import Any

from longpass._fields import describe_fields, flag_name
from longpass.agents import (
    COMMON,
    GATES,
    PAPER_FORM,
    POOLS,
    HyperParams,
    LearnerSettings,
    NetworkSettings,
    default_words,
    load_pretrained,
    pretrained_names,
)
from longpass.streams import StreamSettings, memory_defaults


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


def plain_table(cls: type) -> str:
    """The settings of a class whose defaults do not depend on anything."""
    return make_table(cls, lambda name: in_words(getattr(cls(), name)))


def in_words(value: Any) -> str:
    """A default as a table shows it."""
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    return "" if value is None else str(value)


def agent_tables() -> str:
    """The settings of agents."""
    classes = (NetworkSettings, LearnerSettings, HyperParams)
    return "\n\n".join(make_table(cls, default_words) for cls in classes)


def search_space_table() -> str:
    """What the random search for settings of agents draws."""
    rows = ["| setting | drawn from | for |", "|---|---|---|"]
    spaces = {
        "all memories": COMMON,
        "chain, parallel": POOLS,
        "lstm, gru": GATES,
        "the paper's own form": PAPER_FORM,
    }
    for memories, space in spaces.items():
        rows += [f"| `{flag_name(name)}` | {how} | {memories} |" for name, how in space.items()]
    return "\n".join(rows)


def pretrained_table() -> str:
    """The agents that come with longpass, from their cards."""
    rows = [
        "| name | mean return (95 % interval) | highest possible | steps | seed "
        "| trained at commit |",
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
        cells += [in_words(found[0].get(name)) for name in names]
        rows.append(f"| {memory} | {' | '.join(cells)} |")
    return "\n".join(rows)
