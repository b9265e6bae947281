"""EKS clusters: create, read, change, delete. Facts: docs.aws.amazon.com/eks/latest/APIReference."""

from __future__ import annotations

from typing import Any, Final

from lab.aws_emulator.eks_access import entry_for_creator
from lab.aws_emulator.eks_state import (
    BAD_REQUEST,
    IN_USE,
    INVALID,
    Cluster,
    State,
    Values,
    found,
    fresh_id,
    given,
    now,
    updated,
)
from lab.aws_emulator.faults import ServiceFault

DEFAULT_VERSION: Final = "1.34"
MODES: Final = ("CONFIG_MAP", "API_AND_CONFIG_MAP", "API")  # a cluster only moves to the right
KEPT: Final = (
    "upgradePolicy",
    "zonalShiftConfig",
    "remoteNetworkConfig",
    "computeConfig",
    "storageConfig",
    "encryptionConfig",
    "outpostConfig",
    "controlPlaneScalingConfig",
)
CHANGED_WHOLE: Final = (
    "upgradePolicy",
    "zonalShiftConfig",
    "remoteNetworkConfig",
    "computeConfig",
    "storageConfig",
    "deletionProtection",
    "controlPlaneScalingConfig",
)
KINDS: Final = {
    "resourcesVpcConfig": "VpcConfigUpdate",
    "logging": "LoggingUpdate",
    "accessConfig": "AccessConfigUpdate",
    "upgradePolicy": "UpgradePolicyUpdate",
    "zonalShiftConfig": "ZonalShiftConfigUpdate",
    "deletionProtection": "DeletionProtectionUpdate",
}


def create(state: State, parameters: Values) -> Values:
    name = parameters["name"]
    if name in state.clusters:
        raise ServiceFault(IN_USE, f"Cluster already exists with name: {name}", status=409)
    state.check_role(parameters["roleArn"])
    network = _network(state, parameters["resourcesVpcConfig"])
    network["clusterSecurityGroupId"] = state.cloud.make_security_group(name, network["vpcId"])
    identity = fresh_id().replace("-", "").upper()
    values = {
        "name": name,
        "arn": state.arn("cluster", name),
        "createdAt": now(),
        "version": parameters.get("version", DEFAULT_VERSION),
        "endpoint": state.endpoint.url or f"https://{identity}.gr7.{state.region}.eks.amazonaws.com",
        "roleArn": parameters["roleArn"],
        "resourcesVpcConfig": network,
        "kubernetesNetworkConfig": {
            "serviceIpv4Cidr": "172.20.0.0/16",
            "ipFamily": "ipv4",
            "elasticLoadBalancing": {"enabled": False},
            **parameters.get("kubernetesNetworkConfig", {}),
        },
        "logging": parameters.get("logging", {"clusterLogging": []}),
        "identity": {"oidc": {"issuer": f"https://oidc.eks.{state.region}.amazonaws.com/id/{identity}"}},
        "status": "ACTIVE",
        "certificateAuthority": {"data": state.endpoint.authority},
        "platformVersion": "eks.1",
        "tags": dict(parameters.get("tags", {})),
        "accessConfig": {"authenticationMode": "CONFIG_MAP", **parameters.get("accessConfig", {})},
        "upgradePolicy": {"supportType": "EXTENDED"},
        "deletionProtection": parameters.get("deletionProtection", False),
        **given(parameters, *KEPT),
    }
    # Only given at creation; AWS does not show it again either.
    is_creators = values["accessConfig"].pop("bootstrapClusterCreatorAdminPermissions", True)
    state.clusters[name] = Cluster(values)
    if is_creators:
        entry_for_creator(state, state.clusters[name])
    return {"cluster": {**values, "status": "CREATING"}}


def _network(state: State, requested: Values) -> Values:
    if not requested.get("subnetIds"):
        raise ServiceFault(INVALID, "resourcesVpcConfig.subnetIds: at least two subnets are needed")
    subnets = state.cloud.subnets(requested["subnetIds"])
    if len({subnet["AvailabilityZone"] for subnet in subnets}) < 2:
        raise ServiceFault(INVALID, "Subnets specified must be in at least two different AZs")
    network = {
        "securityGroupIds": [],
        "endpointPublicAccess": True,
        "endpointPrivateAccess": False,
        **requested,
        "vpcId": subnets[0]["VpcId"],
    }
    if not (network["endpointPublicAccess"] or network["endpointPrivateAccess"]):
        raise ServiceFault(INVALID, "Private and public endpoint access cannot be false")
    if network["endpointPublicAccess"]:
        network.setdefault("publicAccessCidrs", ["0.0.0.0/0"])
    return network


