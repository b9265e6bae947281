"""The AWS plugin under the real engine, with the released SDK: a cluster with its network, nodes and images.

GPU_COMMONS_PULUMI   the engine, else `pulumi` on PATH
The account is a lab's, started for these tests: moto and the lab's own EKS.
"""

from __future__ import annotations

import json
import sys
import warnings
from base64 import b64encode
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import botocore.session
import pulumi
import pytest
from pulumi import automation

from components.on_aws.eks_gpu_cluster import EksGpuCluster
from components.on_aws.eks_gpu_node_group import EksGpuNodeGroup
from components.on_aws.existing_eks_cluster import ExistingEksCluster
from components.on_aws.flatcar_gpu_node_group import FlatcarGpuNodeGroup
from lab import processes
from lab.instance import Instance
from lab.providers.plugin import write_launcher
from lab.servers import moto

with warnings.catch_warnings():
    # Loaded here and not when they are used, because the SDK warns of its own old names then.
    warnings.simplefilter("ignore")
    from pulumi_aws import autoscaling, ec2, ecr, eks, get_caller_identity, get_region, iam, vpc

    LOADED = [autoscaling.Group, ec2.Vpc, ecr.Repository, eks.Cluster, iam.Role, vpc.SecurityGroupIngressRule]

Program = Callable[[], None]
Stack = Callable[..., automation.Stack]
NewWorkspace = Callable[[str, Path], automation.LocalWorkspaceOptions]
ADMIN = "arn:aws:iam::999999999999:role/admin"


@pytest.fixture(scope="module")
def account(tmp_path_factory: pytest.TempPathFactory, new_instance: Callable[..., Instance]) -> Iterator[Instance]:
    """AWS for these tests alone, empty."""
    instance = new_instance(tmp_path_factory.mktemp("lab"), moto.NAME)
    processes.start(instance, moto.server(instance))
    yield instance
    processes.stop(instance, moto.NAME)


