"""ExistingEksCluster: an EKS cluster owned by someone else, for node groups that join it."""

from collections.abc import Sequence
from typing import Any

import pulumi
from pulumi_aws import eks

from components.on_aws.eks_gpu_cluster import OUTPUTS, dns_of
from components.on_aws.eks_gpu_cluster_args import ExistingEksClusterArgs
from components.on_aws.offered_zones import zones_of
from platforms.aws import kubeconfig
from platforms.aws.kubernetes_versions import minor_of


class ExistingEksCluster(pulumi.ComponentResource):
    """Looks up what EksGpuCluster creates. It changes nothing: access entries and add-ons are the owner's.

    A missing cluster fails the preview, as does one older than the nodes.
    """

    cluster_name: pulumi.Output[str]
    """Name of the cluster."""
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

    def __init__(self, name: str, args: ExistingEksClusterArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpu-commons:index:ExistingEksCluster", name, {**args}, opts)
        found = eks.get_cluster_output(name=args["cluster_name"], opts=pulumi.InvokeOptions(parent=self))
        fitting = found.apply(lambda cluster: _fitting(cluster, args["kubernetes_version"]))
        self.cluster_name = fitting.apply(lambda cluster: str(cluster.name))
        self.subnet_ids = pulumi.Output.from_input(list(args["subnet_ids"]))
        self.zones = zones_of(args["subnet_ids"], pulumi.InvokeOptions(parent=self))
        self.security_group_id = fitting.apply(lambda cluster: str(cluster.vpc_config.cluster_security_group_id))
        self.endpoint = fitting.apply(lambda cluster: str(cluster.endpoint))
        self.certificate_authority = fitting.apply(lambda cluster: str(cluster.certificate_authorities[0].data))
        self.dns = fitting.apply(lambda cluster: dns_of(cluster.kubernetes_network_configs[0]))
        self.kubeconfig = pulumi.Output.all(
            name=self.cluster_name, endpoint=self.endpoint, authority=self.certificate_authority
        ).apply(lambda known: kubeconfig.text(**known, region=args["region"]))
        self.register_outputs({key: getattr(self, key) for key in OUTPUTS})


def _fitting(cluster: Any, nodes: str) -> Any:
    """The cluster, unless EKS would reject its nodes.

    docs.aws.amazon.com/eks/latest/userguide/managed-node-groups.html: a group is never newer than its cluster.
    """
    if minor_of(nodes) > minor_of(cluster.version):
        reason = f"has Kubernetes {cluster.version}, and nodes of {nodes} are newer than its API server"
        raise pulumi.RunError(f'cluster {cluster.name} {reason}: write kubernetes: "{cluster.version}"')
    return cluster
