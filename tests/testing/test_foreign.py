"""Memories of other packages: found, made, adapted, checked; and what is wrong with them, named."""

import re
import subprocess
import sys
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

from longpass._fields import from_json, to_json
from longpass._options import Options
from longpass.memory import MemaxMemory, NnxMemory, adapt_memory, make_foreign
from longpass.networks import make_memory
from longpass.records import check_same_settings
from longpass.streams import StreamSettings
from longpass.testing import check_factory, check_memory
from tests.helpers import TASK, default_environment, run, run_longpass
from tests.testing.wrong_memories import Right

ROOT = Path(__file__).parents[2]
KEY = jax.random.key(0)
MINE = "mine:Leaky --memory-options size=8"
COMMANDS = {
    "classify": f"classify --memory {MINE} --symbols 1e4 --out classify",
    "sweep": f"sweep --memories {MINE} --tasks two-markers --truncations 2 --runs 1 --symbols 1e4 "
    "--workers 1 --out sweep",
    "train": f"train --memory {MINE} --steps 1e3 --out train --envs 2 --rollout 20 --block-every 5 "
    "--updates-per-call 2 " + " ".join(TASK),
}


def make_cell(input_size, size=5, kind="GRUCell", *, key):
    """A factory of a cell of flax.nnx."""
    from flax import nnx

    return getattr(nnx, kind)(input_size, size, rngs=nnx.Rngs(key))


def make_right(input_size, *, key):
    return Right()


def make_wrong_size(input_size, *, key):
    return Right(input_size=input_size + 1)


def make_integers(input_size, *, key):
    return eqx.tree_at(lambda memory: memory.keep, Right(input_size=input_size), jnp.ones(4, int))


def make_nothing(input_size, *, key):
    return "nothing"


def make_without_key(input_size):
    return Right()


def make_late(input_size, *, key):
    from tests.testing.wrong_memories import LateStart

    return LateStart(
        input_size=input_size, dtype=jnp.float64, write=jnp.ones((4, input_size)), keep=jnp.ones(4)
    )


def make_nan(input_size, *, key):
    size, one = (4, input_size), jnp.ones(4)
    return Right(input_size=input_size, dtype=one.dtype, write=jnp.full(size, jnp.nan), keep=one)


def make(name, input_size=3, **options):
    return make_foreign(f"tests.testing.test_foreign:{name}", input_size, key=KEY, options=options)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["GRUCell", "OptimizedLSTMCell"])
def test_cells_of_flax_keep_the_laws(kind):
    memory = make("make_cell", kind=kind)
    assert isinstance(memory, NnxMemory)
    assert memory.output_shape == (5,)
    check_memory(memory, length=12).raise_if_failed()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["LRU", "GRU"])
def test_models_of_memax_keep_the_laws(name):
    """One that scans by an associative operation, and one that does not."""
    # memax has states in single precision, whatever its weights are.
    options = Options.of({"hidden_size": 4})
    memory = make_memory(f"memax:{name}", 3, dtype=jnp.float32, key=KEY, memory_options=options)
    assert isinstance(memory, MemaxMemory)
    assert memory.output_shape == (4,)
    assert all(map(eqx.is_array, jax.tree.leaves(memory)))
    check_memory(memory, length=12).raise_if_failed()


@pytest.mark.parametrize(
    ("place", "options", "message"),
    [
        ("no_such_package.here:make", {}, "importing no_such_package.here raises ModuleNotFound"),
        ("tests.testing.test_foreign:missing", {}, "has no missing"),
        ("tests.testing.test_foreign:KEY", {}, "must be a callable"),
        ("tests.testing.test_foreign:make_without_key", {}, r"it must be factory\(input_size, key"),
        ("tests.testing.test_foreign:make_cell", {"width": 3}, "it must be one of size, kind"),
        ("tests.testing.test_foreign:make_cell", {"kind": "NoCell"}, "raises AttributeError"),
        ("tests.testing.test_foreign:make_nothing", {}, "makes a str: it must make a memory"),
        ("tests.testing.test_foreign:make_wrong_size", {}, "input_size 5: it must be 4"),
        ("tests.testing.test_foreign:make_integers", {}, "of dtype|has dtype"),
        ("memax:LRV", {}, "did you mean memax:LRU"),
        ("memax:LRU", {"width": 3}, "unexpected keyword argument"),
    ],
)
def test_what_is_wrong_with_a_factory_is_named(place, options, message):
    with pytest.raises(ValueError, match=message):
        make_foreign(place, 4, key=KEY, options=options)


