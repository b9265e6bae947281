"""Security groups and their rules, one resource each; VPC endpoints.

Rules inside of a group (`ingress`, `egress`) are not here: mixed with rules of their own they undo each other, and
AWS reads them back merged. As with the official provider, a new group allows nothing out.
Sources: pulumi.com/registry/packages/aws/api-docs/vpc/securitygroupingressrule and
github.com/hashicorp/terraform-provider-aws, internal/service/ec2/vpc_security_group*.go, vpc_endpoint.go.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

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
from lab.providers.aws.resources.ec2_tags import TAGGING, arn, tags_of
from lab.providers.values import Properties

EVERYTHING: Final = {"ipProtocol": "=-1", "ipRanges": [{"cidrIp": "=0.0.0.0/0"}]}

SECURITY_GROUP: Final = Resource(
    "aws:ec2/securityGroup:SecurityGroup",
    service="ec2",
    inputs={
        "name": fixed(read="groupName"),
        "description": Input(replaces=True, default="Managed by Pulumi"),
        "vpcId": fixed(is_kept=True),
        "revokeRulesOnDelete": Input(default=False, read="-"),
        "region": REGION,
        "tags": TAGS,
    },
    named="name",
    create=Call(
        "CreateSecurityGroup",
        all_of("description", "vpcId", groupName="$name", tagSpecifications=tags_of("security-group")),
    ),
    identifier="groupId",
    completes=(Call("RevokeSecurityGroupEgress", {"groupId": "$id", "ipPermissions": [EVERYTHING]}),),
    reads=(Read("DescribeSecurityGroups", {"groupIds": ["$id"]}, "securityGroups[0]"),),
    delete=(Call("DeleteSecurityGroup", {"groupId": "$id"}),),
    gone=("InvalidGroup.NotFound", "InvalidGroupId.NotFound"),
    outputs={"arn": arn("security-group"), "ownerId": "ownerId"},
    tagging=TAGGING,
)

SOURCES: Final = ("cidrIpv4", "cidrIpv6", "prefixListId", "referencedSecurityGroupId")
CHANGED: Final = ("ipProtocol", "fromPort", "toPort", "description", *SOURCES)
PERMISSION: Final = {
    "ipProtocol": "$ipProtocol",
    "fromPort": "$?fromPort",
    "toPort": "$?toPort",
    "ipRanges": [{"cidrIp": "$cidrIpv4", "description": "$?description"}],
    "ipv6Ranges": [{"cidrIpv6": "$cidrIpv6", "description": "$?description"}],
    "prefixListIds": [{"prefixListId": "$prefixListId", "description": "$?description"}],
    "userIdGroupPairs": [{"groupId": "$referencedSecurityGroupId", "description": "$?description"}],
}


def _port(name: str) -> Any:
    """A port as given: for every protocol there is none, which AWS shows as -1."""

    def read(live: Properties) -> Any:
        value = live.get(name)
        return None if value == -1 and live.get("ipProtocol") == "-1" else value

    return read


def _rule(direction: str) -> Resource:
    return Resource(
        f"aws:vpc/securityGroup{direction}Rule:SecurityGroup{direction}Rule",
        service="ec2",
        inputs={
            "securityGroupId": required(replaces=True, read="groupId"),
            "ipProtocol": required(),
            "fromPort": Input(read=_port("fromPort")),
            "toPort": Input(read=_port("toPort")),
            "cidrIpv4": Input(),
            "cidrIpv6": Input(),
            "prefixListId": Input(),
            "referencedSecurityGroupId": Input(read="referencedGroupInfo.groupId"),
            "description": Input(),
            "region": REGION,
            "tags": TAGS,
        },
        create=Call(
            f"AuthorizeSecurityGroup{direction}",
            {
                "groupId": "$securityGroupId",
                "ipPermissions": [PERMISSION],
                "tagSpecifications": tags_of("security-group-rule"),
            },
        ),
        identifier="securityGroupRules[0].securityGroupRuleId",
        updates=(
            Call(
                "ModifySecurityGroupRules",
                {
                    "groupId": "$securityGroupId",
                    "securityGroupRules": [
                        {
                            "securityGroupRuleId": "$id",
                            "securityGroupRule": {
                                "ipProtocol": "$ipProtocol",
                                "fromPort": "$?fromPort",
                                "toPort": "$?toPort",
                                "cidrIpv4": "$?cidrIpv4",
                                "cidrIpv6": "$?cidrIpv6",
                                "prefixListId": "$?prefixListId",
                                "referencedGroupId": "$?referencedSecurityGroupId",
                                "description": "$?description",
                            },
                        }
                    ],
                },
                when=CHANGED,
            ),
        ),
        reads=(Read("DescribeSecurityGroupRules", {"securityGroupRuleIds": ["$id"]}, "securityGroupRules[0]"),),
        delete=(
            Call(f"RevokeSecurityGroup{direction}", {"groupId": "$securityGroupId", "securityGroupRuleIds": ["$id"]}),
        ),
        gone=("InvalidSecurityGroupRuleId.NotFound", "InvalidGroup.NotFound"),
        outputs={"arn": arn("security-group-rule"), "securityGroupRuleId": "securityGroupRuleId"},
        tagging=TAGGING,
    )


INGRESS_RULE: Final = _rule("Ingress")
EGRESS_RULE: Final = _rule("Egress")

PARTS: Final = {"subnetIds": "SubnetIds", "securityGroupIds": "SecurityGroupIds", "routeTableIds": "RouteTableIds"}


def _parts_changed(scope: Scope) -> Iterable[Properties]:
    """What an endpoint gains and loses: `addSubnetIds`, `removeSubnetIds` …"""
    changed = {}
    for name, word in PARTS.items():
        old, new = (side.get(name) or [] for side in (scope.old, scope.new))
        changed[f"add{word}"] = [each for each in new if each not in old] or None
        changed[f"remove{word}"] = [each for each in old if each not in new] or None
    return (changed,)


VPC_ENDPOINT: Final = Resource(
    "aws:ec2/vpcEndpoint:VpcEndpoint",
    service="ec2",
    inputs={
        "vpcId": required(replaces=True),
        "serviceName": fixed(),
        "vpcEndpointType": Input(replaces=True, default="Gateway"),
        "policy": Input(Kind.JSON, is_kept=True, read="policyDocument"),
        "privateDnsEnabled": Input(is_kept=True),
        "routeTableIds": Input(Kind.SET, is_kept=True),
        "securityGroupIds": Input(Kind.SET, is_kept=True, read="groups[].groupId"),
        "subnetIds": Input(Kind.SET, is_kept=True),
        "region": REGION,
        "tags": TAGS,
    },
    create=Call(
        "CreateVpcEndpoint",
        all_of(
            "vpcId",
            "serviceName",
            "vpcEndpointType",
            "privateDnsEnabled",
            "routeTableIds",
            "securityGroupIds",
            "subnetIds",
            policyDocument="$policy",
            tagSpecifications=tags_of("vpc-endpoint"),
        ),
    ),
    identifier="vpcEndpoint.vpcEndpointId",
    updates=(
        Call(
            "ModifyVpcEndpoint",
            all_of(
                "privateDnsEnabled",
                *(f"{verb}{word}" for word in PARTS.values() for verb in ("add", "remove")),
                vpcEndpointId="$id",
                policyDocument="$policy",
            ),
            when=("policy", "privateDnsEnabled", *PARTS),
            each=_parts_changed,
        ),
    ),
    # AWS still shows a deleted one for a while.
    reads=(
        Read("DescribeVpcEndpoints", {"vpcEndpointIds": ["$id"]}, "vpcEndpoints[?!starts_with(state, 'delet')] | [0]"),
    ),
    delete=(Call("DeleteVpcEndpoints", {"vpcEndpointIds": ["$id"]}),),
    gone=("InvalidVpcEndpointId.NotFound",),
    outputs={
        "arn": arn("vpc-endpoint"),
        "dnsEntries": "dnsEntries",
        "networkInterfaceIds": "networkInterfaceIds",
        "ownerId": "ownerId",
        "state": "state",
    },
    wait=Wait("state", ("available", "Available"), ("failed", "rejected")),
    tagging=TAGGING,
)
