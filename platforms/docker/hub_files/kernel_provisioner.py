"""Runs every kernel in its own container, with its own image and GPUs, which are free again when it ends.

Runs inside a kernel gateway only: jupyter_client 8, jupyter_kernel_gateway 3.0.
"""

from __future__ import annotations

import asyncio
import io
import json
import os
import re
import signal
import tarfile
from pathlib import Path
from typing import Any

from docker.errors import APIError, DockerException
from jupyter_client.provisioning import KernelProvisionerBase
from tornado.web import HTTPError
from traitlets import Unicode

from .cards import NoCard
from .containers import ImageMissing, Wish, run
from .engine import Engine, made_by, remove, state_of, words
from .names import Names
from .relay import LOOPBACK, Relay

HUB = json.loads(Path(__file__).parent.with_name("hub.json").read_text())
HOME = HUB.get("home") or "/home/jovyan"
PORTS = {name: 50001 + number for number, name in enumerate(("shell", "iopub", "stdin", "control", "hb"))}
CONNECTION_FILE = "/run/gpu-commons-kernel.json"
GONE = 137  # exit code of a container that is not there any more


class KernelError(HTTPError):
    """A kernel that did not start, with its sentence: the gateway hands it to the notebook."""

    def __init__(self, sentence: str, reason: str) -> None:
        super().__init__(503, sentence.replace("%", "%%"), reason=reason)


class ContainerProvisioner(KernelProvisionerBase):
    """The container of one kernel. Its methods are called as if it were a process."""

    kernel: Any = Unicode(help="Name of the kernel in hub.json.")

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.names = names()
        self.container = self.names.kernel(self.kernel_id)
        self.is_started = self.was_started = False
        self.cards: list[int] = []
        self.relay = Relay()

    @property
    def has_process(self) -> bool:
        return self.is_started

    async def poll(self) -> int | None:
        if not self.is_started:
            return 0
        state = await asyncio.to_thread(state_of, engine(), self.container)
        if state is None:
            return GONE
        return None if state["Running"] else int(state["ExitCode"])

    async def wait(self) -> int | None:
        """Its end was seen before: what is left is to give back its card and its name."""
        await self._remove()
        return 0

    async def send_signal(self, signum: int) -> None:
        try:
            await asyncio.to_thread(engine().kill, self.container, int(signum))
        except APIError as error:
            if error.status_code not in {404, 409}:  # gone, or ended
                raise

    async def terminate(self, restart: bool = False) -> None:  # noqa: ARG002, FBT001, FBT002 - the signature of the base
        await self.send_signal(signal.SIGTERM)

    async def kill(self, restart: bool = False) -> None:  # noqa: ARG002, FBT001, FBT002 - the signature of the base
        await self._remove()

    async def cleanup(self, restart: bool = False) -> None:  # noqa: FBT001, FBT002 - the signature of the base
        await self._remove()
        if not restart:
            self.relay.close()

    async def pre_launch(self, **kwargs: Any) -> dict[str, Any]:
        """Where the kernel answers: ports of the relay, which stay the same when the kernel starts again."""
        session = self.parent.session
        ports = await self.relay.open(PORTS.values())
        self.connection_info = {
            **{f"{name}_port": port for name, port in zip(PORTS, ports, strict=True)},
            "ip": LOOPBACK,
            "key": session.key,
            "signature_scheme": session.signature_scheme,
            "transport": "tcp",
        }
        return await super().pre_launch(cmd=[], **kwargs)

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> dict[str, Any]:  # noqa: ARG002 - made in _start
        """Start the container with cards that are free, first those that it had. Raises KernelError."""
        profile, kernel = chosen(self.kernel)
        others = {*self.parent.parent.list_kernel_ids()} - {self.kernel_id}
        if len(others) >= HUB["gateway"]["max_kernels"]:
            said = f"You have {len(others)} kernels, the most that this hub allows one server: shut one of them down"
            raise self._refused(said, "no more kernels")
        try:
            self.cards = await asyncio.to_thread(self._start, kernel, kwargs.get("env") or {})
            self.relay.target = await asyncio.to_thread(self._address)
        except NoCard as error:
            raise self._refused(str(error), "no GPU is free") from None
        except ImageMissing as error:
            raise self._refused(str(error), "image missing") from None
        except (DockerException, OSError, LookupError) as error:
            said = words(error) if isinstance(error, APIError) else "it does not answer as it should"
            await self._remove()
            self.log.exception("The engine refused kernel %s of %s", self.container, profile["name"])
            raise self._refused(f"The engine of this host did not start the kernel: {said}", "engine") from None
        self.is_started = self.was_started = True
        self.log.info("Kernel %s runs in %s on cards %s", self.kernel, self.container, self.cards or "of nobody")
        return self.connection_info

    def _refused(self, sentence: str, reason: str) -> KernelError:
        """The error; a kernel that does not come back is reported dead, which jupyter_client does not do here."""
        restarter = getattr(self.parent, "_restarter", None)
        if self.was_started and restarter is not None:
            # Its ports stay taken: notebooks that still ask for it would meet the next kernel there.
            self.parent.parent.stop_watching_activity(self.kernel_id)
            asyncio.get_running_loop().call_soon(restarter._fire_callbacks, "dead")  # noqa: SLF001 - nothing else does
        else:
            self.relay.close()
        return KernelError(sentence, reason)

    async def _remove(self) -> None:
        self.is_started, self.relay.target = False, None
        await asyncio.to_thread(remove, engine(), self.container)

    def _start(self, kernel: dict[str, Any], env: dict[str, str]) -> list[int]:
        wish = Wish(
            name=self.container,
            title=kernel["title"],
            body=kernel["body"],
            networks=[self.names.network],
            labels=self.names.labels("kernel", HUB["pool"]),
            env={name: value for name, value in env.items() if re.fullmatch("KERNEL_[A-Z0-9_]+", name)},
            host={"Init": True},  # a kernel as process 1 would not reap what it starts
            more={
                "Cmd": ["python3", "-m", "ipykernel_launcher", "-f", CONNECTION_FILE],
                "WorkingDir": folder_of(env.get("KERNEL_WORKING_DIR", "")),
            },
            volumes={self.names.home: HOME},
            gpus=kernel.get("gpus", 0),
            had=self.cards,
        )
        file = {
            **self.connection_info,
            **{f"{name}_port": port for name, port in PORTS.items()},
            "ip": "0.0.0.0",  # noqa: S104 - of a container, in the user's own network
            "key": self.connection_info["key"].decode(),
        }
        packed = archive(CONNECTION_FILE, json.dumps(file).encode())
        return run(engine(), wish, HUB, prepare=lambda: engine().put_archive(self.container, "/", packed))

    def _address(self) -> str:
        seen = engine().inspect_container(self.container)["NetworkSettings"]["Networks"]
        return str(seen[self.names.network]["IPAddress"])


