"""Auto Scaling groups, and single tags of those that EKS makes.

Sources: pulumi.com/registry/packages/aws/api-docs/autoscaling and
github.com/hashicorp/terraform-provider-aws/blob/main/internal/service/autoscaling/group.go, tag.go.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from lab.providers.aws.declarations import (
    REGION,
    Call,
    Input,
    Kind,
    Read,
    Resource,
    Scope,
    fixed,
    required,
)
from lab.providers.values import Properties

OF_GROUP: Final = "=auto-scaling-group"
TAG: Final = {
    "resourceId": "$id",
    "resourceType": OF_GROUP,
    "key": "$key",
    "value": "$value",
    "propagateAtLaunch": "$propagateAtLaunch",
}
# Inputs that an update accepts like a create; the others have separate calls, or none.
BOTH: Final = (
    "capacityRebalance", "defaultCooldown", "defaultInstanceWarmup", "desiredCapacity", "healthCheckGracePeriod",
    "healthCheckType", "maxInstanceLifetime", "maxSize", "minSize", "mixedInstancesPolicy", "placementGroup",
    "serviceLinkedRoleArn", "terminationPolicies",
)  # fmt: skip
# Inputs that the service names differently.
OTHER_WORDS: Final = ("launchTemplate", "protectFromScaleIn", "vpcZoneIdentifiers")


def _group(inputs: Properties) -> Properties:
    """A group's arguments that Pulumi names or writes differently."""
    template = inputs.get("launchTemplate")
    template = template if isinstance(template, dict) else {}
    zones, tags = inputs.get("vpcZoneIdentifiers"), inputs.get("tags")
    return {
        "templateId": template.get("id"),
        "templateName": None if template.get("id") else template.get("name"),
        "templateVersion": template.get("version"),
        "zones": ",".join(zones) if isinstance(zones, list) and all(isinstance(each, str) for each in zones) else zones,
        "ownTags": [{**each, "resourceId": inputs.get("name"), "resourceType": "auto-scaling-group"} for each in tags]
        if isinstance(tags, list) and tags
        else None,
    }


ARGUMENTS: Final = {
    **{name: f"${name}" for name in BOTH},
    "autoScalingGroupName": "$name",
    "launchTemplate": {
        "launchTemplateId": "$templateId",
        "launchTemplateName": "$templateName",
        "version": "$templateVersion",
    },
    "newInstancesProtectedFromScaleIn": "$protectFromScaleIn",
    "vpcZoneIdentifier": "$zones",
}


def _tags_put(scope: Scope) -> Iterable[Properties]:
    return [{**each, "id": scope.identifier} for each in scope.new.get("tags") or []]


def _tags_dropped(scope: Scope) -> Iterable[Properties]:
    kept = {each["key"] for each in scope.new.get("tags") or []}
    return [{**each, "id": scope.identifier} for each in scope.old.get("tags") or [] if each["key"] not in kept]


def _suspended(*, resumes: bool) -> Any:
    def each(scope: Scope) -> Iterable[Properties]:
        old, new = (set(side.get("suspendedProcesses") or []) for side in (scope.old, scope.new))
        processes = sorted(old - new if resumes else new - old)
        return ({"processes": processes},) if processes else ()

    return each


SUSPEND: Final = Call(
    "SuspendProcesses",
    {"autoScalingGroupName": "$id", "scalingProcesses": "$processes"},
    when=("suspendedProcesses",),
    each=_suspended(resumes=False),
)
METRICS: Final = Call(
    "EnableMetricsCollection",
    {"autoScalingGroupName": "$id", "metrics": "$enabledMetrics", "granularity": "$metricsGranularity"},
    when=("enabledMetrics",),
)


def _zones(live: Properties) -> Any:
    return [each for each in str(live.get("vPCZoneIdentifier", "")).split(",") if each]


