"""What SECURITY.md promises of the source: no pickle, no eval, no shell, closed Ray clusters."""

import ast
import io
import os
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

import longpass
from longpass.jobs import _cluster, ray_cluster
from longpass.records import Checkpoints, from_bytes

SOURCE = Path(longpass.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))
# What would run or unpickle something, or open a connection.
BANNED_MODULES = {"pickle", "cPickle", "dill", "cloudpickle", "joblib", "marshal", "shelve", "yaml"}
BANNED_MODULES |= {"socket", "urllib.request", "http.client", "requests", "ftplib", "telnetlib"}
BANNED_MODULES |= {"http.server", "socketserver", "xmlrpc"}
# `longpass watch`: tests/report/test_watch.py asks it what it must not answer.
SERVER = SOURCE / "report" / "_server.py"
# With it Ray listens on loopback only: tests/jobs/test_engines.py looks at its sockets.
LOOPBACK = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
PROTECTION = ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN", LOOPBACK)
BANNED_CALLS = {"eval", "exec", "os.system", "os.popen", "tempfile.mktemp", "torch.load"}


def is_banned(module: str) -> bool:
    """Whether a module is banned, or in a package that is."""
    parts = module.split(".")
    return any(".".join(parts[:n]) in BANNED_MODULES for n in range(1, len(parts) + 1))


def find_faults(tree: ast.AST) -> list[str]:
    """What a file does that SECURITY.md says it does not."""
    faults = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            faults += [f"imports {one.name}" for one in node.names if is_banned(one.name)]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{one.name}" for one in node.names)]
            faults += [f"imports {name}" for name in names[:1] if is_banned(name)]
            faults += [f"imports {name}" for name in names[1:] if name in BANNED_MODULES]
        elif isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            given = {word.arg: ast.unparse(word.value) for word in node.keywords}
            if called in BANNED_CALLS:
                faults.append(f"calls {called}")
            if given.get("shell", "False") != "False":
                faults.append(f"starts a shell by {called}")
            if called == "np.load" and given.get("allow_pickle", "False") != "False":
                faults.append("unpickles")
    return faults


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_nothing_is_unpickled_evaluated_fetched_or_given_to_a_shell(path):
    serves = ["imports http.server"] if path == SERVER else []
    assert find_faults(ast.parse(path.read_text())) == serves


@pytest.mark.parametrize(
    "code",
    [
        "import pickle",
        "from urllib.request import urlopen",
        "from urllib import request",
        "import http.client as client",
        "eval(setting)",
        "os.system('ls')",
        "subprocess.run('ls', shell=True)",
        "np.load(path, allow_pickle=True)",
        "tempfile.mktemp()",
    ],
)
def test_faults_are_found(code):
    assert find_faults(ast.parse(code))


class Trap:
    """Makes a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def test_a_pickled_object_in_a_checkpoint_is_refused_and_not_executed(tmp_path):
    sprung = tmp_path / "sprung"
    objects = np.empty(1, object)
    objects[0] = Trap(sprung)
    file = io.BytesIO()
    np.savez(file, settings=np.frombuffer(b"{}", np.uint8), state=objects, allow_pickle=True)
    assert "state.npy" in zipfile.ZipFile(file).namelist()
    (tmp_path / "checkpoint.npz").write_bytes(file.getvalue())
    with pytest.raises(ValueError, match="damaged"):
        Checkpoints(tmp_path).load({"state": np.zeros(1)}, {})
    with pytest.raises(ValueError, match="holds Python objects, which are never loaded"):
        from_bytes(file.getvalue(), {"state": np.zeros(1)}, {})
    assert not sprung.exists()


class FakeRay:
    """Notes how it was started."""

    class _private:
        class worker:
            _worker_logs_enabled = True

    def __init__(self):
        self.started = []

    def is_initialized(self):
        return False

    def init(self, *args, **named):
        self.started.append((args, named))

    def shutdown(self):
        pass


def test_a_cluster_that_we_start_has_a_token_and_listens_on_loopback(monkeypatch):
    ray, seen = FakeRay(), []

    def import_ray():
        """Ray reads its variables now, and not later."""
        seen.append({name: os.environ.get(name) for name in PROTECTION})
        return ray

    monkeypatch.setattr(_cluster, "_import_ray", import_ray)
    monkeypatch.delitem(sys.modules, "ray", raising=False)
    for _ in range(2):
        for name in PROTECTION:
            monkeypatch.delenv(name, raising=False)
        with ray_cluster(None, 1):
            pass
    assert [variables["RAY_AUTH_MODE"] for variables in seen] == ["token"] * 2
    tokens = [variables["RAY_AUTH_TOKEN"] for variables in seen]
    assert len(set(tokens)) == 2
    assert min(map(len, tokens)) == 64
    (where,), named = ray.started[0]
    assert where == "local"
    assert seen[0][LOOPBACK] == "0"
    assert named["include_dashboard"] is False
