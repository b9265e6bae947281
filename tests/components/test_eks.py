"""The components of AWS: what they ask of EKS and EC2, and what they refuse before anything is made."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Callable
from typing import Any

import pytest
from rows import each_row

from components.on_aws.eks_gpu_cluster import EksGpuCluster
from components.on_aws.eks_gpu_cluster_args import EksGpuClusterArgs, ExistingEksClusterArgs
from components.on_aws.eks_gpu_node_group import EksGpuNodeGroup
from components.on_aws.eks_gpu_node_group_args import EksGpuNodeGroupArgs
from components.on_aws.existing_eks_cluster import ExistingEksCluster
from components.on_aws.offered_zones import OfferedZones
from errors.problems import SettingsError

GROUP: EksGpuNodeGroupArgs = {
    "cluster_name": "campus",
    "region": "us-east-1",
    "subnet_ids": ["subnet-0a", "subnet-0b"],
    "security_group_ids": ["sg-0a"],
    "pool": "l4",
    "kubernetes": "1.34",
    "instance_types": ["g6.2xlarge", "g6.4xlarge"],
    "driver": "580",
    "desired": 1,
    "max": 4,
    "root_disk_gib": 200,
}
CLUSTER: EksGpuClusterArgs = {
    "cluster_name": "campus",
    "region": "us-east-1",
    "kubernetes_version": "1.34",
    "network": {"cidr": "10.0.0.0/16", "zones": ["us-east-1a", "us-east-1b", "us-east-1c"]},
    "admins": ["arn:aws:iam::123456789012:role/operators"],
    "add_ons": {"vpc-cni": "v1.21.1-eksbuild.1", "aws-ebs-csi-driver": "v1.54.0-eksbuild.1"},
}


@pytest.fixture(params=[False, True], ids=["update", "preview"])
def preview(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


SCALING_GROUP = {"resources": [{"autoscalingGroups": [{"name": "eks-l4"}]}]}


def group(recorded: Callable[..., Any], *, preview: bool = False, **changes: Any) -> Any:
    args: Any = {**GROUP, **changes}
    computed = {"aws:eks/nodeGroup:NodeGroup": SCALING_GROUP}
    return recorded(lambda: EksGpuNodeGroup("l4", args) and None, preview=preview, computed=computed)


@pytest.mark.slow
def test_a_group_pins_the_machine_image_that_has_the_driver(recorded: Callable[..., Any], preview: bool) -> None:
    run = group(recorded, preview=preview)
    made = run.only("nodeGroup:NodeGroup").inputs
    assert made["amiType"] == "AL2023_x86_64_NVIDIA"
    assert made["releaseVersion"] == "1.34.9-20260714"
    assert made["version"] == "1.34"
    assert made["instanceTypes"] == ["g6.2xlarge", "g6.4xlarge"]
    assert made["scalingConfig"] == {"minSize": 0, "desiredSize": 1, "maxSize": 4}
    assert made["capacityType"] == "ON_DEMAND"
    assert "diskSize" not in made  # EKS refuses it beside a launch template


def test_nodes_of_a_group_have_the_labels_and_the_taint_of_a_pool(recorded: Callable[..., Any]) -> None:
    taint = {"key": "example.edu/course", "value": "x", "effect": "PreferNoSchedule"}
    made = group(recorded, labels={"example.edu/room": "b210"}, taints=[taint]).only("nodeGroup:NodeGroup").inputs
    assert made["labels"] == {
        "gpu-commons.org/pool": "l4",
        "gpu-commons.org/driver": "580.159.03",
        "gpu-commons.org/container-toolkit": "1.19.1",
        "k8s.amazonaws.com/accelerator": "nvidia-l4",
        "example.edu/room": "b210",
    }
    assert made["taints"] == [
        {"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"},
        {"key": "example.edu/course", "value": "x", "effect": "PREFER_NO_SCHEDULE"},
    ]


def test_a_node_is_encrypted_closed_to_the_world_and_pulls_images_only(recorded: Callable[..., Any]) -> None:
    run = group(recorded)
    template = run.only("launchTemplate:LaunchTemplate").inputs
    (disk,) = template["blockDeviceMappings"]
    assert (disk["ebs"]["encrypted"], disk["ebs"]["volumeType"], disk["ebs"]["volumeSize"]) == ("true", "gp3", 200)
    assert template["metadataOptions"]["httpTokens"] == "required"
    assert template["networkInterfaces"][0]["associatePublicIpAddress"] == "false"
    assert not {"imageId", "instanceType"} & template.keys()  # the group says them
    granted = {each.inputs["policyArn"].rpartition("/")[2] for each in run.of_type("RolePolicyAttachment")}
    assert granted == {"AmazonEKSWorkerNodePolicy", "AmazonEC2ContainerRegistryPullOnly", "AmazonEKS_CNI_Policy"}
    trust = json.loads(run.only("role:Role").inputs["assumeRolePolicy"])
    assert [each["Principal"] for each in trust["Statement"]] == [{"Service": "ec2.amazonaws.com"}]


def test_policies_of_nodes_are_those_of_their_part_of_aws(recorded: Callable[..., Any]) -> None:
    granted = group(recorded, region="cn-north-1").of_type("RolePolicyAttachment")
    assert {each.inputs["policyArn"].partition(":iam:")[0] for each in granted} == {"arn:aws-cn"}


@pytest.mark.slow
def test_parallel_pulls_are_set_on_the_node_and_get_a_faster_volume(recorded: Callable[..., Any]) -> None:
    def volume(**changes: Any) -> tuple[int, int, str]:
        template = group(recorded, **changes).only("launchTemplate:LaunchTemplate").inputs
        disk = template["blockDeviceMappings"][0]["ebs"]
        return disk["throughput"], disk["iops"], b64decode(template.get("userData", "")).decode()

    assert volume() == (125, 3000, "")
    throughput, iops, user_data = volume(parallel_pulls=True)
    assert (throughput, iops) == (600, 3000)
    assert "FastImagePull: true" in user_data
    assert volume(volume_throughput=1000)[:2] == (1000, 4000)  # EC2 refuses more than 0.25 MiB/s for each of its IOPS


def test_instances_are_started_in_their_reservation(recorded: Callable[..., Any]) -> None:
    template = group(recorded, capacity_reservation="cr-0123456789abcdef0").only("launchTemplate:LaunchTemplate").inputs
    target = template["capacityReservationSpecification"]["capacityReservationTarget"]
    assert target == {"capacityReservationId": "cr-0123456789abcdef0"}


def test_instances_are_started_in_their_placement_group(recorded: Callable[..., Any]) -> None:
    template = group(recorded, placement_group="close together").only("launchTemplate:LaunchTemplate").inputs
    assert template["placement"] == {"groupName": "close together"}


@pytest.mark.slow
def test_nodes_have_no_rights_of_a_cni_that_has_a_role_of_its_own(recorded: Callable[..., Any]) -> None:
    def rights(**changes: Any) -> set[str]:
        attached = group(recorded, **changes).of_type("rolePolicyAttachment:RolePolicyAttachment")
        return {each.inputs["policyArn"].rpartition("/")[2] for each in attached}

    assert rights() - rights(cni_has_role=True) == {"AmazonEKS_CNI_Policy"}


OFFERED = "aws:ec2/getInstanceTypeOfferings:getInstanceTypeOfferings"


@pytest.mark.parametrize("preview", [False, True])
def test_a_pool_is_started_in_zones_that_have_its_instance_types(
    recorded: Callable[..., Any], *, preview: bool
) -> None:
    offers = {"instanceTypes": ["g7e.2xlarge"] * 2, "locations": ["us-east-1a", "us-east-1d"]}

    def program(*zones: str) -> dict[str, Any]:
        subnets = [f"subnet-{zone[-1]}" for zone in zones]
        offered = OfferedZones("us-east-1", ["g7e.2xlarge", "m7i.large"])
        return {"subnets": offered.subnets_of("new", ["g7e.2xlarge"], subnets, list(zones))}

    run = recorded(lambda: program("us-east-1a", "us-east-1b"), preview=preview, answers={OFFERED: offers})
    assert run.outputs == {"subnets": ["subnet-a"]}
    with pytest.raises(Exception, match=r"pool new: AWS has g7e\.2xlarge in us-east-1a, us-east-1d, and in none of"):
        recorded(lambda: program("us-east-1b", "us-east-1c"), preview=preview, answers={OFFERED: offers})


def test_zones_of_subnets_that_exist_are_looked_up(recorded: Callable[..., Any]) -> None:
    answers = {"aws:ec2/getSubnet:getSubnet": {"availabilityZone": "us-east-1c"}}
    args: Any = {**CLUSTER, "subnet_ids": ["subnet-0a", "subnet-0b"]}
    del args["network"]
    run = recorded(lambda: {"zones": EksGpuCluster("campus", args).zones}, answers=answers)
    assert run.outputs == {"zones": ["us-east-1c", "us-east-1c"]}


def test_what_was_chosen_is_recorded_beside_what_was_asked_for(recorded: Callable[..., Any]) -> None:
    inputs = group(recorded).only("EksGpuNodeGroup").inputs
    chosen = {key: inputs[key] for key in ("driver", "driver_version", "ami_type", "ami_release")}
    assert chosen == {
        "driver": "580",
        "driver_version": "580.159.03",
        "ami_type": "AL2023_x86_64_NVIDIA",
        "ami_release": "1.34.9-20260714",
    }


def test_bottlerocket_is_told_which_driver_branch_it_loads(recorded: Callable[..., Any]) -> None:
    image = {"type": "BOTTLEROCKET_x86_64_NVIDIA", "release": "1.68.0-bcf71a47"}
    run = group(recorded, machine_image=image)
    text = b64decode(run.only("launchTemplate:LaunchTemplate").inputs["userData"]).decode()
    assert '[settings.kernel.drivers.nvidia]\nbranch = "lts"' in text


@each_row(
    ("changes", "words"),
    [
        ({"min": 5}, "EksGpuNodeGroup: 1 problem\n  l4.min: 5 is above max, 4"),
        ({"desired": 9}, "l4.desired: 9 is not between min and max"),
        ({"instance_types": ["g6.xlarge", "g5.xlarge"]}, "have different GPU models"),
        ({"driver": "470.82.01"}, "l4.driver: leaves no machine image"),
        ({"machine_image": {"type": "AL2_x86_64_GPU"}}, "EKS ended support for AL2_x86_64_GPU images"),
        ({"kubernetes": "1.99"}, "no table has Kubernetes 1.99"),
        ({"capacity": "cheap"}, 'l4.capacity: "cheap" is not allowed here'),
        ({"volume_throughput": 100}, "l4.volume_throughput: 100 is out of range"),
        ({"parallel_pulls": True, "instance_types": ["g6.xlarge"]}, "nodes with fewer than 8 vCPUs leave parallel"),
        ({"capacity_reservation": "mine"}, 'l4.capacity_reservation: "mine" is not the id of a capacity reservation'),
        (
            {"capacity_reservation": "cr-0123456789abcdef0", "capacity": "spot"},
            "is given for spot instances, which reservations do not cover",
        ),
        ({"root_disk_gib": -1}, "l4.root_disk_gib: -1 is out of range"),
    ],
)
def test_what_aws_would_refuse_after_minutes_is_refused_at_once(
    recorded: Callable[..., Any], changes: Any, words: str
) -> None:
    with pytest.raises(SettingsError) as caught:
        group(recorded, **changes)
    assert words in str(caught.value)


def cluster(recorded: Callable[..., Any], **changes: Any) -> Any:
    args: Any = {key: value for key, value in {**CLUSTER, **changes}.items() if value is not None}
    return recorded(lambda: EksGpuCluster("cluster", args) and None)


@pytest.mark.slow
def test_the_api_server_is_closed_to_the_internet_unless_networks_are_named(recorded: Callable[..., Any]) -> None:
    closed = cluster(recorded).only("cluster:Cluster").inputs["vpcConfig"]
    assert (closed["endpointPublicAccess"], closed["endpointPrivateAccess"]) == (False, True)
    opened = cluster(recorded, public_access_cidrs=["192.0.2.0/24"]).only("cluster:Cluster").inputs["vpcConfig"]
    assert (opened["endpointPublicAccess"], opened["publicAccessCidrs"]) == (True, ["192.0.2.0/24"])


@pytest.mark.slow
def test_nodes_have_a_private_subnet_in_each_zone_and_one_way_out(recorded: Callable[..., Any]) -> None:
    run = cluster(recorded)
    subnets = {each.name: each.inputs for each in run.of_type("subnet:Subnet")}
    assert sorted(subnets) == sorted(
        f"cluster-{kind}-us-east-1{zone}" for kind in ("private", "public") for zone in "abc"
    )
    assert all(each["mapPublicIpOnLaunch"] is False for each in subnets.values())
    assert len({each["cidrBlock"] for each in subnets.values()}) == 6
    assert run.only("natGateway:NatGateway").inputs["subnetId"] == "cluster-public-us-east-1a-id"
    assert run.only("vpcEndpoint:VpcEndpoint").inputs["serviceName"] == "com.amazonaws.us-east-1.s3"


@pytest.mark.slow
def test_a_network_with_endpoints_has_no_way_out_and_aws_services_inside(recorded: Callable[..., Any]) -> None:
    run = cluster(recorded, network={**CLUSTER["network"], "egress": "endpoints"})
    assert not run.of_type("natGateway:NatGateway")
    assert not run.of_type("eip:Eip")
    tables = {each.name: each.inputs.get("routes") for each in run.of_type("routeTable:RouteTable")}
    assert not tables["cluster-private"]
    made = {
        each.inputs["serviceName"].removeprefix("com.amazonaws.us-east-1."): each.inputs
        for each in run.of_type("VpcEndpoint")
    }
    assert {"s3", "ec2", "ecr.api", "ecr.dkr", "eks", "eks-auth", "sts", "logs"} <= made.keys()
    assert made.pop("s3")["vpcEndpointType"] == "Gateway"
    assert {each["vpcEndpointType"] for each in made.values()} == {"Interface"}
    assert all(each["privateDnsEnabled"] and len(each["subnetIds"]) == 3 for each in made.values())
    rule = run.only("SecurityGroupIngressRule").inputs
    assert (rule["fromPort"], rule["toPort"], rule["cidrIpv4"]) == (443, 443, "10.0.0.0/16")


@pytest.mark.slow
def test_add_ons_that_call_aws_get_a_role_of_their_own_by_pod_identity(recorded: Callable[..., Any]) -> None:
    run = cluster(recorded)
    add_ons = {each.inputs["addonName"]: each.inputs for each in run.of_type("addon:Addon")}
    (identity,) = add_ons["aws-ebs-csi-driver"]["podIdentityAssociations"]
    assert identity["serviceAccount"] == "ebs-csi-controller-sa"
    roles = {each.name: json.loads(each.inputs["assumeRolePolicy"]) for each in run.of_type("role:Role")}
    assert roles["cluster-aws-ebs-csi-driver"]["Statement"][0]["Principal"] == {"Service": "pods.eks.amazonaws.com"}
    assert run.only("cluster:Cluster").inputs["bootstrapSelfManagedAddons"] is False


def test_administrators_have_access_entries_and_nobody_stands_in_aws_auth(recorded: Callable[..., Any]) -> None:
    run = cluster(recorded)
    assert run.only("cluster:Cluster").inputs["accessConfig"]["authenticationMode"] == "API"
    assert run.only("accessEntry:AccessEntry").inputs["principalArn"] == "arn:aws:iam::123456789012:role/operators"
    assert run.only("AccessPolicyAssociation").inputs["policyArn"].endswith("/AmazonEKSClusterAdminPolicy")


LOOKED_UP = {
    "aws:eks/getCluster:getCluster": {
        "version": "1.34",
        "endpoint": "https://0123.eks.amazonaws.com",
        "certificateAuthorities": [{"data": "Y2E="}],
        "kubernetesNetworkConfigs": [{"serviceIpv4Cidr": "172.20.0.0/16"}],
        "vpcConfig": {"clusterSecurityGroupId": "sg-0a"},
    }
}


def existing(recorded: Callable[..., Any], nodes: str = "1.34") -> Any:
    args: ExistingEksClusterArgs = {
        "cluster_name": "campus",
        "region": "us-east-1",
        "kubernetes_version": nodes,
        "subnet_ids": ["subnet-0a", "subnet-0b"],
    }

    def program() -> dict[str, Any]:
        found = ExistingEksCluster("cluster", args)
        return {key: getattr(found, key) for key in ("cluster_name", "security_group_id", "dns", "kubeconfig")}

    return recorded(program, answers=LOOKED_UP)


def test_a_cluster_that_exists_is_looked_up_and_nothing_of_it_is_made(recorded: Callable[..., Any]) -> None:
    run = existing(recorded)
    assert [each.type for each in run.resources] == ["gpu-commons:index:ExistingEksCluster"]
    access = json.loads(run.outputs.pop("kubeconfig"))
    assert run.outputs == {"cluster_name": "campus", "security_group_id": "sg-0a", "dns": "172.20.0.10"}
    (server,) = access["clusters"]
    assert server["cluster"] == {"server": "https://0123.eks.amazonaws.com", "certificate-authority-data": "Y2E="}


def test_nodes_may_be_older_than_the_cluster_that_exists_and_not_newer(recorded: Callable[..., Any]) -> None:
    assert existing(recorded, "1.33").outputs["cluster_name"] == "campus"
    with pytest.raises(Exception, match=r"has Kubernetes 1\.34, and nodes of 1\.35 are newer") as caught:
        existing(recorded, "1.35")
    assert 'write kubernetes: "1.34"' in str(caught.value)


def test_a_cluster_has_either_a_network_of_its_own_or_subnets(recorded: Callable[..., Any]) -> None:
    run = cluster(recorded, network=None, subnet_ids=["subnet-0a", "subnet-0b"])
    assert not run.of_type("vpc:Vpc")
    for wrong in ({"network": None}, {"subnet_ids": ["subnet-0a"]}):
        with pytest.raises(ValueError, match="give either network"):
            cluster(recorded, **wrong)
