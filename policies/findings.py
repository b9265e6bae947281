"""What a rule says, about what, and from what it knows. Plain values only: no SDK, no Pulumi."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from components.placement import Node


class Level(StrEnum):
    """How much a finding weighs."""

    REFUSE = "refuse"
    WARN = "warn"
    UNPROVED = "unproved"  # a value is not known yet: not a pass, not a refusal


@dataclass(frozen=True, slots=True)
class Finding:
    """One statement of one rule about one workload."""

    message: str
    level: Level = Level.REFUSE


@dataclass(frozen=True, slots=True)
class Workload:
    """Pods that something makes. `pod` is a pod spec in Kubernetes JSON; UNKNOWN marks what is not known yet."""

    name: str  # as a person knows it: Deployment datahub/hub, profile gtx1080ti of hub datahub
    pod: Mapping[str, Any]
    is_daemon: bool = False  # runs on every node that takes it


@dataclass(frozen=True, slots=True)
class Site:
    """What the rules know of the place: nodes of the fleet and registries that may be pulled from."""

    nodes: tuple[Node, ...]
    allowed_registries: tuple[str, ...]
    runtime_images: tuple[str, ...] = ()  # images of the runtime's own daemons


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. `says` is the rule in a sentence, `remedy` what to do about a finding."""

    id: str
    says: str
    remedy: str
    check: Callable[[Workload, Site], Iterator[Finding]]
