"""One real Ray cluster for all tests here: see serve.py."""

import os
import secrets
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from longpass.jobs import ray_cluster
from tests.helpers import given


@pytest.fixture(scope="session")
def address():
    """The cluster's address; this process is connected to it."""
    # Short, because sockets lie below it.
    scratch = tempfile.mkdtemp(prefix="ray-")
    setting = {
        "RAY_TMPDIR": scratch,
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": secrets.token_hex(32),
        # A cluster that we start listens on loopback, where Ray looks only if it knows that.
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
        # As in the tests' process.
        "JAX_ENABLE_X64": "1",
    }
    os.environ |= setting
    script = Path(__file__).parent / "serve.py"
    server = subprocess.Popen(
        [sys.executable, script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with server:
        address = given(server.stdout).readline().strip()
        with ray_cluster(address):
            yield address
        given(server.stdin).close()
    for name in setting:
        del os.environ[name]
    shutil.rmtree(scratch, ignore_errors=True)
