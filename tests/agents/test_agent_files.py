"""Agents in single files: what is loaded is what was saved, and anything else is refused."""

import dataclasses
import json
import shlex
from pathlib import Path

import equinox as eqx
import jax
import pytest

import longpass.agents
from longpass._options import Options
from longpass.agents import (
    PRETRAINED,
    SavedAgent,
    changed_settings,
    load_agent,
    load_policy,
    load_pretrained,
    make_trainer,
    measure_returns,
    pretrained_names,
    resolve_settings,
    round_weights,
    save_agent,
)
from longpass.cli import _parse
from longpass.cli._export import _write_command
from longpass.envs import CuedCatchParams, TMazeParams
from tests.helpers import run, run_longpass

RUN = resolve_settings(
    "cued-catch",
    CuedCatchParams(num_trials=5, reward_free_trials=1),
    {"memory": "lstm", "hidden_size": 12, "envs": 2, "block_every": 7, "rollout": 21},
    seed=3,
)
CARD = {"task": "cued-catch", "note": "<b>&"}


@pytest.fixture(scope="module")
def agent():
    """An agent that was never trained."""
    state = make_trainer(RUN).start(jax.random.key(0))
    return SavedAgent(RUN, state.weights.network, CARD)


def test_what_is_loaded_is_what_was_saved(agent, tmp_path):
    save_agent(tmp_path / "a.safetensors", agent)
    loaded = load_agent(tmp_path / "a.safetensors")
    assert loaded.run == RUN
    assert loaded.card == CARD
    assert bool(eqx.tree_equal(loaded.network, agent.network))
    run, network, warning = load_policy(tmp_path / "a.safetensors")
    assert (run, warning) == (RUN, None)
    assert bool(eqx.tree_equal(network, agent.network))
    assert [path.name for path in tmp_path.iterdir()] == ["a.safetensors"]


def test_half_the_precision_is_half_the_size(agent, tmp_path):
    save_agent(tmp_path / "whole.safetensors", agent)
    save_agent(tmp_path / "half.safetensors", agent, half=True)
    loaded = load_agent(tmp_path / "half.safetensors").network
    assert bool(eqx.tree_equal(loaded, round_weights(agent.network)))
    assert not bool(eqx.tree_equal(loaded, agent.network))
    sizes = [(tmp_path / f"{name}.safetensors").stat().st_size for name in ("half", "whole")]
    assert sizes[0] < 0.6 * sizes[1]
    large = eqx.tree_at(lambda net: net.value.bias, agent.network, replace_fn=lambda b: b + 1e5)
    with pytest.raises(ValueError, match=r"\.value\.bias has weights beyond 65504"):
        save_agent(tmp_path / "large.safetensors", agent._replace(network=large), half=True)
    assert not (tmp_path / "large.safetensors").exists()


@pytest.mark.parametrize("damage", ["cut", "empty", "text", "header"])
def test_a_damaged_file_is_refused_by_name(agent, tmp_path, damage):
    path = tmp_path / "a.safetensors"
    save_agent(path, agent)
    data = path.read_bytes()
    changed = {
        "cut": data[: len(data) // 2],
        "empty": b"",
        "text": b"not an agent",
        "header": b"\xff" * 8 + data[8:],
    }
    path.write_bytes(changed[damage])
    with pytest.raises(ValueError, match=r"a\.safetensors is not an agent that longpass saved"):
        load_agent(path)


def test_arrays_that_do_not_fit_their_settings_are_refused(agent, tmp_path):
    other = dataclasses.replace(
        RUN, agent=resolve_settings("cued-catch", RUN.params, {"memory": "lstm"}).agent
    )
    save_agent(tmp_path / "a.safetensors", agent._replace(run=other))
    with pytest.raises(ValueError, match="another network or version"):
        load_agent(tmp_path / "a.safetensors")


OPTIONS = Options.of({"hidden_size": 8, "form": "as is", "gain": "2"})


@pytest.mark.parametrize(
    ("env", "params", "overrides"),
    [
        ("cued-catch", None, {}),
        (
            "cued-catch",
            CuedCatchParams(num_trials=5, reward_free_trials=2),
            {"block_every": 100},
        ),
        (
            "cued-catch",
            None,
            {"memory": "lstm", "longest_time": None, "learning_rate": 2e-4},
        ),
        ("cued-catch", None, {"num_pools": 3, "normalise": None, "writer": "learned"}),
        ("sequence-recall", None, {"lambda_": 0.9, "read_last_step": True}),
        ("t-maze", TMazeParams(truncate_at_timeout=True, timeout_frames=-1), {}),
        ("cued-catch", None, {"memory": "memax:LRU", "memory_options": OPTIONS}),
        ("minigrid:MiniGrid-MemoryS7-v0", {"size": 9, "render_mode": None}, {"envs": 2}),
        # As many as by default, but not with these settings.
        ("CartPole-v1", {}, {"rollout": 300, "slices": 3}),
        ("t-maze", None, {"extra_pools": 3, "num_pools": 9}),
    ],
)
def test_the_command_on_a_card_asks_for_the_same_run(env, params, overrides):
    run = resolve_settings(env, params, overrides, seed=4)
    words = shlex.split(_write_command(run, 1000))
    assert words[:2] == ["longpass", "train"]
    assert _parse(words[1:]).settings() == run
    assert set(overrides) <= set(changed_settings(run))


def test_the_command_on_a_card_has_only_what_is_no_default():
    run = resolve_settings("t-maze", None, {"rollout": 100, "block_every": 50}, seed=4)
    flags = "--memory chain --rollout 100 --block-every 50 --seed 4 --steps 1000"
    assert _write_command(run, 1000) == f"longpass train t-maze {flags}"


def test_an_unknown_name_is_refused_with_the_names_there_are():
    with pytest.raises(ValueError, match="name is 'nobody': it must be one of cued-catch-chain"):
        load_policy(f"{PRETRAINED}nobody")


@pytest.mark.slow
@pytest.mark.parametrize("name", pretrained_names())
def test_agents_that_come_with_longpass_score_what_their_cards_say(name):
    agent = load_pretrained(name)
    of = agent.card["scores"]["sampled"]
    played = measure_returns(agent.run, agent.network, 50, seed=7)["sampled"]
    assert played["high"] >= of["low"] - 0.02 * abs(of["low"])
    assert played["low"] <= of["high"] + 0.02 * abs(of["high"])
    assert of["mean"] >= 0.9 * agent.card["return_max"]


@pytest.mark.slow
def test_the_commands_take_an_agent_that_comes_with_longpass(capsys, tmp_path):
    gif = tmp_path / "a.gif"
    where = f"{PRETRAINED}cued-catch-chain"
    short = ("--num-trials", 3, "--reward-free-trials", 1)
    code, _, err = run(capsys, "film", "cued-catch", *short, "--policy", where, "-o", gif)
    assert code == 0, err
    assert gif.read_bytes().startswith(b"GIF89a")
    code, out, err = run_longpass("evaluate", where, "--episodes", 5, "--json")
    assert code == 0, err
    assert json.loads(out)["sampled"]["mean"] > 50


def test_all_agents_together_are_small():
    folder = Path(longpass.agents.__file__).parent / "pretrained"
    sizes = [path.stat().st_size for path in folder.glob("*.safetensors")]
    assert len(sizes) == len(pretrained_names()) > 0
    assert sum(sizes) < 3e6
    assert all(path.with_suffix(".md").exists() for path in folder.glob("*.safetensors"))
