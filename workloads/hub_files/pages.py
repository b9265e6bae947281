"""What the hub's pages ask while they are made, and the two requests that they make: how a start waits, and its end.

Runs inside the hub only: jupyterhub 5.5.
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from jupyterhub.handlers.base import BaseHandler
from jupyterhub.scopes import needs_scope
from jupyterhub.utils import url_escape_path, url_path_join
from tornado import web

from .free_words import choices, free_words, is_free, waiting_words

ANSWER_WITHIN_S = 1.5
KEPT_S = 60.0  # while a slow answer is awaited
SETTLES_WITHIN_S = 5.0


class Free:
    """What spawners say is free, remembered for a short time. None: the pages then say nothing of it."""

    def __init__(self) -> None:
        self._asking: asyncio.Future[None] | None = None
        self._asked_at = self._heard_at = float("-inf")
        self._counts: Mapping[str, Any] | None = None

    async def now(self, spawner: Any) -> Mapping[str, Any] | None:
        """The last numbers. One request asks, those beside it wait for its answer, and none waits for long."""
        is_over = self._asking is None or self._asking.done()
        if is_over and time.monotonic() - self._asked_at >= spawner.counts_last_s:
            self._asked_at = time.monotonic()
            self._asking = asyncio.ensure_future(self._ask(spawner))
        if self._asking is not None:
            await asyncio.wait([self._asking], timeout=ANSWER_WITHIN_S)
        return self._counts if time.monotonic() - self._heard_at < KEPT_S else None

    async def _ask(self, spawner: Any) -> None:
        try:
            self._counts = await spawner.counts()
        except Exception as error:  # noqa: BLE001 - whatever it is, the page is more important than the numbers
            spawner.log.warning("It is not known what is free: %s", error)
            self._counts = None
        self._heard_at = time.monotonic()


def page_variables(page: Mapping[str, Any]) -> dict[str, Any]:
    """What templates see as `gpu_commons`: the page's data, and what has to be asked."""
    free: defaultdict[str, Free] = defaultdict(Free)  # by reader
    known = choices(page)

    async def free_now(spawner: Any) -> dict[str, dict[str, Any]]:
        """Words of each profile, and whether there is room."""
        counts = await free[spawner.counts_for].now(spawner) or {}
        return {
            name: {"words": free_words(choice, counts[name]), "is_free": is_free(counts[name])}
            for name, choice in known.items()
            if name in counts
        }

    async def waiting(spawner: Any) -> list[str]:
        """What a start waits for; nothing while room may still be found."""
        if not spawner.finds_no_room():
            return []
        counts = await free[spawner.counts_for].now(spawner) or {}
        return list(waiting_words(page, counts, (spawner.user_options or {}).get("profile") or page["default"]))

    return {**page, "free_now": free_now, "waiting": waiting}


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
