"""Managed node groups: what AWS refuses, its defaults, and how versions move."""

from __future__ import annotations

import re
from typing import Final

from lab.aws_emulator.eks_access import entry_for_nodes
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

DEFAULT_SCALING: Final = {"minSize": 1, "maxSize": 2, "desiredSize": 2}
DEFAULT_DISK_GIB: Final = 20
KEPT: Final = ("labels", "taints", "remoteAccess", "nodeRepairConfig", "warmPoolConfig")


def create(state: State, parameters: Values) -> Values:
    cluster = state.cluster(parameters["clusterName"])
    name = parameters["nodegroupName"]
    if name in cluster.node_groups:
        message = f"NodeGroup already exists with name {name} and cluster name {cluster.name}"
        raise ServiceFault(IN_USE, message, status=409)
    state.check_role(parameters["nodeRole"])
    state.cloud.subnets(parameters["subnets"])
    scaling = parameters.get("scalingConfig", DEFAULT_SCALING)
    _check_scaling(scaling)
    version = str(parameters.get("version", cluster.values["version"]))
    _check_skew(version, cluster)
    _check_release(parameters, version)
    identity = fresh_id()
    scaling_group = f"eks-{name}-{identity}"
    values = {
        "nodegroupName": name,
        "nodegroupArn": state.arn("nodegroup", cluster.name, name, identity),
        "clusterName": cluster.name,
        "version": version,
        # The newest release is not known here: a requested one is kept, any other says whose it is.
        "releaseVersion": parameters.get("releaseVersion", f"{version}-lab"),
        "createdAt": now(),
        "modifiedAt": now(),
        "status": "ACTIVE",
        "capacityType": parameters.get("capacityType", "ON_DEMAND"),
        "scalingConfig": scaling,
        "subnets": parameters["subnets"],
        "nodeRole": parameters["nodeRole"],
        "resources": {"autoScalingGroups": [{"name": scaling_group}]},
        "health": {"issues": []},
        "updateConfig": parameters.get("updateConfig", {"maxUnavailable": 1}),
        "tags": dict(parameters.get("tags", {})),
        **_machine(state, parameters),
        **given(parameters, *KEPT),
    }
    tags = {"eks:cluster-name": cluster.name, "eks:nodegroup-name": name}
    state.cloud.make_scaling_group(scaling_group, parameters["subnets"], tags)
    entry_for_nodes(state, cluster, parameters["nodeRole"])
    cluster.node_groups[name] = values
    return {"nodegroup": {**values, "status": "CREATING"}}


def _machine(state: State, parameters: Values) -> Values:
    """Machine image, instance types and disk: of the group, else of its launch template."""
    if "launchTemplate" not in parameters:
        return {
            "amiType": parameters.get("amiType", "AL2023_x86_64_STANDARD"),
            "instanceTypes": parameters.get("instanceTypes", ["t3.medium"]),
            "diskSize": parameters.get("diskSize", DEFAULT_DISK_GIB),
        }
    if "diskSize" in parameters:
        raise ServiceFault(INVALID, "Disk size must be specified within the launch template.")
    if "remoteAccess" in parameters:
        raise ServiceFault(INVALID, "Remote access configuration cannot be specified with a launch template.")
    template = state.cloud.launch_template(parameters["launchTemplate"])
    data = template.pop("data")
    if "InstanceType" in data and "instanceTypes" in parameters:
        raise ServiceFault(INVALID, "instance types: in the launch template or in the node group, not in both")
    has_image = "ImageId" in data
    if has_image and given(parameters, "amiType", "releaseVersion", "version"):
        reason = "a launch template with an image of its own excludes amiType, version and releaseVersion"
        raise ServiceFault(INVALID, reason)
    if "IamInstanceProfile" in data:
        raise ServiceFault(INVALID, "the launch template of a node group must not name an instance profile")
    machine: Values = {"launchTemplate": template}
    machine["amiType"] = "CUSTOM" if has_image else parameters.get("amiType", "AL2023_x86_64_STANDARD")
    if "InstanceType" not in data:
        machine["instanceTypes"] = parameters.get("instanceTypes", ["t3.medium"])
    return machine


def _check_scaling(scaling: Values) -> None:
    smallest, largest, wanted = (scaling.get(key, 0) for key in ("minSize", "maxSize", "desiredSize"))
    if largest < 1:
        raise ServiceFault(INVALID, "maxSize must be at least 1")
    if smallest > largest:
        raise ServiceFault(INVALID, f"minSize {smallest} can't be greater than maxSize {largest}")
    if smallest > wanted:  # github.com/terraform-aws-modules/terraform-aws-eks/issues/3306
        raise ServiceFault(INVALID, f"Minimum capacity {smallest} can't be greater than desired size {wanted}")
    if wanted > largest:
        raise ServiceFault(INVALID, f"Maximum capacity {largest} can't be less than desired size {wanted}")


