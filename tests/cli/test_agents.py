"""`train`, `evaluate`, `film` and `figure` of agents, as a user meets them."""

import io
import json
import os
import shutil
import signal
import subprocess
import sys

import numpy as np
import pytest
from matplotlib.image import imread
from PIL import Image
from rich.console import Console

from longpass._fields import all_names, flag_name
from longpass.agents import (
    AgentSettings,
    Progress,
    bootstrap_interval,
    learning_curve,
    load_settings,
    resolve_settings,
)
from longpass.cli import _panel, main
from longpass.records import Checkpoints, Records
from tests.helpers import SMALL, TASK, count_shapes, given, run

# The commands share a run, and its program with tests/learners/test_runs.py.
pytestmark = pytest.mark.xdist_group("runs")


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """The folder of a short run."""
    folder = tmp_path_factory.mktemp("run")
    main(["train", *TASK, *SMALL, "--steps", "1600", "--out", str(folder), "--log", "tensorboard"])
    return folder


@pytest.mark.slow
def test_train_reports_its_result(trained, capsys):
    code, out, _ = run(
        capsys, "train", *TASK, *SMALL, "--steps", 1900, "--out", trained, "--resume", "--json"
    )
    assert code == 0
    result = json.loads(out)
    assert (result["steps"], result["updates"], result["return_max"]) == (1920, 24, 3.0)
    assert result["episodes"] == learning_curve(trained)[-1]["episodes"] > 25
    assert 0.0 < result["return_mean"] < 3.0
    assert result["seconds"] > 0
    assert list((trained / "tensorboard").iterdir())


def test_flags_that_are_not_given_are_the_defaults_of_the_task():
    def resolve(env, **overrides):
        agent = resolve_settings(env, None, overrides).agent
        return agent.network, agent.learner, agent.hyper

    network, learner, hyper = resolve("t-maze", block_every=100)
    # One pool more than reach 390 steps; V-trace looks over the whole rollout.
    assert (network.num_pools, learner.slices, hyper.discount) == (9, 1, 0.99)
    network, learner, hyper = resolve("cued-catch", block_every=100, learning_rate=0.5)
    assert (network.num_pools, learner.slices, hyper.discount) == (9, 3, 0.8)
    assert hyper.learning_rate == 0.5
    assert (network.writer, network.normalise) == ("frozen", "layer")
    assert (network.embedding, learner.lambda_) == ("sparse", 1.0)
    network, learner, _ = resolve("sequence-recall")
    assert (network.embedding, learner.lambda_) == ("centred", 0.7)
    assert resolve("sequence-recall", lambda_=0.0)[1].lambda_ == 0.0
    network, *_ = resolve("cued-catch", memory="lstm")
    assert (network.writer, network.normalise) == ("frozen", None)
    paper = resolve_settings("cued-catch", None, {"embedding": "sparse"}, paper=True).agent.network
    assert (paper.writer, paper.embedding, paper.normalise) == ("learned", "sparse", None)
    network, learner, hyper = resolve("CartPole-v1")
    assert (network.num_pools, network.writer, network.embedding) == (6, "learned", "plain")
    assert (learner.rollout, learner.slices, hyper.learning_rate) == (60, 3, 5e-4)


def test_every_setting_of_an_agent_is_a_flag(capsys):
    for command in ("train", "pbt"):
        code, out, _ = run(capsys, command, "--help")
        assert code == 0
        for name in all_names(AgentSettings):
            assert f"--{flag_name(name).replace('_', '-')} " in out, name
    assert "0.0005 for a Gymnasium environment" in " ".join(out.replace("│", " ").split())


