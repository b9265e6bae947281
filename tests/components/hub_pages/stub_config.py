"""A hub with our own configuration, where nothing reaches a cluster: servers wait, or never start.

Read by JupyterHub. FILES is the folder with the hub's files as its ConfigMap has them.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

from jupyterhub.proxy import Proxy
from kubespawner import KubeSpawner

FILES = Path(os.environ["FILES"])
PORT = int(os.environ["PORT"])

c = get_config()  # type: ignore[name-defined]  # noqa: F821 - traitlets puts it there
load_subconfig(str(FILES / "jupyterhub_config.py"))  # type: ignore[name-defined]  # noqa: F821 - as well


class NoProxy(Proxy):
    """Browsers talk to the hub itself."""

    should_start = False

    async def add_route(self, routespec: str, target: str, data: Any) -> None: ...

    async def delete_route(self, routespec: str) -> None: ...

    async def get_all_routes(self) -> dict[str, Any]:
        return {}


class Waiting(KubeSpawner):
    """Its pod waits for a node for ever: the cluster is full."""

    is_stopped = False

    async def _start_reflector(self, *_: Any, **__: Any) -> None: ...

    def start(self) -> Any:
        """What KubeSpawner does, without a cluster."""
        self._start_future = asyncio.ensure_future(self._wait())
        return self._start_future

    async def _wait(self) -> str:
        self.is_stopped = False
        await self.load_user_options()
        self.log.info("starting with %s", self.user_options)
        await asyncio.sleep(3600)
        return ""

    async def stop(self, now: bool = False) -> None:  # noqa: ARG002, FBT002 - as JupyterHub calls it
        self.is_stopped = True

    async def poll(self) -> int | None:
        return 0 if self.is_stopped else None

    async def progress(self) -> Any:
        yield {"progress": 10, "message": "0/10 nodes are available: 10 Insufficient nvidia.com/gpu."}
        await asyncio.sleep(3600)


c.JupyterHub.proxy_class = NoProxy
c.JupyterHub.hub_bind_url = f"http://127.0.0.1:{PORT}"
c.JupyterHub.hub_connect_url = f"http://127.0.0.1:{PORT}"
c.JupyterHub.db_url = "sqlite://"
c.JupyterHub.cookie_secret = b"0" * 32
c.JupyterHub.services = []
c.JupyterHub.load_roles = []
c.JupyterHub.spawner_class = Waiting
