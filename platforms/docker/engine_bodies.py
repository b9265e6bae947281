"""Patterns of request bodies that a hub and its gateways may send to an engine, made from hub.json. Pure.

The stack wrote each container into hub.json. A body passes if it is one of them plus what only the sender knows: a
command, variables, the labels of a user, that user's home and network, and the requested number of host
devices. `USER` stands for the first user named in URL or body, `SAME` for the same user again.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from platforms.docker.hub_files.names import HOME_OF, HUB, LOGIN
from platforms.docker.hub_files.names import USER as OWNER
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

HOME: Final = "/home/jovyan"  # mount point of a user's home unless hub.json has another
ANY_USER: Final = "[a-z0-9][a-z0-9-]*"
USER: Final = f"(?P<user>{ANY_USER})"
SAME: Final = "(?P=user)"
_HOLES: Final = frozenset({"Cmd", "Env", "HostConfig", "Labels", "WorkingDir"})


def user_network(document: Document) -> str:
    """A user's network, without egress. Its labels come before its name and name the same user."""
    return object_of(
        {
            "Driver": exactly("bridge"),
            "Internal": "true",
            "Labels": _labels(document["hub"], USER),
            "Name": quoted(f"{literal(document['hub'])}-user-{SAME}"),
        }
    )


def attached(name: str) -> str:
    """A container joining a network; `name` is a pattern."""
    return object_of({"Container": quoted(name), "EndpointConfig": exactly({})})


def home(document: Document) -> str:
    """The same user's home, as a mount."""
    source = quoted(f"{literal(document['hub'])}-home-{SAME}")
    return object_of({"Source": source, "Target": exactly(document.get("home") or HOME), "Type": exactly("volume")})


def labelled_home(document: Document) -> str:
    """A user's home, or the record of an earlier one, with the owner's login as a label."""
    a_home = quoted(f"{literal(document['hub'])}-home-{ANY_USER}")
    labels: dict[str, str | May] = {HOME_OF: May(a_home), HUB: exactly(document["hub"]), LOGIN: TEXT}
    return object_of({"Labels": object_of(labels), "Name": a_home})


def container(document: Document, body: Document, *, gpus: int, network: str, home: str | None) -> str:
    """A container as written by the stack; `network` and `home` are patterns of the name and the mount."""
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
    """Any variables except those that select GPUs, which the stack sets. Names are letters: escapes hide none."""
    any_other = starting(r"(?!NVIDIA_)[A-Za-z_][A-Za-z0-9_]*=")
    fixed = [exactly(each) for each in given if each.startswith("NVIDIA_")]
    if not fixed:
        return list_of(any_other)
    return rf"\[(?:{any_other}, )*+{', '.join(fixed)}(?:, {any_other})*+\]"


def _labels(hub: str, user: str) -> str:
    """Any labels, including the owner's labels: they sort in this order."""
    other = rf'"(?!{literal(HUB)}"|{literal(OWNER)}")[A-Za-z0-9./_-]+": {TEXT}'
    whose = rf'"{literal(HUB)}": {exactly(hub)}(?:, {other})*, "{literal(OWNER)}": {quoted(user)}'
    return rf"\{{(?:{other}, )*{whose}(?:, {other})*\}}"


def _devices(document: Document, gpus: int) -> str:
    """The stack's number of host devices, by name."""
    prefix = "nvidia.com/gpu=" if document["access"] == "cdi" else ""
    device = one_of(exactly(f"{prefix}{card['device']}") for card in document["cards"])
    members = {"DeviceIDs": sequence([device] * gpus)}
    if document["access"] == "cdi":
        return sequence([object_of(members | {"Driver": exactly("cdi")})])
    return sequence([object_of(members | {"Capabilities": exactly([["gpu"]]), "Driver": exactly("nvidia")})])
