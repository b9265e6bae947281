"""Profiles of a hub whose files are below hub.json: on a Docker host, and on a cluster with Slurm."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from .base_spawner import BaseSpawner, StartError

HUB = json.loads(Path(__file__).parent.with_name("hub.json").read_text())


class ProfileSpawner(BaseSpawner):
    """A spawner that starts the chosen profile of hub.json."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.limit_start(HUB["timeouts"]["start_s"], HUB["timeouts"]["http_s"])

    @property
    def profile(self) -> dict[str, Any]:
        """What the user chose. Raises StartError."""
        chosen = self._chosen()
        if chosen is None:
            raise StartError("This hub has no such option: choose another one.")
        return chosen

    @property
    def title(self) -> str:
        """The chosen profile as the user read it."""
        return str((self._chosen() or {}).get("title", "your server"))

    def _chosen(self) -> dict[str, Any] | None:
        name = (self.user_options or {}).get("profile") or HUB["page"]["default"]
        return next((each for each in HUB["profiles"] if each["name"] == name), None)

    async def get_options_form(self) -> str:
        """JupyterHub only looks whether there is any."""
        return "spawn.html has it"

    def options_from_form(self, formdata: dict[str, list[str]]) -> dict[str, Any]:
        """The one field of the form."""
        return {"profile": (formdata.get("profile") or [""])[0]}
