"""Where runs are shown in the paper's figures, and what they say about its claims.

The choice is that of `longpass.figures` and `longpass.claims`; only the reading of files is ours.
"""

import dataclasses
import functools
import json
from pathlib import Path
from typing import NamedTuple

import numpy as np

from longpass._json import JsonObject
from longpass.agents import KIND as AGENT
from longpass.agents import UNFINISHED, Returns, RunSettings, identify_run, keep_longest
from longpass.report._population import choose_top
from longpass.report._run import Number, Run, State
from longpass.report._store import Store
from longpass.streams import KIND as STREAM
from longpass.streams import check_result, tabulate_results

_STREAMS, _AGENTS = "classification", "agents"
"""The collections that figures and claims are made from, if they are there."""
_CONDITIONING = "conditioning"  # the folder of the runs of that study


def place_runs(store: Store) -> None:
    """Find the places of all new runs."""
    place_streams(store)
    place_agents(store)


def place_streams(store: Store) -> None:
    """Find the places of new runs of classification: one that is recorded twice is shown once."""
    with store.lock:
        streams = [run for run in store.ordered() if run.kind == STREAM]
        for run in streams:
            if run.fits is None and run.state in ("complete", "diverged"):
                run.fits = {"scores": ()}
                run.identity = f"{run.collection} {json.dumps(run.nested, sort_keys=True)}"
        _show_once(store, streams, longest=False)


def place_agents(store: Store) -> None:
    """Find the places of new agents; of those with equal settings, the longest.

    This imports JAX if there are any.
    """
    with store.lock:
        agents = [run for run in _find_agents(store) if run.ys]
    for run in agents:
        if run.fits is None:
            _fit_agent(run)
    with store.lock:
        _show_once(store, agents, longest=True)


def evaluate_claims(store: Store) -> list[JsonObject]:
    """The paper's claims, evaluated from all runs that have places in the figures.

    **Returns:** one object per claim, as `longpass claims --json` has it, with what its value is
    and where its evidence is shown.
    """
    from longpass.claims import AGENTS, CLASSIFICATION, evaluate

    with store.lock:
        streams = _choose([run for run in store.ordered() if run.kind == STREAM], _STREAMS)
        lines = [
            {"event": "result", "kind": STREAM, "settings": run.nested, "accuracy": run.score}
            for run in streams
            if run.state in ("complete", "diverged")
        ]
        agents = [_copy_curves(run, store) for run in _find_agents(store)]
    # What follows takes seconds: meanwhile others may read the store.
    results = tabulate_results(filter(_is_whole, lines))
    findings = [(evaluate(claim, results), "scores") for claim in CLASSIFICATION if len(results)]
    returns = keep_longest([one for one in map(_read_returns, agents) if one is not None])
    for claim in AGENTS if returns else ():
        figure = "onset" if "-onset-" in claim.id else "rl"
        findings.append((evaluate(claim, returns), figure))
    return [
        finding.to_json()
        | {
            "statistic": finding.claim.statistic,
            "threshold": finding.claim.threshold,
            "figure": figure,
        }
        for finding, figure in findings
    ]


def _is_whole(line: JsonObject) -> bool:
    """Whether a result has all that claims need. Others are listed, and nothing is claimed."""
    try:
        check_result("a result", line)
    except ValueError:
        return False
    return True


def _choose(runs: list[Run], collection: str) -> list[Run]:
    """The runs of one collection, if it is there; otherwise all."""
    return [run for run in runs if run.collection == collection] or runs


def _find_agents(store: Store) -> list[Run]:
    """The runs that the figures of agents are drawn from: single ones, populations, studies.

    Trials that were recorded in other ways are listed, but in no figure, and so are agents of
    studies that are not finished.
    """
    populations = [population.run for population in store.populations.values()]
    folders = [run for run in store.ordered() if run.source == "folder" and run.population is None]
    found = sorted(
        (
            run
            for run in [*populations, *folders]
            if run.kind == AGENT and Path(run.folder).parent.name != UNFINISHED
        ),
        key=lambda run: run.folder,
    )
    studies = [run for run in store.ordered() if run.source == "study" and run.kind == AGENT]
    return _choose([*found, *studies], _AGENTS)


