"""KubeSpawner that says where a start stands, and why it failed, in a sentence. Thin: words are in start_messages.

Runs inside the hub only: jupyterhub 5.5, kubespawner 7.1.
"""

from __future__ import annotations

import asyncio
import html
import json
import re
import time
from collections.abc import AsyncIterator, Awaitable
from datetime import UTC, datetime
from typing import Any

from kubernetes_asyncio.client.rest import ApiException
from kubespawner import KubeSpawner
from tornado.httpclient import AsyncHTTPClient, HTTPRequest
from tornado.web import HTTPError

from .start_messages import Situation, situation
from .start_refusals import refused, unanswered, unexpected

LOOK_EVERY_S = 1
SAY_EVERY_S = 5  # how often a line that only grows older is said again
GONE_AFTER_S = 5  # a list from the API server's cache may lack a pod that is there
SPARE_S = 30  # so that it is ours, and not JupyterHub, who ends a start: JupyterHub has no words for it


class StartError(HTTPError):
    """A start that failed, with its sentence. As an HTTPError it is one line in the log, without a traceback."""

    def __init__(self, sentence: str) -> None:
        super().__init__(503, sentence)
        self.jupyterhub_message = sentence
        self.jupyterhub_html_message = html.escape(sentence)


class CommonsSpawner(KubeSpawner):
    """A start that ends as soon as its failure is certain, and tells students what it waits for."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._pod_may_take_s = self.start_timeout
        # start() waits for the server's answer too: only there can a crash be seen.
        self.start_timeout = self._pod_may_take_s + self.http_timeout + SPARE_S
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

    @property
    def waiting_line(self) -> str:
        """Where the start stands, for a page without scripts."""
        return self.situation().waiting_at(datetime.now(UTC))

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

    def start(self) -> Awaitable[str]:
        self._uid = self._uid_before = None
        if old := self._pod():
            self._uid_before = old["metadata"]["uid"]
        self._start_future = asyncio.ensure_future(self._start_or_say_why())
        return self._start_future

    async def progress(self) -> AsyncIterator[dict[str, Any]]:
        """Events of the waiting page: `line` names the line of the log that `message` replaces."""
        said, said_at, percent = None, 0.0, 0
        loop = asyncio.get_running_loop()
        while self._spawn_pending:
            now = self.situation()
            is_older = "{elapsed}" in now.waiting and loop.time() - said_at >= SAY_EVERY_S
            if not now.is_final and (now.waiting != said or is_older):
                said, said_at, percent = now.waiting, loop.time(), max(percent, now.percent)
                yield {"progress": percent, "message": now.waiting_at(datetime.now(UTC)), "line": now.line}
            await asyncio.sleep(LOOK_EVERY_S)

    async def _start_or_say_why(self) -> str:
        try:
            url: str = await self._watched(super()._start(), self._pod_may_take_s)
            await self._watched(self._answer(url), self.http_timeout)
        except HTTPError:
            raise
        except ApiException as error:
            self.log.exception("The cluster refused the server of %s", self._log_name)
            raise StartError(refused(error.status, _message(error), self.title)) from error
        except (TimeoutError, OSError) as error:
            self.log.exception("The cluster did not answer for the server of %s", self._log_name)
            raise StartError(unanswered()) from error
        except Exception as error:
            self.log.exception("The server of %s did not start", self._log_name)
            raise StartError(unexpected()) from error
        return url

    async def _watched(self, work: Awaitable[Any], limit_s: float) -> Any:
        """The result of the work, unless the start fails or takes longer."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + limit_s
        task = asyncio.ensure_future(work)
        try:
            while not (await asyncio.wait([task], timeout=LOOK_EVERY_S))[0]:
                now = self.situation()
                if now.is_final or loop.time() >= deadline:
                    self._log_what_was_seen()
                    raise StartError(now.given_up_at(datetime.now(UTC), limit_s))
            return task.result()
        finally:
            if not task.done():
                task.cancel()
                await asyncio.wait([task])

    async def _answer(self, url: str) -> None:
        """Wait for any answer of the server that is none of a proxy in trouble."""
        if self.internal_ssl:  # JupyterHub has the certificates, and waits itself
            return
        path = f"{url}{self.server.base_url}api"
        client = AsyncHTTPClient()
        while True:
            request = HTTPRequest(path, connect_timeout=5, request_timeout=10, follow_redirects=False)
            try:
                if (await client.fetch(request, raise_error=False)).code < 500:
                    return
            except OSError:
                pass  # not yet
            await asyncio.sleep(LOOK_EVERY_S)

    def _log_what_was_seen(self) -> None:
        """For the operator: the pod is removed next."""
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
