"""Reads the profiles of a hub, whatever it runs on: they never pass through the engine. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from fleet.unknown import UNKNOWN, Unknown
from policies.model import Container, Image, Workload
from policies.shapes import is_list, text
from workloads.hub import DEFAULT_START_TIMEOUT_S

NOTHING_KNOWN: Final[Mapping[str, Any]] = {"containers": UNKNOWN, "tolerations": UNKNOWN}  # of a pod


def workloads_of(hub: str, listed: Any, kind: str = "profile") -> Iterator[tuple[str, Mapping[str, Any] | Workload]]:
    """Each profile's display name, and its values or a workload of which nothing is known yet."""
    if listed is UNKNOWN:
        yield (name := f"{kind}s of {hub}"), _not_known_yet(name)
    for index, each in enumerate(listed if is_list(listed) else ()):
        if each is UNKNOWN:
            yield (name := f"{kind} {index} of {hub}"), _not_known_yet(name)
        elif isinstance(each, Mapping):
            yield f"{kind} {text(each.get('name'), str(index))} of {hub}", each


def _not_known_yet(name: str) -> Workload:
    container = Container("containers", Image("containers", UNKNOWN), is_known=False)
    return Workload(name, NOTHING_KNOWN, containers=(container,), landing_key="nothing known")


def start_timeout_s(hub: Mapping[str, Any]) -> float | Unknown:
    """Seconds until a server must answer."""
    given = hub.get("start_timeout_s")
    return given if isinstance(given, int | float | Unknown) else DEFAULT_START_TIMEOUT_S
