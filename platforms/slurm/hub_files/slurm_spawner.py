"""SlurmSpawner whose jobs are the stack's own texts, submitted as the user by `agent` over ssh.

Runs inside the hub only: jupyterhub 5.5, batchspawner 1.3. Everything in a command comes from hub.json or is checked
here: batchspawner hands commands to a shell.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shlex
import signal
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from batchspawner import SlurmSpawner
from jupyterhub.apihandlers import APIHandler, default_handlers
from tornado.web import HTTPError, authenticated
from traitlets import Unicode, default, observe

from workloads.hub_files.base_spawner import StartError
from workloads.hub_files.profiles import HUB, ProfileSpawner
from workloads.hub_files.start_words import TELL, Situation

from .queue_words import UNREACHED, counts_in, finds_no_room, refused, situation

IDENTITY, KNOWN_HOSTS = "/identity", "/known_hosts"  # where `service` binds them
NODES = Path("/state/nodes.json")  # written by `service`, as Slurm tells the hub's own account
PORT_PATH = "/api/batchspawner"
PORTS = range(1024, 65536)
LOOK_EVERY_S = 2
# What ssh or the agent could not do says nothing of the job: only the agent's own words end a server.
UNKNOWN = r"^(?!GONE)"
VARIABLE = re.compile(r"JUPYTERHUB_(?!SINGLEUSER_APP$|SINGLEUSER_EXTENSION$)[A-Z0-9_]+|JPY_API_TOKEN")
ANSWER = "gpu-commons: "  # of the agent; what a login shell prints is none
NODE = re.compile(r"RUNNING ([A-Za-z0-9.-]{1,253})")
ANSWERS_WITHIN_S = 90
LONGEST_ANSWER = 1 << 16


class ServerPort(APIHandler):
    """Where a server listens, as batchspawner-singleuser says it with the server's own token.

    In place of batchspawner's handler, by which a server may set any attribute of its spawner, commands included.
    """

    @authenticated
    def post(self) -> None:
        """Take the port, and nothing else."""
        token = self.get_auth_token()
        servers = getattr(self.current_user, "spawners", {}).values()
        spawner = next((each for each in servers if token and each.api_token == token), None)
        port = (self.get_json_body() or {}).get("port")
        if spawner is None or not isinstance(port, int) or port not in PORTS:
            raise HTTPError(400)
        spawner.port = port
        self.set_status(201)
        self.finish("{}")


# batchspawner has registered its own when it was imported.
default_handlers[:] = [each for each in default_handlers if each[0] != PORT_PATH]
default_handlers.append((PORT_PATH, ServerPort))


class CommonsSlurmSpawner(ProfileSpawner, SlurmSpawner):
    """A server is one job of Slurm, which runs as the account that its user has on the cluster."""

    req_profile = Unicode()
    counts_last_s = 15.0  # each look is a login and two questions to Slurm

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        submit, name = HUB["submit"], HUB["hub"]
        ssh = ["ssh", "-F", "none", "-T", "-i", IDENTITY, "-p", str(submit["port"])]
        options = {
            "BatchMode": "yes",
            "ConnectTimeout": "10",
            "IdentitiesOnly": "yes",
            "StrictHostKeyChecking": "yes",
            "UserKnownHostsFile": KNOWN_HOSTS,
        }
        words = [*ssh, *(word for key, value in options.items() for word in ("-o", f"{key}={value}"))]
        self.exec_prefix = f"{shlex.join(words)} -- {{username}}@{submit['address']}"
        self.batch_submit_cmd = f"submit {name} {{profile}}"
        self.batch_query_cmd = f"query {name} {{job_id}}"
        self.batch_cancel_cmd = f"end {name}"
        self.state_unknown_re = UNKNOWN
        self.startup_poll_interval = LOOK_EVERY_S
        self._said, self._said_at = "", datetime.now(UTC)

    @default("req_username")
    def _req_username_default(self) -> str:
        """The account of the user. Raises StartError."""
        account = HUB["accounts"].get(self.user.name)
        if not account:
            raise StartError(f"You have no account on this cluster that this hub knows: {TELL}")
        return str(account)

    @default("req_homedir")
    def _req_homedir_default(self) -> str:
        return ""  # of a user that the hub's image does not know

    @default("req_profile")
    def _req_profile_default(self) -> str:
        return str(self.profile["name"])

    def user_env(self, env: dict[str, str]) -> dict[str, str]:
        """As it is: the account is the job's, and no user of this image."""
        return env

    @observe("job_status")
    def _hear(self, change: Any) -> None:
        """The agent's last word, which is kept when batchspawner forgets a job that has ended."""
        if re.match("PENDING|RUNNING|GONE", change["new"]):
            self._said, self._said_at = change["new"], datetime.now(UTC)

    def situation(self) -> Situation:
        """Where the job of the start stands."""
        return situation(self._said, self.title, self._said_at)

    def finds_no_room(self) -> bool:
        return finds_no_room(self._said)

    @property
    def counts_for(self) -> str:
        """Nobody else: an account may print what it likes, and Slurm may show each account something else."""
        return str(self.user.name)

    async def counts(self) -> Mapping[str, Any]:
        """What Slurm tells this user of the partitions of each profile. Raises RuntimeError, ValueError."""
        where = self.exec_prefix.format(username=self._req_username_default())
        return counts_in(await self.run_command(f"{where} free {HUB['hub']}"))

    async def _get_batch_script(self, **_subvars: Any) -> str:
        """Variables for the agent, which has the text of the job: no token gets into a text that Slurm keeps."""
        wanted = {key: value for key, value in self.get_env().items() if VARIABLE.fullmatch(key)}
        return "\0".join(f"{key}={value}" for key, value in wanted.items())

    async def run_command(self, cmd: str, input: str | None = None, env: dict[str, str] | None = None) -> str:  # noqa: A002
        """The agent's own line. Raises RuntimeError with the last words of ssh or of the agent.

        A user's account may print what it likes, and without an end: it is read so far, and for so long.
        """
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_shell(
            cmd, env=env, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True
        )
        assert process.stdin is not None  # noqa: S101 - all three are pipes
        assert process.stdout is not None  # noqa: S101
        assert process.stderr is not None  # noqa: S101

        def kill() -> None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)

        try:
            async with asyncio.timeout(ANSWERS_WITHIN_S):
                with suppress(BrokenPipeError, ConnectionResetError):
                    process.stdin.write((input or "").encode())
                    await process.stdin.drain()
                process.stdin.close()
                out, err = await asyncio.gather(_beginning(process.stdout, kill), _beginning(process.stderr, kill))
                code = await process.wait()
        except TimeoutError:
            raise RuntimeError(f"no answer within {ANSWERS_WITHIN_S} s") from None
        finally:
            if process.returncode is None:
                kill()
                await process.wait()
        if code:
            # A line of its own, so that no words of ssh or of an account pass for an answer of the agent.
            raise RuntimeError(f"\n{err.strip() or f'ended with {code}'}")
        last = out.strip().rpartition("\n")[2]
        if not last.startswith(ANSWER):
            raise RuntimeError("the agent gave no answer")
        return last.removeprefix(ANSWER)

    def state_gethost(self) -> str:
        """The node, where it is one of the profile's partitions: the account that names it may name anything.

        Raises StartError.
        """
        found = NODE.fullmatch(self.job_status)
        if not found:
            raise StartError(f"Slurm did not say where your server runs: {TELL}")
        if found[1] not in self._known_nodes():
            raise StartError(f"The job of your server names {found[1]}, which is no node of its partitions: {TELL}")
        return found[1]

    def _known_nodes(self) -> frozenset[str]:
        try:
            nodes = json.loads(NODES.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return frozenset()
        return frozenset(node for partition in self.profile["partitions"] for node in nodes.get(partition, ()))

    def parse_job_id(self, output: str) -> str:
        """The number that Slurm gave the job. Raises StartError."""
        if not output.strip().isdigit():
            raise StartError(f"Slurm gave your server no number of a job: {TELL}")
        return output.strip()

    async def make(self) -> str:
        """Submit, and wait until the server says where it listens. Raises StartError, RuntimeError."""
        self.req_username, self.req_profile = self._req_username_default(), self._req_profile_default()
        self.job_id = self.job_status = self._said = ""
        ip, port = await SlurmSpawner.start(self)
        return f"http://{ip}:{port}"

    async def look(self) -> None:
        if self.job_id:
            await self.query_job_status()

    def why(self, error: Exception) -> str:
        if self.situation().is_final:
            return self.situation().given_up_at(datetime.now(UTC), 0)
        return refused(str(error), self.title) if isinstance(error, RuntimeError) else UNREACHED

    async def poll(self) -> int | None:
        """None while the job waits or runs, else 1; also of who has lost the account: an update ended it."""
        if self.user.name not in HUB["accounts"]:
            return 1
        self.req_username = self._req_username_default()
        return await super().poll()  # type: ignore[no-any-return]

    async def stop(self, now: bool = False) -> None:  # noqa: FBT001, FBT002 - JupyterHub's signature
        """End the user's jobs of this hub: one, or also what a hub that was killed had submitted."""
        self.req_username = self._req_username_default()
        await super().stop(now)


async def _beginning(stream: asyncio.StreamReader, kill: Callable[[], None]) -> str:
    """What it says, up to a limit, beyond which its process is killed: asyncio waits for the end of every pipe."""
    found = b""
    while chunk := await stream.read(4096):
        found = (found + chunk)[:LONGEST_ANSWER]
        if len(found) == LONGEST_ANSWER:
            kill()
    return found.decode("utf-8", "replace")
