"""What every spawner of ours does: a start tells where it stands, ends as soon as its failure is certain, and says why.

Runs inside the hub only: jupyterhub 5.5. The spawner of a platform makes servers, and knows what is free and what
goes wrong there.
"""

from __future__ import annotations

import asyncio
import html
from collections.abc import AsyncIterator, Awaitable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from tornado.httpclient import AsyncHTTPClient, HTTPRequest
from tornado.web import HTTPError

from .start_words import AGAIN, Situation

LOOK_EVERY_S = 1
SAY_EVERY_S = 5  # how often a line that only grows older is said again
HEARD_WITHIN_S = 5  # a browser opens the waiting page, and the page its stream of events
SPARE_S = 30  # so that it is ours, and not JupyterHub, who ends a start: JupyterHub has no words for it


class StartError(HTTPError):
    """A start that failed, with its sentence. As an HTTPError it is one line in the log, without a traceback."""

    def __init__(self, sentence: str) -> None:
        super().__init__(503, sentence)
        self.jupyterhub_message = sentence
        self.jupyterhub_html_message = html.escape(sentence)


class BaseSpawner:
    """A mixin, as JupyterHub wants each Spawner to be whole. A platform overrides what raises, and what it knows."""

    counts_last_s = 3.0  # how old numbers may be that a page shows
    counts_for = ""  # who may read them: everybody

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._is_heard = asyncio.Event()

    def limit_start(self, start_s: float, http_s: float) -> None:
        """Seconds that making a server may take, and then its first answer."""
        self._may_take_s, self.http_timeout = start_s, http_s
        # start() waits for the server's answer too: only there can a crash be seen.
        self.start_timeout = start_s + http_s + SPARE_S

    def situation(self) -> Situation:
        """Where the start stands."""
        raise NotImplementedError

    async def make(self) -> str:
        """Make the server; its URL."""
        raise NotImplementedError

    async def counts(self) -> Mapping[str, Any]:
        """What is free: a mapping as in `free_words` for each profile of which that is known."""
        raise NotImplementedError

    def finds_no_room(self) -> bool:
        """The platform has looked for room for this start, and there was none."""
        return False

    async def look(self) -> None:
        """Asked again and again while the server does not answer: has it ended?"""

    def why(self, error: Exception) -> str:  # noqa: ARG002 - a platform knows more
        """An error of `make` as a sentence; the log of the hub has the error."""
        return f"The hub could not start your server, for a reason that is in its log. {AGAIN}"

    @property
    def waiting_line(self) -> str:
        """Where the start stands, for a page without scripts."""
        return self.situation().waiting_at(datetime.now(UTC))

    def start(self) -> Awaitable[str]:
        self._is_heard = asyncio.Event()
        self._start_future = asyncio.ensure_future(self._start_or_say_why())
        return self._start_future

    async def progress(self) -> AsyncIterator[dict[str, Any]]:
        """Events of the waiting page: `line` names the line of the log that `message` replaces."""
        said, said_at, percent = None, 0.0, 0
        loop = asyncio.get_running_loop()
        self._is_heard.set()
        while self._spawn_pending:
            now = self.situation()
            is_older = "{elapsed}" in now.waiting and loop.time() - said_at >= SAY_EVERY_S
            if not now.is_final and (now.waiting != said or is_older):
                said, said_at, percent = now.waiting, loop.time(), max(percent, now.percent)
                yield {"progress": percent, "message": now.waiting_at(datetime.now(UTC)), "line": now.line}
            await asyncio.sleep(LOOK_EVERY_S)

    async def _start_or_say_why(self) -> str:
        try:
            url: str = await self._watched(self.make(), self._may_take_s)
            await self._watched(self._answer(url), self.http_timeout)
        except Exception as error:
            # While JupyterHub clears up after a failure, a page that asks about the start is told that there is none,
            # and waits for ever. So a failure waits until the page is there.
            with suppress(TimeoutError):
                await asyncio.wait_for(self._is_heard.wait(), HEARD_WITHIN_S)
            if isinstance(error, HTTPError):
                raise
            self.log.exception("The server of %s did not start", self._log_name)
            raise StartError(self.why(error)) from error
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
                    self.log_what_was_seen()
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
            await self.look()
            request = HTTPRequest(path, connect_timeout=5, request_timeout=10, follow_redirects=False)
            try:
                if (await client.fetch(request, raise_error=False)).code < 500:
                    return
            except OSError:
                pass  # not yet
            await asyncio.sleep(LOOK_EVERY_S)

    def log_what_was_seen(self) -> None:
        """For the operator, before what was made is removed."""