def _check_skew(version: str, cluster: Cluster) -> None:
    nodes, control_plane = (int(each.split(".")[1]) for each in (version, cluster.values["version"]))
    if nodes > control_plane:
        message = f"Nodegroup Kubernetes version {version} is newer than the cluster's {cluster.values['version']}"
        raise ServiceFault(INVALID, message)


def _version_of(release: str) -> str:
    """The Kubernetes version in a release such as 1.34.2-20260714; Bottlerocket's releases name none."""
    match = re.fullmatch(r"(\d+\.\d+)(\.\d+)?-(\d{8}|lab)", release)
    return match[1] if match else ""


def _check_release(parameters: Values, version: str) -> None:
    release = parameters.get("releaseVersion", "")
    if _version_of(release) not in ("", version):
        message = f"Requested release version {release} is not valid for kubernetes version {version}"
        raise ServiceFault(INVALID, message)


def describe(state: State, parameters: Values) -> Values:
    return {"nodegroup": _group(state, parameters)}


def list_names(state: State, parameters: Values) -> Values:
    return {"nodegroups": sorted(state.cluster(parameters["clusterName"]).node_groups)}


def delete(state: State, parameters: Values) -> Values:
    group = _group(state, parameters)
    del state.cluster(parameters["clusterName"]).node_groups[group["nodegroupName"]]
    state.cloud.drop_scaling_group(group["resources"]["autoScalingGroups"][0]["name"])
    return {"nodegroup": {**group, "status": "DELETING"}}


def change(state: State, parameters: Values) -> Values:
    """`UpdateNodegroupConfig`."""
    group = _group(state, parameters)
    scaling = {**group["scalingConfig"], **parameters.get("scalingConfig", {})}
    _check_scaling(scaling)
    labels, taints = parameters.get("labels", {}), parameters.get("taints", {})
    kept = {key: value for key, value in group.get("labels", {}).items() if key not in labels.get("removeLabels", [])}
    gone = {_taint_key(taint) for part in taints.values() for taint in part}
    group["labels"] = {**kept, **labels.get("addOrUpdateLabels", {})}
    group["taints"] = [
        *(taint for taint in group.get("taints", []) if _taint_key(taint) not in gone),
        *taints.get("addOrUpdateTaints", []),
    ]
    group["scalingConfig"] = scaling
    group.update(given(parameters, "updateConfig", "nodeRepairConfig", "warmPoolConfig"))
    group["modifiedAt"] = now()
    return updated(state.cluster(parameters["clusterName"]), "ConfigUpdate")


def _taint_key(taint: Values) -> tuple[str, str]:
    return taint.get("key", ""), taint.get("effect", "")


def change_version(state: State, parameters: Values) -> Values:
    """`UpdateNodegroupVersion`: another version, release or launch template; each replaces the nodes."""
    cluster, group = state.cluster(parameters["clusterName"]), _group(state, parameters)
    if template := parameters.get("launchTemplate"):
        before = group.get("launchTemplate")
        if before is None:
            raise ServiceFault(BAD_REQUEST, "a node group that was made without a launch template cannot get one")
        found_template = state.cloud.launch_template({"id": before["id"], **template})
        found_template.pop("data")
        if found_template["id"] != before["id"]:
            raise ServiceFault(INVALID, "a node group keeps its launch template; only the version can change")
        group["launchTemplate"] = found_template
    if group["amiType"] == "CUSTOM" and given(parameters, "version", "releaseVersion"):
        raise ServiceFault(INVALID, "the machine image is in the launch template: change it there")
    version = str(parameters.get("version", group["version"]))
    if "version" in parameters or "releaseVersion" in parameters or not template:
        release = parameters.get("releaseVersion", f"{version}-lab")
        version = str(parameters.get("version") or _version_of(release) or version)
        _check_skew(version, cluster)
        _check_release(parameters, version)
        group.update(version=version, releaseVersion=release)
    group["modifiedAt"] = now()
    return updated(cluster, "VersionUpdate", Version=group["version"], ReleaseVersion=group["releaseVersion"])


def _group(state: State, parameters: Values) -> Values:
    return found(state.cluster(parameters["clusterName"]).node_groups, parameters["nodegroupName"], "node group")
