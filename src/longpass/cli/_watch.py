"""`longpass watch`."""

import dataclasses
import threading
from pathlib import Path

import tyro
from rich.console import Console

from longpass._json import JsonObject
from longpass.cli._stopping import StopOnSignal


@dataclasses.dataclass
class Watch:
    """Show all runs below some folders in the browser, live, until Ctrl-C.

    It is the page of `longpass report`: new records appear within two seconds, and running sweeps,
    studies and populations show their progress, rate and time left. The server only reads, and
    only programs on this machine reach it, unless --host says otherwise.

      longpass watch
      longpass watch runs --port 8000
    """

    folders: tyro.conf.Positional[tuple[Path, ...]] = (Path("results"),)
    """Folders with records in them or below them, now or later."""
    host: str = "127.0.0.1"
    """The address to listen at. Whoever reaches another one can read the records."""
    names: tuple[str, ...] = ()
    """Further names under which browsers may ask for the page, for another --host."""
    port: int = 0
    """The port; 0 takes one that is free."""
    json: bool = False
    """Print one JSON object on standard output, and nothing else there."""

    def run(self, console: Console) -> JsonObject:
        from longpass import _checks
        from longpass.report import Follower, make_server

        _checks.int_within("port", self.port, 0, 65535)
        follower = Follower(self.folders)
        server = make_server(follower, self.host, self.port, self.names)
        address = f"http://{self.host}:{server.server_address[1]}/"
        serving = threading.Thread(target=server.serve_forever, daemon=True)
        with StopOnSignal() as stop:
            with console.status("reading records"):
                follower.start()
            serving.start()
            console.print(
                f"watching {', '.join(map(str, self.folders))} at {address} (Ctrl-C ends it)",
                highlight=False,
                soft_wrap=True,
                markup=False,
            )
            while not stop():
                threading.Event().wait(0.2)
        follower.stop()
        server.shutdown()
        server.server_close()
        return {"command": "watch", "address": address, "runs": len(follower.store.runs)}
