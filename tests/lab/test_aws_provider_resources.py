"""Every resource of the AWS stand-in, from its creation to its end, in the lab's AWS."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # folders of tests are no packages here
from aws_account import Account
from aws_cases import CASES

from lab.instance import Instance
from lab.providers.aws.provider import AwsProvider
from lab.providers.aws.resources.index import RESOURCES
from lab.providers.plugin import Engine
from lab.providers.values import UNKNOWN, Secret
from lab.providers.vocabulary import Created, PartialFailureError, PluginError, Request
from lab.servers import moto

pytestmark = pytest.mark.slow  # an emulator of AWS starts, and answers in its own time


@pytest.fixture(scope="module")
def provider(running_aws: Instance) -> Iterator[AwsProvider]:
    with pytest.MonkeyPatch.context() as environment:
        for name, value in moto.environment(running_aws).items():
            environment.setenv(name, value)
        made = AwsProvider(Engine())
        made.configure({})
        yield made


@pytest.fixture(scope="module")
def whole(provider: AwsProvider) -> Account:
    """Every case, made: to look at, not to change."""
    account = Account(provider)
    for name in CASES:
        account.make(name)
    return account


@pytest.fixture
def account(provider: AwsProvider) -> Account:
    """Things of a test's own."""
    return Account(provider)


def test_every_resource_has_a_case() -> None:
    assert {case.token for case in CASES.values()} == set(RESOURCES)


@pytest.mark.parametrize("name", CASES)
def test_what_was_made_is_read_back_and_shows_no_change(name: str, whole: Account) -> None:
    made = whole.made[name]
    found = whole.read(name)
    assert found is not None
    assert found.identifier == made.identifier
    assert found.properties == made.properties
    assert found.inputs == whole.inputs[name]
    assert whole.diff(name, {}) == {}


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.change])
def test_a_change_in_place_arrives_and_stays(name: str, account: Account) -> None:
    case = CASES[name]
    account.make(name)
    if name == "nodes":
        account.update("template", CASES["template"].change)
    shown = account.diff(name, case.change)
    assert {path.split(".")[0].split("[")[0] for path in shown} == set(case.change)
    assert not [path for path, kind in shown.items() if kind.endswith("replace")]
    properties = account.update(name, case.change)
    found = account.read(name)
    assert found is not None
    assert found.properties == properties
    assert found.inputs == account.inputs[name]
    assert account.diff(name, case.change) == {}


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.replace])
def test_a_change_that_aws_does_not_make_needs_a_new_resource(name: str, whole: Account) -> None:
    assert "replace" in "".join(whole.diff(name, CASES[name].replace).values())


@pytest.mark.parametrize("name", CASES)
def test_a_preview_says_what_is_not_known_yet_and_promises_nothing_else(name: str, whole: Account) -> None:
    made = whole.made[name].properties
    shown = whole.provider.create(whole.request(name, inputs=whole.inputs[name], is_preview=True))
    assert shown.identifier == ""
    assert set(made) - {"id", "region", "tags"} <= set(shown.properties)
    assert keeps_its_word(shown.properties, made)


def keeps_its_word(promised: Any, made: Any) -> bool:
    """Whether what a preview showed came true; AWS may add to it."""
    if promised is UNKNOWN:
        return True
    if isinstance(promised, dict):
        return all(keeps_its_word(value, made.get(key)) for key, value in promised.items())
    return bool(promised == made)


def test_everything_is_gone_at_the_end_and_nothing_else_was_touched(account: Account) -> None:
    before = remains(account)
    for name in CASES:
        account.make(name)
    assert remains(account) != before
    for name in reversed([*account.made]):
        account.delete(name)
        assert account.read(name) is None
    assert remains(account) == before
    for name in reversed([*account.made]):
        account.delete(name)  # what is gone already is no error


LISTS = (
    ("ec2", "DescribeVpcs", "vpcs"),
    ("ec2", "DescribeSubnets", "subnets"),
    ("ec2", "DescribeInternetGateways", "internetGateways"),
    ("ec2", "DescribeAddresses", "addresses"),
    ("ec2", "DescribeRouteTables", "routeTables"),
    ("ec2", "DescribeSecurityGroups", "securityGroups"),
    ("ec2", "DescribeLaunchTemplates", "launchTemplates"),
    ("autoscaling", "DescribeAutoScalingGroups", "autoScalingGroups"),
    ("iam", "ListRoles", "roles"),
    ("iam", "ListInstanceProfiles", "instanceProfiles"),
    ("eks", "ListClusters", "clusters"),
)


