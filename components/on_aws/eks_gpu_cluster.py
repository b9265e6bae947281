"""EksGpuCluster: an EKS cluster for GPU node groups, with network, add-ons and administrators."""

from collections.abc import Mapping, Sequence
from ipaddress import ip_network
from typing import Any

import pulumi
from pulumi_aws import eks

from components.on_aws.eks_gpu_cluster_args import EksGpuClusterArgs
from components.on_aws.offered_zones import zones_of
from components.on_aws.role import MadeRole
from components.on_aws.vpc import Vpc
from fleet.labels import OWN_PREFIX
from platforms.aws import kubeconfig
from platforms.aws.roles import add_on_policies, cluster_policies, cluster_trust, partition_of, pod_trust

OUTPUTS = (
    "cluster_name",
    "subnet_ids",
    "security_group_id",
    "endpoint",
    "certificate_authority",
    "dns",
    "kubeconfig",
)


class EksGpuCluster(pulumi.ComponentResource):
    """A cluster for GPU node groups: private nodes, access entries (no aws-auth), pod roles by Pod Identity.

    Its API server is closed to the Internet unless networks are listed. EKS encrypts secrets at rest.
    """

    cluster_name: pulumi.Output[str]
    """Cluster name, known once the cluster is usable."""
    subnet_ids: pulumi.Output[Sequence[str]]
    """Private subnets for nodes."""
    zones: pulumi.Output[Sequence[str]]
    """Zones of these subnets, in order."""
    security_group_id: pulumi.Output[str]
    """The cluster security group, shared with its nodes."""
    endpoint: pulumi.Output[str]
    """Address of the API server."""
    certificate_authority: pulumi.Output[str]
    """CA certificate of the API server in base64."""
    dns: pulumi.Output[str]
    """Cluster DNS address, for nodes that EKS does not configure."""
    kubeconfig: pulumi.Output[str]
    """Kubeconfig without a secret: `aws eks get-token` issues tokens to logged-in users."""

    def __init__(self, name: str, args: EksGpuClusterArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        if ("network" in args) == ("subnet_ids" in args):
            raise ValueError(f"{name}: give either network, for a VPC of its own, or subnet_ids that exist")
        super().__init__("gpu-commons:index:EksGpuCluster", name, {**args}, opts)
        child = pulumi.ResourceOptions(parent=self)
        tags = {f"{OWN_PREFIX}cluster": args["cluster_name"], **(args.get("tags") or {})}
        network, subnets = args.get("network"), args.get("subnet_ids")
        vpc = Vpc(name, {"tags": tags, "cluster_name": args["cluster_name"], **network}, child) if network else None
        private: Any = vpc.private_subnet_ids if vpc else subnets
        self._partition = partition_of(args["region"])
        role = MadeRole(f"{name}-cluster", cluster_trust(), cluster_policies(self._partition), tags, child)
        add_ons = args.get("add_ons") or {}
        cidrs = args.get("public_access_cidrs") or ()
        reach: Any = {
            "subnet_ids": private,
            "endpoint_private_access": True,
            "endpoint_public_access": bool(cidrs),
            **({"public_access_cidrs": list(cidrs)} if cidrs else {}),
        }
        cluster = eks.Cluster(
            name,
            name=args["cluster_name"],
            version=args["kubernetes_version"],
            role_arn=role.arn,
            access_config={"authentication_mode": "API", "bootstrap_cluster_creator_admin_permissions": True},
            bootstrap_self_managed_addons=not add_ons,
            upgrade_policy={"support_type": "STANDARD"},
            enabled_cluster_log_types=["api", "audit", "authenticator"],
            vpc_config=reach,
            tags=tags,
            opts=pulumi.ResourceOptions(parent=self, depends_on=role.attachments),
        )
        for admin in args.get("admins") or ():
            self._admin(f"{name}-{admin.rpartition('/')[2]}", cluster, admin, tags)
        for add_on, version in sorted(add_ons.items()):
            self._add_on(f"{name}-{add_on}", cluster, (add_on, version), tags)
        self.cluster_name = cluster.name
        self.security_group_id = cluster.vpc_config.cluster_security_group_id
        self.subnet_ids = pulumi.Output.from_input(private)
        self.zones = (
            pulumi.Output.from_input(list(network["zones"]))
            if network
            else zones_of(subnets or (), pulumi.InvokeOptions(parent=self))
        )
        self.endpoint = cluster.endpoint
        self.certificate_authority = cluster.certificate_authority.apply(_data)
        self.dns = cluster.kubernetes_network_config.apply(dns_of)
        self.kubeconfig = pulumi.Output.all(
            name=cluster.name, endpoint=self.endpoint, authority=self.certificate_authority
        ).apply(lambda known: kubeconfig.text(**known, region=args["region"]))
        self.register_outputs({key: getattr(self, key) for key in OUTPUTS})

    def _add_on(self, name: str, cluster: eks.Cluster, add_on: tuple[str, str], tags: Mapping[str, str]) -> None:
        """An add-on; if it calls AWS, EKS gives its pods a role of their own."""
        called, version = add_on
        given: list[Any] = []
        if identity := add_on_policies(self._partition).get(called):
            _, account, policy = identity
            role = MadeRole(name, pod_trust(), [policy], tags, pulumi.ResourceOptions(parent=self))
            given = [{"role_arn": role.arn, "service_account": account}]
        eks.Addon(
            name,
            cluster_name=cluster.name,
            addon_name=called,
            addon_version=version,
            resolve_conflicts_on_create="OVERWRITE",
            resolve_conflicts_on_update="PRESERVE",
            pod_identity_associations=given or None,
            tags={**tags},
            opts=pulumi.ResourceOptions(parent=self),
        )

    def _admin(self, name: str, cluster: eks.Cluster, arn: str, tags: Mapping[str, str]) -> None:
        child = pulumi.ResourceOptions(parent=self)
        entry = eks.AccessEntry(name, cluster_name=cluster.name, principal_arn=arn, tags={**tags}, opts=child)
        eks.AccessPolicyAssociation(
            name,
            cluster_name=cluster.name,
            principal_arn=entry.principal_arn,
            policy_arn=f"arn:{self._partition}:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy",
            access_scope={"type": "cluster"},
            opts=child,
        )


def _data(authority: Any) -> str:
    """The API server's CA certificate in base64; EKS has it once the cluster exists."""
    return str(authority.data) if authority else ""


def dns_of(network: Any) -> str:
    """The tenth address of the service network, which EKS assigns to the cluster DNS; empty until known.

    github.com/awslabs/amazon-eks-ami, nodeadm/internal/api/types.go: GetClusterDns.
    """
    cidr = network.service_ipv4_cidr if network else None
    return str(ip_network(cidr)[10]) if cidr else ""
