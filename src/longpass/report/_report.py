"""One HTML file with all that is recorded below some folders."""

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path

from longpass._json import JsonObject
from longpass.records import make_folder, provenance, write_atomically
from longpass.report._page import make_page
from longpass.report._payload import pack_store
from longpass.report._places import evaluate_claims, place_runs
from longpass.report._store import Store


@dataclasses.dataclass(frozen=True)
class Report:
    """A report that was written."""

    path: Path
    size: int
    """Bytes."""
    runs: int
    sweeps: int
    populations: int
    episodes: int
    notes: list[str]


def write_report(
    folders: Sequence[Path],
    out: Path,
    episodes: int = 0,
    *,
    on_progress: Callable[[str], None] = lambda _: None,
) -> Report:
    """Write one HTML file that shows what is recorded below some folders.

    **Arguments:**

    - `folders`: where to look. ValueError if one is not there.
    - `out`: the file. It is complete or not there. Its folder is made if it is not there.
    - `episodes`: episodes to record of each agent that has a checkpoint.
    - `on_progress`: called with what is done next, in a few words.

    **Returns:** what the file shows.
    """
    from longpass.report._episodes import record_episodes

    make_folder("the folder of out", Path(out).parent)
    on_progress("reading records")
    store = Store(folders)
    store.refresh()
    on_progress("finding the runs of each figure")
    place_runs(store)
    on_progress("evaluating claims")
    records = pack_store(store) | {"claims": evaluate_claims(store)}
    played: list[JsonObject] = []
    if episodes:
        played = record_episodes(folders, episodes, on_progress)
    on_progress("writing the page")
    names = ", ".join(map(str, store.folders))
    made = provenance()
    runs = len(store.runs) - len(store.populations)
    about = (
        f"{runs:,} runs in {names}; made on {made['date']} by longpass {made['version']}, "
        f"commit {made['commit']}"
    )
    page = make_page(names, about, records, played).encode("utf-8", "replace")
    write_atomically(Path(out), lambda file: file.write(page))
    return Report(
        path=Path(out),
        size=len(page),
        runs=runs,
        sweeps=sum(one.kind == "sweep" for one in store.activities.values()),
        populations=len(store.populations),
        episodes=len(played),
        notes=store.notes(),
    )
