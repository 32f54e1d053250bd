"""The console script: JSON, files, messages and exit codes."""

import csv
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tyro
from matplotlib.image import imread

from longpass import agents, cli, streams
from longpass.figures import impulse, linear_reader, memory_trace
from tests.helpers import count_shapes, run, run_longpass


def test_help_is_a_tour_and_is_quick_to_import():
    script = (
        "import sys, longpass.cli; sys.exit('jax' in sys.modules or 'matplotlib' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script]).returncode == 0
    code, out, _ = run_longpass("--help")
    assert code == 0
    for command in ("pools", "figure", "reproduce"):
        assert f"longpass {command}" in out


@pytest.mark.parametrize(
    ("name", "shapes", "points"),
    [
        ("impulse", 16, 40),  # a curve per pool, of two wirings
        ("frequency", 24, 20),  # three panels of as many
        pytest.param("memory-trace", 8, 20, marks=pytest.mark.slow),  # an image per pool
        pytest.param("schematic", 40, 6, marks=pytest.mark.slow),  # boxes and arrows
        pytest.param("tasks", 7, 20, marks=pytest.mark.slow),  # images of frames
    ],
)
def test_figure_writes_png_and_svg(capsys, tmp_path, name, shapes, points):
    code, out, _ = run(capsys, "figure", name, "--out", tmp_path / "new" / "folder", "--json")
    assert code == 0
    result = json.loads(out)
    assert result["name"] == name
    png, svg = map(Path, result["files"])
    assert sorted(path.name for path in png.parent.iterdir()) == [f"{name}.png", f"{name}.svg"]
    assert min(imread(png).shape[:2]) >= 800
    assert count_shapes(svg, points) >= shapes


@pytest.mark.slow
def test_figures_are_equal_every_time(capsys, tmp_path):
    for folder in ("a", "b"):
        assert run(capsys, "figure", "frequency", "--out", tmp_path / folder)[0] == 0
    for kind in ("png", "svg"):
        one, other = (tmp_path / folder / f"frequency.{kind}" for folder in "ab")
        assert one.read_bytes() == other.read_bytes()


def test_the_tour_takes_minutes():
    """Core-seconds that each of its trainings is expected to take."""
    lines = (line.strip().split("  ")[0].split() for line in cli._TOUR.splitlines())
    seconds = {}
    for _, name, *words in (words for words in lines if words[:1] == ["longpass"]):
        command = tyro.cli(cli.load_command(name), args=words, config=cli._FLAGS)
        match name:
            case "sweep":
                plan = command.plan
                groups = [[plan.settings(i) for i in group] for group in plan.groups()]
                seconds[name] = sum(streams.estimate_seconds(group, None) for group in groups)
            case "classify":
                seconds[name] = streams.estimate_seconds([command.settings.resolved()], None)
            case "train":
                seconds[name] = agents.estimate_steps(command.steps)
            case "study":
                runs = command.plan.make_runs()
                seconds[name] = sum(agents.estimate_steps(run.steps) for run in runs)
            case "pbt":
                plan = command.plan()
                one = agents.estimate_round(plan.run, plan.episodes)
                seconds[name] = plan.size * plan.rounds * one
    assert set(seconds) == {"sweep", "classify", "train", "study", "pbt"}
    assert max(seconds.values()) < 900, seconds


def test_version(capsys):
    code, out, _ = run(capsys, "--version")
    assert (code, out.split()[0]) == (0, "longpass")


@pytest.mark.parametrize("flag", ["--out=~/run", "--out=~"])
def test_a_home_is_expanded_where_no_shell_does_it(tmp_path, monkeypatch, flag):
    monkeypatch.setenv("HOME", str(tmp_path))
    command = cli._expand_home(
        tyro.cli(cli.load_command("classify"), args=[flag], config=cli._FLAGS)
    )
    assert command.out == (tmp_path / "run" if "run" in flag else tmp_path)


def test_a_home_that_is_not_there_is_named(capsys):
    code, _, err = run(capsys, "classify", "--out=~nobody-here/run")
    assert code == 1
    assert "out is '~nobody-here/run': " in err


def test_pools_for_a_horizon(capsys):
    code, out, _ = run(capsys, "pools", "--horizon", 300, "--json")
    assert code == 0
    result = json.loads(out)
    assert result["pools"] == 8
    assert result["mean_delay"][-1] == pytest.approx(502)
    assert result["peak_delay"][-1] == 317


def test_without_json_a_table_is_printed(capsys):
    code, out, _ = run(capsys, "pools", "--pools", 3)
    assert code == 0
    assert "mean delay" in out
    assert "\x1b" not in out, "no escape codes when piped"


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (("pools", "--base", "1"), 1, "base is 1.0: it must be finite and above 1"),
        (("pools", "--pools", "0"), 1, "pools is 0"),
        (("pools", "--pools", "3", "--horizon", "3"), 1, "give one"),
        (("figure", "sunset"), 2, "sunset"),
        (("figure", "learning", "RUN", "--over", "episodes"), 1, "over is 'episodes': it must be"),
        (("figure", "lineage", "RUN", "--records", "x"), 1, "records is 'x': it must be left out"),
        (("figure", "impulse", "--records", "x"), 1, "left out for impulse, it is for truncation"),
        (("figure", "truncation", "--over", "steps"), 1, "over is 'steps': it must be left out"),
        (("figure", "rl", "RUN"), 1, "runs is 'RUN': it must be left out for rl, it is for learn"),
        (("paint",), 2, "paint"),
        ((), 2, "no command: it must be one of pools"),
    ],
)
def test_bad_input_is_named_and_fails(capsys, args, code, message):
    status, out, err = run(capsys, *args, *(["--json"] if args and code == 1 else []))
    assert status == code
    assert message in err
    assert out == ""


