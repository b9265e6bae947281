"""Arguments of the AWS components, from models. Without an SDK, so that the program imports them for any site."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from fleet.labels import OWN_PREFIX
from platforms.aws.cluster import ClusterKeys
from platforms.aws.instance_group import InstanceGroupKeys
from platforms.aws.registries import EcrRegistry
from workloads.arguments import stated

if TYPE_CHECKING:
    import pulumi

    from components.on_aws.ecr_repository import EcrRepositoryArgs
    from components.on_aws.eks_gpu_cluster import EksGpuCluster
    from components.on_aws.eks_gpu_cluster_args import EksGpuClusterArgs, ExistingEksClusterArgs
    from components.on_aws.eks_gpu_node_group_args import EksGpuNodeGroupArgs
    from components.on_aws.existing_eks_cluster import ExistingEksCluster
    from components.on_aws.flatcar_gpu_node_group_args import FlatcarGpuNodeGroupArgs

# With both, the CNI has its own role, and nodes need none of its rights.
_CNI_OF_ITS_OWN = frozenset({"vpc-cni", "eks-pod-identity-agent"})


def ecr_repository(registry: EcrRegistry, image: str, site: str | None) -> EcrRepositoryArgs:
    """Arguments of the EcrRepository of an image."""
    tags = {f"{OWN_PREFIX}cluster": site} if site else {}
    return {"repository": registry.repository(image), "region": registry.region, "tags": tags}


def eks_gpu_cluster(name: str, cluster: ClusterKeys) -> EksGpuClusterArgs:
    """Arguments of the EksGpuCluster."""
    network = cluster.network
    args = {
        "cluster_name": name,
        "region": cluster.region,
        "kubernetes_version": cluster.kubernetes,
        "network": network and {"cidr": network.cidr, **network.model_dump(exclude_defaults=True)},
        "subnet_ids": cluster.subnets or None,
        "public_access_cidrs": cluster.public_access or None,
        "admins": cluster.admins or None,
        "add_ons": cluster.add_ons or None,
    }
    return cast("EksGpuClusterArgs", stated(args))


def existing_eks_cluster(name: str, cluster: ClusterKeys) -> ExistingEksClusterArgs:
    """Arguments of the ExistingEksCluster."""
    return {
        "cluster_name": name,
        "region": cluster.region,
        "kubernetes_version": cluster.kubernetes,
        "subnet_ids": list(cluster.subnets),
    }


@dataclass(frozen=True, slots=True)
class Joined:
    """A cluster that node groups join."""

    name: str
    keys: ClusterKeys
    eks: EksGpuCluster | ExistingEksCluster


def eks_gpu_node_group(
    pool: str, group: InstanceGroupKeys, cluster: Joined, subnets: pulumi.Output[list[str]]
) -> EksGpuNodeGroupArgs:
    """Arguments of the EksGpuNodeGroup of a pool."""
    args = {"cluster_name": cluster.eks.cluster_name, **_group(pool, group, cluster, subnets)}
    return cast("EksGpuNodeGroupArgs", args)


def flatcar_gpu_node_group(
    pool: str, group: InstanceGroupKeys, cluster: Joined, subnets: pulumi.Output[list[str]]
) -> FlatcarGpuNodeGroupArgs:
    """Arguments of the FlatcarGpuNodeGroup of a pool: its nodes join by themselves, so need cluster data."""
    args = {
        "cluster_name": cluster.name,
        "endpoint": cluster.eks.endpoint,
        "certificate_authority": cluster.eks.certificate_authority,
        "dns": cluster.eks.dns,
        **_group(pool, group, cluster, subnets),
    }
    return cast("FlatcarGpuNodeGroupArgs", args)


def _group(pool: str, group: InstanceGroupKeys, cluster: Joined, subnets: Any) -> dict[str, Any]:
    """Common arguments of both group kinds: stack file keys and location."""
    written = group.model_dump(include={*InstanceGroupKeys.model_fields}, by_alias=True, exclude_defaults=True)
    return {
        "pool": pool,
        "region": cluster.keys.region,
        "subnet_ids": subnets,
        **({"cni_has_role": True} if cluster.keys.add_ons.keys() >= _CNI_OF_ITS_OWN else {}),
        "security_group_ids": [cluster.eks.security_group_id],
        **stated(written),
    }
