"""A hub on a Docker host whose engine is a stand-in: somebody else holds GPU 0, and servers never answer.

Read by JupyterHub. FILES is the folder with the hub's files as its volume has them.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from docker.errors import APIError, ImageNotFound, NotFound

sys.path.insert(0, str(Path(__file__).parent))
from no_proxy import alone

FILES = Path(os.environ["FILES"])
c = get_config()  # type: ignore[name-defined]  # noqa: F821 - traitlets puts it there
sys.path.insert(0, str(FILES.parent))

from hub_files import engine  # noqa: E402 - found by the path above
from hub_files.configuration import configure_from_files  # noqa: E402 - found by the path above

configure_from_files(c, FILES.parent / "credentials")
alone(c, int(os.environ["PORT"]))


class Engine:
    """As much of an engine as a hub asks for."""

    def __init__(self, _address: str) -> None:
        self.attached = {"card-0": ["somebody"]}
        self.running: dict[str, dict[str, Any]] = {}
        self.homes: dict[str, dict[str, str]] = {}

    def inspect_volume(self, name: str) -> dict[str, Any]:
        if name not in self.homes:
            raise NotFound("no such volume")
        return {"Name": name, "Labels": self.homes[name]}

    def create_volume(self, name: str, labels: dict[str, str]) -> None:
        self.homes[name] = labels

    def inspect_image(self, name: str) -> None:
        if "lost" in name:
            raise ImageNotFound("No such image")

    def pull(self, *_: Any, **__: Any) -> str:
        raise APIError("manifest unknown")

    def create_container_from_config(self, body: dict[str, Any], name: str) -> None:
        self.running[name] = body

    def connect_container_to_network(self, name: str, network: str) -> None:
        self.attached.setdefault(network, []).append(name)

    def start(self, name: str) -> None:
        """It runs, or is over at once."""

    def inspect_container(self, name: str) -> dict[str, Any]:
        if name not in self.running:
            raise NotFound("No such container")
        is_over = "crash" in self.running[name]["Image"]
        return {"State": {"Running": not is_over, "ExitCode": 3 if is_over else 0, "OOMKilled": False}}

    def inspect_network(self, name: str) -> dict[str, Any]:
        return {"Containers": {each: {"Name": each} for each in self.attached.get(name, ())}}

    def create_network(self, *_: Any, **__: Any) -> None: ...

    def containers(self, **_: Any) -> list[Any]:
        return []

    def logs(self, *_: Any, **__: Any) -> bytes:
        return b"nothing"

    def stop(self, name: str, **_: Any) -> None:
        if name not in self.running:
            raise NotFound("No such container")

    def remove_container(self, name: str, **_: Any) -> None:
        for names in self.attached.values():
            names[:] = [each for each in names if each != name]
        if self.running.pop(name, None) is None:
            raise NotFound("No such container")
        print("removed", name)  # noqa: T201 - into the log

    def remove_network(self, _: str) -> None:
        raise NotFound("No such network")


engine.Engine = Engine