def _show_once(store: Store, runs: list[Run], *, longest: bool) -> None:
    """Place one run of each identity: the first, or the longest."""
    shown: dict[str, Run] = {}
    for run in runs:
        if run.fits is not None:
            other = shown.setdefault(run.identity, run)
            if longest and other.episodes[-1] < run.episodes[-1]:
                shown[run.identity] = run
    for run in runs:
        places = {
            name: place
            for name, place in (run.fits or {}).items()
            # That study shows its own runs, whatever else there is.
            if name == _CONDITIONING or shown.get(run.identity) is run
        }
        if places != run.places:
            run.places = places
            store.note_places(run)


def _fit_agent(run: Run) -> None:
    """Find where the settings of an agent belong."""
    settings, seed = _split_seed(run)
    fit = _fit_settings(settings)
    size = "population" if run.source == "population" else "single"
    run.fits, run.best = dict(fit.places), fit.best
    run.identity = f"{size} {seed} {fit.identity}"
    if Path(run.folder).parent.name == _CONDITIONING and fit.form is not None:
        run.fits[_CONDITIONING] = (run.task, fit.form)


class _Fit(NamedTuple):
    """What the settings of an agent say about its places, whatever its seed."""

    places: dict[str, tuple[str, ...]]
    identity: str
    best: float | None
    """The highest possible return."""
    form: str | None
    """The form of its network, in words."""


@functools.cache
def _fit_settings(settings: str) -> _Fit:
    """Find where settings, as JSON, belong. Many runs differ in nothing but their seed."""
    from longpass.figures import lstm_onset, rl
    from longpass.figures.conditioning import label_form

    run = _parse_settings(settings)
    if run is None:
        return _Fit({}, settings, None, None)
    found = {"rl": rl.find_place(run), "onset": lstm_onset.find_place(run)}
    places = {
        name: tuple(str(part) for part in place)
        for name, place in found.items()
        if place is not None
    }
    return _Fit(places, identify_run(run), run.max_return(), label_form(run))


@functools.cache
def _parse_settings(settings: str) -> RunSettings | None:
    """The settings of an agent; None if they are of another version, or not ours."""
    try:
        return RunSettings.from_json(json.loads(settings))
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def _split_seed(run: Run) -> tuple[str, int]:
    """(Settings with seed 0 as JSON, the seed)."""
    nested = run.nested or {}
    seed = nested.get("seed")
    if not isinstance(seed, int) or seed < 0:
        return json.dumps(nested), 0
    return json.dumps(nested | {"seed": 0}), seed


class _Curves(NamedTuple):
    """What the claims need to know of a run or a population."""

    settings: str
    seed: int
    members: int
    solved: bool
    state: State
    curves: list[tuple[list[Number], list[Number]]]


def _copy_curves(run: Run, store: Store) -> _Curves:
    members = [run]
    if run.source == "population":
        members = next(one.members for one in store.populations.values() if one.run is run)
    curves = [(list(one.episodes), list(one.ys)) for one in choose_top(members)]
    return _Curves(*_split_seed(run), len(members), run.solved, run.state, curves)


def _read_returns(run: _Curves) -> Returns | None:
    """A run or a population as the claims take it."""
    settings = _parse_settings(run.settings)
    if settings is None or not run.curves:
        return None
    curves = tuple((np.array(episodes, float), np.array(ys, float)) for episodes, ys in run.curves)
    diverged = run.state == "diverged"
    complete = diverged or run.state == "complete"
    settings = dataclasses.replace(settings, seed=run.seed)
    return Returns(settings, run.members, curves, run.solved, diverged, complete)