_ENGINES: list[Engine] = []


def engine() -> Engine:
    """One for all kernels of the gateway."""
    if not _ENGINES:
        _ENGINES.append(Engine(HUB["engine"]["kernels"], names().user, os.environ["GPU_COMMONS_TOKEN"]))
    return _ENGINES[0]


def names() -> Names:
    """Of the user whose gateway this is."""
    return Names(HUB["hub"], os.environ["GPU_COMMONS_USER"])


def chosen(kernel: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The profile of this gateway, and one of its kernels; the first where no name is given."""
    profile = next(each for each in HUB["profiles"] if each["name"] == os.environ["GPU_COMMONS_PROFILE"])
    return profile, next(each for each in profile["kernels"] if not kernel or each["name"] == kernel)


def end_kernels() -> None:
    """Remove the kernels of a gateway that was killed: nobody can reach them any more, and they hold cards."""
    for each in made_by(engine(), HUB["hub"], names().user, "kernel"):
        remove(engine(), each["name"])


def folder_of(wanted: str) -> str:
    """Where a kernel starts: beside its notebook, whose folder is the same in its container."""
    is_below = re.fullmatch(rf"{re.escape(HOME)}(/[\w][\w.@+ -]*)*", wanted, re.ASCII)
    return wanted if is_below else HOME


def archive(path: str, content: bytes) -> bytes:
    """A tar file with one file, which everybody in the container may read."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        entry = tarfile.TarInfo(path.lstrip("/"))
        entry.size, entry.mode = len(content), 0o444
        tar.addfile(entry, io.BytesIO(content))
    return packed.getvalue()
