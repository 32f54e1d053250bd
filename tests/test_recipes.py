"""The recipes of CONTRIBUTING.md, followed as they stand, on a copy of the package.

What a recipe promises is checked in a process that imports the copy.
"""

import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.helpers import default_environment

ROOT = Path(__file__).parent.parent


class Recipe:
    """A section of CONTRIBUTING.md and a copy of the package to follow it on.

    **Arguments:**

    - `title`: of the section.
    - `folder`: for the copy.
    """

    def __init__(self, title: str, folder: Path):
        page = (ROOT / "CONTRIBUTING.md").read_text()
        self.text = page.partition(f"## {title}\n")[2].partition("\n## ")[0]
        fenced = re.findall(r"^ *```python\n(.*?)^ *```", self.text, re.DOTALL | re.MULTILINE)
        self.blocks = [textwrap.dedent(block) for block in fenced]
        self.source = folder / "src"
        shutil.copytree(ROOT / "src", self.source, ignore=shutil.ignore_patterns("__pycache__"))

    def find(self, pattern: str) -> str:
        """What the recipe names at `pattern`, in backquotes."""
        (name,) = re.findall(rf"{pattern} `([^`]+)`", self.text)
        return name

    def file(self, pattern: str) -> Path:
        """The file of the copy that the recipe names at `pattern`."""
        return self.source / "longpass" / self.find(pattern)

    def run(self, *command: object) -> "subprocess.CompletedProcess[str]":
        """Run Python with the copy, from the project's folder."""
        return subprocess.run(
            [sys.executable, *map(str, command)],
            capture_output=True,
            text=True,
            cwd=ROOT,
            env={**default_environment(), "PYTHONPATH": str(self.source)},
        )

    def longpass(self, *args: object) -> "subprocess.CompletedProcess[str]":
        """Run a command of the copy, as users do."""
        return self.run("-m", "longpass", *args)

    def check(self, code: str) -> None:
        """Run code whose assertions must hold."""
        header = f"import longpass; assert longpass.__file__.startswith({str(self.source)!r})\n"
        done = self.run("-c", header + textwrap.dedent(code))
        assert done.returncode == 0, done.stderr


def insert(path: Path, text: str, before: str, after: str) -> None:
    """Insert text into a file, before the first `before` that follows `after`."""
    whole = path.read_text()
    place = whole.index(before, whole.index(after))
    path.write_text(whole[:place] + text + whole[place:])


@pytest.mark.slow
def test_a_setting_is_one_field(tmp_path):
    recipe = Recipe("Add a setting", tmp_path)
    (field,) = recipe.blocks
    path, cls = recipe.file("1. In"), recipe.find("belongs to, here")
    insert(path, textwrap.indent(field, "    "), "\n    def __post_init__", f"class {cls}:")

    done = recipe.longpass("train", "t-maze", "--help")
    text = " ".join(done.stdout.split())
    assert "--weight-decay" in text, done.stderr
    assert "Decay of all weights per step of the optimiser. (default: 0.0)" in text

    done = recipe.longpass("train", "t-maze", "--weight-decay", "-1", "--out", tmp_path / "run")
    assert done.returncode == 1
    assert "weight_decay is -1.0: it must be finite and at least 0" in " ".join(done.stderr.split())

    recipe.check("""
        import sys
        from longpass.agents import RunSettings, hyper_arrays, resolve_settings

        run = resolve_settings("t-maze", overrides={"weight_decay": 0.25})
        settings = run.to_json()
        assert settings["agent"]["hyper"]["weight_decay"] == 0.25
        assert RunSettings.from_json(settings) == run
        assert float(hyper_arrays(run.agent.hyper).weight_decay) == 0.25
        del settings["agent"]["hyper"]["weight_decay"]
        try:
            RunSettings.from_json(settings)
        except ValueError as error:
            assert "weight_decay is missing" in str(error)
        else:
            raise AssertionError("settings of an older run were read")

        sys.path.insert(0, "scripts")
        from tables_settings import agent_tables

        row = "| `weight_decay` | 0.0 | Decay of all weights per step of the opt"
        assert row in agent_tables()
    """)


@pytest.fixture(scope="module")
def leaky(tmp_path_factory) -> Recipe:
    """The package with the recipe's memory, by its file and its line."""
    recipe = Recipe("Add a memory", tmp_path_factory.mktemp("leaky"))
    code, line = recipe.blocks
    recipe.file("Write a file, here").write_text(code)
    assert line.count("\n") == 1
    names = recipe.file("in `MEMORIES` in")
    insert(names, textwrap.indent(line, "    "), "}\n", "MEMORIES = {")
    return recipe