def remains(account: Account) -> dict[str, int]:
    """How many things of each kind the account has."""
    return {operation: len(account.call(service, operation, {}).get(key, [])) for service, operation, key in LISTS}


def test_what_somebody_else_changed_is_drift(account: Account) -> None:
    account.make("nodes")
    group = account.inputs["nodes"]
    named = {"clusterName": group["clusterName"], "nodegroupName": group["nodeGroupName"]}
    account.call("eks", "UpdateNodegroupConfig", {**named, "scalingConfig": {"desiredSize": 3}})
    account.call("eks", "UpdateNodegroupConfig", {**named, "labels": {"addOrUpdateLabels": {"c": "4"}}})
    found = account.read("nodes")
    assert found is not None
    assert found.inputs["scalingConfig"] == {"minSize": 0, "maxSize": 4, "desiredSize": 3}
    assert found.inputs["labels"] == {"a": "1", "b": "2", "c": "4"}
    account.inputs["nodes"] = found.inputs
    assert account.diff("nodes", {}) == {"scalingConfig.desiredSize": "update", "labels.c": "delete"}
    account.update("nodes", {})
    again = account.read("nodes")
    assert again is not None
    assert again.inputs["labels"] == {"a": "1", "b": "2"}


def test_a_service_that_refuses_names_the_resource_and_its_own_words(account: Account) -> None:
    inputs = account.checked("nodes", {"scalingConfig": {"minSize": 3, "maxSize": 4, "desiredSize": 1}})
    with pytest.raises(PluginError) as refused:
        account.provider.create(account.request("nodes", inputs=inputs))
    assert str(refused.value).startswith("eks NodeGroup nodes")
    assert "InvalidParameterException: Minimum capacity 3 can't be greater than desired size 1" in str(refused.value)


def test_what_is_there_can_be_asked_for(whole: Account) -> None:
    ask = whole.provider.invoke
    network, cluster = whole.made["vpc"], whole.made["cluster"]
    filters = [{"name": "vpc-id", "values": [network.identifier]}]
    subnets = sorted(whole.made[name].identifier for name in ("subnet-a", "subnet-b"))
    assert ask("aws:ec2/getSubnets:getSubnets", {"filters": filters})["ids"] == subnets
    one = ask("aws:ec2/getSubnet:getSubnet", {"id": subnets[0]})
    assert (one["vpcId"], one["arn"].rpartition("/")[2]) == (network.identifier, subnets[0])
    with pytest.raises(PluginError, match="2 subnets match, and not one"):
        ask("aws:ec2/getSubnet:getSubnet", {"filters": filters})
    found = ask("aws:eks/getCluster:getCluster", {"name": cluster.identifier})
    assert found["endpoint"] == cluster.properties["endpoint"]
    assert found["vpcConfig"] == cluster.properties["vpcConfig"]
    image = ask("aws:ec2/getAmi:getAmi", {"owners": ["amazon"], "nameRegex": "^amzn-ami-hvm", "mostRecent": True})
    assert image["name"].startswith("amzn-ami-hvm")
    with pytest.raises(PluginError, match="set mostRecent"):
        ask("aws:ec2/getAmi:getAmi", {"owners": ["amazon"]})
    with pytest.raises(PluginError, match="returned no results"):
        ask("aws:ec2/getAmi:getAmi", {"filters": [{"name": "name", "values": ["Flatcar-*"]}], "owners": ["nobody"]})
    offered = ask(
        "aws:ec2/getInstanceTypeOfferings:getInstanceTypeOfferings",
        {"locationType": "availability-zone", "filters": [{"name": "instance-type", "values": ["g6.2xlarge"]}]},
    )
    assert set(offered["instanceTypes"]) == {"g6.2xlarge"}
    assert "us-east-1a" in offered["locations"]
    assert ask("aws:index/getCallerIdentity:getCallerIdentity", {})["accountId"] == "123456789012"
    token = ask("aws:ecr/getAuthorizationToken:getAuthorizationToken", {})
    assert "password" in token
    assert str(token["password"]) == "Secret([secret])"
    assert ask("aws:index/getRegion:getRegion", {})["region"] == "us-east-1"


