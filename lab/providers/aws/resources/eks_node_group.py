"""Managed node groups of EKS.

Sources: pulumi.com/registry/packages/aws/api-docs/eks and github.com/hashicorp/terraform-provider-aws,
internal/service/eks (which change needs a new resource: `ForceNew`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from lab.providers.aws.declarations import (
    REGION,
    TAGS,
    Call,
    Input,
    Kind,
    Read,
    Resource,
    Scope,
    Wait,
    all_of,
    fixed,
    required,
)
from lab.providers.aws.resources.eks_tags import NOT_THERE, tagging
from lab.providers.values import Properties


def _config_of_group(scope: Scope) -> Iterable[Properties]:
    """Labels and taints for an update: what to set, and what to remove."""
    old, new = scope.old, scope.new
    labels, taints = new.get("labels") or {}, new.get("taints") or []
    kept = {_taint(each) for each in taints}
    yield {
        "putLabels": labels or None,
        "droppedLabels": [key for key in old.get("labels") or {} if key not in labels] or None,
        "putTaints": taints or None,
        "droppedTaints": [each for each in old.get("taints") or [] if _taint(each) not in kept] or None,
    }


def _taint(taint: Properties) -> tuple[str, str]:
    return taint.get("key", ""), taint.get("effect", "")


NODE_GROUP: Final = Resource(
    "aws:eks/nodeGroup:NodeGroup",
    service="eks",
    inputs={
        "clusterName": required(replaces=True),
        "nodeGroupName": fixed(read="nodegroupName"),
        "nodeRoleArn": required(replaces=True, read="nodeRole"),
        "scalingConfig": required(),
        "subnetIds": required(Kind.SET, replaces=True, read="subnets"),
        "amiType": fixed(is_kept=True),
        "capacityType": fixed(is_kept=True),
        "diskSize": fixed(is_kept=True),
        "forceUpdateVersion": Input(read="-"),
        "instanceTypes": fixed(is_kept=True),
        "labels": Input(Kind.MAP),
        "launchTemplate": Input(replaces_below=("id", "name"), chosen_below=("id", "name")),
        "nodeRepairConfig": Input(is_kept=True),
        "releaseVersion": Input(is_kept=True),
        "remoteAccess": fixed(),
        "taints": Input(Kind.SET),
        "updateConfig": Input(is_kept=True),
        "version": Input(is_kept=True),
        "region": REGION,
        "tags": TAGS,
    },
    named="nodeGroupName",
    name_length=63,
    create=Call(
        "CreateNodegroup",
        all_of(
            "clusterName",
            "scalingConfig",
            "amiType",
            "capacityType",
            "diskSize",
            "instanceTypes",
            "labels",
            "launchTemplate",
            "nodeRepairConfig",
            "releaseVersion",
            "remoteAccess",
            "taints",
            "updateConfig",
            "version",
            "tags",
            nodegroupName="$nodeGroupName",
            nodeRole="$nodeRoleArn",
            subnets="$subnetIds",
        ),
    ),
    parts=("clusterName", "nodeGroupName"),
    updates=(
        Call(
            "UpdateNodegroupVersion",
            all_of(
                "clusterName",
                "version",
                "releaseVersion",
                "launchTemplate",
                nodegroupName="$nodeGroupName",
                force="$forceUpdateVersion",
            ),
            when=("version", "releaseVersion", "launchTemplate"),
        ),
        Call(
            "UpdateNodegroupConfig",
            all_of(
                "clusterName",
                "scalingConfig",
                "updateConfig",
                "nodeRepairConfig",
                nodegroupName="$nodeGroupName",
                labels={"addOrUpdateLabels": "$putLabels", "removeLabels": "$droppedLabels"},
                taints={"addOrUpdateTaints": "$putTaints", "removeTaints": "$droppedTaints"},
            ),
            when=("labels", "taints", "scalingConfig", "updateConfig", "nodeRepairConfig"),
            each=_config_of_group,
        ),
    ),
    reads=(Read("DescribeNodegroup", {"clusterName": "$clusterName", "nodegroupName": "$nodeGroupName"}, "nodegroup"),),
    delete=(Call("DeleteNodegroup", {"clusterName": "$clusterName", "nodegroupName": "$nodeGroupName"}),),
    gone=NOT_THERE,
    outputs={
        "arn": "nodegroupArn",
        "resources": "[{autoscalingGroups: resources.autoScalingGroups[].{name: name}, "
        "remoteAccessSecurityGroupId: resources.remoteAccessSecurityGroup}]",
        "status": "status",
    },
    unsettled=("releaseVersion",),
    tagging=tagging("$arn"),
    wait=Wait(failed=("CREATE_FAILED", "DEGRADED", "DELETE_FAILED")),
    renames={"sourceSecurityGroupIds": "sourceSecurityGroups"},
)
