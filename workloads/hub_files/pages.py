"""What the hub's pages ask while they are made, and the two requests that they make: how a start waits, and its end.

Runs inside the hub only: jupyterhub 5.5.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping
from typing import Any

from jupyterhub.handlers.base import BaseHandler
from jupyterhub.scopes import needs_scope
from jupyterhub.utils import url_escape_path, url_path_join
from tornado import web
from tornado.httpclient import AsyncHTTPClient

from .free_words import choices, free_words, waiting_words

ANSWER_WITHIN_S = 1.5
FRESH_S = 3.0
SETTLES_WITHIN_S = 5.0


class Free:
    """Numbers of the service `availability`, or None where it does not answer: the pages then say nothing of them."""

    def __init__(self, url: str | None) -> None:
        self.url = url
        self.lock = asyncio.Lock()
        self.asked_at = float("-inf")
        self.counts: Mapping[str, Any] | None = None

    async def now(self) -> Mapping[str, Any] | None:
        """The last numbers; one request asks, those beside it wait for its answer."""
        if self.url is None:
            return None
        async with self.lock:
            if time.monotonic() - self.asked_at >= FRESH_S:
                self.counts = await self._ask(self.url)
                self.asked_at = time.monotonic()
            return self.counts

    async def _ask(self, url: str) -> Mapping[str, Any] | None:
        try:
            fetching = AsyncHTTPClient().fetch(url, connect_timeout=ANSWER_WITHIN_S, request_timeout=ANSWER_WITHIN_S)
            # Looking up a name is not bounded by the client.
            answer = await asyncio.wait_for(fetching, ANSWER_WITHIN_S)
            counts = json.loads(answer.body)["profiles"]
        except Exception:  # noqa: BLE001 - whatever it is, the page is more important than the numbers
            return None
        return counts if isinstance(counts, dict) else None


def page_variables(page: Mapping[str, Any]) -> dict[str, Any]:
    """What templates see as `gpu_commons`: page.json, and what has to be asked."""
    free = Free(page["availability_url"])
    known = choices(page)

    async def free_now() -> dict[str, dict[str, Any]]:
        """Words of each profile, and whether there is room."""
        counts = await free.now() or {}
        return {
            name: {"words": free_words(choice, counts[name]), "is_free": counts[name]["servers"] > 0}
            for name, choice in known.items()
            if name in counts
        }

    async def waiting(spawner: Any) -> list[str]:
        """What a start waits for; nothing while a node may still be found."""
        if not finds_no_node(spawner):
            return []
        counts = await free.now() or {}
        return list(waiting_words(page, counts, (spawner.user_options or {}).get("profile") or page["default"]))

    return {**page, "free_now": free_now, "waiting": waiting}


def finds_no_node(spawner: Any) -> bool:
    """The scheduler has tried, and there was no room."""
    reflector = getattr(spawner, "pod_reflector", None)
    pod = reflector.pods.get(f"{spawner.namespace}/{spawner.pod_name}") if reflector else None
    conditions = ((pod or {}).get("status") or {}).get("conditions") or ()
    return any(
        each["type"] == "PodScheduled" and each["status"] == "False" and each.get("reason") == "Unschedulable"
        for each in conditions
    )


class Waiting(BaseHandler):
    """The part of the waiting page that changes, for its script."""

    @web.authenticated
    @needs_scope("servers")
    async def get(self, user_name: str, server_name: str | None = None) -> None:
        """HTML of what the start waits for; empty when it waits for nothing that we know."""
        _, spawner = found(self, user_name, server_name)
        self.set_header("Cache-Control", "no-store")
        html = await self.render_template("gpu_commons_waiting_words.html", spawner=spawner)
        self.finish(html)


class Cancel(BaseHandler):
    """Ends a start that is still pending. JupyterHub has this in its API alone, where a plain form cannot reach it."""

    @web.authenticated
    @needs_scope("delete:servers")
    async def post(self, user_name: str, server_name: str | None = None) -> None:
        """Cancel, then choose anew. A server that runs already is left alone."""
        user, spawner = found(self, user_name, server_name)
        if spawner.pending == "spawn":
            self.log.info("%s cancels the start of %s", self.current_user.name, user.name)
            # What waits for the pod would go on waiting, and take the next pod of this name for its own.
            for future in (spawner._spawn_future, getattr(spawner, "_start_future", None)):  # noqa: SLF001 - as JupyterHub's API does
                if future is not None and not future.done():
                    future.cancel()
            await settled(spawner)
            if not spawner.pending:
                await self.stop_single_user(user, spawner.name)
        page = "spawn-pending" if spawner.ready or spawner.pending else "spawn"
        self.redirect(url_path_join(self.hub.base_url, page, user.escaped_name, url_escape_path(spawner.name)))


def found(handler: Any, user_name: str, server_name: str | None) -> tuple[Any, Any]:
    """User and spawner that a request names; who may ask was decided before."""
    user = handler.find_user(user_name)
    if user is None or (server_name or "") not in user.spawners:
        raise web.HTTPError(404)
    return user, user.spawners[server_name or ""]


async def settled(spawner: Any) -> None:
    """A cancelled start has given way; JupyterHub's own API waits a second here and hopes."""
    for _ in range(round(SETTLES_WITHIN_S / 0.1)):
        if not spawner.pending:
            return
        await asyncio.sleep(0.1)


SERVER = r"(?P<user_name>[^/]+)(?:/(?P<server_name>[^/]+))?"
HANDLERS = [(rf"/gpu-commons/waiting/{SERVER}", Waiting), (rf"/gpu-commons/cancel/{SERVER}", Cancel)]
