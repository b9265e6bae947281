"""The login node of the lab's Slurm: Debian's sshd on 127.0.0.1, with the lab's own keys and configuration."""

from __future__ import annotations

import os
import pwd
import shlex
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from lab import files, processes
from lab.processes import Server
from lab.servers import slurm_files
from platforms.slurm.hub import AGENT, FOLDER

if TYPE_CHECKING:
    from lab.instance import Instance
    from lab.servers import Tools

NAME: Final = "sshd"
RUNTIME: Final = Path("/run/sshd")  # compiled in: the empty folder to which it confines its unprivileged part
ADDRESS: Final = "127.0.0.1"


def server(instance: Instance, tools: Tools, programs: str, people: Sequence[str] = ()) -> Server:
    """Only the lab's account gets in, and only with the lab's key; `programs` is PATH for what it runs.

    With `people`, accounts of hubs' users, the hubs' account gets in too, and hubs log in with their own key as each of
    these, only to run their agent. Creates missing keys and client files.
    """
    folder = _folder(instance)
    host_key = _key(tools, folder / "host_key", f"host of {slurm_files.account(instance)}")
    identity(instance).parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    client_key = _key(tools, identity(instance), slurm_files.account(instance))
    port = instance.ports[NAME]
    known = f"[{ADDRESS}]:{port} {_public(host_key)}"
    files.write(known_hosts(instance), known)
    allowed = {slurm_files.account(instance): _public(client_key)}
    if people:
        files.write(slurm_files.hub_known_hosts(instance), known)
        hub_key = _public(_hub_key(instance, tools))
        allowed |= {slurm_files.hub_account(instance): _public(client_key)}
        allowed |= {each: f"{agent_only(instance)} {hub_key}" for each in people}
    keys = slurm_files.root(instance) / "etc" / "keys"
    written = [files.write(keys / name, text) for name, text in allowed.items()]
    options = {
        "ListenAddress": f"{ADDRESS}:{port}",
        "HostKey": str(host_key),
        "PidFile": str(instance.run / "sshd.pid"),
        "AuthorizedKeysFile": f"{keys}/%u",
        "AuthenticationMethods": "publickey",
        "UsePAM": "no",
        "AllowUsers": " ".join(allowed),
        "AllowTcpForwarding": "no",
        "X11Forwarding": "no",
        "PrintMotd": "no",
        "PrintLastLog": "no",
        "MaxStartups": "100",
        "MaxSessions": "100",
        "Subsystem": "sftp internal-sftp",
        "SetEnv": " ".join(
            shlex.quote(f"{key}={value}")
            for key, value in {**slurm_files.environment(instance), "PATH": programs}.items()
        ),
    }
    config = files.write(folder / "sshd_config", "".join(f"{key} {value}\n" for key, value in options.items()))
    return Server(
        name=NAME,
        argv=[str(tools.path(NAME)), "-D", "-e", "-f", str(config)],
        files=[config, *written],
        ready=lambda: _greets(port),
        ready_within_s=20,
    )


def agent_only(instance: Instance) -> str:
    """Options before a key: its logins come from this machine and only run the hubs' agent."""
    program = slurm_files.image_store(instance) / FOLDER / AGENT
    return f'restrict,from="{ADDRESS}",command="python3 -I {program}"'


def _hub_key(instance: Instance, tools: Tools) -> Path:
    """The key of the hubs' account, readable only for it."""
    owner = pwd.getpwnam(slurm_files.hub_account(instance))
    key = _key(tools, slurm_files.hub_identity(instance), "hubs")
    for path in (key.parent, key, key.with_suffix(".pub")):
        os.chown(path, owner.pw_uid, owner.pw_gid)
    return key


def identity(instance: Instance) -> Path:
    """The submitter's private key."""
    return _folder(instance) / "identity"


def known_hosts(instance: Instance) -> Path:
    """The key of this login node, for clients to check."""
    return _folder(instance) / "known_hosts"


def _folder(instance: Instance) -> Path:
    return instance.config / "ssh"


def _key(tools: Tools, path: Path, comment: str) -> Path:
    if not path.with_suffix(".pub").exists():
        path.unlink(missing_ok=True)
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        words = ["-q", "-t", "ed25519", "-N", "", "-C", comment, "-f", str(path)]
        processes.run([str(tools.path("ssh-keygen")), *words])
    return path


def _public(key: Path) -> str:
    return key.with_suffix(".pub").read_text(encoding="utf-8")


def _greets(port: int) -> bool:
    with socket.create_connection((ADDRESS, port), timeout=2) as probe:
        probe.settimeout(2)
        return probe.recv(64).startswith(b"SSH-")
