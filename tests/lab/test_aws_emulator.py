"""The lab's EKS against AWS's own service model, and the process that puts it beside moto."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import botocore.session
import httpx
import pytest
from botocore.exceptions import ClientError

from lab import processes
from lab.aws_emulator import eks
from lab.aws_emulator.eks_state import State
from lab.aws_emulator.faults import ServiceFault
from lab.aws_emulator.rest_json import Call, Protocol, render
from lab.instance import Instance
from lab.servers import moto
from platforms.aws.flatcar.releases import OWNER, newest

pytestmark = pytest.mark.slow  # an emulator of AWS starts, and answers in its own time

Values = dict[str, Any]
ROLE = "arn:aws:iam::123456789012:role/nodes"
ADMIN = "arn:aws:iam::999999999999:role/admin"  # of another account: nobody can look
CLUSTER_ADMIN = "arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy"
GROUP: Values = {
    "clusterName": "c",
    "nodegroupName": "g6",
    "nodeRole": ROLE,
    "subnets": ["subnet-a", "subnet-b"],
    "scalingConfig": {"minSize": 0, "maxSize": 4, "desiredSize": 1},
    "amiType": "AL2023_x86_64_NVIDIA",
    "releaseVersion": "1.34.2-20260714",
    "launchTemplate": {"id": "lt-1", "version": "1"},
}


class Account:
    """An account with two subnets, one role and one launch template; remembers what EKS made in it."""

    def __init__(self, template: Values | None = None) -> None:
        self.made: list[str] = []
        self._template = template or {}

    def subnets(self, ids: Sequence[str]) -> list[Values]:
        return [{"VpcId": "vpc-1", "AvailabilityZone": each.replace("subnet-", "us-east-1")} for each in ids]

    def launch_template(self, given: Mapping[str, str]) -> Values:
        return {"id": "lt-1", "name": "g6", "version": given.get("version", "1"), "data": dict(self._template)}

    def role_exists(self, arn: str) -> bool:
        return arn == ROLE

    def make_security_group(self, cluster: str, vpc: str) -> str:
        self.made.append(f"{cluster} in {vpc}")
        return "sg-1"

    def drop_security_group(self, group: str) -> None:
        del group
        self.made.pop()

    def make_scaling_group(self, name: str, subnets: Sequence[str], tags: Mapping[str, str]) -> None:
        del subnets, tags
        self.made.append(name)

    def drop_scaling_group(self, name: str) -> None:
        self.made.remove(name)


class Eks:
    """EKS in one region: parameters in, answers out, both checked against the service model."""

    protocol = Protocol("eks")

    def __init__(self, account: Account) -> None:
        self.account = account
        self.called: list[str] = []
        self._state = State("us-east-1", account)

    def __call__(self, operation: str, **parameters: Any) -> Values:
        shape = self.protocol._model.operation_model(operation).input_shape  # noqa: SLF001 - the model, not the answers
        assert not list(self.protocol.mistakes(parameters, shape))
        answer = eks.answer(self._state, Call(operation, parameters))
        assert not self.protocol.output_mistakes(operation, answer)
        assert render(answer)
        self.called.append(operation)
        return answer

    def with_cluster(self, mode: str = "API", version: str = "1.34", *, is_creators: bool = False) -> Eks:
        network = {"subnetIds": ["subnet-a", "subnet-b"]}
        access = {"authenticationMode": mode, "bootstrapClusterCreatorAdminPermissions": is_creators}
        self("CreateCluster", name="c", roleArn=ROLE, version=version, resourcesVpcConfig=network, accessConfig=access)
        return self


@pytest.fixture
def new_eks() -> Callable[..., Eks]:
    return lambda template=None: Eks(Account(template))


def test_every_operation_answers_as_the_service_model_says(new_eks: Callable[..., Eks]) -> None:
    ask = new_eks().with_cluster()
    arn = ask("DescribeCluster", name="c")["cluster"]["arn"]
    assert ask("ListClusters")["clusters"] == ["c"]
    ask("CreateNodegroup", **GROUP)
    ask("CreateAccessEntry", clusterName="c", principalArn=ADMIN, tags={"team": "a"})
    one = {"clusterName": "c", "principalArn": ADMIN}
    ask("AssociateAccessPolicy", **one, policyArn=CLUSTER_ADMIN, accessScope={"type": "cluster"})
    assert len(ask("ListAssociatedAccessPolicies", **one)["associatedAccessPolicies"]) == 1
    ask("UpdateAccessEntry", **one, kubernetesGroups=["viewers"])
    assert ask("DescribeAccessEntry", **one)["accessEntry"]["kubernetesGroups"] == ["viewers"]
    assert ask("ListAccessEntries", clusterName="c", associatedPolicyArn=CLUSTER_ADMIN)["accessEntries"] == [ADMIN]
    ask("DisassociateAccessPolicy", **one, policyArn=CLUSTER_ADMIN)
    driver = {"clusterName": "c", "addonName": "aws-ebs-csi-driver"}
    identity = [{"serviceAccount": "ebs-csi-controller-sa", "roleArn": ROLE}]
    ask("CreateAddon", **driver, addonVersion="v1.50.0-eksbuild.1", podIdentityAssociations=identity)
    update = ask("UpdateAddon", **driver, addonVersion="v1.51.0-eksbuild.1")["update"]
    assert ask("DescribeUpdate", name="c", updateId=update["id"])["update"]["status"] == "Successful"
    assert ask("DescribeAddon", **driver)["addon"]["addonVersion"] == "v1.51.0-eksbuild.1"
    assert ask("ListAddons", clusterName="c")["addons"] == ["aws-ebs-csi-driver"]
    made = ask("CreatePodIdentityAssociation", clusterName="c", namespace="n", serviceAccount="s", roleArn=ROLE)
    association = {"clusterName": "c", "associationId": made["association"]["associationId"]}
    assert len(ask("ListPodIdentityAssociations", clusterName="c")["associations"]) == 2
    ask("UpdatePodIdentityAssociation", **association, disableSessionTags=True)
    assert ask("DescribePodIdentityAssociation", **association)["association"]["disableSessionTags"]
    ask("DeletePodIdentityAssociation", **association)
    ask("TagResource", resourceArn=arn, tags={"a": "1", "b": "2"})
    ask("UntagResource", resourceArn=arn, tagKeys=["a"])
    assert ask("ListTagsForResource", resourceArn=arn)["tags"] == {"b": "2"}
    ask("UpdateClusterConfig", name="c", upgradePolicy={"supportType": "STANDARD"})
    ask("UpdateClusterVersion", name="c", version="1.35")
    group = {"clusterName": "c", "nodegroupName": "g6"}
    ask("UpdateNodegroupConfig", **group, scalingConfig={"desiredSize": 3}, updateConfig={"maxUnavailable": 2})
    ask("UpdateNodegroupVersion", **group, version="1.35", releaseVersion="1.35.0-20260714")
    read = ask("DescribeNodegroup", **group)["nodegroup"]
    assert (read["scalingConfig"]["desiredSize"], read["updateConfig"], read["version"]) == (
        3,
        {"maxUnavailable": 2},
        "1.35",
    )
    assert ask("ListNodegroups", clusterName="c")["nodegroups"] == ["g6"]
    ask("DeleteAddon", **driver)
    assert ask("ListPodIdentityAssociations", clusterName="c")["associations"] == []
    ask("DeleteAccessEntry", **one)
    ask("DeleteNodegroup", **group)
    ask("DeleteCluster", name="c")
    assert ask.account.made == [], "EKS left something in the account"
    assert set(ask.called) == set(eks.OPERATIONS)


def test_a_node_group_reads_back_what_it_was_made_with(new_eks: Callable[..., Eks]) -> None:
    ask = new_eks().with_cluster()
    taint = {"key": "nvidia.com/gpu", "value": "true", "effect": "NO_SCHEDULE"}
    more = {"taints": [taint], "labels": {"a": "1"}, "capacityType": "SPOT", "instanceTypes": ["g6.xlarge"]}
    ask("CreateNodegroup", **{**GROUP, **more})
    read = ask("DescribeNodegroup", clusterName="c", nodegroupName="g6")["nodegroup"]
    requested = {**GROUP, **more, "launchTemplate": {"id": "lt-1", "name": "g6", "version": "1"}}
    assert {key: read[key] for key in requested} == requested
    assert "diskSize" not in read
    assert "remoteAccess" not in read


REFUSED_GROUPS = {
    "smallest above largest": ({"scalingConfig": {"minSize": 5, "maxSize": 4, "desiredSize": 5}}, "can't be greater"),
    "wanted below smallest": ({"scalingConfig": {"minSize": 2, "maxSize": 4, "desiredSize": 1}}, "desired size 1"),
    "wanted above largest": ({"scalingConfig": {"minSize": 0, "maxSize": 1, "desiredSize": 2}}, "desired size 2"),
    "disk size in two places": ({"diskSize": 100}, "Disk size must be specified within the launch template"),
    "release of another version": ({"releaseVersion": "1.33.0-20260714"}, "not valid for kubernetes version 1.34"),
    "newer than the cluster": ({"version": "1.35", "releaseVersion": "1.35.0-20260714"}, "newer than the cluster"),
    "a role that does not exist": ({"nodeRole": "arn:aws:iam::123456789012:role/none"}, "does not exist"),
}


@pytest.mark.parametrize("case", REFUSED_GROUPS)
def test_a_node_group_that_aws_would_refuse_is_refused(case: str, new_eks: Callable[..., Eks]) -> None:
    changed, message = REFUSED_GROUPS[case]
    ask = new_eks().with_cluster()
    with pytest.raises(ServiceFault, match=message) as refused:
        ask("CreateNodegroup", **{**GROUP, **changed})
    assert refused.value.code == "InvalidParameterException"
    assert ask("ListNodegroups", clusterName="c")["nodegroups"] == []


def test_a_launch_template_with_an_image_decides_over_the_release(new_eks: Callable[..., Eks]) -> None:
    ask = new_eks({"ImageId": "ami-1"}).with_cluster()
    with pytest.raises(ServiceFault, match="excludes amiType"):
        ask("CreateNodegroup", **GROUP)
    own = {key: value for key, value in GROUP.items() if key not in ("amiType", "releaseVersion")}
    assert ask("CreateNodegroup", **own)["nodegroup"]["amiType"] == "CUSTOM"


def test_the_nodes_of_a_managed_group_may_join_by_an_entry_of_their_own(new_eks: Callable[..., Eks]) -> None:
    ask = new_eks().with_cluster()
    ask("CreateNodegroup", **GROUP)
    assert ask("DescribeAccessEntry", clusterName="c", principalArn=ROLE)["accessEntry"]["type"] == "EC2_LINUX"
    with pytest.raises(ServiceFault, match="already in use"):
        ask("CreateAccessEntry", clusterName="c", principalArn=ROLE, type="EC2_LINUX")


def test_who_makes_a_cluster_may_administer_it_and_cannot_be_named_again(new_eks: Callable[..., Eks]) -> None:
    ask = new_eks().with_cluster(is_creators=True)
    (creator,) = ask("ListAccessEntries", clusterName="c", associatedPolicyArn=CLUSTER_ADMIN)["accessEntries"]
    with pytest.raises(ServiceFault, match="already in use"):
        ask("CreateAccessEntry", clusterName="c", principalArn=creator)
    assert new_eks().with_cluster()("ListAccessEntries", clusterName="c")["accessEntries"] == []


def test_a_cluster_that_knows_the_config_map_alone_has_no_access_entries(new_eks: Callable[..., Eks]) -> None:
    ask = new_eks().with_cluster(mode="CONFIG_MAP")
    with pytest.raises(ServiceFault, match="must be set to one of"):
        ask("CreateAccessEntry", clusterName="c", principalArn=ADMIN)
    ask("UpdateClusterConfig", name="c", accessConfig={"authenticationMode": "API_AND_CONFIG_MAP"})
    ask("CreateAccessEntry", clusterName="c", principalArn=ADMIN)
    with pytest.raises(ServiceFault, match="cannot go back"):
        ask("UpdateClusterConfig", name="c", accessConfig={"authenticationMode": "CONFIG_MAP"})


@pytest.mark.parametrize("wanted", ["1.33", "1.34", "1.36"])
def test_a_cluster_moves_one_minor_version_up_at_a_time(wanted: str, new_eks: Callable[..., Eks]) -> None:
    with pytest.raises(ServiceFault, match=f"from 1.34 to {wanted}"):
        new_eks().with_cluster()("UpdateClusterVersion", name="c", version=wanted)


def test_a_cluster_with_node_groups_stays(new_eks: Callable[..., Eks]) -> None:
    ask = new_eks().with_cluster()
    ask("CreateNodegroup", **GROUP)
    with pytest.raises(ServiceFault, match="nodegroups attached"):
        ask("DeleteCluster", name="c")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"name": "c"}, "Missing required parameter"),
        ({"name": "c", "roleArn": ROLE, "resourcesVpcConfig": {"subnets": []}}, "Unknown parameter in"),
        (
            {"name": "c", "roleArn": ROLE, "resourcesVpcConfig": {}, "accessConfig": {"authenticationMode": "X"}},
            "none of",
        ),
        ({"name": "a b", "roleArn": ROLE, "resourcesVpcConfig": {}}, "does not match"),
        ({"name": "c", "roleArn": 3, "resourcesVpcConfig": {}}, "Invalid type"),
    ],
)
def test_a_request_that_the_service_model_does_not_allow_is_refused(body: Values, expected: str) -> None:
    with pytest.raises(ServiceFault, match=expected):
        Eks.protocol.call("POST", "/clusters", "", json.dumps(body).encode())


def test_a_request_is_understood_by_method_path_and_query() -> None:
    principal = ADMIN.replace(":", "%3A").replace("/", "%2F")
    call = Eks.protocol.call("GET", f"/clusters/c/access-entries/{principal}", "", b"")
    assert call == Call("DescribeAccessEntry", {"clusterName": "c", "principalArn": ADMIN})
    call = Eks.protocol.call("DELETE", f"/tags/{principal}", "tagKeys=a&tagKeys=b", b"")
    assert call.parameters == {"resourceArn": ADMIN, "tagKeys": ["a", "b"]}
    with pytest.raises(ServiceFault, match="no operation answers GET /nothing"):
        Eks.protocol.call("GET", "/nothing", "", b"")


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory, new_instance: Callable[..., Instance]) -> Iterator[Instance]:
    instance = new_instance(tmp_path_factory.mktemp("lab"), moto.NAME)
    processes.start(instance, moto.server(instance, cluster_endpoint="https://10.89.0.1:6443"))
    yield instance
    processes.stop(instance, moto.NAME)


@pytest.fixture
def client(running: Instance) -> Callable[[str], Any]:
    variables = moto.environment(running)
    session = botocore.session.Session()
    return lambda service: session.create_client(
        service,
        region_name=variables["AWS_REGION"],
        endpoint_url=variables["AWS_ENDPOINT_URL"],
        aws_access_key_id=variables["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=variables["AWS_SECRET_ACCESS_KEY"],
    )


def test_eks_and_the_rest_of_aws_are_one_account(running: Instance, client: Callable[[str], Any]) -> None:
    ec2, asks = client("ec2"), client("eks")
    zones = [subnet["SubnetId"] for subnet in ec2.describe_subnets()["Subnets"]][:2]
    role = client("iam").create_role(RoleName="nodes", AssumeRolePolicyDocument="{}")["Role"]["Arn"]
    made = asks.create_cluster(name="one", roleArn=role, resourcesVpcConfig={"subnetIds": zones})["cluster"]
    assert made["endpoint"] == "https://10.89.0.1:6443"
    group = made["resourcesVpcConfig"]["clusterSecurityGroupId"]
    assert (
        ec2.describe_security_groups(GroupIds=[group])["SecurityGroups"][0]["VpcId"]
        == made["resourcesVpcConfig"]["vpcId"]
    )
    scaling = {"minSize": 0, "maxSize": 1, "desiredSize": 0}
    nodes = asks.create_nodegroup(
        clusterName="one", nodegroupName="g", nodeRole=role, subnets=zones, scalingConfig=scaling
    )["nodegroup"]
    name = nodes["resources"]["autoScalingGroups"][0]["name"]
    found = client("autoscaling").describe_auto_scaling_groups(AutoScalingGroupNames=[name])["AutoScalingGroups"]
    assert len(found) == 1
    asks.delete_nodegroup(clusterName="one", nodegroupName="g")
    asks.delete_cluster(name="one")
    with pytest.raises(ClientError, match="does not exist"):
        ec2.describe_security_groups(GroupIds=[group])
    calls = moto.answered(running)
    assert calls["lab eks CreateNodegroup"] == 1
    assert calls["moto ec2"] > 3
    own = sum(count for who, count in calls.items() if who.startswith("lab "))
    assert moto.summary(calls).endswith(f"the lab's own EKS {own}")


def test_an_error_names_its_code_as_aws_does(client: Callable[[str], Any]) -> None:
    with pytest.raises(ClientError) as refused:
        client("eks").describe_cluster(name="nobody")
    assert refused.value.response["Error"]["Code"] == "ResourceNotFoundException"
    with pytest.raises(ClientError, match="the lab's EKS has no CreateFargateProfile"):
        client("eks").create_fargate_profile(clusterName="c", fargateProfileName="f", podExecutionRoleArn=ROLE)


@pytest.mark.parametrize(("architecture", "ending"), [("x86_64", "-hvm"), ("arm64", "-arm64-hvm")])
def test_flatcars_images_are_found_as_stacks_look_for_them(
    architecture: str, ending: str, client: Callable[[str], Any]
) -> None:
    release = newest()
    filters = {"name": release.image_name(), "architecture": architecture, "virtualization-type": "hvm"}
    found = client("ec2").describe_images(
        Owners=[OWNER], Filters=[{"Name": name, "Values": [value]} for name, value in filters.items()]
    )["Images"]
    assert [image["Name"] for image in found] == [f"Flatcar-stable-{release.version}{ending}"]
    (started,) = client("ec2").run_instances(
        ImageId=found[0]["ImageId"], InstanceType="g4dn.xlarge", MinCount=1, MaxCount=1
    )["Instances"]
    assert started["ImageId"] == found[0]["ImageId"]


def test_an_image_and_an_instance_type_that_do_not_exist_are_refused(client: Callable[[str], Any]) -> None:
    counts = {"MinCount": 1, "MaxCount": 1}
    with pytest.raises(ClientError, match=r"InvalidAMIID\.NotFound"):
        client("ec2").run_instances(ImageId="ami-0123456789abcdef0", InstanceType="g4dn.xlarge", **counts)
    with pytest.raises(ClientError, match=r"InvalidInstanceType"):
        client("ec2").run_instances(ImageId="ami-12c6146b", InstanceType="g4dn.tiny", **counts)


def test_a_reset_forgets_eks_and_moto_alike(running: Instance, client: Callable[[str], Any]) -> None:
    client("ec2").create_vpc(CidrBlock="10.9.0.0/16")
    zones = [subnet["SubnetId"] for subnet in client("ec2").describe_subnets()["Subnets"]][:2]
    client("eks").create_cluster(name="two", roleArn=ADMIN, resourcesVpcConfig={"subnetIds": zones})
    httpx.post(f"{moto.url(running)}/moto-api/reset", timeout=60).raise_for_status()
    assert client("eks").list_clusters()["clusters"] == []
    assert [vpc["CidrBlock"] for vpc in client("ec2").describe_vpcs()["Vpcs"]] == ["172.31.0.0/16"]