@pytest.mark.slow
def test_golden_episodes_match_in_single_precision_too():
    """The tests run in double precision; users mostly do not."""
    code, out, _ = run_longpass("replay", Path(__file__).parents[1] / "golden", "--json")
    result = json.loads(out)
    assert (code, result["equal"], result["skipped"]) == (0, 52, 6)


def test_out_that_is_a_file_is_refused(capsys, tmp_path):
    (tmp_path / "taken").write_text("mine")
    status, _, err = run(capsys, "figure", "impulse", "--out", tmp_path / "taken")
    assert status == 1
    assert "which is a file: it must be a folder" in err
    assert (tmp_path / "taken").read_text() == "mine"


def test_impulse_figure_shows_tiles_for_the_chain_only():
    settings = impulse.Settings()
    chain, bank = (impulse.responses(settings, wiring) for wiring in ("chain", "parallel"))
    assert np.all(np.diff(chain.argmax(axis=1)) > 0)
    assert np.all(bank.argmax(axis=1) == 0)


def test_memory_trace_tells_anagrams_apart_by_several_pools():
    """Appendix A: a single pool may miss the difference for a while, but never all at once."""
    settings = memory_trace.Settings()
    one, _, anagram = (memory_trace.trace(text, settings) for text in memory_trace.TEXTS)
    difference = np.abs(one - anagram).max(axis=2)
    relative = difference / difference.max(axis=0)
    after = relative[30:100]
    assert after[:, -1].min() < 0.1
    assert np.all(after.max(axis=1) > 0.02)


@pytest.mark.slow
def test_linear_reader_is_given_whole_sequences_newest_last():
    task = streams.make_task("subsequences")
    settings = linear_reader.Settings(streams=6, sequences=10)
    symbols, labels = linear_reader.draw_sequences(task, settings)
    assert symbols.shape == (6, 10, task.longest)
    for sequence, label in zip(symbols.reshape(60, -1), labels.ravel(), strict=True):
        text = "".join(task.alphabet[symbol] for symbol in sequence[sequence >= 0])
        assert text.startswith("EEE")
        assert text.endswith("BBB")
        assert task.shortest <= len(text) <= task.longest
        found = sorted(
            (text.index(spelt), marker)
            for marker, words in zip("XY", streams.WORDS, strict=True)
            for spelt in ("".join(letter * streams.HOLD for letter in word) for word in words)
            if spelt in text
        )
        assert {marker for _, marker in found} == set(task.classes[label])


@pytest.mark.slow
def test_linear_reader_writes_its_numbers_beside_the_picture(tmp_path):
    """A small sample is enough to see that the chain is read better than the bank."""
    settings = linear_reader.Settings(
        bases=(1.5,), pools=(4, 12), noises=(0.01, 0.1), streams=40, sequences=60, passed=20
    )
    png, svg, table = linear_reader.draw(tmp_path, settings)
    assert {png, svg, table} == set(tmp_path.iterdir())
    assert min(imread(png).shape[:2]) >= 800
    with table.open(newline="") as file:
        cells = {
            (cell["task"], cell["wiring"], float(cell["noise"]), int(cell["pools"])): cell
            for cell in csv.DictReader(file)
        }
    assert len(cells) == 3 * 2 * 2 * 2
    for task in ("two-markers", "three-markers", "subsequences"):
        chain, bank = (cells[task, wiring, 0.1, 12] for wiring in ("chain", "parallel"))
        errors = float(chain["error"]) + float(bank["error"])
        assert float(chain["accuracy"]) > float(bank["accuracy"]) + 2 * errors
        assert float(chain["distinct"]) > float(bank["distinct"])


def test_a_shell_can_complete_every_command(capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main(["--tyro-print-completion", "bash"])
    assert not ended.value.code
    script = capsys.readouterr().out
    assert all(name in script for name in cli.COMMANDS)
    assert "--horizon" in script
