"""The AWS stand-in's pure parts: declarations against the SDK and the services, names, checks, configuration."""

from __future__ import annotations

import importlib.metadata
import json
import re
import warnings
from typing import Any

import pytest

from lab.providers.aws import __main__ as executable
from lab.providers.aws import checks, reading
from lab.providers.aws.api import model
from lab.providers.aws.configuration import check_settings, compare_settings, missing, parse_settings
from lab.providers.aws.declarations import Kind, Resource, Scope
from lab.providers.aws.functions import FUNCTIONS
from lab.providers.aws.provider import AwsProvider
from lab.providers.aws.resources.autoscaling import OTHER_WORDS
from lab.providers.aws.resources.index import EVERY, RESOURCES
from lab.providers.aws.shapes import MisfitError, from_service, to_service
from lab.providers.aws.templates import Given, filled
from lab.providers.plugin import Engine
from lab.providers.values import UNKNOWN, Properties, Secret
from lab.providers.vocabulary import Autonaming, Change, PluginError, Request

NODES = RESOURCES["aws:eks/nodeGroup:NodeGroup"]
TEMPLATE = RESOURCES["aws:ec2/launchTemplate:LaunchTemplate"]
ROLE = RESOURCES["aws:iam/role:Role"]
GROUP: Properties = {
    "clusterName": "c",
    "nodeRoleArn": "r",
    "subnetIds": ["a", "b"],
    "scalingConfig": {"minSize": 0, "maxSize": 2, "desiredSize": 1},
}


def request(resource: Resource, inputs: Properties, **more: Any) -> Request:
    return Request("urn:pulumi:s::p::t::g6", resource.token, "g6", inputs=inputs, seed=b"chance", **more)


def module_of(token: str) -> Any:
    """The SDK's module of a type, such as `pulumi_aws.ec2.launch_template`."""
    _, path, _ = token.split(":")
    snake = re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", path).lower()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the SDK warns of its own old names when it is loaded
        name = f"pulumi_aws.{snake.replace('/', '.').removeprefix('index.')}"
        # A package of the SDK loads itself at the first look at it; in the middle of one of its modules it would stay
        # without the names of that one.
        hasattr(importlib.import_module(name.rpartition(".")[0]), "outputs")
        return importlib.import_module(name)


def words(arguments: type) -> set[str]:
    """Pulumi's names of a class of typed inputs."""
    return {getter.fget._pulumi_name for getter in vars(arguments).values() if isinstance(getter, property)}  # noqa: SLF001


@pytest.mark.slow
@pytest.mark.parametrize("resource", EVERY, ids=lambda each: each.noun)
def test_every_word_of_a_resource_is_the_sdks(resource: Resource) -> None:
    module, kind = module_of(resource.token), resource.token.split(":")[-1]
    known = words(getattr(module, f"{kind}Args"))
    required = {name for name, declared in resource.inputs.items() if declared.is_required}
    assert set(resource.inputs) <= known
    assert set(resource.outputs) <= words(getattr(module, f"_{kind}State"))
    if resource.named:
        assert resource.named in known
    assert required <= known


@pytest.mark.parametrize("token", FUNCTIONS)
def test_every_function_is_the_sdks(token: str) -> None:
    module = module_of(token)
    name = re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", token.rsplit(":", maxsplit=1)[-1]).lower()
    assert callable(getattr(module, name))


def test_the_plugin_is_of_the_sdks_version() -> None:
    assert importlib.metadata.version("pulumi-aws") == executable.VERSION


@pytest.mark.slow
@pytest.mark.parametrize("resource", EVERY, ids=lambda each: each.noun)
def test_every_call_is_one_that_its_service_has(resource: Resource) -> None:
    calls = [resource.create, *resource.completes, *resource.updates, *resource.delete, *resource.reads]
    if resource.tagging:
        calls += [resource.tagging.tag, resource.tagging.untag]
    for call in calls:
        shape = model(call.service or resource.service).operation_model(call.operation).input_shape
        members = {name.lower() for name in shape.members}
        assert {resource.renames.get(name, name).lower() for name in call.arguments} <= members, call.operation


@pytest.mark.parametrize("resource", EVERY, ids=lambda each: each.noun)
def test_every_input_has_a_use(resource: Resource) -> None:
    """Each reaches a create; and each that does not need a new resource, an update."""

    def named(template: Any) -> set[str]:
        return set(re.findall(r"\$\??(\w+)", json.dumps(template)))

    made = named([call.arguments for call in (resource.create, *resource.completes)])
    made |= set(OTHER_WORDS) | {"tag"} if resource.service == "autoscaling" else set()  # derived values hold them
    made |= {name for call in (*resource.completes, *resource.updates) for name in call.when}
    changed = {name for call in resource.updates for name in call.when} | {"tags"}
    # Set on the provider alone, or to a deletion or an update of something else.
    silent = {"region", "forceDelete", "forceDetachPolicies", "forceUpdateVersion", "instanceRefresh", "preserve"}
    silent |= {"metricsGranularity", "resolveConflictsOnCreate", "resolveConflictsOnUpdate", "revokeRulesOnDelete"}
    silent |= {"waitForCapacityTimeout"}
    for name, declared in resource.inputs.items():
        if name not in silent:
            assert name in made | {"tags"}, name
            assert declared.replaces or name in changed, name