def test_help_of_agents_does_not_import_jax():
    code = (
        "import sys\n"
        "from longpass.cli import main\n"
        "try: main(['train', '--help'])\n"
        "except SystemExit: pass\n"
        "print('jax' in sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stderr.strip() == "False"


@pytest.mark.slow
def test_a_run_is_resumed_by_its_folder_alone(trained, tmp_path, capsys):
    begun = tmp_path / "run"
    shutil.copytree(trained, begun)
    code, out, _ = run(capsys, "train", "--resume", "--out", begun, "--steps", 2240, "--json")
    assert code == 0
    result = json.loads(out)
    assert (result["task"], result["steps"]) == ("cued-catch", 2240)
    code, _, err = run(capsys, "train", "--resume", "--out", begun, "--memory", "lstm")
    assert code == 1
    assert "takes all settings of the agent from the run" in err


@pytest.mark.slow
def test_a_signal_saves_and_stops(trained, tmp_path, capsys, monkeypatch):
    """SIGTERM after the second call: the call is finished, saved, and the exit says stopped."""
    shown = []

    def show(self, progress):
        shown.append(progress.updates)
        if len(shown) == 2:
            os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(_panel.Panel, "show", show)
    before = signal.getsignal(signal.SIGTERM)
    code, out, _ = run(capsys, "train", *TASK, *SMALL, "--steps", 1e6, "--out", tmp_path)
    assert code == 130
    assert "--resume" in out
    assert f"--steps 1000000.0 --out {tmp_path} --resume continues" in " ".join(out.split())
    assert shown == [2, 4]
    assert int(np.load(tmp_path / "checkpoint.npz")["['training'].updates"]) == 4
    assert signal.getsignal(signal.SIGTERM) is before


@pytest.mark.slow
def test_the_panel_shows_progress(trained):
    text = io.StringIO()
    console = Console(file=text, force_terminal=True, width=80)
    names = ("entropy", "policy_loss", "baseline_loss", "gradient_norm")
    metrics: dict[str, float] = dict.fromkeys(names, 0.25)
    scores = np.linspace(0.0, 1.0, 400, dtype=np.float32)
    with _panel.Panel(console, load_settings(trained), 1e6) as panel:
        for steps in (1000, 2000):
            panel.show(Progress(1, steps, 5, 400, 1.0, scores, metrics))
    shown = text.getvalue()
    for part in ("2,000 of 1,000,000", "0.876 of 3.000", "0.500 of 3.000", "entropy", "time left"):
        assert part in shown
    quiet = io.StringIO()
    with _panel.Panel(Console(file=quiet), load_settings(trained), 1e6) as panel:
        panel.show(Progress(1, 1000, 5, 400, 1.0, scores, metrics))
    assert quiet.getvalue() == ""


@pytest.mark.slow
def test_evaluate(trained, capsys):
    code, out, _ = run(capsys, "evaluate", trained, "--episodes", 30, "--json")
    assert code == 0
    result = json.loads(out)
    for kind in ("greedy", "sampled"):
        found = result[kind]
        ordered = [found[name] for name in ("worst", "low", "mean", "high", "best")]
        assert ordered == sorted(ordered)
        assert found["best"] <= 3.0
    assert result["return_max"] == 3.0


@pytest.mark.slow
def test_a_single_episode_has_no_interval(trained, tmp_path, capsys):
    code, out, err = run(capsys, "evaluate", trained, "--episodes", 1)
    assert code == 0, err
    assert " to " not in out
    file = tmp_path / "one.safetensors"
    code, out, err = run(capsys, "export", trained, "-o", file, "--episodes", 1, "--json")
    assert code == 0, err
    for found in json.loads(out)["card"]["scores"].values():
        assert found["low"] is found["high"] is None
        assert found["worst"] == found["mean"] == found["best"]
        assert (
            f"| {found['mean']:.3f} |  | {found['worst']:.3f} |"
            in (tmp_path / "one.md").read_text()
        )


@pytest.mark.slow
def test_a_card_counts_the_steps_of_the_weights_it_is_about(trained, tmp_path, capsys):
    """Records go further than the checkpoint where training goes on, or was killed."""
    shutil.copytree(trained, tmp_path / "run")
    records = Records(tmp_path / "run" / "records.jsonl")
    last = next(line for line in reversed(records.read()) if line["event"] == "progress")
    more = {name: 10 * last[name] for name in ("updates", "steps", "optimiser_steps")}
    records.append([last | more])
    export = ("export", tmp_path / "run", "-o", tmp_path / "one.safetensors", "--episodes", 2)
    code, out, err = run(capsys, *export, "--json")
    assert code == 0, err
    assert json.loads(out)["card"]["steps"] == last["steps"]
    (tmp_path / "one.safetensors").unlink()
    (tmp_path / "one.md").write_text("my notes")
    code, _, err = run(capsys, *export)
    assert code == 1
    assert "one.md is there already" in err
    assert (tmp_path / "one.md").read_text() == "my notes"


@pytest.mark.slow
def test_film_of_a_policy_shows_its_memory(trained, tmp_path, capsys):
    files = [tmp_path / name for name in ("policy.gif", "scripted.gif")]
    for path, policy in zip(files, (trained, "scripted"), strict=True):
        code, out, _ = run(capsys, "film", *TASK, "--policy", policy, "-o", path, "--json")
        assert code == 0
        assert json.loads(out)["steps"] == 24
    with Image.open(files[0]) as film, Image.open(files[1]) as plain:
        assert film.size[1] == plain.size[1]
        assert film.size[0] > plain.size[0]
        film.seek(20)
        beside = np.asarray(film.convert("RGB"))[:98, plain.size[0] :]
    assert len(np.unique(beside.reshape(-1, 3), axis=0)) > 5
    # Without flags the world has the parameters of the run; flags replace them one by one.
    film = ("film", "cued-catch", "--policy", trained, "-o", tmp_path / "other.gif", "--json")
    assert json.loads(run(capsys, *film)[1])["steps"] == 24
    assert json.loads(run(capsys, *film, "--num-trials", "2")[1])["steps"] == 17
    code, _, err = run(capsys, "film", "t-maze", "--policy", trained, "-o", tmp_path / "no.gif")
    assert code == 1
    assert "trained on cued-catch: it must be a run on t-maze" in err


@pytest.mark.slow
def test_report_shows_the_episode_of_the_film(trained, tmp_path, capsys):
    out = tmp_path / "new" / "report.html"
    code, text, _ = run(capsys, "report", trained, "--episodes", 1, "-o", out, "--json")
    assert code == 0
    result = json.loads(text)
    assert (result["runs"], result["episodes"], result["file"]) == (1, 1, str(out))
    page = out.read_text()
    assert '"frames":25' in page  # 24 steps, as the film of this run has
    assert result["bytes"] == out.stat().st_size < 2_500_000
    code, _, err = run(capsys, "report", tmp_path, "--episodes", 1, "-o", tmp_path / "no.html")
    assert code == 1
    assert "has a checkpoint" in err
    assert not (tmp_path / "no.html").exists()
    code, _, err = run(capsys, "report", trained, "-o", tmp_path)
    assert code == 1
    assert "which is a folder: it must be a file" in err


@pytest.mark.slow
@pytest.mark.parametrize("name", ["learning", "conditioning"])
def test_figures_of_runs(trained, tmp_path, capsys, name):
    code, out, _ = run(capsys, "figure", name, trained, "--out", tmp_path, "--json")
    assert code == 0
    assert json.loads(out)["name"] == name
    assert imread(tmp_path / f"{name}.png").ndim == 3
    # The curve of the run: as many points as it made calls.
    assert count_shapes(tmp_path / f"{name}.svg", points=8) >= 1
    label = {"learning": "chain, block every 5", "conditioning": "slow writer, sparse, layer"}
    assert label[name] in (tmp_path / f"{name}.svg").read_text()


@pytest.mark.slow
def test_any_gymnasium_environment(tmp_path, capsys):
    flags = ("--gym", "CartPole-v1", "--memory", "gru", "--hidden-size", "8", "--envs", "4")
    flags = (*flags, "--rollout", "20", "--block-every", "10", "--updates-per-call", "2")
    code, out, _ = run(capsys, "train", *flags, "--steps", 640, "--out", tmp_path, "--json")
    assert code == 0
    result = json.loads(out)
    assert result["steps"] == 640
    assert result["return_max"] is None
    # Every step pays 1, so returns sum up to the steps of whole episodes: all but the last of each
    # of the four copies, and what it played before it was first counted.
    paid = result["episodes"] * result["return_mean"]
    assert 320 < paid <= 640
    assert paid == pytest.approx(round(paid), abs=1e-3)
    code, out, _ = run(capsys, "evaluate", tmp_path, "--episodes", 3, "--json")
    assert code == 0
    sampled = json.loads(out)["sampled"]
    # No pole falls in fewer than eight steps.
    assert 8 <= sampled["worst"] <= sampled["mean"] <= sampled["best"] <= 500
    assert 3 * sampled["mean"] == pytest.approx(round(3 * sampled["mean"]), abs=1e-3)


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        ((), 1, "name a task (cued-catch, t-maze, sequence-recall, delayed-cue) or a --gym"),
        (("t-maze", "--gym", "CartPole-v1"), 1, "not both"),
        (("chess",), 2, "chess"),
        (("t-maze", "--memory", "tape"), 1, "memory is 'tape': it must be one of 'chain'"),
        (("t-maze", "--block-every", "400"), 1, "block_every is 400: it must be at most 300"),
        (("t-maze", "--slices", "7"), 1, "slices is 7: it must divide the rollout, which is 300"),
        (
            ("t-maze", "--memory", "lstm", "--normalise", "layer"),
            1,
            "normalise is 'layer': it must be None for lstm",
        ),
        (
            ("t-maze", "--discount", "1.5"),
            1,
            "discount is 1.5: it must be finite and at least 0 and at most 1",
        ),
        (("t-maze", "--limbo-time", "2"), 2, "limbo_time is 2: it must be"),
        (("t-maze", "--steps", "0"), 1, "steps is 0.0: it must be finite and above 0"),
        (("t-maze", "--actors", "2"), 1, "actors is 2: it must be left out for the engine 'local'"),
        (("t-maze", "--engine", "ray", "--lag", "2"), 1, "lag is 2: it must be 0 for the engine"),
        (("--gym", "Nowhere-v0"), 1, "gym is 'Nowhere-v0': Gymnasium cannot make it"),
        (("--gym", "Pendulum-v1"), 1, "they must be Discrete"),
    ],
)
def test_bad_input_is_named_before_any_work(tmp_path, capsys, args, code, message, unchecked_types):
    out = tmp_path / "run"
    status, _, err = run(capsys, "train", *args, "--out", out)
    assert status == code
    assert message in err
    assert not Checkpoints(out).exist()
    assert not (out / "records.jsonl").exists()