def test_names_and_options_of_our_own_are_checked():
    with pytest.raises(ValueError, match=r"memory is 'gruu': it must be one of .*factory"):
        make_memory("gruu", 3, key=KEY)
    options = Options.parse(["longest_time=100"])
    assert make_memory("gru", 3, 4, key=KEY, memory_options=options)
    with pytest.raises(
        ValueError, match="longest_times=100: for gru it must be one of forget_bias"
    ):
        make_memory("gru", 3, key=KEY, memory_options=Options.parse(["longest_times=100"]))
    with pytest.raises(ValueError, match="is a setting of its own"):
        make_memory("gru", 3, key=KEY, memory_options=options, longest_time=50)
    with pytest.raises(ValueError, match="makes a Linear: it must make a memory"):
        adapt_memory("here:make", eqx.nn.Linear(1, 1, key=KEY), 3, jnp.float32)


def test_options_are_typed_and_read_back():
    words = ["size=32", "rate=0.5", "form=fast", "deep=true", "seed=null", 'name="3"']
    options = Options.parse(words)
    values = {"size": 32, "rate": 0.5, "form": "fast", "deep": True, "seed": None, "name": "3"}
    assert options.values_by_name == values
    assert Options.parse(options.words()) == options == Options.of(values)
    assert hash(options) == hash(Options.of(values))
    for wrong, message in (("size", "must be name=value"), ("a b=1", "name of an argument")):
        with pytest.raises(ValueError, match=message):
            Options.parse([wrong])
    with pytest.raises(ValueError, match="size twice"):
        Options.parse(["size=1", "size=2"])


def test_options_may_have_the_names_of_settings():
    settings = to_json(StreamSettings(memory_options=Options.of({"hidden_size": 3})))
    check_same_settings(ROOT, settings, settings)
    other = settings | {"memory_options": {"hidden_size": 4}}
    with pytest.raises(ValueError, match=r"memory_options is .'hidden_size': 4"):
        check_same_settings(ROOT, settings, other)
    without = to_json(StreamSettings())
    older = {name: value for name, value in without.items() if name != "memory_options"}
    check_same_settings(ROOT, older, without)
    assert from_json(StreamSettings, older) == StreamSettings()
    assert from_json(StreamSettings, settings).memory_options == Options.parse(["hidden_size=3"])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("factory", "law"), [("make_nan", "finite"), ("make_late", "start on time")]
)
def test_a_law_that_is_broken_is_named_before_training(factory, law):
    with pytest.raises(ValueError, match=rf"breaks the contract of a memory \({law}\)"):
        check_factory(f"tests.testing.test_foreign:{factory}", Options())


@pytest.mark.slow
def test_check_says_what_it_finds_and_exits_accordingly(capsys):
    code, out, err = run_longpass("check", "gru", "--length", "9")
    assert code == 0, err
    assert "steps are unroll" in out
    late = "tests.testing.wrong_modules:LateStart"
    code, out, err = run(capsys, "check", late, "--torch", "--input-size", "3")
    assert code == 1
    assert "raises TypeError" in err  # it takes no arguments
    code, out, err = run(
        *(capsys, "check", "torch.nn:GRU", "--torch", "--memory-options", "hidden_size=4", "--json")
    )
    assert code == 0, err
    assert '"ok": true' in out


@pytest.mark.slow
@pytest.mark.parametrize("commands", [("sweep",), ("classify", "train")], ids=" ".join)
def test_the_memory_of_the_page_trains_from_its_file(commands, tmp_path):
    """`docs/bring-your-own-memory.md` as it stands: a single file outside the project.

    A sweep has a process of its own, because it starts workers; the others share one.
    """
    page = (ROOT / "docs" / "bring-your-own-memory.md").read_text()
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert code.count("\n") <= 30
    (tmp_path / "mine.py").write_text(code)
    script = ["from longpass.cli import main", "if __name__ == '__main__':"]
    script += [f"    main({[*COMMANDS[command].split(), '--json']!r})" for command in commands]
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(script)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env=default_environment(),
    )
    assert done.returncode == 0, done.stderr
    for command in commands:
        folder = tmp_path / command
        records = [*folder.rglob("records.jsonl"), *folder.rglob("settings.json")]
        told = "".join(path.read_text() for path in records)
        assert "mine:Leaky" in told
        assert '"memory_options": {"size": 8}' in told