def test_an_unknown_property_is_refused_with_what_there_is() -> None:
    found = checks.check(NODES, request(NODES, {**GROUP, "amiTyp": "x"}))
    (failure,) = found.failures
    assert failure.property == "amiTyp"
    assert "this stand-in has no amiTyp; did you mean amiType? It has amiType, capacityType" in failure.reason


def test_an_unknown_property_inside_of_another_is_refused_too() -> None:
    scaling = {**GROUP["scalingConfig"], "desired": 1}
    found = checks.check(NODES, request(NODES, {**GROUP, "scalingConfig": scaling}))
    assert [failure.property for failure in found.failures] == ["scalingConfig.desired"]
    assert "It has desiredSize, maxSize, minSize" in found.failures[0].reason
    device = {"deviceName": "/dev/xvda", "ebs": {"volumeSze": 1}}
    found = checks.check(TEMPLATE, request(TEMPLATE, {"blockDeviceMappings": [device]}))
    assert [failure.property for failure in found.failures] == ["blockDeviceMappings[0].ebs.volumeSze"]
    assert "did you mean volumeSize?" in found.failures[0].reason


def test_every_mistake_is_reported_at_once() -> None:
    found = checks.check(NODES, request(NODES, {"clusterName": "c", "diskSize": "big", "wrong": 1}))
    assert {failure.property for failure in found.failures} >= {"wrong", "nodeRoleArn", "scalingConfig", "subnetIds"}


@pytest.mark.parametrize(
    ("inputs", "expected"),
    [
        ({"diskSize": "big"}, "diskSize: must be a whole number"),
        ({"labels": ["a"]}, "labels: must be a map"),
        ({"instanceTypes": "g6.xlarge"}, "instanceTypes: must be a list"),
        ({"scalingConfig": 3}, "scalingConfig: must be an object"),
        ({"amiType": {"a": 1}}, "amiType: must be a text"),
    ],
)
def test_a_value_of_another_type_is_refused(inputs: Properties, expected: str) -> None:
    found = checks.check(NODES, request(NODES, {**GROUP, **inputs}))
    assert [expected in failure.reason for failure in found.failures] == [True]


def test_a_name_is_the_resources_with_chance_and_stays() -> None:
    first = checks.check(ROLE, request(ROLE, {"assumeRolePolicy": "{}"})).inputs
    assert re.fullmatch(r"g6-[0-9a-f]{7}", first["name"])
    assert set(first[checks.DEFAULTS]) == {"forceDetachPolicies", "maxSessionDuration", "name", "path"}
    later = request(ROLE, {"assumeRolePolicy": "{}"}, old_inputs=first)
    assert checks.check(ROLE, Request(**{**_fields(later), "seed": b"other"})).inputs == first
    own = checks.check(ROLE, request(ROLE, {"assumeRolePolicy": "{}", "name": "mine"})).inputs
    assert own["name"] == "mine"
    assert "name" not in own[checks.DEFAULTS]


def _fields(each: Request) -> Properties:
    return {name: getattr(each, name) for name in Request.__dataclass_fields__}


def test_automatic_names_are_the_users_choice() -> None:
    chosen = request(ROLE, {"assumeRolePolicy": "{}"}, autonaming=Autonaming("chosen", disabled=False))
    assert checks.check(ROLE, chosen).inputs["name"] == "chosen"
    without = request(ROLE, {"assumeRolePolicy": "{}"}, autonaming=Autonaming("", disabled=True))
    assert [failure.property for failure in checks.check(ROLE, without).failures] == ["name"]


def changed(resource: Resource, old: Properties, new: Properties) -> dict[str, Change]:
    return dict(checks.compare(resource, old, new).changes)


def test_what_means_the_same_is_no_change() -> None:
    assert changed(NODES, GROUP, {**GROUP, "subnetIds": ["b", "a"]}) == {}
    spaced = {"assumeRolePolicy": '{"Version": "2012-10-17",  "Statement": []}'}
    assert changed(ROLE, spaced, {"assumeRolePolicy": '{"Statement":[],"Version":"2012-10-17"}'}) == {}
    device = {"deviceName": "/dev/xvda", "ebs": {"encrypted": "true", "volumeSize": 100}}
    same = {"deviceName": "/dev/xvda", "ebs": {"encrypted": True, "volumeSize": 100}}
    assert changed(TEMPLATE, {"blockDeviceMappings": [device]}, {"blockDeviceMappings": [same]}) == {}


