"""Docstrings of public names: complete, with examples that run."""

import ast
import doctest
import importlib
import inspect
import itertools
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "longpass"
# Packages of names for users; commands are described by their help.
PACKAGES = sorted(path.parent.name for path in SOURCE.glob("*/__init__.py"))
PACKAGES.remove("cli")

# Classes without an example of their own.
RETURNED = {
    "Actors",
    "BenchmarkCell",
    "Cursor",
    "CuedCatchState",
    "Decision",
    "Episode",
    "Estimate",
    "Finding",
    "JobProgress",
    "LSTMState",
    "LawResult",
    "MemoryScore",
    "Message",
    "Metrics",
    "PlayedEpisode",
    "Progress",
    "ReferenceLearner",
    "ReplayResult",
    "Report",
    "Returns",
    "Rollout",
    "Round",
    "RoundResult",
    "RunSettings",
    "SavedAgent",
    "Score",
    "DelayedCueState",
    "SequenceRecallState",
    "Stream",
    "StudyJob",
    "StudyRun",
    "SymbolSequence",
    "TMazeState",
    "TaskFinding",
    "TrainState",
    "Transition",
    "UpdateResult",
    "VTrace",
    "Weights",
}
"""What functions return; users do not make them."""
SETTINGS = {
    "AgentSettings",
    "BenchmarkPlan",
    "CuedCatchParams",
    "HyperParams",
    "LearnerSettings",
    "NetworkSettings",
    "PopulationPlan",
    "PopulationSettings",
    "DelayedCueParams",
    "SequenceRecallParams",
    "StreamSettings",
    "StudyPlan",
    "SweepPlan",
    "TMazeParams",
}
"""Their docstrings are the help of the command line."""
OTHERS = {
    "GymCopies": "needs Gymnasium: see make_trainer",
    "MemaxMemory": "needs memax: see docs/bring-your-own-memory.md",
    "NnxMemory": "needs Flax: see docs/bring-your-own-memory.md",
    "Follower": "needs records: see docs/report.md",
    "Store": "needs records: see docs/report.md",
    "AgentTraining": "trains for seconds: see train_agent",
    "GymnasiumImpala": "needs Gymnasium: see make_trainer",
    "RayEngine": "needs a cluster: see docs/cluster.md",
    "RayImpala": "needs a cluster: see docs/cluster.md",
    "RayTransport": "needs a cluster: see docs/cluster.md",
    "RayWorker": "needs a cluster: see docs/cluster.md",
    "Scheduler": "needs a transport: engines have one",
    "FailedStartsError": "an error",
    "Diverged": "an error",
    "Bounds": "abstract",
    "Environment": "abstract: tests/envs/fourth_world.py is an example",
    "AbstractLink": "abstract",
    "PooledMemory": "what Concrete and Parallel have in common",
    "Recording": "of the three worlds only",
    "MemoryOptions": "names of arguments",
    "PoolOptions": "names of arguments",
}
# What `make matrix` leaves out. The development install has it.
NEED_TORCH = ("testing._module", "torch.")
# Their examples compile large programs.
HEAVY = ("envs._t_maze", "memory._concrete", "networks._actor_critic", "streams._training")


def find_names() -> list[tuple[str, str]]:
    """The public names of all packages that are defined here: (package, name)."""
    found = []
    for package in PACKAGES:
        stub = SOURCE / package / "__init__.pyi"
        file = stub if stub.exists() else stub.with_suffix(".py")
        for node in ast.parse(file.read_text()).body:
            if isinstance(node, ast.ImportFrom):
                found += [(package, alias.asname) for alias in node.names if alias.asname]
    return found


def modules_with_examples() -> list[object]:
    """The modules whose docstrings have examples."""
    names = [
        ".".join(path.relative_to(SOURCE).with_suffix("").parts)
        for path in sorted(SOURCE.rglob("*.py"))
        if ">>> " in path.read_text()
    ]
    return [pytest.param(name, marks=[pytest.mark.slow] * (name in HEAVY)) for name in names]


@pytest.mark.parametrize("name", modules_with_examples())
def test_examples_of_docstrings(name, tmp_path, monkeypatch):
    if name.startswith(NEED_TORCH):
        pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    result = doctest.testmod(importlib.import_module(f"longpass.{name}"))
    assert result.attempted > 0
    assert result.failed == 0
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("package", "name"), find_names())
def test_a_public_name_is_described(package, name):
    if package == "torch" or name in ("check_module", "check_step"):
        pytest.importorskip("torch")
    value = getattr(importlib.import_module(f"longpass.{package}"), name)
    function = inspect.unwrap(value) if callable(value) else value
    if inspect.isfunction(function):
        text = inspect.getdoc(function) or ""
        signature = inspect.signature(function)
        assert text.partition("\n")[0].endswith((".", ":")), "it has no summary"
        missing = [word for word in signature.parameters if f"`{word}`" not in text]
        assert not missing, f"{missing} are not described"
        if signature.return_annotation not in (None, "None"):
            assert "**Returns:**" in text
    elif inspect.isclass(value) and value.__module__.startswith("longpass."):
        text = inspect.getdoc(value) or ""
        assert text.partition("\n")[0], "it has no summary"
        without = {*RETURNED, *SETTINGS, *OTHERS}
        if not getattr(value, "_is_protocol", False) and name not in without:
            assert ">>> " in text + (inspect.getdoc(value.__init__) or ""), "it has no example"


def test_classes_without_an_example_exist_and_have_none():
    named = {name: package for package, name in find_names()}
    for name in (*RETURNED, *SETTINGS, *OTHERS):
        if name not in named:
            continue
        value = getattr(importlib.import_module(f"longpass.{named[name]}"), name)
        assert ">>> " not in (value.__doc__ or ""), f"{name} has an example: take it off the list"


def test_public_constants_are_described():
    """A string below a constant is its description, also on the API pages."""
    missing = []
    for package in PACKAGES:
        stub = SOURCE / package / "__init__.pyi"
        nodes = ast.parse(stub.read_text()).body if stub.exists() else []
        for node in nodes:
            if isinstance(node, ast.ImportFrom) and node.level == 1 and node.module:
                names = {alias.name for alias in node.names}
                missing += find_undescribed(SOURCE / package / f"{node.module}.py", names)
    assert not missing


def find_undescribed(path, names):
    """The constants of a file, of these names, that no string follows."""
    body = ast.parse(path.read_text()).body
    for node, after in itertools.zip_longest(body, body[1:]):
        if isinstance(node, ast.Assign | ast.AnnAssign):
            target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
            described = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
            if isinstance(target, ast.Name) and target.id in names and not described:
                yield f"{path.stem}.{target.id}"
