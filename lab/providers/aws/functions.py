"""Read-only functions for programs, by token."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping
from typing import Final

import jmespath

from lab.providers.aws.api import Services
from lab.providers.aws.resources.eks_cluster import CLUSTER
from lab.providers.values import Properties, Secret
from lab.providers.vocabulary import PluginError


def _caller_identity(services: Services, arguments: Properties) -> Properties:
    del arguments
    found = services.call("sts", "GetCallerIdentity", {})
    return {"id": found["account"], "accountId": found["account"], "arn": found["arn"], "userId": found["userId"]}


def _region(services: Services, arguments: Properties) -> Properties:
    region = str(arguments.get("region") or arguments.get("name") or services.settings.region)
    return {
        "id": region,
        "region": region,
        "name": region,
        "endpoint": f"ec2.{region}.amazonaws.com",
        "description": region,
    }


def _subnets(services: Services, arguments: Properties) -> Properties:
    filters = [{"Name": each["name"], "Values": each["values"]} for each in arguments.get("filters") or []]
    filters += [{"Name": f"tag:{key}", "Values": [value]} for key, value in (arguments.get("tags") or {}).items()]
    found = services.call("ec2", "DescribeSubnets", {"Filters": filters}, region=arguments.get("region", ""))
    region = arguments.get("region") or services.settings.region
    ids = sorted(each["subnetId"] for each in found.get("subnets") or [])
    return {**arguments, "id": region, "region": region, "ids": ids, "tags": arguments.get("tags") or {}}


def _subnet(services: Services, arguments: Properties) -> Properties:
    filters = [{"Name": each["name"], "Values": each["values"]} for each in arguments.get("filters") or []]
    filters += [{"Name": f"tag:{key}", "Values": [value]} for key, value in (arguments.get("tags") or {}).items()]
    names = {"vpcId": "vpc-id", "availabilityZone": "availability-zone", "cidrBlock": "cidr-block"}
    filters += [{"Name": name, "Values": [arguments[key]]} for key, name in names.items() if arguments.get(key)]
    request: Properties = {"Filters": filters} if filters else {}
    if arguments.get("id"):
        request["SubnetIds"] = [arguments["id"]]
    found = services.call("ec2", "DescribeSubnets", request, region=arguments.get("region", "")).get("subnets") or []
    if len(found) != 1:
        raise PluginError(f"aws:ec2/getSubnet:getSubnet: {len(found)} subnets match, and not one")
    region = arguments.get("region") or services.settings.region
    arn = f"arn:aws:ec2:{region}:{services.account}:subnet/{found[0]['subnetId']}"
    return {"tags": {}, **found[0], "id": found[0]["subnetId"], "arn": arn, "region": region}


def _cluster(services: Services, arguments: Properties) -> Properties:
    region = arguments.get("region", "")
    cluster = services.call("eks", "DescribeCluster", {"name": arguments["name"]}, region=region)["cluster"]
    shown = {name: jmespath.search(source, cluster) for name, source in CLUSTER.outputs.items()}
    return {
        **shown,
        "id": arguments["name"],
        "name": arguments["name"],
        "region": region or services.settings.region,
        "certificateAuthorities": [cluster["certificateAuthority"]],
        "accessConfigs": [cluster["accessConfig"]],
        "enabledClusterLogTypes": jmespath.search("logging.clusterLogging[?enabled].types[]", cluster) or [],
        "kubernetesNetworkConfigs": [cluster["kubernetesNetworkConfig"]],
        "roleArn": cluster["roleArn"],
        "tags": cluster.get("tags") or {},
        "version": cluster["version"],
        "vpcConfig": cluster["resourcesVpcConfig"],
        "upgradePolicies": [cluster["upgradePolicy"]],
        "deletionProtection": cluster.get("deletionProtection", False),
    }


def _authorization_token(services: Services, arguments: Properties) -> Properties:
    """The password is a secret: the engine keeps it out of logs and encrypts it in state."""
    region = str(arguments.get("region") or services.settings.region)
    (found,) = services.call("ecr", "GetAuthorizationToken", {}, region=region)["authorizationData"]
    token = str(found["authorizationToken"])
    user, _, password = base64.b64decode(token).decode().partition(":")
    return {
        "id": region,
        "region": region,
        "authorizationToken": Secret(token),
        "expiresAt": found["expiresAt"],
        "password": Secret(password),
        "proxyEndpoint": found["proxyEndpoint"],
        "userName": user,
    }


def _ami(services: Services, arguments: Properties) -> Properties:
    filters = [{"Name": each["name"], "Values": each["values"]} for each in arguments.get("filters") or []]
    request: Properties = {"Filters": filters} if filters else {}
    if arguments.get("owners"):
        request["Owners"] = arguments["owners"]
    region = str(arguments.get("region") or services.settings.region)
    images = services.call("ec2", "DescribeImages", request, region=region).get("images") or []
    pattern = re.compile(str(arguments.get("nameRegex") or ""))
    found = sorted((each for each in images if pattern.search(each.get("name", ""))), key=_made)
    if not found:
        raise PluginError("aws:ec2/getAmi:getAmi: your query returned no results: change the search criteria")
    if len(found) > 1 and not arguments.get("mostRecent"):
        reason = f"your query returned {len(found)} results: set mostRecent, or be more specific"
        raise PluginError(f"aws:ec2/getAmi:getAmi: {reason}")
    image = found[-1]
    arn = f"arn:aws:ec2:{region}::image/{image['imageId']}"
    return {**arguments, "tags": {}, **image, "id": image["imageId"], "arn": arn, "region": region}


def _offerings(services: Services, arguments: Properties) -> Properties:
    region = str(arguments.get("region") or services.settings.region)
    kind = str(arguments.get("locationType") or "region")
    filters = [{"Name": each["name"], "Values": each["values"]} for each in arguments.get("filters") or []]
    request: Properties = {"LocationType": kind, **({"Filters": filters} if filters else {})}
    found = services.call("ec2", "DescribeInstanceTypeOfferings", request, region=region)
    offers = found.get("instanceTypeOfferings") or []
    return {
        **arguments,
        "id": region,
        "region": region,
        "locationType": kind,
        "instanceTypes": [each["instanceType"] for each in offers],
        "locations": [each["location"] for each in offers],
        "locationTypes": [kind for _ in offers],
    }


def _parameter(services: Services, arguments: Properties) -> Properties:
    """A value that is no SecureString also appears as `insecureValue`; `value` is a secret either way."""
    region = str(arguments.get("region") or services.settings.region)
    request = {"Name": arguments["name"], "WithDecryption": arguments.get("withDecryption", True)}
    found = services.call("ssm", "GetParameter", request, region=region)["parameter"]
    value, kind = str(found["value"]), str(found["type"])
    return {
        **arguments,
        "id": arguments["name"],
        "arn": found.get("arn", ""),
        "insecureValue": "" if kind == "SecureString" else value,
        "region": region,
        "type": kind,
        "value": Secret(value),
        "version": found.get("version", 1),
    }


def _made(image: Properties) -> str:
    return str(image.get("creationDate", ""))


FUNCTIONS: Final[Mapping[str, Callable[[Services, Properties], Properties]]] = {
    "aws:index/getCallerIdentity:getCallerIdentity": _caller_identity,
    "aws:index/getRegion:getRegion": _region,
    "aws:ec2/getSubnets:getSubnets": _subnets,
    "aws:ec2/getSubnet:getSubnet": _subnet,
    "aws:ec2/getAmi:getAmi": _ami,
    "aws:ec2/getInstanceTypeOfferings:getInstanceTypeOfferings": _offerings,
    "aws:ecr/getAuthorizationToken:getAuthorizationToken": _authorization_token,
    "aws:eks/getCluster:getCluster": _cluster,
    "aws:ssm/getParameter:getParameter": _parameter,
}
