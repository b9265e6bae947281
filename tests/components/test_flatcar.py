"""Groups of Flatcar nodes: what they ask of EC2 and EKS, their nodes' configuration, and what is refused before."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

import pytest
from rows import each_row

from components.on_aws.eks_gpu_node_group import EksGpuNodeGroup
from components.on_aws.flatcar_gpu_node_group import FlatcarGpuNodeGroup
from components.on_aws.flatcar_gpu_node_group_args import FlatcarGpuNodeGroupArgs
from errors.problems import SettingsError

PUBLIC = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIMadeUpForTestsOnly ana@example.edu"
PEM = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"


def program(name: str) -> Any:
    return {"url": f"https://downloads.example.edu/{name}", "sha256": "c0ffee" + "0" * 58}


FLATCAR: Any = {
    "release": "4593.2.5",
    "container_toolkit": "1.17.8",
    "ssh_keys": ["ssm-parameter:/gpu/ssh/ana"],
    "max_pods": 29,
    "programs": {name: program(name) for name in ("kubelet", "authenticator", "credential_provider", "toolkit")},
}
GROUP: FlatcarGpuNodeGroupArgs = {
    "cluster_name": "campus",
    "region": "us-east-1",
    "endpoint": "https://0123456789ABCDEF.gr7.us-east-1.eks.amazonaws.com",
    "certificate_authority": b64encode(PEM.encode()).decode(),
    "dns": "172.20.0.10",
    "subnet_ids": ["subnet-0a", "subnet-0b"],
    "security_group_ids": ["sg-0a"],
    "pool": "t4",
    "kubernetes": "1.34",
    "instance_types": ["g4dn.xlarge", "g4dn.2xlarge"],
    "flatcar": FLATCAR,
    "desired": 3,
    "max": 6,
    "root_disk_gib": 200,
}
ANSWERS = {
    "aws:ec2/getAmi:getAmi": {"id": "ami-0123456789abcdef0"},
    "aws:ssm/getParameter:getParameter": {"insecureValue": PUBLIC},
}


@pytest.fixture(params=[False, True], ids=["update", "preview"])
def preview(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture(autouse=True)
def _day(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPU_COMMONS_TODAY", "2026-11-23")


def group(recorded: Callable[..., Any], *, preview: bool = False, **changes: Any) -> Any:
    args: Any = {**GROUP, **changes}
    computed = {
        "aws:ec2/launchTemplate:LaunchTemplate": {"latestVersion": 1},
        "aws:iam/role:Role": {"name": "t4-node", "arn": "arn:aws:iam::123456789012:role/t4-node"},
    }
    return recorded(
        lambda: FlatcarGpuNodeGroup("t4", args) and None, preview=preview, computed=computed, answers=ANSWERS
    )


def config(run: Any) -> Any:
    return json.loads(b64decode(run.only("launchTemplate:LaunchTemplate").inputs["userData"]))


def contents(run: Any, path: str) -> str:
    (file,) = [each for each in config(run)["storage"]["files"] if each["path"] == path]
    return unquote(file["contents"]["source"].removeprefix("data:,"))


@pytest.mark.slow
def test_a_group_has_its_sizes_in_private_subnets_and_rolls_when_its_template_changes(
    recorded: Callable[..., Any], preview: bool
) -> None:
    made = group(recorded, preview=preview).only("group:Group").inputs
    assert (made["minSize"], made["desiredCapacity"], made["maxSize"]) == (0, 3, 6)
    assert made["vpcZoneIdentifiers"] == ["subnet-0a", "subnet-0b"]
    assert made["instanceRefresh"]["strategy"] == "Rolling"
    overrides = made["mixedInstancesPolicy"]["launchTemplate"]["overrides"]
    assert [each["instanceType"] for each in overrides] == ["g4dn.xlarge", "g4dn.2xlarge"]


def test_nodes_start_from_the_image_of_the_release_encrypted_and_closed_to_the_world(
    recorded: Callable[..., Any],
) -> None:
    run = group(recorded)
    template = run.only("launchTemplate:LaunchTemplate").inputs
    (disk,) = template["blockDeviceMappings"]
    assert template["imageId"] == "ami-0123456789abcdef0"
    assert (disk["ebs"]["encrypted"], disk["ebs"]["volumeType"], disk["ebs"]["volumeSize"]) == ("true", "gp3", 200)
    assert template["metadataOptions"]["httpTokens"] == "required"
    assert template["networkInterfaces"][0]["associatePublicIpAddress"] == "false"


def test_instances_join_by_the_access_entry_of_their_own_role(recorded: Callable[..., Any]) -> None:
    run = group(recorded)
    entry = run.only("accessEntry:AccessEntry").inputs
    assert (entry["type"], entry["clusterName"]) == ("EC2_LINUX", "campus")
    assert entry["principalArn"] == "arn:aws:iam::123456789012:role/t4-node"
    assert run.only("instanceProfile:InstanceProfile").inputs["role"] == "t4-node"
    granted = {each.inputs["policyArn"].rpartition("/")[2] for each in run.of_type("RolePolicyAttachment")}
    assert granted == {"AmazonEKSWorkerNodePolicy", "AmazonEC2ContainerRegistryPullOnly", "AmazonEKS_CNI_Policy"}


def test_a_node_is_told_its_cluster_its_driver_its_labels_and_who_may_log_in(recorded: Callable[..., Any]) -> None:
    run = group(recorded)
    (user,) = config(run)["passwd"]["users"]
    assert (user["name"], user["sshAuthorizedKeys"]) == ("core", [PUBLIC])
    assert contents(run, "/etc/flatcar/enabled-sysext.conf") == "nvidia-drivers-570\n"
    kubelet = json.loads(contents(run, "/etc/kubernetes/kubelet/config.json"))
    assert kubelet["clusterDNS"] == ["172.20.0.10"]
    assert kubelet["registerWithTaints"] == [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}]
    (unit,) = [each for each in config(run)["systemd"]["units"] if each["name"] == "kubelet.service"]
    assert "gpu-commons.org/driver=570.195.03" in unit["contents"]
    assert "gpu-commons.org/pool=t4" in unit["contents"]


def test_release_kernel_and_driver_are_recorded_and_no_key_is(recorded: Callable[..., Any]) -> None:
    inputs = group(recorded).only("FlatcarGpuNodeGroup").inputs
    chosen = {key: inputs[key] for key in ("driver_version", "driver_source", "flatcar_release", "kernel")}
    assert chosen == {
        "driver_version": "570.195.03",
        "driver_source": "nvidia-drivers-570",
        "flatcar_release": "4593.2.5",
        "kernel": "6.12.102-flatcar",
    }
    assert "ssh-ed25519" not in json.dumps(inputs)


def test_an_autoscaler_and_the_clusters_controllers_find_the_group_by_its_tags(recorded: Callable[..., Any]) -> None:
    tags = {each["key"]: each["value"] for each in group(recorded).only("group:Group").inputs["tags"]}
    assert tags["kubernetes.io/cluster/campus"] == "owned"
    assert tags["k8s.io/cluster-autoscaler/campus"] == "owned"
    assert tags["k8s.io/cluster-autoscaler/node-template/resources/nvidia.com/gpu"] == "1"


def test_with_a_driver_container_nodes_load_nothing_themselves(recorded: Callable[..., Any]) -> None:
    of_580 = {**FLATCAR, "driver_container": "580-6.12.102-flatcar-flatcar4593.2.5"}
    run = group(recorded, flatcar=of_580, driver="580.126.09")
    assert run.only("FlatcarGpuNodeGroup").inputs["driver_source"] == "580-6.12.102-flatcar-flatcar4593.2.5"
    assert not [each for each in config(run)["systemd"]["units"] if each["name"].startswith("load-nvidia")]


@each_row(
    ("changes", "words"),
    [
        ({"min": 7}, "FlatcarGpuNodeGroup: 1 problem\n  t4.min: 7 is above max, 6"),
        ({"instance_types": ["g2.2xlarge"]}, "t4.instance_types: "),
        ({"flatcar": {**FLATCAR, "release": "4593.2.99"}}, "is not in the table of Flatcar releases"),
        (
            {"flatcar": {**FLATCAR, "driver_container": "580-6.12.81-flatcar-flatcar4593.2.0"}},
            "holds modules for kernel 6.12.81-flatcar; the nodes run kernel 6.12.102-flatcar",
        ),
        ({"flatcar": None}, "t4.flatcar: is missing"),
    ],
)
def test_what_would_never_be_a_node_is_refused_before_anything_is_made(
    recorded: Callable[..., Any], changes: Any, words: str
) -> None:
    with pytest.raises(SettingsError) as caught:
        group(recorded, **changes)
    assert words in str(caught.value)


def test_the_managed_group_does_not_take_flatcar(recorded: Callable[..., Any]) -> None:
    args: Any = {**GROUP, "instance_types": ["g6.xlarge"]}
    with pytest.raises(SettingsError, match="use FlatcarGpuNodeGroup"):
        recorded(lambda: EksGpuNodeGroup("t4", args) and None)
