"""EKS clusters.

Sources: pulumi.com/registry/packages/aws/api-docs/eks and github.com/hashicorp/terraform-provider-aws,
internal/service/eks (which change needs a new resource: `ForceNew`).
"""

from __future__ import annotations

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
    tagging=tagging("$arn"),
    wait=Wait(failed=("FAILED",)),
)


def _log_setup(scope: Scope) -> list[Properties]:
    """Requested log types, and those requested before and not any more."""
    wanted = scope.new.get("enabledClusterLogTypes") or []
    dropped = [each for each in scope.old.get("enabledClusterLogTypes") or [] if each not in wanted]
    parts = ((wanted, True), (dropped, False))
    return [{"types": types, "enabled": is_wanted} for types, is_wanted in parts if types]
