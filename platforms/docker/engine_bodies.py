"""What a hub and its gateways may ask an engine to make: patterns of bodies, made from hub.json. Pure.

The stack wrote each container into hub.json. A body passes if it is one of them, with what only the sender knows: a
command, variables, the labels of a user, that user's home and network, and as many devices of the host as were
requested. `USER` stands for the user whom URL or body names first, `SAME` for that user again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from fleet.labels import OWN_PREFIX
from platforms.docker.json_patterns import (
    TEXT,
    May,
    exactly,
    list_of,
    literal,
    object_of,
    one_of,
    quoted,
    sequence,
    starting,
)

Document = Mapping[str, Any]  # hub.json

HUB_LABEL: Final = f"{OWN_PREFIX}hub"
USER_LABEL: Final = f"{OWN_PREFIX}user"
HOME: Final = "/home/jovyan"  # where the programs mount a user's home if hub.json names no other place
ANY_USER: Final = "[a-z0-9][a-z0-9-]*"
USER: Final = f"(?P<user>{ANY_USER})"
SAME: Final = "(?P=user)"
_HOLES: Final = frozenset({"Cmd", "Env", "HostConfig", "Labels", "WorkingDir"})


def user_network(document: Document) -> str:
    """A network of a user, without a way out. Its labels come before its name, and name the same user."""
    return object_of(
        {
            "Driver": exactly("bridge"),
            "Internal": "true",
            "Labels": _labels(document["hub"], USER),
            "Name": quoted(f"{literal(document['hub'])}-user-{SAME}"),
        }
    )


def attached(name: str) -> str:
    """A container that joins a network; `name` is a pattern."""
    return object_of({"Container": quoted(name), "EndpointConfig": exactly({})})


def home(document: Document) -> str:
    """The home of the same user, as a mount."""
    source = quoted(f"{literal(document['hub'])}-home-{SAME}")
    return object_of({"Source": source, "Target": exactly(document.get("home") or HOME), "Type": exactly("volume")})


def container(document: Document, body: Document, *, gpus: int, network: str, home: str | None) -> str:
    """A container as the stack wrote it; `network` and `home` are patterns of the name and of the mount."""
    given = dict(body["HostConfig"])
    own = [exactly(each) for each in given.pop("Mounts", None) or ()]
    host: dict[str, str | May] = {
        **{key: exactly(value) for key, value in given.items() if value is not None},
        "Init": May("true"),
        "NetworkMode": quoted(network),
        "RestartPolicy": May(object_of({"MaximumRetryCount": "[0-9]{1,2}", "Name": quoted("on-failure")})),
    }
    if own:
        host["Mounts"] = rf"\[{', '.join(own)}{f'(?:, {home})?' if home else ''}\]"
    elif home:
        host["Mounts"] = May(sequence([home]))
    if gpus:
        host["DeviceRequests"] = _devices(document, gpus)
    whole: dict[str, str | May] = {
        "Cmd": May(list_of(TEXT)),
        "Env": _variables(body.get("Env") or ()),
        "HostConfig": object_of(host),
        "Labels": _labels(document["hub"], SAME),
        "WorkingDir": May(TEXT),
    }
    whole |= {key: exactly(value) for key, value in body.items() if key not in _HOLES and value is not None}
    return object_of(whole)


def _variables(given: Sequence[str]) -> str:
    """Any variables, but for those that give GPUs, which are the stack's. Names are letters: no escape hides one."""
    any_other = starting(r"(?!NVIDIA_)[A-Za-z_][A-Za-z0-9_]*=")
    fixed = [exactly(each) for each in given if each.startswith("NVIDIA_")]
    if not fixed:
        return list_of(any_other)
    return rf"\[(?:{any_other}, )*+{', '.join(fixed)}(?:, {any_other})*+\]"


def _labels(hub: str, user: str) -> str:
    """Any labels, with those that say whose it is: they sort as they stand here."""
    other = rf'"(?!{literal(HUB_LABEL)}"|{literal(USER_LABEL)}")[A-Za-z0-9./_-]+": {TEXT}'
    whose = rf'"{literal(HUB_LABEL)}": {exactly(hub)}(?:, {other})*, "{literal(USER_LABEL)}": {quoted(user)}'
    return rf"\{{(?:{other}, )*{whose}(?:, {other})*\}}"


def _devices(document: Document, gpus: int) -> str:
    """As many of the host's devices as the stack says, by their names."""
    prefix = "nvidia.com/gpu=" if document["access"] == "cdi" else ""
    device = one_of(exactly(f"{prefix}{card['device']}") for card in document["cards"])
    members = {"DeviceIDs": sequence([device] * gpus)}
    if document["access"] == "cdi":
        return sequence([object_of(members | {"Driver": exactly("cdi")})])
    return sequence([object_of(members | {"Capabilities": exactly([["gpu"]]), "Driver": exactly("nvidia")})])