# Its id does not say whose it is; the official provider wants the cluster's name before it, too.
NOT_BY_ID_ALONE = ("identity",)


@pytest.mark.parametrize("name", [name for name in CASES if name not in NOT_BY_ID_ALONE])
def test_what_somebody_else_made_can_be_imported_by_its_id(name: str, whole: Account) -> None:
    request = whole.request(name)
    found = whole.provider.read(Request(request.urn, request.type, name, identifier=request.identifier))
    assert found is not None
    given = {key: value for key, value in whole.inputs[name].items() if not key.startswith("__")}
    declared = RESOURCES[request.type].inputs
    missing = {key for key, value in given.items() if key not in found.inputs and declared[key].default != value}
    assert not {key for key in missing if not declared[key].is_kept and declared[key].read != "-"}
    assert not set(found.inputs) - set(declared)


def test_tags_of_the_provider_are_on_everything_and_no_input_of_anything(
    provider: AwsProvider,
) -> None:
    assert provider  # its environment is that of the others

    def tagging(tags: dict[str, str]) -> AwsProvider:
        made = AwsProvider(Engine())
        made.configure({"defaultTags": {"tags": tags}})
        return made

    account = Account(tagging({"team": "a"}))
    for name in ("vpc", "role", "images", "cluster"):
        made = account.make(name).properties
        assert made["tagsAll"] == {"team": "a", **(CASES[name].inputs.get("tags") or {})}
        found = account.read(name)
        assert found is not None
        assert (found.properties, found.inputs) == (made, account.inputs[name])
        assert account.diff(name, {}) == {}
    account.provider = tagging({"team": "a", "site": "x"})
    assert account.diff("role", {}) == {"tagsAll": "update"}
    assert account.update("role", {})["tagsAll"] == {"a": "1", "team": "a", "site": "x"}
    assert account.diff("role", {}) == {}


def test_a_secret_stays_one(account: Account) -> None:
    inputs = {**account.checked("template", {}), "userData": Secret("aHVzaA==")}
    made = account.provider.create(account.request("template", inputs=inputs))
    assert made.properties["userData"] == Secret("aHVzaA==")
    found = account.provider.read(
        account.request("template", identifier=made.identifier, state=made.properties, old_inputs=inputs)
    )
    assert found is not None
    assert found.properties == made.properties
    assert found.inputs["userData"] == Secret("aHVzaA==")


def test_what_was_made_by_half_is_kept_with_the_reason(account: Account) -> None:
    inputs = account.checked("gateway", {"vpcId": "vpc-0123456789abcdef0"})
    with pytest.raises(PartialFailureError) as failed:
        account.provider.create(account.request("gateway", inputs=inputs))
    assert failed.value.identifier.startswith("igw-")
    assert failed.value.inputs == inputs
    assert "AttachInternetGateway: InvalidVpcID.NotFound" in failed.value.reasons[0]
    # The next update finishes it: the engine has kept the resource.
    account.made["gateway"] = Created(failed.value.identifier, failed.value.properties)
    account.inputs["gateway"] = {**inputs, "vpcId": "vpc-0123456789abcdef0"}
    assert account.update("gateway", {})["vpcId"] == account.made["vpc"].identifier


def test_a_resource_in_another_region_is_made_and_found_there(account: Account) -> None:
    inputs = account.checked("vpc", {"region": "eu-central-1"})
    made = account.provider.create(account.request("vpc", inputs=inputs))
    assert made.properties["region"] == "eu-central-1"
    assert ":eu-central-1:" in made.properties["arn"]
    state = {"identifier": made.identifier, "state": made.properties, "old_inputs": inputs}
    found = account.provider.read(account.request("vpc", **state))
    assert found is not None
    assert found.properties == made.properties
    account.provider.delete(account.request("vpc", **state))
    assert account.provider.read(account.request("vpc", **state)) is None
