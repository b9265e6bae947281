"""EKS: clusters and what belongs to them.

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
    Tagging,
    Wait,
    all_of,
    fixed,
    required,
)
from lab.providers.values import Properties

NOT_THERE: Final = ("ResourceNotFoundException",)


def _tagging(whose: str) -> Tagging:
    return Tagging(
        tag=Call("TagResource", {"resourceArn": whose, "tags": "$added"}),
        untag=Call("UntagResource", {"resourceArn": whose, "tagKeys": "$removed"}),
    )


def _config(**change: object) -> Call:
    """`UpdateClusterConfig` takes one kind of change at a time."""
    ((argument, value),) = change.items()
    name = {"resourcesVpcConfig": "vpcConfig", "logging": "enabledClusterLogTypes"}.get(argument, argument)
    return Call("UpdateClusterConfig", {"name": "$id", argument: value}, when=(name,))


LOGGING: Final = {"clusterLogging": [{"types": "$enabledClusterLogTypes", "enabled": True}]}

CLUSTER: Final = Resource(
    "aws:eks/cluster:Cluster",
    service="eks",
    inputs={
        "name": fixed(),
        "roleArn": required(replaces=True),
        "vpcConfig": required(
            read="resourcesVpcConfig",
            chosen_below=(
                "clusterSecurityGroupId",
                "endpointPrivateAccess",
                "endpointPublicAccess",
                "publicAccessCidrs",
                "vpcId",
            ),
        ),
        "version": Input(is_kept=True),
        "accessConfig": Input(is_kept=True, replaces_below=("bootstrapClusterCreatorAdminPermissions",)),
        "bootstrapSelfManagedAddons": Input(replaces=True, default=True, read="-"),
        "deletionProtection": Input(is_kept=True),
        "enabledClusterLogTypes": Input(Kind.SET, read="logging.clusterLogging[?enabled].types[]"),
        "encryptionConfig": fixed(read="encryptionConfig[0]"),
        "forceUpdateVersion": Input(read="-"),
        "kubernetesNetworkConfig": fixed(is_kept=True),
        "upgradePolicy": Input(is_kept=True),
        "zonalShiftConfig": Input(),
        "region": REGION,
        "tags": TAGS,
    },
    named="name",
    name_length=100,
    create=Call(
        "CreateCluster",
        all_of(
            "name",
            "roleArn",
            "version",
            "accessConfig",
            "bootstrapSelfManagedAddons",
            "deletionProtection",
            "encryptionConfig",
            "kubernetesNetworkConfig",
            "upgradePolicy",
            "zonalShiftConfig",
            "tags",
            resourcesVpcConfig="$vpcConfig",
            logging=LOGGING,
        ),
    ),
    parts=("name",),
    updates=(
        Call(
            "UpdateClusterVersion",
            {"name": "$id", "version": "$version", "force": "$forceUpdateVersion"},
            when=("version",),
        ),
        _config(resourcesVpcConfig="$vpcConfig"),
        Call(
            "UpdateClusterConfig",
            {"name": "$id", "accessConfig": {"authenticationMode": "$mode"}},
            when=("accessConfig",),
            each=lambda scope: ({"mode": scope.new["accessConfig"].get("authenticationMode")},),
        ),
        Call(
            "UpdateClusterConfig",
            {"name": "$id", "logging": {"clusterLogging": "$logging"}},
            when=("enabledClusterLogTypes",),
            each=lambda scope: ({"logging": _log_setup(scope)},),
        ),
        _config(deletionProtection="$deletionProtection"),
        _config(upgradePolicy="$upgradePolicy"),
        _config(zonalShiftConfig="$zonalShiftConfig"),
    ),
    reads=(Read("DescribeCluster", {"name": "$id"}, "cluster"),),
    delete=(Call("DeleteCluster", {"name": "$id"}),),
    gone=NOT_THERE,
    outputs={
        "arn": "arn",
        "certificateAuthority": "certificateAuthority",
        "createdAt": "createdAt",
        "endpoint": "endpoint",
        "identities": "[{oidcs: [{issuer: identity.oidc.issuer}]}]",
        "platformVersion": "platformVersion",
        "status": "status",
    },
    tagging=_tagging("$arn"),
    wait=Wait(failed=("FAILED",)),
)


def _log_setup(scope: Scope) -> list[Properties]:
    """Log types that are wanted, and those that were and are not any more."""
    wanted = scope.new.get("enabledClusterLogTypes") or []
    dropped = [each for each in scope.old.get("enabledClusterLogTypes") or [] if each not in wanted]
    parts = ((wanted, True), (dropped, False))
    return [{"types": types, "enabled": is_wanted} for types, is_wanted in parts if types]


def _config_of_group(scope: Scope) -> Iterable[Properties]:
    """Labels and taints as an update has them: what is put, and what is taken away."""
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
    tagging=_tagging("$arn"),
    wait=Wait(failed=("CREATE_FAILED", "DEGRADED", "DELETE_FAILED")),
    renames={"sourceSecurityGroupIds": "sourceSecurityGroups"},
)

ENTRY: Final = {"clusterName": "$clusterName", "principalArn": "$principalArn"}

ACCESS_ENTRY: Final = Resource(
    "aws:eks/accessEntry:AccessEntry",
    service="eks",
    inputs={
        "clusterName": required(replaces=True),
        "principalArn": required(replaces=True),
        "kubernetesGroups": Input(Kind.SET, is_kept=True),
        "type": Input(replaces=True, default="STANDARD"),
        "userName": Input(is_kept=True),
        "region": REGION,
        "tags": TAGS,
    },
    create=Call("CreateAccessEntry", all_of(*ENTRY, "kubernetesGroups", "type", "userName", "tags")),
    parts=("clusterName", "principalArn"),
    updates=(
        Call(
            "UpdateAccessEntry",
            all_of(*ENTRY, "kubernetesGroups", "userName"),
            when=("kubernetesGroups", "userName"),
        ),
    ),
    reads=(Read("DescribeAccessEntry", ENTRY, "accessEntry"),),
    delete=(Call("DeleteAccessEntry", ENTRY),),
    gone=NOT_THERE,
    outputs={"accessEntryArn": "accessEntryArn", "createdAt": "createdAt", "modifiedAt": "modifiedAt"},
    unsettled=("modifiedAt",),
    tagging=_tagging("$accessEntryArn"),
    renames={"userName": "username"},
)

ACCESS_POLICY_ASSOCIATION: Final = Resource(
    "aws:eks/accessPolicyAssociation:AccessPolicyAssociation",
    service="eks",
    inputs={
        "clusterName": required(replaces=True),
        "principalArn": required(replaces=True),
        "policyArn": required(replaces=True),
        "accessScope": required(replaces=True),
        "region": REGION,
    },
    create=Call("AssociateAccessPolicy", all_of(*ENTRY, "policyArn", "accessScope")),
    parts=("clusterName", "principalArn", "policyArn"),
    separator="#",
    reads=(Read("ListAssociatedAccessPolicies", ENTRY, "associatedAccessPolicies[?policyArn=='{policyArn}'] | [0]"),),
    delete=(Call("DisassociateAccessPolicy", {**ENTRY, "policyArn": "$policyArn"}),),
    gone=NOT_THERE,
    outputs={"associatedAt": "associatedAt", "modifiedAt": "modifiedAt"},
)

ADD_ON: Final = {"clusterName": "$clusterName", "addonName": "$addonName"}

ADDON: Final = Resource(
    "aws:eks/addon:Addon",
    service="eks",
    inputs={
        "clusterName": required(replaces=True),
        "addonName": required(replaces=True),
        "addonVersion": Input(is_kept=True),
        "configurationValues": Input(Kind.JSON, is_kept=True),
        # Read back as ARNs of associations alone.
        "podIdentityAssociations": Input(Kind.SET, read="-"),
        "preserve": Input(read="-"),
        "resolveConflictsOnCreate": Input(read="-"),
        "resolveConflictsOnUpdate": Input(read="-"),
        "serviceAccountRoleArn": Input(),
        "region": REGION,
        "tags": TAGS,
    },
    create=Call(
        "CreateAddon",
        all_of(
            *ADD_ON,
            "addonVersion",
            "configurationValues",
            "podIdentityAssociations",
            "serviceAccountRoleArn",
            "tags",
            resolveConflicts="$resolveConflictsOnCreate",
        ),
    ),
    parts=("clusterName", "addonName"),
    updates=(
        Call(
            "UpdateAddon",
            all_of(
                *ADD_ON,
                "addonVersion",
                "configurationValues",
                "podIdentityAssociations",
                "serviceAccountRoleArn",
                resolveConflicts="$resolveConflictsOnUpdate",
            ),
            when=("addonVersion", "configurationValues", "podIdentityAssociations", "serviceAccountRoleArn"),
        ),
    ),
    reads=(Read("DescribeAddon", ADD_ON, "addon"),),
    delete=(Call("DeleteAddon", {**ADD_ON, "preserve": "$preserve"}),),
    gone=NOT_THERE,
    outputs={"arn": "addonArn", "createdAt": "createdAt", "modifiedAt": "modifiedAt"},
    unsettled=("modifiedAt",),
    tagging=_tagging("$arn"),
    wait=Wait(failed=("CREATE_FAILED", "UPDATE_FAILED", "DEGRADED")),
)

POD_IDENTITY_ASSOCIATION: Final = Resource(
    "aws:eks/podIdentityAssociation:PodIdentityAssociation",
    service="eks",
    inputs={
        "clusterName": required(replaces=True),
        "namespace": required(replaces=True),
        "serviceAccount": required(replaces=True),
        "roleArn": required(),
        "disableSessionTags": Input(is_kept=True),
        "targetRoleArn": Input(),
        "region": REGION,
        "tags": TAGS,
    },
    create=Call(
        "CreatePodIdentityAssociation",
        all_of("clusterName", "namespace", "serviceAccount", "roleArn", "disableSessionTags", "targetRoleArn", "tags"),
    ),
    identifier="association.associationId",
    updates=(
        Call(
            "UpdatePodIdentityAssociation",
            all_of("clusterName", "roleArn", "disableSessionTags", "targetRoleArn", associationId="$id"),
            when=("roleArn", "disableSessionTags", "targetRoleArn"),
        ),
    ),
    reads=(
        Read("DescribePodIdentityAssociation", {"clusterName": "$clusterName", "associationId": "$id"}, "association"),
    ),
    delete=(Call("DeletePodIdentityAssociation", {"clusterName": "$clusterName", "associationId": "$id"}),),
    gone=NOT_THERE,
    outputs={"associationArn": "associationArn", "associationId": "associationId", "externalId": "externalId"},
    tagging=_tagging("$associationArn"),
)
