"""The login node of the lab's Slurm: Debian's sshd on 127.0.0.1, with keys and a configuration of this lab's own."""

from __future__ import annotations

import shlex
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Final

from lab import files, processes
from lab.processes import Server
from lab.servers import slurm_files

if TYPE_CHECKING:
    from lab.instance import Instance
    from lab.servers import Tools

NAME: Final = "sshd"
RUNTIME: Final = Path("/run/sshd")  # compiled in: the empty folder that it locks its unprivileged part into
ADDRESS: Final = "127.0.0.1"


def server(instance: Instance, tools: Tools, programs: str) -> Server:
    """Only the lab's account gets in, and only with the lab's key; `programs` is PATH for what it runs.

    Makes the keys and the client's files when there are none yet.
    """
    folder = _folder(instance)
    host_key = _key(tools, folder / "host_key", f"host of {slurm_files.account(instance)}")
    identity(instance).parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    client_key = _key(tools, identity(instance), slurm_files.account(instance))
    allowed = files.write(slurm_files.root(instance) / "etc" / "authorized_keys", _public(client_key))
    port = instance.ports[NAME]
    files.write(known_hosts(instance), f"[{ADDRESS}]:{port} {_public(host_key)}")
    options = {
        "ListenAddress": f"{ADDRESS}:{port}",
        "HostKey": str(host_key),
        "PidFile": str(instance.run / "sshd.pid"),
        "AuthorizedKeysFile": str(allowed),
        "AuthenticationMethods": "publickey",
        "UsePAM": "no",
        "AllowUsers": slurm_files.account(instance),
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
        files=[config, allowed],
        ready=lambda: _greets(port),
        ready_within_s=20,
    )


def identity(instance: Instance) -> Path:
    """The private key of who submits."""
    return _folder(instance) / "identity"


def known_hosts(instance: Instance) -> Path:
    """The key of this login node, which a client has to check."""
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
