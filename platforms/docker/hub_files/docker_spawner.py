"""DockerSpawner that leases GPUs to servers, or gives a user a kernel gateway; says why a start failed, in a sentence.

Runs inside the hub only: jupyterhub 5.5, dockerspawner 14.0. Every container is addressed by its name.
"""

from __future__ import annotations

import asyncio
import html
import json
import secrets
import threading
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from docker.errors import APIError, DockerException, NotFound
from dockerspawner import DockerSpawner
from tornado.httpclient import AsyncHTTPClient, HTTPRequest
from tornado.web import HTTPError

from . import engine as engines
from .cards import NoCard
from .containers import ImageMissing, Wish, bring, run
from .names import Names, slug
from .spawn_form import default_of, render_form

HUB = json.loads(Path(__file__).parent.with_name("hub.json").read_text())
HOME = HUB.get("home") or "/home/jovyan"
PORT = 8888
LOOK_EVERY_S = 1
HEARD_WITHIN_S = 5  # a browser opens the waiting page, and the page its stream of events
STOP_WITHIN_S = 10
SPARE_S = 30  # so that it is ours, and not JupyterHub, who ends a start: JupyterHub has no words for it
KERNEL_STARTS_WITHIN_S = 120
TELL = "please tell the people who run this hub."


class StartError(HTTPError):
    """A start that failed, with its sentence. As an HTTPError it is one line in the log, without a traceback."""

    def __init__(self, sentence: str) -> None:
        super().__init__(503, sentence.replace("%", "%%"))
        self.jupyterhub_message = sentence
        self.jupyterhub_html_message = html.escape(sentence)


class GivenUp(Exception):  # noqa: N818 - nothing is wrong
    """The user cancelled the start, or it took too long."""