@pytest.mark.slow
def test_a_memory_is_one_file_and_one_line(leaky):
    leaky.check("""
        import jax, jax.numpy as jnp
        from longpass.agents import NetworkSettings, resolve_settings
        from longpass.memory._leaky import Leaky
        from longpass.networks import ActorCritic, Classifier, make_memory
        from longpass.streams import StreamSettings

        key = jax.random.key(0)
        memory = make_memory("leaky", 3, 8, key=key)
        assert type(memory) is Leaky and memory.output_shape == (8,)
        try:
            make_memory("leaky", 3, 8, key=key, num_pools=2)
        except ValueError as error:
            assert "num_pools is 2: it must not be given for leaky" in str(error)
        else:
            raise AssertionError("a memory without pools took an option of pools")

        classifier = Classifier(memory, 5, key=key)
        _, logits = classifier.unroll(memory.initial_state(), jnp.ones((7, 3)))
        assert logits.shape == (7, 5)
        agent = ActorCritic(memory, (5, 6, 3), 4, key=key)
        _, logits, values = agent.unroll(agent.initial_state(), jnp.ones((7, 5, 6, 3)))
        assert logits.shape == (7, 4) and values.shape == (7,)

        assert StreamSettings(memory="leaky").resolved().state_size == 32
        assert not NetworkSettings(memory="leaky").has_pools
        run = resolve_settings("t-maze", overrides={"memory": "leaky"})
        assert run.agent.network.normalise is None
    """)
    for command in (("classify",), ("train", "t-maze")):
        assert (
            "chain,parallel,lstm,gru,lru,mingru,leaky" in leaky.longpass(*command, "--help").stdout
        )


@pytest.mark.slow
def test_a_memory_with_a_name_is_under_the_laws(leaky):
    laws = ("loop_over_step", "by_hand", "packed_is_separate", "first_step")
    done = leaky.run(
        *("-m", "pytest", "tests/memory/test_laws.py", "-n", 0, "-p", "no:cacheprovider"),
        *("-k", f"leaky and ({' or '.join(laws)})"),
    )
    assert done.returncode == 0, done.stdout
    assert re.search(r"\b4 passed", done.stdout), done.stdout


@pytest.mark.slow
def test_a_memory_with_a_name_can_be_trained(leaky):
    shape = ("--truncation", 2, "--batch-size", 2, "--symbols", 40, "--json")
    done = leaky.longpass("classify", "--memory", "leaky", *shape)
    assert done.returncode == 0, done.stderr
    assert '"memory": "leaky"' in done.stdout
    leaky.check("""
        import jax
        from longpass.agents import hyper_arrays, make_trainer, resolve_settings

        small = {"memory": "leaky", "hidden_size": 8, "envs": 2, "rollout": 8, "block_every": 4}
        run = resolve_settings("t-maze", overrides={**small, "slices": 1, "stagger": 4})
        trainer = make_trainer(run)
        state, result = trainer.train_steps(
            trainer.start(jax.random.key(0)), hyper_arrays(run.agent.hyper), 2
        )
        assert state.updates == 2 and jax.numpy.isfinite(result.metrics.loss).all()
    """)


@pytest.mark.slow
def test_a_world_is_one_file_and_one_line(tmp_path):
    """In the registry itself; `tests/envs/test_fourth_world.py` registers it from outside."""
    recipe = Recipe("Add a world", tmp_path)
    (line,) = recipe.blocks
    assert line.count("\n") == 1
    package = recipe.source / "my_project"
    package.mkdir()
    code = (ROOT / recipe.find(r"`max_score`\).")).read_text()
    (package / "corridor.py").write_text(code)
    with recipe.file("one line, in").open("a") as registry:
        registry.write(line)

    recipe.check("""
        import gymnasium
        import longpass.envs.gym
        from longpass import envs

        env, params = envs.make("corridor", length=50)
        assert envs.names()[-1] == env.name == "corridor" and params.length == 50
        assert "longpass/Corridor-v0" in gymnasium.registry
    """)
    for command in ("film", "train"):
        assert "--length INT" in recipe.longpass(command, "corridor", "--help").stdout
    made = recipe.longpass("film", "corridor", "--length", 3, "--out", tmp_path / "a.gif")
    assert made.returncode == 0, made.stderr
    assert (tmp_path / "a.gif").is_file()
