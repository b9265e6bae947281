"""KubeSpawner that reports the progress of a start, explains failures, and knows what is free.

Runs inside the hub only: jupyterhub 5.5, kubespawner 7.1.
"""

from __future__ import annotations

import asyncio
import html
import json
import re
import time
from collections.abc import Awaitable, Mapping
from typing import Any

from kubernetes_asyncio.client.rest import ApiException
from kubespawner import KubeSpawner
from tornado.httpclient import AsyncHTTPClient
from traitlets import Unicode

from workloads.hub_files.base_spawner import BaseSpawner
from workloads.hub_files.start_words import Situation

from .start_messages import situation
from .start_refusals import refused, unanswered

GONE_AFTER_S = 5  # a list from the API server's cache may lack a pod that is there
COUNTED_WITHIN_S = 1.5


class CommonsSpawner(BaseSpawner, KubeSpawner):
    """Its servers are pods; what is free is counted by the service `availability`."""

    availability_url = Unicode(None, allow_none=True, help="Where that service answers, if there is one.", config=True)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.limit_start(self.start_timeout, self.http_timeout)
        self._uid_before: str | None = None
        self._uid: str | None = None
        self._seen_at = 0.0

    @property
    def title(self) -> str:
        """The chosen profile as the student read it."""
        chosen = (self.user_options or {}).get("profile")
        profiles = self.profile_list if isinstance(self.profile_list, list) else []
        names = (each["display_name"] for each in profiles if each.get("slug") == chosen)
        return html.unescape(next(names, "your server"))

    def situation(self) -> Situation:
        """Where the start stands."""
        pod = self._pod()
        if pod is not None:
            self._uid, self._seen_at = pod["metadata"]["uid"], time.monotonic()
        is_gone = self._uid is not None and time.monotonic() - self._seen_at >= GONE_AFTER_S
        events = [each for each in self.events if each["involvedObject"].get("uid") == self._uid]
        return situation(pod, events, self.title, was_there=is_gone)

    def _pod(self) -> dict[str, Any] | None:
        """The pod of this start: one that was there before is being removed."""
        pods = self.pod_reflector.pods if self.pod_reflector else {}
        pod = pods.get(f"{self.namespace}/{self.pod_name}")
        return None if pod is None or pod["metadata"]["uid"] == self._uid_before else pod

    def finds_no_room(self) -> bool:
        """The scheduler has tried, and no node had any."""
        conditions = ((self._pod() or {}).get("status") or {}).get("conditions") or ()
        return any(
            each["type"] == "PodScheduled" and each["status"] == "False" and each.get("reason") == "Unschedulable"
            for each in conditions
        )

    async def counts(self) -> Mapping[str, Any]:
        """Numbers by profile; none without the service. Raises what goes wrong."""
        if self.availability_url is None:
            return {}
        limits = {"connect_timeout": COUNTED_WITHIN_S, "request_timeout": COUNTED_WITHIN_S}
        # Looking up a name is not bounded by the client.
        answer = await asyncio.wait_for(AsyncHTTPClient().fetch(self.availability_url, **limits), COUNTED_WITHIN_S)
        return dict(json.loads(answer.body)["profiles"])

    def start(self) -> Awaitable[str]:
        self._uid = self._uid_before = None
        if old := self._pod():
            self._uid_before = old["metadata"]["uid"]
        return super().start()

    async def make(self) -> str:
        return str(await super()._start())

    def why(self, error: Exception) -> str:
        if isinstance(error, ApiException):
            return refused(error.status, _message(error), self.title)
        return unanswered() if isinstance(error, TimeoutError | OSError) else super().why(error)

    def log_what_was_seen(self) -> None:
        status = (self._pod() or {}).get("status") or {}
        told = [f"{each['reason']}: {each['message']}" for each in self.events]
        text = json.dumps({"containers": status.get("containerStatuses"), "events": told})
        # Registries redirect to addresses with a signature.
        self.log.warning("The server of %s did not start: %s", self._log_name, re.sub(r"\?[^\s\"]+", "?…", text))


def _message(error: ApiException) -> str:
    try:
        return str(json.loads(error.body)["message"])
    except (TypeError, ValueError, KeyError):
        return str(error.reason or "")