def test_what_aws_chose_stays_when_the_program_does_not_say_it() -> None:
    assert changed(NODES, {**GROUP, "version": "1.34", "amiType": "CUSTOM"}, GROUP) == {}
    assert changed(NODES, {**GROUP, "labels": {"a": "1"}}, GROUP) == {"labels": Change.DELETE}


def test_a_part_that_needs_a_new_resource_is_distinguished_from_one_that_does_not() -> None:
    old = {**GROUP, "launchTemplate": {"id": "lt-1", "version": "1"}}
    newer = {**GROUP, "launchTemplate": {"id": "lt-1", "version": "2"}}
    other = {**GROUP, "launchTemplate": {"id": "lt-2", "version": "1"}}
    assert changed(NODES, old, newer) == {"launchTemplate.version": Change.UPDATE}
    assert changed(NODES, old, other) == {"launchTemplate.id": Change.UPDATE_REPLACE}


def test_a_value_that_is_not_known_yet_counts_as_a_change() -> None:
    unknown = {**GROUP, "launchTemplate": {"id": "lt-1", "version": UNKNOWN}}
    assert changed(NODES, {**GROUP, "launchTemplate": {"id": "lt-1", "version": "1"}}, unknown) == {
        "launchTemplate.version": Change.UPDATE
    }
    assert changed(NODES, GROUP, {**GROUP, "clusterName": UNKNOWN}) == {"clusterName": Change.UPDATE_REPLACE}


def test_a_name_of_the_users_goes_before_it_can_come_again() -> None:
    named = {**GROUP, "nodeGroupName": "g6"}
    auto = {**named, checks.DEFAULTS: ["nodeGroupName"]}
    assert checks.compare(NODES, named, {**named, "clusterName": "d"}).delete_before_replace
    assert not checks.compare(NODES, auto, {**auto, "clusterName": "d"}).delete_before_replace


def shape(operation: str, service: str = "eks") -> Any:
    return model(service).operation_model(operation).input_shape


def test_values_are_written_as_the_service_wants_them() -> None:
    data = {
        "blockDeviceMappings": [{"deviceName": "/dev/xvda", "ebs": {"encrypted": "true", "volumeSize": "100"}}],
        "vpcSecurityGroupIds": ["sg-1"],
        "networkInterfaces": [{"securityGroups": ["sg-2"], "associatePublicIpAddress": "false"}],
        "tagSpecifications": [{"resourceType": "instance", "tags": {"Name": "a"}}],
        "userData": Secret("YQ=="),
        "imageId": UNKNOWN,
    }
    made = to_service({"launchTemplateData": data}, shape("CreateLaunchTemplate", "ec2"), "", TEMPLATE.renames)
    assert made["LaunchTemplateData"] == {
        "BlockDeviceMappings": [{"DeviceName": "/dev/xvda", "Ebs": {"Encrypted": True, "VolumeSize": 100}}],
        "SecurityGroupIds": ["sg-1"],
        "NetworkInterfaces": [{"Groups": ["sg-2"], "AssociatePublicIpAddress": False}],
        "TagSpecifications": [{"ResourceType": "instance", "Tags": [{"Key": "Name", "Value": "a"}]}],
        "UserData": "YQ==",
        "ImageId": UNKNOWN,
    }


def test_an_answer_has_pulumis_names_and_no_tags_of_aws() -> None:
    shown = model("ec2").operation_model("DescribeVpcs").output_shape
    tags = [{"Key": "a", "Value": "1"}, {"Key": "aws:cloudformation:stack", "Value": "x"}]
    answer = {"Vpcs": [{"VpcId": "vpc-1", "Tags": tags, "IsDefault": False}], "ResponseMetadata": {}}
    assert from_service(answer, shown, {}) == {"vpcs": [{"vpcId": "vpc-1", "tags": {"a": "1"}, "isDefault": False}]}


def test_a_mistake_is_reported_where_the_user_wrote_it() -> None:
    with pytest.raises(MisfitError, match=r"^vpcConfig\.subnets: is not a property here"):
        to_service({"resourcesVpcConfig": Given("vpcConfig", {"subnets": []})}, shape("CreateCluster"), "", {})


def test_what_has_no_value_is_left_out_of_a_call() -> None:
    template = {"a": "$a", "b": {"c": "$b"}, "d": [{"kind": "x", "tags": "$tags"}], "e": [{"f": "$a", "g": "$?b"}]}
    assert filled(template, {"a": 1}) == {"a": Given("a", 1), "e": [{"f": Given("a", 1)}]}
    assert filled({"a": "{x}/{y}", "b": "=$Latest"}, {"x": 1, "y": 2}) == {"a": "1/2", "b": "$Latest"}
    assert filled({"a": "{x}/{y}"}, {"x": 1}) is None


