"""P-PORT: a container on a Docker host publishes its ports on a stated address."""

import ipaddress
from collections.abc import Iterator
from typing import Any

from fleet.unknown import UNKNOWN
from policies.finding import Finding, Level
from policies.model import Rule, Site, Workload
from policies.shapes import at, items, text


def check(workload: Workload, _: Site) -> Iterator[Finding]:
    """Ports without an address, and host networking. A stated address is intentional."""
    inputs = workload.container_inputs
    for index, each in enumerate(items(inputs.get("ports"))):
        address = at(each, "ip")
        if address is UNKNOWN:
            yield Finding(f"the address of ports[{index}] is not known yet: it may be every one", Level.UNPROVED)
        elif _is_every(address):
            yield Finding(f"ports[{index}] publishes {_port(each)} on every address of the host")
    for key, what in (
        ("publishAllPorts", "publishes every port that the image exposes, on every address of the host"),
        (
            "networkMode",
            "host shares the network of the host: the container listens there, and reaches whatever the host reaches",
        ),
    ):
        if inputs.get(key) is UNKNOWN:
            yield Finding(f"{key} is not known yet", Level.UNPROVED)
        elif inputs.get(key) in (True, "host"):
            yield Finding(f"{key} {what}", remedy=f"Remove {key}, and publish the ports that are needed.")
    for index, each in enumerate(items(inputs.get("networksAdvanced"))):
        if at(each, "name") == "host":
            yield Finding(f"networksAdvanced[{index}] is the network of the host itself", remedy="Remove it.")


def _is_every(address: Any) -> bool:
    """True without an address: the provider passes 0.0.0.0."""
    try:
        return not address or ipaddress.ip_address(text(address).strip("[]")).is_unspecified
    except ValueError:
        return False


def _port(port: Any) -> str:
    inside, outside = at(port, "internal"), at(port, "external")
    shown = inside if isinstance(inside, int) else "a port"
    return f"{shown} as {outside}" if isinstance(outside, int) else f"{shown}"


RULE = Rule(
    id="P-PORT",
    says="a container on a Docker host publishes its ports on a stated address, not on every address",
    remedy="Write ip: 127.0.0.1, or the one address of the host that others are meant to reach.",
    check=check,
)