def describe(state: State, parameters: Values) -> Values:
    return {"cluster": state.cluster(parameters["name"]).values}


def list_names(state: State, parameters: Values) -> Values:
    del parameters
    return {"clusters": sorted(state.clusters)}


def delete(state: State, parameters: Values) -> Values:
    cluster = state.cluster(parameters["name"])
    if cluster.node_groups:
        raise ServiceFault(IN_USE, "Cluster has nodegroups attached", status=409)
    if cluster.values["deletionProtection"]:
        raise ServiceFault(BAD_REQUEST, "Deletion protection of the cluster is switched on; switch it off first")
    del state.clusters[cluster.name]
    state.cloud.drop_security_group(cluster.values["resourcesVpcConfig"]["clusterSecurityGroupId"])
    return {"cluster": {**cluster.values, "status": "DELETING"}}


def change(state: State, parameters: Values) -> Values:
    """`UpdateClusterConfig`: one kind of change per call, as in AWS."""
    cluster = state.cluster(parameters["name"])
    changes = {key: value for key, value in parameters.items() if key not in ("name", "clientRequestToken")}
    if len(changes) != 1:
        raise ServiceFault(INVALID, f"one type of update in a call, not {len(changes)}: {', '.join(sorted(changes))}")
    ((kind, value),) = changes.items()
    if kind in CHANGED_WHOLE:
        cluster.values[kind] = value
    elif kind == "accessConfig":
        _change_mode(cluster, value["authenticationMode"])
    elif kind == "resourcesVpcConfig":
        before = cluster.values[kind]
        cluster.values[kind] = {
            **_network(state, {**_configurable(before), **value}),
            "clusterSecurityGroupId": before["clusterSecurityGroupId"],
        }
    else:
        cluster.values[kind] = {**cluster.values[kind], **value}
    return updated(cluster, KINDS.get(kind, "ConfigUpdate"))


def _configurable(network: Values) -> Values:
    return {key: value for key, value in network.items() if key not in ("vpcId", "clusterSecurityGroupId")}


def _change_mode(cluster: Cluster, wanted: str) -> None:
    before = cluster.values["accessConfig"]["authenticationMode"]
    if MODES.index(wanted) < MODES.index(before):
        raise ServiceFault(INVALID, f"the authentication mode cannot go back from {before} to {wanted}")
    if MODES.index(wanted) - MODES.index(before) == 2:
        raise ServiceFault(INVALID, f"from {before} to {wanted} by way of API_AND_CONFIG_MAP")
    cluster.values["accessConfig"]["authenticationMode"] = wanted


def change_version(state: State, parameters: Values) -> Values:
    """`UpdateClusterVersion`: to the next minor version, one at a time."""
    cluster = state.cluster(parameters["name"])
    before, wanted = (_minor(each) for each in (cluster.values["version"], parameters["version"]))
    if wanted != before + 1:
        raise ServiceFault(
            INVALID,
            f"Unsupported Kubernetes minor version update from {cluster.values['version']} to {parameters['version']}",
        )
    behind = [name for name, group in cluster.node_groups.items() if _minor(group["version"]) + 3 < wanted]
    if behind:
        raise ServiceFault(BAD_REQUEST, f"node groups are more than three minor versions behind: {', '.join(behind)}")
    cluster.values["version"] = parameters["version"]
    return updated(cluster, "VersionUpdate", Version=parameters["version"])


def _minor(version: str) -> int:
    return int(version.split(".")[1])


def describe_update(state: State, parameters: Values) -> Values:
    return {"update": found(state.cluster(parameters["name"]).updates, parameters["updateId"], "update")}


def tag(state: State, parameters: Values) -> Values:
    state.tagged(parameters["resourceArn"])["tags"].update(parameters["tags"])
    return {}


def untag(state: State, parameters: Values) -> Values:
    tags: dict[str, Any] = state.tagged(parameters["resourceArn"])["tags"]
    for key in parameters["tagKeys"]:
        tags.pop(key, None)
    return {}


def tags_of(state: State, parameters: Values) -> Values:
    return {"tags": state.tagged(parameters["resourceArn"])["tags"]}
