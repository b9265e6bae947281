"""Engine addresses: a local socket, ssh to another machine, or TCP with TLS."""

import re
from typing import Annotated, Final
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, WithJsonSchema

from errors.faults import Misfit
from workloads.names import AbsolutePath

_SSH_HOST: Final = re.compile(r"([a-z_][-a-z0-9_.]*@)?[A-Za-z0-9]([-A-Za-z0-9.]*[A-Za-z0-9])?(:\d{1,5})?")
_TCP_HOST: Final = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9.]*[A-Za-z0-9])?:\d{1,5}")
_FORMS: Final = "write unix:///var/run/docker.sock, ssh://user@host or tcp://host:2376"


def _engine(value: str) -> str:
    parts = urlsplit(value)
    if parts.password is not None or (parts.scheme != "ssh" and "@" in parts.netloc):
        raise Misfit("holds a password", "remove it, from the version history too: ssh takes keys, TCP certificates")
    if parts.scheme == "unix" and not parts.netloc and re.fullmatch(r"/[\w./@+-]+", parts.path):
        return value
    form = {"ssh": _SSH_HOST, "tcp": _TCP_HOST}.get(parts.scheme)
    if form is None or not form.fullmatch(parts.netloc) or parts.path or parts.query or parts.fragment:
        raise Misfit("is not the address of a Docker engine", _FORMS)
    return value


# Format of DOCKER_HOST: https://docs.docker.com/reference/cli/docker/#environment-variables
EngineAddress = Annotated[str, AfterValidator(_engine), WithJsonSchema({"type": "string"})]
Certificates = Annotated[
    AbsolutePath | None,
    Field(description="Folder with ca.pem, cert.pem and key.pem for an engine at tcp://; docker context uses them."),
]


USUAL_SOCKET: Final = "/var/run/docker.sock"


def socket_on_host(address: str) -> str:
    """The engine's socket on its own host: the local engine's address, else the usual path."""
    return address.removeprefix("unix://") if address.startswith("unix:") else USUAL_SOCKET


def needs_certificates(address: str) -> bool:
    """Access to an engine means root on its machine: TCP requires a client certificate."""
    return address.startswith("tcp:")
