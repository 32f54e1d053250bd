"""A Ray cluster on this machine, which commands join: it stays while they are killed."""

import os
import secrets
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from chaos._processes import descendants

_SERVE = """
import sys
from longpass.jobs import ray_cluster
with ray_cluster(None, 2) as ray:
    print(ray.get_runtime_context().gcs_address, flush=True)
    sys.stdin.read()
"""
_WORKER = b"ray::RayJobWorker"


class SharedCluster:
    """A cluster until the context ends, and the workers that commands have on it.

    RuntimeError if Ray does not start.
    """

    def __init__(self) -> None:
        # Short, because sockets lie below it.
        self._folder = tempfile.TemporaryDirectory(prefix="lpr-", ignore_cleanup_errors=True)
        setting = {
            "RAY_TMPDIR": self._folder.name,
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN": secrets.token_hex(32),
            # It listens on loopback, where Ray looks only if it knows that.
            "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
        }
        # Commands, which are forks of this process, need them too.
        self._before = {name: os.environ.get(name) for name in setting}
        os.environ.update(setting)
        self._server = subprocess.Popen(
            [sys.executable, "-c", _SERVE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._server.stdout is not None
        self.address = self._server.stdout.readline().strip()
        if not self.address:
            self.__exit__()
            raise RuntimeError("Ray did not start")

    def __enter__(self) -> "SharedCluster":
        return self

    def __exit__(self, *_: object) -> None:
        assert self._server.stdin is not None
        self._server.stdin.close()
        self._server.wait()
        self._folder.cleanup()
        for name, value in self._before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value

    def workers(self) -> list[int]:
        """The workers that commands have."""
        found = []
        for pid in descendants(self._server.pid):
            try:
                words = Path(f"/proc/{pid}/cmdline").read_bytes()
            except OSError:
                continue
            if words.startswith(_WORKER):
                found.append(pid)
        return found

    def orphans(self, seconds: float = 60.0) -> list[int]:
        """Workers that are still there this long after their command has ended."""
        until = time.monotonic() + seconds
        while (left := self.workers()) and time.monotonic() < until:
            time.sleep(0.05)
        return left
