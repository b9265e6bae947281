"""KubeSpawner that reports the progress of a start, explains failures, and knows what is free.

Runs inside the hub only: jupyterhub 5.5, kubespawner 7.1.
"""

from __future__ import annotations

import asyncio
import html
import json
import re
import secrets
import time
from collections.abc import Awaitable, Mapping
from typing import Any

from jupyterhub.utils import exponential_backoff
from kubernetes_asyncio.client.rest import ApiException
from kubespawner import KubeSpawner
from tornado.httpclient import AsyncHTTPClient
from traitlets import Unicode

from workloads.hub_files.base_spawner import BaseSpawner
from workloads.hub_files.start_words import Situation

from .start_messages import situation
from .start_refusals import refused, unanswered

MADE_BY = "gpu-commons.org/made-by"  # on a home: the start that made it
GIVEN_BACK_WITHIN_S = 30
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
        self.storage_extra_annotations = {**self.storage_extra_annotations, MADE_BY: secrets.token_hex(8)}
        return super().start()

    async def stop(self, now: bool = False) -> None:  # noqa: FBT001, FBT002 - as JupyterHub calls it
        never_ran = _never_ran(self._pod())
        await super().stop(now)
        if never_ran and self.storage_pvc_ensure:
            await self._give_back_home()

    async def _give_back_home(self) -> None:
        """Delete the home if the start that just failed made it: it is empty, and may be bound to the wrong node."""
        kind, name = "persistent_volume_claim", self.pvc_name
        try:
            claim = await self.api.read_namespaced_persistent_volume_claim(name=name, namespace=self.namespace)
            this_start = self.storage_extra_annotations.get(MADE_BY)
            if this_start is None or (claim.metadata.annotations or {}).get(MADE_BY) != this_start:
                return
            self._pvc_exists = False
            await exponential_backoff(
                self._ensure_not_exists, f"{name} is still there", kind=kind, name=name, timeout=GIVEN_BACK_WITHIN_S
            )
        except (ApiException, TimeoutError, OSError) as error:
            self.log.warning("The empty home of %s is kept: %s", self._log_name, error)

    async def make(self) -> str:
        return str(await super()._start())

    def why(self, error: Exception) -> str:
        if isinstance(error, ApiException):
            return refused(error.status, _message(error), self.title)
        return unanswered() if isinstance(error, TimeoutError | OSError) else super().why(error)

    def log_what_was_seen(self) -> None:
        status = (self._pod() or {}).get("status") or {}
        told = [f"{each['reason']}: {each['message']}" for each in self.events]
        containers = [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]
        text = json.dumps({"containers": containers, "events": told})
        # Registries redirect to addresses with a signature.
        self.log.warning("The server of %s did not start: %s", self._log_name, re.sub(r"\?[^\s\"]+", "?…", text))


def _never_ran(pod: Mapping[str, Any] | None) -> bool:
    """Whether no process of its server has ever started; of a pod that is gone, nobody knows."""
    status = (pod or {}).get("status") or {}
    return status.get("phase") == "Pending" and all(
        set(each.get("state") or {}) <= {"waiting"} and not each.get("lastState") and not each.get("restartCount")
        for each in status.get("containerStatuses") or ()
    )


def _message(error: ApiException) -> str:
    try:
        return str(json.loads(error.body)["message"])
    except (TypeError, ValueError, KeyError):
        return str(error.reason or "")
