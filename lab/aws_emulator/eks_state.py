"""The state of the lab's EKS: clusters and what belongs to them. Lost when the emulator ends."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from lab.aws_emulator.cloud import ACCOUNT, Cloud
from lab.aws_emulator.faults import ServiceFault

Values = dict[str, Any]
INVALID: Final = "InvalidParameterException"
NOT_FOUND: Final = "ResourceNotFoundException"
IN_USE: Final = "ResourceInUseException"
BAD_REQUEST: Final = "InvalidRequestException"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The address of clusters: the lab's API server, else a made-up one."""

    url: str = ""
    authority: str = "bGFi"  # PEM in base64


@dataclass(slots=True)
class Cluster:
    """One cluster as `DescribeCluster` shows it, and its resources by name, ARN or id."""

    values: Values
    node_groups: dict[str, Values] = field(default_factory=dict)
    access_entries: dict[str, Values] = field(default_factory=dict)
    policies: dict[str, dict[str, Values]] = field(default_factory=dict)  # by principal, then by policy
    add_ons: dict[str, Values] = field(default_factory=dict)
    pod_identities: dict[str, Values] = field(default_factory=dict)
    updates: dict[str, Values] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return str(self.values["name"])


@dataclass(slots=True)
class State:
    """EKS in one region."""

    region: str
    cloud: Cloud
    endpoint: Endpoint = field(default_factory=Endpoint)
    clusters: dict[str, Cluster] = field(default_factory=dict)

    def arn(self, kind: str, *names: str) -> str:
        return f"arn:aws:eks:{self.region}:{ACCOUNT}:{kind}/{'/'.join(names)}"

    def cluster(self, name: str) -> Cluster:
        if name not in self.clusters:
            raise ServiceFault(NOT_FOUND, f"No cluster found for name: {name}.", status=404)
        return self.clusters[name]

    def tagged(self, arn: str) -> Values:
        """The resource with that ARN, for its tags."""
        for cluster in self.clusters.values():
            parts = (cluster.node_groups, cluster.access_entries, cluster.add_ons, cluster.pod_identities)
            for each in [cluster.values, *(values for part in parts for values in part.values())]:
                if arn in (
                    each.get(key) for key in ("arn", "nodegroupArn", "accessEntryArn", "addonArn", "associationArn")
                ):
                    return each
        raise ServiceFault("NotFoundException", f"Resource was not found: {arn}", status=404)

    def check_role(self, arn: str) -> None:
        """Raise ServiceFault for a role of this account that does not exist; others cannot be checked."""
        if f"::{ACCOUNT}:role/" in arn and not self.cloud.role_exists(arn):
            raise ServiceFault(INVALID, f"The role {arn} does not exist.")


def found(things: dict[str, Values], key: str, what: str) -> Values:
    if key not in things:
        raise ServiceFault(NOT_FOUND, f"No {what} found for name: {key}.", status=404)
    return things[key]


def fresh_id() -> str:
    return str(uuid.uuid4())


def now() -> datetime:
    return datetime.now(UTC)


def updated(cluster: Cluster, kind: str, **parameters: Any) -> Values:
    """The answer to a change: an update that has already succeeded; `DescribeUpdate` finds it again."""
    identity = fresh_id()
    update = {
        "id": identity,
        "status": "Successful",
        "type": kind,
        "params": [{"type": name, "value": str(value)} for name, value in parameters.items()],
        "createdAt": now(),
        "errors": [],
    }
    cluster.updates[identity] = update
    return {"update": update}


def given(parameters: Values, *names: str) -> Values:
    """The parameters that were given."""
    return {name: parameters[name] for name in names if name in parameters}
