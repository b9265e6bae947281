"""DockerSpawner that leases GPUs to servers or starts a user's kernel gateway, and reports the progress of a start.

Runs inside the hub only: jupyterhub 5.5, dockerspawner 14.0. Every container is addressed by its name.
"""

from __future__ import annotations

import asyncio
import secrets
import threading
from collections.abc import Awaitable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from docker.errors import APIError, DockerException, NotFound
from dockerspawner import DockerSpawner

from workloads.hub_files.base_spawner import StartError
from workloads.hub_files.profiles import HUB, ProfileSpawner
from workloads.hub_files.start_words import Situation, answering, pulling

from . import engine as engines
from . import start_messages as messages
from .cards import NoCard
from .containers import ImageMissing, Wish, bring, run
from .engine import gateway_token
from .homes import NotYours, own_slug, owner
from .names import Names, earlier_slug, slug

HOME = HUB.get("home") or "/home/jovyan"
PORT = 8888
STOP_WITHIN_S = 10
KERNEL_STARTS_WITHIN_S = 120


class GivenUp(Exception):  # noqa: N818 - nothing is wrong
    """The user cancelled the start, or it took too long."""


class Making:
    """One start, in a thread."""

    def __init__(self) -> None:
        self.situation = messages.REQUESTED
        self.is_given_up = threading.Event()
        self.changes = threading.Lock()  # of the host; a download is none, and nobody need wait for its end

    def reach(self, situation: Situation) -> None:
        """Before each step: nothing is begun after a start was given up."""
        if self.is_given_up.is_set():
            raise GivenUp
        self.situation = situation


class CommonsDockerSpawner(ProfileSpawner, DockerSpawner):
    """A server, and where its profile says so a gateway beside it, in a network of the user's own."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.ip, self.port, self.remove = "0.0.0.0", PORT, True  # noqa: S104 - of a container
        self.cmd = ["jupyterhub-singleuser"]
        self._making = Making()
        self._slug = ""

    @property
    def names(self) -> Names:
        """Of all that belongs to this user."""
        return Names(HUB["hub"], self._slug or slug(self.user.name))

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
        """How the user is called on the engine: names say the rest."""
        return {"slug": self.names.user}

    def load_state(self, state: dict[str, Any]) -> None:
        """A server that runs since before this was remembered has an earlier name."""
        runs_since_earlier = not state and self.orm_spawner and self.orm_spawner.server
        self._slug = state.get("slug") or (earlier_slug(self.user.name) if runs_since_earlier else "")

    def situation(self) -> Situation:
        """What the start does now."""
        return self._making.situation

    async def counts(self) -> Mapping[str, Any]:
        """GPUs of the host that no server and no kernel holds."""
        held = await asyncio.to_thread(engines.holders, self.client, HUB["cards"])
        return messages.counts(HUB["profiles"], HUB["cards"], held)

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

    def start(self) -> Awaitable[str]:
        self._making = Making()
        return super().start()

    async def make(self) -> str:
        """Bring the images, take the cards, start. Raises StartError."""
        making, profile = self._making, self.profile
        self.image = profile["body"]["Image"]  # the server finds it in JUPYTER_IMAGE_SPEC
        try:
            await asyncio.shield(asyncio.to_thread(self._make, making, profile, self.get_env()))
        except (NoCard, ImageMissing, NotYours) as error:
            raise StartError(str(error)) from None
        finally:
            making.is_given_up.set()
        making.situation = answering(datetime.now(UTC))
        return f"http://{self.names.server}:{PORT}"

    def why(self, error: Exception) -> str:
        if isinstance(error, APIError):
            return messages.refused(engines.words(error))
        return messages.UNANSWERED if isinstance(error, DockerException | OSError) else super().why(error)

    async def look(self) -> None:
        state = await asyncio.to_thread(engines.state_of, self.client, self.names.server)
        if state is None or not state["Running"]:
            self._making.situation = messages.ended(state or {})
            with suppress(NotFound):  # the container is removed next
                lines = await asyncio.to_thread(self.client.logs, self.names.server, tail=20)
                self.log.warning("The server of %s ended: %s", self._log_name, lines.decode(errors="replace"))

    async def stop(self, now: bool = False) -> None:  # noqa: FBT001, FBT002 - JupyterHub's signature
        """End and remove server, gateway, kernels and their network; all cards are free then."""
        self._making.is_given_up.set()
        await asyncio.to_thread(self._end_made, self._making, 0 if now else STOP_WITHIN_S)

    async def run_post_stop_hook(self) -> None:
        """A server that ended by itself was not stopped: its gateway and its kernels end here."""
        await asyncio.to_thread(self._end, 0)
        if self.post_stop_hook:
            super().run_post_stop_hook()

    def _make(self, making: Making, profile: dict[str, Any], env: dict[str, str]) -> None:
        kernels = profile["kernels"]
        with making.changes:
            making.reach(messages.CLEARING)
            self._end(0)
            created = self.user.orm_user.created.replace(tzinfo=UTC)
            self._slug = own_slug(self.client, HUB["hub"], self.user.name, created)
        wanted = {each["body"]["Image"]: each["title"] for each in (*kernels, profile)}
        if kernels:
            wanted.setdefault(HUB["gateway"]["body"]["Image"], profile["title"])
        for image, title in wanted.items():
            since = pulling("The host", f"of “{title}”", datetime.now(UTC))
            bring(self.client, image, title, lambda since=since: making.reach(since))
        with making.changes:
            self._run(making, profile, env)

    def _run(self, making: Making, profile: dict[str, Any], env: dict[str, str]) -> None:
        names, kernels, networks, more = self.names, profile["kernels"], [HUB["network"]], {}
        if kernels:
            making.reach(messages.GATEWAY)
            networks.append(names.network)
            env = {**env, **self._gateway(profile)}
            first = f"--MappingKernelManager.default_kernel_name={kernels[0]['name']}"
            more = {"Cmd": [*profile["body"].get("Cmd", ["jupyterhub-singleuser"]), first]}
        making.reach(messages.PREPARING)
        wish = Wish(
            name=names.server,
            title=profile["title"],
            body=profile["body"],
            networks=networks,
            labels=names.labels("server", HUB["pool"]),
            env=env,
            more=more,
            volumes={names.home: HOME},
            volume_labels=owner(names.hub, self.user.name),
            gpus=profile["gpus"],
        )
        taken = run(self.client, wish, HUB)
        self.log.info("The server of %s runs on cards %s", self._log_name, taken or "of nobody")

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
                "GPU_COMMONS_TOKEN": gateway_token(names.user),
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

    def _end_made(self, making: Making, within_s: int) -> None:
        """After the step that is going on."""
        with making.changes:
            self._end(within_s)

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