GROUP: Final = Resource(
    "aws:autoscaling/group:Group",
    service="autoscaling",
    inputs={
        "name": fixed(read="autoScalingGroupName"),
        "minSize": required(),
        "maxSize": required(),
        "desiredCapacity": Input(is_kept=True),
        "launchTemplate": Input(
            read="launchTemplate.{id: launchTemplateId, name: launchTemplateName, version: version}",
            chosen_below=("id", "name"),
        ),
        "mixedInstancesPolicy": Input(),
        "vpcZoneIdentifiers": Input(Kind.SET, is_kept=True, read=_zones),
        "capacityRebalance": Input(),
        "defaultCooldown": Input(is_kept=True),
        "defaultInstanceWarmup": Input(read="-"),
        "enabledMetrics": Input(Kind.SET, read="enabledMetrics[].metric"),
        "forceDelete": Input(default=False, read="-"),
        "healthCheckGracePeriod": Input(default=300),
        "healthCheckType": Input(is_kept=True),
        "instanceRefresh": Input(read="-"),
        "maxInstanceLifetime": Input(read="-"),
        "metricsGranularity": Input(default="1Minute", read="-"),
        "placementGroup": Input(),
        "protectFromScaleIn": Input(default=False, read="newInstancesProtectedFromScaleIn"),
        "serviceLinkedRoleArn": Input(is_kept=True),
        "suspendedProcesses": Input(Kind.SET, read="suspendedProcesses[].processName"),
        "tags": Input(
            Kind.SET,
            is_shown_if_given=True,
            read="tags[].{key: key, value: value, propagateAtLaunch: propagateAtLaunch}",
        ),
        "terminationPolicies": Input(is_kept=True),
        "waitForCapacityTimeout": Input(default="10m", read="-"),
        "region": REGION,
    },
    named="name",
    derived=_group,
    create=Call("CreateAutoScalingGroup", {**ARGUMENTS, "tags": "$ownTags"}),
    parts=("name",),
    completes=(SUSPEND, METRICS),
    updates=(
        Call("UpdateAutoScalingGroup", ARGUMENTS, when=(*BOTH, *OTHER_WORDS)),
        SUSPEND,
        Call(
            "ResumeProcesses",
            {"autoScalingGroupName": "$id", "scalingProcesses": "$processes"},
            when=("suspendedProcesses",),
            each=_suspended(resumes=True),
        ),
        METRICS,
        Call("DeleteTags", {"tags": [TAG]}, when=("tags",), each=_tags_dropped),
        Call("CreateOrUpdateTags", {"tags": [TAG]}, when=("tags",), each=_tags_put),
    ),
    reads=(Read("DescribeAutoScalingGroups", {"autoScalingGroupNames": ["$id"]}, "autoScalingGroups[0]"),),
    delete=(Call("DeleteAutoScalingGroup", {"autoScalingGroupName": "$id", "forceDelete": True}),),
    outputs={"arn": "autoScalingGroupARN"},
    unsettled=("desiredCapacity",),
)

ONE_TAG: Final = {
    "resourceId": "$autoscalingGroupName",
    "resourceType": OF_GROUP,
    "key": "$tagKey",
    "value": "$tagValue",
    "propagateAtLaunch": "$propagateAtLaunch",
}


def _one_tag(inputs: Properties) -> Properties:
    tag = inputs.get("tag")
    tag = tag if isinstance(tag, dict) else {}
    return {"tagKey": tag.get("key"), "tagValue": tag.get("value"), "propagateAtLaunch": tag.get("propagateAtLaunch")}


PUT_TAG: Final = {"tags": [ONE_TAG]}

GROUP_TAG: Final = Resource(
    "aws:autoscaling/tag:Tag",
    service="autoscaling",
    inputs={
        "autoscalingGroupName": required(replaces=True, read="resourceId"),
        "tag": required(replaces_below=("key",), read="{key: key, value: value, propagateAtLaunch: propagateAtLaunch}"),
        "region": REGION,
    },
    derived=_one_tag,
    create=Call("CreateOrUpdateTags", PUT_TAG),
    parts=("autoscalingGroupName", "tagKey"),
    separator=",",
    updates=(Call("CreateOrUpdateTags", PUT_TAG, when=("tag",)),),
    reads=(
        Read(
            "DescribeTags",
            {
                "filters": [
                    {"name": "=auto-scaling-group", "values": ["$autoscalingGroupName"]},
                    {"name": "key", "values": ["$tagKey"]},
                ]
            },
            "tags[0]",
        ),
    ),
    delete=(Call("DeleteTags", PUT_TAG),),
)
