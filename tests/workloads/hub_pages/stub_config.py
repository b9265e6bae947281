"""A hub with our own configuration, where nothing reaches a cluster: servers wait, or never start.

Read by JupyterHub. FILES is the folder with the hub's files as its ConfigMap has them.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from kubespawner import KubeSpawner

sys.path.insert(0, str(Path(__file__).parent))
from no_proxy import alone

FILES = Path(os.environ["FILES"])
PORT = int(os.environ["PORT"])

c = get_config()  # type: ignore[name-defined]  # noqa: F821 - traitlets puts it there
load_subconfig(str(FILES / "jupyterhub_config.py"))  # type: ignore[name-defined]  # noqa: F821 - as well

from hub_files.spawner import CommonsSpawner  # noqa: E402 - found by our configuration


async def wait(spawner: KubeSpawner) -> str:
    """In place of what KubeSpawner does with a cluster."""
    await spawner.load_user_options()
    spawner.log.info("starting with %s", spawner.user_options)
    try:
        await asyncio.sleep(3600)
    finally:
        spawner.log.info("%s waits no more", spawner.user.name)
    return ""


KubeSpawner._start = wait  # noqa: SLF001 - all of a start that needs a cluster


class Waiting(CommonsSpawner):
    """Its pod waits for a node for ever: the cluster is full."""

    is_stopped = False
    events = ()

    @property
    def pod_reflector(self) -> Any:
        """The scheduler has tried at once."""
        message = "0/10 nodes are available: 10 Insufficient nvidia.com/gpu."
        full = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
        status = {"phase": "Pending", "conditions": [full]}
        metadata = {"name": self.pod_name, "uid": str(id(self._start_future))}
        pod = {"metadata": metadata, "spec": {"containers": [{}]}, "status": status}
        return SimpleNamespace(pods={f"{self.namespace}/{self.pod_name}": pod})

    async def _start_reflector(self, *_: Any, **__: Any) -> None: ...

    def start(self) -> Any:
        self.is_stopped = False
        return super().start()

    async def stop(self, now: bool = False) -> None:  # noqa: ARG002, FBT002 - as JupyterHub calls it
        self.is_stopped = True
        self.log.info("stopped %s", self.user.name)

    async def poll(self) -> int | None:
        return 0 if self.is_stopped else None


alone(c, PORT)
c.JupyterHub.spawner_class = Waiting
