"""Hosts in network namespaces of this machine, joined by a bridge in one of its own.

Nothing outside of these namespaces is changed, and no packet leaves them.
"""

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator, Sequence

_NET = "10.77.0"


def why_not_permitted() -> str | None:
    """Why namespaces cannot be made here; None if they can."""
    name = f"lpc{os.getpid()}"
    try:
        _ip("netns", "add", name)
        _ip("netns", "del", name)
    except (OSError, subprocess.CalledProcessError) as error:
        return f"no network namespaces can be made here ({error})"
    return None


class Network:
    """A few hosts; each is a namespace with one link to the bridge.

    It is a context manager: at its end, all processes of the hosts are killed and the namespaces
    are removed.

    **Arguments:**

    - `hosts`: how many.
    """

    def __init__(self, hosts: int):
        self._hub = f"lpc{os.getpid()}-hub"
        self.names = [f"lpc{os.getpid()}-{host}" for host in range(hosts)]
        self.addresses = [f"{_NET}.{host + 1}" for host in range(hosts)]

    def __enter__(self) -> "Network":
        try:
            self._make()
        except BaseException:
            self._remove()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._remove()

    def command(self, host: int, words: Sequence[str]) -> list[str]:
        """The words of a command as they start it on a host."""
        return ["ip", "netns", "exec", self.names[host], *words]

    def processes(self, host: int) -> list[int]:
        """The processes of a host."""
        return [int(word) for word in _ip("netns", "pids", self.names[host]).split()]

    def kill_host(self, host: int) -> None:
        """kill -9 of every process of a host."""
        for pid in self.processes(host):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    @contextlib.contextmanager
    def cut_off(self, host: int) -> Iterator[None]:
        """Unplug a host as long as the context lasts."""
        _ip("-n", self._hub, "link", "set", f"port{host}", "down")
        yield
        _ip("-n", self._hub, "link", "set", f"port{host}", "up")

    @contextlib.contextmanager
    def slow_down(self, host: int) -> Iterator[str]:
        """A slow link that loses packets as long as the context lasts: what was done, in words."""
        port = [self._hub, "tc", "qdisc", "add", "dev", f"port{host}", "root"]
        loss = ["netem", "delay", "100ms", "20ms", "loss", "5%", "rate", "2mbit"]
        # Not every kernel has netem. A short queue drops what comes faster than the rate.
        short = ["tbf", "rate", "2mbit", "burst", "16kb", "limit", "24kb"]
        try:
            _ip("netns", "exec", *port, *loss)
            done = "100 ms, 5 % loss, 2 Mbit/s"
        except subprocess.CalledProcessError:
            _ip("netns", "exec", *port, *short)
            done = "2 Mbit/s, packets over a queue of 24 kB are lost (tbf: no netem here)"
        yield done
        _ip("netns", "exec", self._hub, "tc", "qdisc", "del", "dev", f"port{host}", "root")

    def _make(self) -> None:
        _ip("netns", "add", self._hub)
        _ip("-n", self._hub, "link", "add", "bridge", "type", "bridge")
        _ip("-n", self._hub, "link", "set", "bridge", "up")
        for host, name in enumerate(self.names):
            port = f"port{host}"
            _ip("netns", "add", name)
            # Made inside the hub, so that no other namespace ever has them.
            pair = ["type", "veth", "peer", "name", "eth0", "netns", name]
            _ip("-n", self._hub, "link", "add", port, *pair)
            _ip("-n", self._hub, "link", "set", port, "master", "bridge", "up")
            _ip("-n", name, "address", "add", f"{self.addresses[host]}/24", "dev", "eth0")
            for link in ("lo", "eth0"):
                _ip("-n", name, "link", "set", link, "up")

    def _remove(self) -> None:
        known = _ip("netns", "list").split()
        for host, name in enumerate(self.names):
            if name in known:
                self.kill_host(host)
                _ip("netns", "del", name)
        if self._hub in known:
            _ip("netns", "del", self._hub)


def _ip(*words: str) -> str:
    done = subprocess.run(["ip", *words], capture_output=True, text=True, check=True)
    return done.stdout
