"""Write the tables of settings, claims, benchmarks, linear readers, defaults and faults.

Each stands between its markers.

python scripts/make_tables.py          # write
python scripts/make_tables.py --check  # exit with 1 if a page would change
"""

import functools
import sys
from collections.abc import Callable
from pathlib import Path

from longpass.agents import PopulationSettings
from longpass.streams import StreamSettings, SweepPlan
from tables_agents import (
    agents_search_table,
    effort_table,
    gated_variants_table,
    onset_table,
    paper_form_table,
    paper_search_table,
    reading_table,
    returns_table,
    writer_rates_table,
)
from tables_results import (
    agent_claims_table,
    benchmark_table,
    claims_table,
    delays_table,
    reliability_table,
    sb3_table,
)
from tables_search import (
    collapse_table,
    distinct_pools_table,
    reader_tables,
    search_table,
    solved_table,
    variants_table,
)
from tables_settings import (
    agent_tables,
    defaults_table,
    plain_table,
    pretrained_table,
    search_space_table,
)
from tables_summary import short_table, summary_table

DOCS = Path(__file__).parent.parent / "docs"
END = "<!-- end -->"

TABLES: dict[str, dict[str, Callable[[], str]]] = {
    "../README.md": {"<!-- in short -->": short_table},
    "reliability.md": {"<!-- faults -->": reliability_table},
    "benchmark.md": {
        "<!-- scores of the benchmark -->": benchmark_table,
        "<!-- delays -->": delays_table,
    },
    "agents.md": {
        "<!-- settings of agents -->": agent_tables,
        "<!-- space of the search -->": search_space_table,
        "<!-- pretrained agents -->": pretrained_table,
    },
    "understand/conditioning.md": {"<!-- reading -->": reading_table},
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
        "<!-- in short -->": summary_table,
        "<!-- claims of classification -->": claims_table,
        "<!-- claims of agents -->": agent_claims_table,
        "<!-- returns of agents -->": returns_table,
        "<!-- onset -->": onset_table,
        "<!-- search for all memories -->": agents_search_table,
        "<!-- tuning -->": effort_table,
        "<!-- search of the paper's form -->": paper_search_table,
        "<!-- writer rates -->": writer_rates_table,
        "<!-- paper form -->": paper_form_table,
        "<!-- gated variants -->": gated_variants_table,
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