def test_a_network_that_cannot_be_made_leaves_no_folder(tmp_path, capsys):
    out = tmp_path / "run"
    code, _, err = run(capsys, "train", *TASK, "--memory-options", "base=0.5", "--out", out)
    assert code == 1
    assert "base is 0.5" in err
    assert not out.exists()


def test_what_is_no_run_is_refused(tmp_path, capsys):
    for name, command in (
        ("AGENT", ("evaluate", tmp_path)),
        ("RUN", ("export", tmp_path)),
        ("RUN", ("figure", "learning", tmp_path)),
        ("policy", ("film", "t-maze", "--policy", tmp_path)),
        ("out", ("train", "--resume", "--out", tmp_path)),
    ):
        code, _, err = run(capsys, *command)
        assert code == 1
        assert f"{name} is '{tmp_path}': it must be the folder of a run" in err
    (tmp_path / "settings.json").write_text('{"kind": "stream"}')
    code, _, err = run(capsys, "train", "--resume", "--out", tmp_path)
    assert code == 1
    assert f"out is '{tmp_path}': it must be a run of an agent, not of 'stream'" in err
    code, _, err = run(capsys, "figure", "learning")
    assert code == 1
    assert "no runs named" in err


def test_the_interval_is_around_the_mean_and_narrows():
    rng = np.random.default_rng(0)
    few, many = rng.normal(size=20), rng.normal(size=2000)
    widths = [np.diff(given(bootstrap_interval(scores)))[0] for scores in (few, many)]
    assert widths[1] == pytest.approx(2 * 1.96 / np.sqrt(2000), rel=0.1)
    assert widths[0] > 5 * widths[1]
    assert bootstrap_interval(few[:1]) is None