@pytest.fixture
def stack(account: Instance, new_workspace: NewWorkspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stack:
    """A stack of its own backend that runs `program`; called again, the same stack with another program."""
    for key, value in moto.environment(account).items():
        monkeypatch.setenv(key, value)
    options = new_workspace("aws", write_launcher(tmp_path / "plugin", Path(sys.executable), "lab.providers.aws"))
    return lambda program: automation.create_or_select_stack(
        "dev", project_name="conformance", program=program, opts=options
    )


def trust(service: str) -> str:
    statement = {"Effect": "Allow", "Principal": {"Service": service}, "Action": "sts:AssumeRole"}
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


def role(name: str, service: str, *policies: str) -> iam.Role:
    made = iam.Role(name, assume_role_policy=trust(service))
    for policy in policies:
        iam.RolePolicyAttachment(f"{name}-{policy}", role=made.name, policy_arn=f"arn:aws:iam::aws:policy/{policy}")
    return made


def network() -> tuple[ec2.Vpc, list[ec2.Subnet]]:
    """Two private subnets with a way out."""
    made = ec2.Vpc("net", cidr_block="10.0.0.0/16", enable_dns_hostnames=True)
    subnets = [
        ec2.Subnet(zone, vpc_id=made.id, cidr_block=f"10.0.{number}.0/24", availability_zone=f"us-east-1{zone}")
        for number, zone in enumerate("ab")
    ]
    gateway = ec2.InternetGateway("net", vpc_id=made.id)
    nat = ec2.NatGateway("net", subnet_id=subnets[0].id, allocation_id=ec2.Eip("net", domain="vpc").id)
    private = ec2.RouteTable("private", vpc_id=made.id, routes=[{"cidr_block": "0.0.0.0/0", "nat_gateway_id": nat.id}])
    public = ec2.RouteTable("public", vpc_id=made.id)
    ec2.Route("out", route_table_id=public.id, destination_cidr_block="0.0.0.0/0", gateway_id=gateway.id)
    for zone, subnet in zip("ab", subnets, strict=True):
        ec2.RouteTableAssociation(zone, route_table_id=private.id, subnet_id=subnet.id)
    inside = ec2.SecurityGroup("inside", vpc_id=made.id, description="endpoints")
    vpc.SecurityGroupIngressRule(
        "https", security_group_id=inside.id, ip_protocol="tcp", from_port=443, to_port=443, cidr_ipv4="10.0.0.0/16"
    )
    ec2.VpcEndpoint(
        "ecr",
        vpc_id=made.id,
        service_name="com.amazonaws.us-east-1.ecr.api",
        vpc_endpoint_type="Interface",
        subnet_ids=[each.id for each in subnets],
        security_group_ids=[inside.id],
        private_dns_enabled=True,
    )
    return made, subnets


def cluster(release: str = "1.34.1-20260601", user_data: str = "YQ==", desired: int = 1) -> None:
    """A cluster with a managed group and one of its own, as the project's stacks have them."""
    _, subnets = network()
    ids = [each.id for each in subnets]
    nodes = role("nodes", "ec2.amazonaws.com", "AmazonEKSWorkerNodePolicy", "AmazonEC2ContainerRegistryPullOnly")
    made = eks.Cluster(
        "gpu",
        version="1.34",
        role_arn=role("control", "eks.amazonaws.com", "AmazonEKSClusterPolicy").arn,
        vpc_config={"subnet_ids": ids, "endpoint_private_access": True},
        access_config={"authentication_mode": "API", "bootstrap_cluster_creator_admin_permissions": False},
        upgrade_policy={"support_type": "STANDARD"},
        enabled_cluster_log_types=["api"],
    )
    entry = eks.AccessEntry("admin", cluster_name=made.name, principal_arn=ADMIN)
    eks.AccessPolicyAssociation(
        "admin",
        cluster_name=made.name,
        principal_arn=entry.principal_arn,
        policy_arn="arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy",
        access_scope={"type": "cluster"},
    )
    eks.Addon("cni", cluster_name=made.name, addon_name="vpc-cni", addon_version="v1.20.0-eksbuild.1")
    driver = role("ebs", "pods.eks.amazonaws.com")
    eks.PodIdentityAssociation(
        "ebs", cluster_name=made.name, namespace="kube-system", service_account="ebs", role_arn=driver.arn
    )
    template = ec2.LaunchTemplate(
        "g6",
        block_device_mappings=[
            {"device_name": "/dev/xvda", "ebs": {"volume_size": 100, "volume_type": "gp3", "encrypted": "true"}}
        ],
        metadata_options={"http_tokens": "required", "http_put_response_hop_limit": 2},
        network_interfaces=[{"security_groups": [made.vpc_config.cluster_security_group_id]}],
        tag_specifications=[{"resource_type": "instance", "tags": {"Name": "g6"}}],
        user_data=user_data,
        update_default_version=True,
        tags={"Name": "g6"},
    )
    group = eks.NodeGroup(
        "g6",
        cluster_name=made.name,
        node_role_arn=nodes.arn,
        subnet_ids=ids,
        ami_type="AL2023_x86_64_NVIDIA",
        release_version=release,
        instance_types=["g6.xlarge"],
        capacity_type="SPOT",
        scaling_config={"min_size": 0, "max_size": 4, "desired_size": desired},
        update_config={"max_unavailable": 1},
        launch_template={"id": template.id, "version": template.latest_version.apply(str)},
        labels={"gpu-commons.org/pool": "g6"},
        taints=[{"key": "nvidia.com/gpu", "value": "true", "effect": "NO_SCHEDULE"}],
        opts=pulumi.ResourceOptions(ignore_changes=["scalingConfig.desiredSize"]),
    )
    autoscaling.Tag(
        "gpus",
        autoscaling_group_name=group.resources.apply(lambda found: found[0].autoscaling_groups[0].name),
        tag={"key": "k8s.io/cluster-autoscaler/node-template/gpus", "value": "1", "propagate_at_launch": False},
    )
    own(made, ids)
    repository = ecr.Repository("images", image_tag_mutability="IMMUTABLE", force_delete=True)
    pulumi.export("repository", repository.repository_url)
    pulumi.export("endpoint", made.endpoint)


def own(made: eks.Cluster, ids: list[pulumi.Output[str]]) -> None:
    """A group that EKS does not manage: its nodes join by an access entry."""
    nodes = role("own", "ec2.amazonaws.com")
    profile = iam.InstanceProfile("own", role=nodes.name)
    eks.AccessEntry("own", cluster_name=made.name, principal_arn=nodes.arn, type="EC2_LINUX")
    template = ec2.LaunchTemplate(
        "own",
        image_id="ami-12c6146b",
        instance_type="g4dn.xlarge",
        iam_instance_profile={"arn": profile.arn},
    )
    autoscaling.Group(
        "own",
        min_size=0,
        max_size=2,
        desired_capacity=0,
        vpc_zone_identifiers=ids,
        launch_template={"id": template.id, "version": template.latest_version.apply(str)},
        tags=[{"key": "Name", "value": "own", "propagate_at_launch": True}],
    )


LISTS = {
    "ec2": ("describe_vpcs", "describe_subnets", "describe_launch_templates", "describe_addresses"),
    "iam": ("list_roles", "list_instance_profiles"),
    "eks": ("list_clusters",),
    "autoscaling": ("describe_auto_scaling_groups",),
    "ecr": ("describe_repositories",),
}


def default_subnets(account: Instance) -> list[str]:
    """Two subnets that every account has."""
    variables = moto.environment(account)
    client = botocore.session.Session().create_client(
        "ec2",
        region_name=variables["AWS_REGION"],
        endpoint_url=variables["AWS_ENDPOINT_URL"],
        aws_access_key_id="somebody",
        aws_secret_access_key="else",
    )
    filters = [{"Name": "default-for-az", "Values": ["true"]}]
    return sorted(each["SubnetId"] for each in client.describe_subnets(Filters=filters)["Subnets"])[:2]


def remains(account: Instance) -> dict[str, int]:
    """How many things of each kind there are."""
    variables, session = moto.environment(account), botocore.session.Session()
    found = {}
    for service, operations in LISTS.items():
        client = session.create_client(
            service,
            region_name=variables["AWS_REGION"],
            endpoint_url=variables["AWS_ENDPOINT_URL"],
            aws_access_key_id="somebody",
            aws_secret_access_key="else",
        )
        for operation in operations:
            answer: dict[str, Any] = getattr(client, operation)()
            found[operation] = sum(len(each) for each in answer.values() if isinstance(each, list))
    return found


def test_a_cluster_goes_up_shows_no_change_and_leaves_nothing(stack: Stack, account: Instance) -> None:
    """Pulumi docs: preview, up, refresh and destroy; a second run of an unchanged program changes nothing."""
    before = remains(account)
    ours = stack(cluster)
    assert set(ours.preview().change_summary) == {"create"}
    assert remains(account) == before
    made = ours.up()
    assert set(made.summary.resource_changes or {}) == {"create"}
    assert made.outputs["endpoint"].value.startswith("https://")
    assert set(ours.preview(expect_no_changes=True).change_summary) == {"same"}
    ours.refresh(expect_no_changes=True)
    assert set(ours.preview(expect_no_changes=True).change_summary) == {"same"}
    ours.destroy()
    assert remains(account) == before


def steps(stack: automation.Stack, program: Program) -> dict[str, str]:
    """What a preview of another program would do, by type and name, where it would do something."""
    seen = {}

    def note(event: automation.EngineEvent) -> None:
        if event.resource_pre_event and event.resource_pre_event.metadata.op != automation.OpType.SAME:
            step = event.resource_pre_event.metadata
            seen[f"{step.type.rpartition(':')[2]} {step.urn.rpartition('::')[2]}"] = str(step.op.value)

    stack.workspace.program = program
    stack.preview(on_event=note)
    return seen


def test_another_driver_is_another_release_of_the_same_group(stack: Stack) -> None:
    """What a machine image carries changes with its release: the group rolls, nothing is made anew."""
    ours = stack(cluster)
    ours.up()
    assert steps(ours, lambda: cluster(release="1.34.2-20260714")) == {"NodeGroup g6": "update"}
    assert steps(ours, lambda: cluster(desired=3)) == {}, "the desired size is the autoscaler's"
    # A new version of the template reaches its group, whose version is not known before.
    assert steps(ours, lambda: cluster(user_data="Yg==")) == {"LaunchTemplate g6": "update", "NodeGroup g6": "update"}
    ours.up()
    ours.preview(expect_no_changes=True)
    ours.destroy()


def small() -> None:
    made = ec2.Vpc("net", cidr_block="10.0.0.0/16")
    for number, zone in enumerate("ab"):
        ec2.Subnet(zone, vpc_id=made.id, cidr_block=f"10.0.{number}.0/24", availability_zone=f"us-east-1{zone}")


def test_an_account_that_was_emptied_is_noticed_and_filled_again(stack: Stack, account: Instance) -> None:
    """The lab's AWS keeps nothing when it ends: a refresh says so, and the next update makes everything anew."""
    ours = stack(small)
    ours.up()
    processes.stop(account, moto.NAME)
    processes.start(account, moto.server(account))
    changes = ours.refresh().summary.resource_changes or {}
    assert changes["delete"] == 3
    assert (ours.up().summary.resource_changes or {})["create"] == 3
    ours.destroy()


def test_an_account_that_goes_away_in_the_middle_is_one_clear_error_and_the_next_update_goes_on(
    stack: Stack, account: Instance
) -> None:
    def then_it_ends(known: str) -> str:
        processes.stop(account, moto.NAME)
        return known

    def broken() -> None:
        made = ec2.Vpc("net", cidr_block="10.0.0.0/16")
        ec2.Subnet("a", vpc_id=made.id.apply(then_it_ends), cidr_block="10.0.0.0/24")

    try:
        with pytest.raises(automation.CommandError, match=r"ec2 Subnet a: CreateSubnet: http://127\S+ does not answer"):
            stack(broken).up()
    finally:
        processes.start(account, moto.server(account))
    ours = stack(small)
    ours.refresh()
    ours.up()
    ours.preview(expect_no_changes=True)
    ours.destroy()


def test_functions_answer_and_a_password_reaches_no_state(stack: Stack, tmp_path: Path) -> None:
    """Pulumi docs, secrets: what a provider calls secret is encrypted in the state."""

    def program() -> None:
        pulumi.export("account", get_caller_identity().account_id)
        pulumi.export("region", get_region().region)
        pulumi.export("subnets", ec2.get_subnets().ids)
        pulumi.export("token", ecr.get_authorization_token_output().password)

    outputs = stack(program).up().outputs
    assert (outputs["account"].value, outputs["region"].value) == ("123456789012", "us-east-1")
    assert len(outputs["subnets"].value) > 1
    assert outputs["token"].secret
    states = [path.read_text() for path in (tmp_path / "state").rglob("dev.json*")]
    assert states
    assert not [state for state in states if outputs["token"].value in state]


def test_a_mistake_inside_of_a_property_is_found_in_the_preview(stack: Stack) -> None:
    def program() -> None:
        ec2.LaunchTemplate("g6", block_device_mappings=[{"deviceName": "/dev/xvda", "ebs": {"volumeSze": 1}}])

    with pytest.raises(automation.CommandError, match=r"has no blockDeviceMappings\[0\]\.ebs\.volumeSze; did you mean"):
        stack(program).preview()


def test_without_credentials_there_is_one_error_that_says_what_to_set(
    stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = stack(small)
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_ENDPOINT_URL")
    with pytest.raises(automation.CommandError) as refused:
        ours.preview()
    assert str(refused.value).count("no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY") >= 1
    assert "no endpoint: set AWS_ENDPOINT_URL" in str(refused.value)
    assert "Traceback" not in str(refused.value)


def program_of(name: str) -> Any:
    return {"url": f"https://downloads.example.edu/{name}", "sha256": "0" * 64}


def on_flatcar(release: str = "4593.2.5") -> None:
    """A cluster and a group of Flatcar nodes, as the components make them."""
    made = EksGpuCluster(
        "cluster",
        {
            "cluster_name": "own",
            "region": "us-east-1",
            "kubernetes_version": "1.34",
            "network": {"cidr": "10.0.0.0/16", "zones": ["us-east-1a", "us-east-1b"]},
        },
    )
    programs: Any = {name: program_of(name) for name in ("kubelet", "authenticator", "credential_provider", "toolkit")}
    FlatcarGpuNodeGroup(
        "t4",
        {
            "cluster_name": "own",
            "region": "us-east-1",
            "endpoint": made.endpoint,
            # This lab has no API server, whose certificate would stand here.
            "certificate_authority": b64encode(b"-----BEGIN CERTIFICATE-----\n").decode(),
            "dns": made.dns,
            "subnet_ids": made.subnet_ids,
            "security_group_ids": [made.security_group_id],
            "pool": "t4",
            "kubernetes": "1.34",
            "instance_types": ["g4dn.xlarge"],
            "flatcar": {
                "release": release,
                "container_toolkit": "1.17.8",
                "ssh_keys": ["ssm-parameter:/own/ssh"],
                "max_pods": 29,
                "programs": programs,
            },
            "desired": 3,
            "max": 6,
            "root_disk_gib": 200,
        },
    )


def test_a_group_on_flatcar_goes_up_shows_no_change_rolls_with_its_release_and_leaves_nothing(
    stack: Stack, account: Instance
) -> None:
    moto.keep_keys(account, ["/own/ssh"], "us-east-1")
    before = remains(account)
    ours = stack(on_flatcar)
    assert set(ours.up().summary.resource_changes or {}) == {"create"}
    ours.refresh(expect_no_changes=True)
    assert set(ours.preview(expect_no_changes=True).change_summary) == {"same"}
    assert steps(ours, lambda: on_flatcar("4593.2.4")) == {
        "FlatcarGpuNodeGroup t4": "update",
        "LaunchTemplate t4": "update",
        "Group t4": "update",
    }
    ours.destroy()
    assert remains(account) == before


def small_cluster() -> EksGpuCluster:
    """A cluster without a node."""
    return EksGpuCluster(
        "cluster",
        {
            "cluster_name": "theirs",
            "region": "us-east-1",
            "kubernetes_version": "1.34",
            "network": {"cidr": "10.0.0.0/16", "zones": ["us-east-1a", "us-east-1b"]},
        },
    )


def joining(subnets: list[str]) -> None:
    """A group of nodes that joins a cluster by its name alone, as another stack would have made it."""
    theirs = small_cluster()
    found = ExistingEksCluster(
        "theirs",
        {
            "cluster_name": "theirs",
            "region": "us-east-1",
            "kubernetes_version": "1.34",
            "subnet_ids": subnets,
        },
    )
    pulumi.export("made", {key: getattr(theirs, key) for key in OF_CLUSTERS})
    pulumi.export("found", {key: getattr(found, key) for key in OF_CLUSTERS})
    EksGpuNodeGroup(
        "l4",
        {
            "cluster_name": found.cluster_name,
            "region": "us-east-1",
            "subnet_ids": theirs.subnet_ids,
            "security_group_ids": [found.security_group_id],
            "pool": "l4",
            "kubernetes": "1.34",
            "instance_types": ["g6.2xlarge"],
            "driver": "580",
            "max": 2,
            "root_disk_gib": 100,
            "parallel_pulls": True,
            "capacity_reservation": "cr-0123456789abcdef0",
        },
    )


OF_CLUSTERS = ("cluster_name", "security_group_id", "endpoint", "certificate_authority", "dns", "kubeconfig")


def test_a_group_joins_a_cluster_that_exists_and_leaves_it_as_it_was(stack: Stack, account: Instance) -> None:
    stack(small_cluster).up()
    before = remains(account)
    subnets = default_subnets(account)
    ours = stack(lambda: joining(subnets))
    made = ours.up()
    assert set(made.summary.resource_changes or {}) == {"create", "same"}
    assert made.outputs["found"].value == made.outputs["made"].value
    ours.refresh(expect_no_changes=True)
    assert set(ours.preview(expect_no_changes=True).change_summary) == {"same"}
    stack(small_cluster).up()
    assert remains(account) == before
    ours.destroy()
