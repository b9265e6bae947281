"""Launch templates: every change is a new version.

Sources: pulumi.com/registry/packages/aws/api-docs/ec2/launchtemplate and
github.com/hashicorp/terraform-provider-aws/blob/main/internal/service/ec2/ec2_launch_template.go.
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
    fixed,
)
from lab.providers.aws.resources.ec2_tags import TAGGING, arn
from lab.providers.values import Properties

DATA: Final = (
    "blockDeviceMappings", "capacityReservationSpecification", "cpuOptions", "creditSpecification",
    "disableApiStop", "disableApiTermination", "ebsOptimized", "enclaveOptions", "hibernationOptions",
    "iamInstanceProfile", "imageId", "instanceInitiatedShutdownBehavior", "instanceMarketOptions",
    "instanceRequirements", "instanceType", "keyName", "licenseSpecifications", "maintenanceOptions",
    "metadataOptions", "monitoring", "networkInterfaces", "networkPerformanceOptions", "placement",
    "privateDnsNameOptions", "tagSpecifications", "userData",
)  # fmt: skip
SETS: Final = ("vpcSecurityGroupIds", "securityGroupNames")
ALL: Final = {
    "description": "$description",
    "data": {name: f"${name}" for name in (*DATA, *SETS)},
}


def _new_default(scope: Scope) -> Iterable[Properties]:
    """The new default version, if the program wants another one."""
    if scope.new.get("updateDefaultVersion"):
        newest = (scope.state.get("launchTemplateVersion") or {}).get("versionNumber") or scope.state["latestVersion"]
        return ({"newDefault": str(newest)},)
    wanted = scope.new.get("defaultVersion")
    return ({"newDefault": str(wanted)},) if wanted else ()


LAUNCH_TEMPLATE: Final = Resource(
    "aws:ec2/launchTemplate:LaunchTemplate",
    service="ec2",
    inputs={
        "name": fixed(read="launchTemplateName"),
        "description": Input(read="latest.versionDescription"),
        "defaultVersion": Input(is_kept=True, read="defaultVersionNumber"),
        "updateDefaultVersion": Input(read="-"),
        **{name: Input(read=f"latest.launchTemplateData.{name}") for name in DATA},
        **{name: Input(Kind.SET, read=f"latest.launchTemplateData.{name}") for name in SETS},
        "region": REGION,
        "tags": TAGS,
    },
    named="name",
    name_length=128,
    create=Call(
        "CreateLaunchTemplate",
        {
            "launchTemplateName": "$name",
            "versionDescription": "$description",
            "launchTemplateData": ALL["data"],
        },
    ),
    identifier="launchTemplate.launchTemplateId",
    # Not at creation: moto would take the template's own tags for some of its instances'.
    completes=(Call("CreateTags", {"resources": ["$id"], "tags": "$tags"}, when=("tags",)),),
    updates=(
        Call(
            "CreateLaunchTemplateVersion",
            {"launchTemplateId": "$id", "versionDescription": "$description", "launchTemplateData": ALL["data"]},
            when=(*DATA, *SETS, "description"),
        ),
        Call(
            "ModifyLaunchTemplate",
            {"launchTemplateId": "$id", "defaultVersion": "$newDefault"},
            when=(*DATA, *SETS, "description", "defaultVersion", "updateDefaultVersion"),
            each=_new_default,
        ),
    ),
    reads=(
        Read("DescribeLaunchTemplates", {"launchTemplateIds": ["$id"]}, "launchTemplates[0]"),
        Read(
            "DescribeLaunchTemplateVersions",
            {"launchTemplateId": "$id", "versions": ["=$Latest"]},
            "launchTemplateVersions[0]",
            into="latest",
        ),
        # Nor from the template itself: moto always shows the tags of its creation.
        Read("DescribeTags", {"filters": [{"name": "resource-id", "values": ["$id"]}]}, "tags", into="tags"),
    ),
    delete=(Call("DeleteLaunchTemplate", {"launchTemplateId": "$id"}),),
    gone=(
        "InvalidLaunchTemplateId.NotFound",
        "InvalidLaunchTemplateId.NotFoundException",
        "InvalidLaunchTemplateName.NotFoundException",  # moto's word at a deletion
    ),
    outputs={"arn": arn("launch-template"), "latestVersion": "latestVersionNumber"},
    unsettled=("latestVersion", "defaultVersion"),
    tagging=TAGGING,
    renames={
        "vpcSecurityGroupIds": "SecurityGroupIds",
        "securityGroupNames": "SecurityGroups",
        "securityGroups": "Groups",  # of a network interface
        "memoryMib": "MemoryMiB",
    },
)