class CommonsDockerSpawner(DockerSpawner):
    """A server, and where its profile says so a gateway beside it, in a network of the user's own."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.ip, self.port, self.remove = "0.0.0.0", PORT, True  # noqa: S104 - of a container
        times = HUB["timeouts"]
        self.http_timeout = times["http_s"]
        self.start_timeout = times["start_s"] + times["http_s"] + SPARE_S
        self.cmd = ["jupyterhub-singleuser"]
        self._said: list[str] = []
        self._is_heard = asyncio.Event()
        self._is_given_up = threading.Event()
        self._making: asyncio.Future[None] | None = None

    @property
    def names(self) -> Names:
        """Of all that belongs to this user."""
        return Names(HUB["hub"], slug(self.user.name))

    def _object_name_default(self) -> str:
        return self.names.server

    @property
    def client(self) -> engines.Engine:
        """One for all users, as DockerSpawner has it."""
        cls = CommonsDockerSpawner
        if cls._client is None:
            cls._client = engines.Engine(HUB["engine"]["hub"])
        return cls._client

    def get_state(self) -> dict[str, Any]:
        """Nothing to remember: names say it all."""
        return {}

    def load_state(self, state: dict[str, Any]) -> None:
        """Nothing was remembered."""

    @property
    def profile(self) -> dict[str, Any]:
        """What the user chose. Raises StartError."""
        chosen = (self.user_options or {}).get("profile")
        if not chosen:
            return default_of(HUB["profiles"])
        for each in HUB["profiles"]:
            if each["name"] == chosen:
                return each
        raise StartError("This hub has no such option: choose another one.")

    def _options_form_default(self) -> Any:
        return lambda spawner: render_form(HUB["profiles"], (spawner.user_options or {}).get("profile"))

    def options_from_form(self, formdata: dict[str, list[str]]) -> dict[str, Any]:
        """The one field of the form."""
        return {"profile": (formdata.get("profile") or [""])[0]}

    async def get_object(self) -> dict[str, Any] | None:
        """The server's container as the engine describes it; None where there is none."""
        try:
            return await asyncio.to_thread(self.client.inspect_container, self.names.server)
        except NotFound:
            return None

    async def poll(self) -> int | None:
        """None while the server runs, else how it ended."""
        state = await asyncio.to_thread(engines.state_of, self.client, self.names.server)
        if state is None:
            return 0
        return None if state["Running"] else int(state["ExitCode"])

    async def start(self) -> str:
        """Bring the images, take the cards, start, and wait for the server's answer. The address of the server."""
        self._said, self._is_heard, self._is_given_up = [], asyncio.Event(), threading.Event()
        try:
            return await self._start_or_say_why(self.profile)
        except StartError:
            # While JupyterHub clears up after a failure, a page that asks about the start is told that there is none,
            # and waits for ever. So a failure waits until the page is there.
            with suppress(TimeoutError):
                await asyncio.wait_for(self._is_heard.wait(), HEARD_WITHIN_S)
            raise

    async def _start_or_say_why(self, profile: dict[str, Any]) -> str:
        self.image = profile["body"]["Image"]  # the server finds it in JUPYTER_IMAGE_SPEC
        try:
            self._making = asyncio.ensure_future(asyncio.to_thread(self._make, profile, self.get_env()))
            await asyncio.shield(self._making)
            url = f"http://{self.names.server}:{PORT}"
            await self._answer(url, profile)
        except (NoCard, ImageMissing) as error:
            self.log.warning("The server of %s did not start: %s", self._log_name, error)
            raise StartError(str(error)) from None
        except (DockerException, OSError) as error:
            self.log.exception("The engine refused the server of %s", self._log_name)
            said = f": {engines.words(error)}" if isinstance(error, APIError) else " and does not answer as it should"
            raise StartError(
                f"The engine of this host did not start your server{said}. Try again; if it happens again, {TELL}"
            ) from None
        finally:
            self._is_given_up.set()
        return url

    async def stop(self, now: bool = False) -> None:  # noqa: FBT001, FBT002 - JupyterHub's signature
        """End and remove server, gateway, kernels and their network; all cards are free then."""
        self._is_given_up.set()
        if self._making is not None and not self._making.done():
            await asyncio.wait([self._making])
        await asyncio.to_thread(self._end, 0 if now else STOP_WITHIN_S)

    async def run_post_stop_hook(self) -> None:
        """A server that ended by itself was not stopped: its gateway and its kernels end here."""
        await asyncio.to_thread(self._end, 0)
        if self.post_stop_hook:
            super().run_post_stop_hook()

    async def progress(self) -> AsyncIterator[dict[str, Any]]:
        """What the start does, for the page that waits."""
        shown = 0
        self._is_heard.set()
        while self._spawn_pending:
            for message in self._said[shown:]:
                shown += 1
                yield {"progress": min(90, 20 * shown), "message": message}
            await asyncio.sleep(LOOK_EVERY_S)

    def _say(self, message: str) -> None:
        """Before each step: nothing is begun after a start was given up."""
        if self._is_given_up.is_set():
            raise GivenUp
        self._said.append(message)

    def _make(self, profile: dict[str, Any], env: dict[str, str]) -> None:
        kernels, names, engine = profile.get("kernels") or [], self.names, self.client
        self._say("Clearing what an earlier server left")
        self._end(0)
        wanted = {each["body"]["Image"]: each["title"] for each in (*kernels, profile)}
        if kernels:
            wanted.setdefault(HUB["gateway"]["body"]["Image"], profile["title"])
        for image, title in wanted.items():
            self._say(f"Looking for the image of {title}; a first download takes minutes")
            bring(engine, image, title)
        networks, more = [HUB["network"]], {}
        if kernels:
            self._say("Starting what runs your kernels")
            networks.append(names.network)
            env = {**env, **self._gateway(profile)}
            first = f"--MappingKernelManager.default_kernel_name={kernels[0]['name']}"
            more = {"Cmd": [*profile["body"].get("Cmd", ["jupyterhub-singleuser"]), first]}
        self._say("Taking a GPU" if profile.get("gpus") else "Starting your server")
        wish = Wish(
            name=names.server,
            title=profile["title"],
            body=profile["body"],
            networks=networks,
            labels=names.labels("server", HUB["pool"]),
            env=env,
            more=more,
            volumes={names.home: HOME},
            gpus=profile.get("gpus", 0),
        )
        taken = run(engine, wish, HUB)
        self.log.info("The server of %s runs on cards %s", self._log_name, taken or "of nobody")
        self._say("Waiting for your server to answer")

    def _gateway(self, profile: dict[str, Any]) -> dict[str, str]:
        """Start the gateway in a network of the user's own; what the server has to know of it."""
        names, token = self.names, secrets.token_hex(32)
        labels = names.labels("network", HUB["pool"])
        self.client.create_network(names.network, driver="bridge", internal=True, labels=labels)
        wish = Wish(
            name=names.gateway,
            title="the kernel gateway",
            body=HUB["gateway"]["body"],
            networks=[names.network],
            labels=names.labels("gateway", HUB["pool"]),
            env={
                "GPU_COMMONS_PROFILE": profile["name"],
                "GPU_COMMONS_USER": names.user,
                "KG_AUTH_TOKEN": token,
            },
            # Its kernels are lost with it, but a server without a gateway would start none any more.
            host={"RestartPolicy": {"Name": "on-failure", "MaximumRetryCount": 5}},
        )
        run(self.client, wish, HUB)
        return {
            "JUPYTER_GATEWAY_AUTH_TOKEN": token,
            "JUPYTER_GATEWAY_REQUEST_TIMEOUT": str(KERNEL_STARTS_WITHIN_S),
            "JUPYTER_GATEWAY_URL": f"http://{names.gateway}:{PORT}",
        }

    def _end(self, within_s: int) -> None:
        """The gateway ends before its kernels: it would start them again."""
        names, engine = self.names, self.client
        if within_s:
            with suppress(NotFound):
                engine.stop(names.server, timeout=within_s)
        for name in (names.server, names.gateway):
            engines.remove(engine, name)
        for each in engines.made_by(engine, names.hub, names.user, "kernel"):
            engines.remove(engine, each["name"])
        engines.remove_network(engine, names.network)

    async def _answer(self, url: str, profile: dict[str, Any]) -> None:
        """Wait for any answer of the server that is none of a server in trouble. Raises StartError."""
        loop, client = asyncio.get_running_loop(), AsyncHTTPClient()
        deadline = loop.time() + self.http_timeout
        while loop.time() < deadline:
            if (code := await self.poll()) is not None:
                await self._log_end()
                raise StartError(
                    f"The server of “{profile['title']}” ended right after it started (exit code {code}). "
                    f"Choose another option, and {TELL}"
                )
            request = HTTPRequest(f"{url}{self.server.base_url}api", connect_timeout=5, request_timeout=10)
            try:
                if (await client.fetch(request, raise_error=False)).code < 500:
                    return
            except OSError:
                pass  # not yet
            await asyncio.sleep(LOOK_EVERY_S)
        raise StartError(
            f"The server of “{profile['title']}” runs, and gave no answer within {self.http_timeout:g} seconds. "
            f"Try again; if it happens again, {TELL}"
        )

    async def _log_end(self) -> None:
        """For the operator: the container is removed next."""
        lines = await asyncio.to_thread(self.client.logs, self.names.server, tail=20)
        self.log.warning("The server of %s ended: %s", self._log_name, lines.decode(errors="replace"))
