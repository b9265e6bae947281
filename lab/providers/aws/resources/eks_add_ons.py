"""EKS add-ons, and pods' roles by Pod Identity.

Sources: pulumi.com/registry/packages/aws/api-docs/eks and github.com/hashicorp/terraform-provider-aws,
internal/service/eks (which change needs a new resource: `ForceNew`).
"""

from __future__ import annotations

from typing import Final

from lab.providers.aws.declarations import REGION, TAGS, Call, Input, Kind, Read, Resource, Wait, all_of, required
from lab.providers.aws.resources.eks_tags import NOT_THERE, tagging

ADD_ON: Final = {"clusterName": "$clusterName", "addonName": "$addonName"}

ADDON: Final = Resource(
    "aws:eks/addon:Addon",
    service="eks",
    inputs={
        "clusterName": required(replaces=True),
        "addonName": required(replaces=True),
        "addonVersion": Input(is_kept=True),
        "configurationValues": Input(Kind.JSON, is_kept=True),
        # Read back only as ARNs of associations.
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
    tagging=tagging("$arn"),
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
    tagging=tagging("$associationArn"),
)