def test_what_the_user_did_not_say_is_no_drift_but_tags_are() -> None:
    live = {"nodegroupName": "g6", "subnets": ["b", "a"], "scalingConfig": {"minSize": 0, "maxSize": 2}, "version": "1"}
    given = {"nodeGroupName": "g6", "subnetIds": ["a", "b"], "scalingConfig": {"minSize": 0}}
    assert reading.drifted(NODES, live, given) == given
    assert reading.drifted(NODES, {**live, "tags": {"a": "1"}}, given) == {**given, "tags": {"a": "1"}}
    assert reading.drifted(NODES, {**live, "subnets": ["a"]}, given)["subnetIds"] == ["a"]


@pytest.mark.parametrize(
    ("given", "live", "kind", "expected"),
    [
        ("100", 100, Kind.PLAIN, True),
        (["a", "b"], ["b", "a"], Kind.PLAIN, False),
        (["a", "b"], ["b", "a"], Kind.SET, True),
        ('{"a": 1}', '{"a":1}', Kind.JSON, True),
        ('{"a": 1}', "no JSON", Kind.JSON, False),
        ({"a": "1"}, {"a": "1", "b": "2"}, Kind.MAP, False),
        (None, [], Kind.PLAIN, True),
        (False, None, Kind.PLAIN, True),
        (Secret("x"), "x", Kind.PLAIN, True),
        (0, None, Kind.PLAIN, False),
    ],
)
def test_two_values_are_compared_by_what_they_mean(given: Any, live: Any, kind: Kind, *, expected: bool) -> None:
    assert reading.same(given, live, kind) is expected


def test_labels_and_taints_that_go_are_named_in_the_update() -> None:
    old = {**GROUP, "labels": {"a": "1", "b": "2"}, "taints": [{"key": "k", "value": "v", "effect": "NO_EXECUTE"}]}
    scope = Scope("c:g", old, {**GROUP, "labels": {"a": "3"}, "nodeGroupName": "g"}, {})
    (call,) = (each for each in NODES.updates if each.operation == "UpdateNodegroupConfig")
    (more,) = call.each(scope)
    made = checks.arguments(NODES, call, scope, more)
    assert made["labels"] == {"addOrUpdateLabels": {"a": "3"}, "removeLabels": ["b"]}
    assert made["taints"] == {"removeTaints": [{"key": "k", "value": "v", "effect": "NO_EXECUTE"}]}


def test_the_configuration_comes_as_json_and_from_the_environment() -> None:
    config = {
        "region": "eu-west-1",
        "defaultTags": '{"tags": {"team": "a"}}',
        "endpoints": '[{"eks": "http://127.0.0.1:1"}]',
        "secretKey": Secret("hush-hush"),
    }
    settings = parse_settings(config, {"AWS_ACCESS_KEY_ID": "k", "AWS_ENDPOINT_URL": "http://localhost:2"})
    assert (settings.region, settings.default_tags) == ("eu-west-1", {"team": "a"})
    assert (settings.endpoint_of("eks"), settings.endpoint_of("ec2")) == ("http://127.0.0.1:1", "http://localhost:2")
    assert missing(settings) == []
    assert "hush-hush" not in repr(settings)


def test_a_setting_that_the_provider_does_not_have_is_refused() -> None:
    (failure,) = check_settings({"regoin": "us-east-1", "region": "us-east-1"})
    assert "regoin: the provider has no such setting; it has accessKey" in failure.reason


def test_another_region_means_other_resources() -> None:
    assert compare_settings({"region": "a"}, {"region": "b"}).changes == {"region": Change.UPDATE_REPLACE}
    assert compare_settings({"maxRetries": "3"}, {"maxRetries": "4"}).changes == {"maxRetries": Change.UPDATE}
    assert compare_settings({"region": "a"}, {"region": "a"}).changes == {}


def test_a_resource_and_a_function_that_it_does_not_have_are_named() -> None:
    provider = AwsProvider(Engine())
    found = provider.check(Request("urn:x", "aws:eks/nodegroup:NodeGroup", "g", inputs={}))
    assert "no such resource; the nearest is aws:eks/nodeGroup:NodeGroup" in found.failures[0].reason
    with pytest.raises(PluginError, match="aws:ec2/getInstance:getInstance: this stand-in has no such function"):
        provider.invoke("aws:ec2/getInstance:getInstance", {})
    with pytest.raises(PluginError, match="is not configured"):
        provider.invoke("aws:index/getRegion:getRegion", {})
