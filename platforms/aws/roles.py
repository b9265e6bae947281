"""Trust policies and permissions of clusters, nodes and pods, as plain data.

Nodes may only pull images and join their cluster: pods get their rights by Pod Identity.
Sources: https://docs.aws.amazon.com/eks/latest/userguide/create-node-role.html, cluster-iam-role.html,
pod-id-role.html and cni-iam-role.html
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Any, Final

_VERSION: Final = "2012-10-17"
Policy = dict[str, Any]


class Partition(StrEnum):
    """The AWS partition of a region, part of every ARN."""

    COMMERCIAL = "aws"
    CHINA = "aws-cn"
    GOVERNMENT = "aws-us-gov"


def partition_of(region: str) -> Partition:
    """`aws-cn` of `cn-north-1`."""
    prefixes = {"cn-": Partition.CHINA, "us-gov-": Partition.GOVERNMENT}
    return next((found for prefix, found in prefixes.items() if region.startswith(prefix)), Partition.COMMERCIAL)


def cluster_policies(partition: Partition) -> tuple[str, ...]:
    """Managed policies of a cluster's role."""
    return (_managed(partition, "AmazonEKSClusterPolicy"),)


def node_policies(partition: Partition, *, with_cni: bool) -> tuple[str, ...]:
    """Managed policies of a node's role. `with_cni`: the VPC CNI has no role of its own, by Pod Identity or otherwise.

    Pull only: an attacker who escapes a container cannot push an image. With the CNI's policy they could also
    change network interfaces.
    """
    names = ["AmazonEKSWorkerNodePolicy", "AmazonEC2ContainerRegistryPullOnly"]
    return tuple(_managed(partition, name) for name in [*names, *(["AmazonEKS_CNI_Policy"] if with_cni else [])])


def add_on_policies(partition: Partition) -> dict[str, tuple[str, str, str]]:
    """Add-on → namespace, service account and managed policy of its Pod Identity role."""
    return {
        "vpc-cni": ("kube-system", "aws-node", _managed(partition, "AmazonEKS_CNI_Policy")),
        "aws-ebs-csi-driver": (
            "kube-system",
            "ebs-csi-controller-sa",
            _managed(partition, "service-role/AmazonEBSCSIDriverPolicy"),
        ),
    }


def cluster_trust() -> Policy:
    """EKS may assume the cluster role."""
    return _trust("eks.amazonaws.com", "sts:AssumeRole")


def node_trust() -> Policy:
    """EC2 may assume the node role."""
    return _trust("ec2.amazonaws.com", "sts:AssumeRole")


def pod_trust(account: str = "", cluster_arn: str = "") -> Policy:
    """Pods may assume the role by Pod Identity: only those of one cluster, if given."""
    policy = _trust("pods.eks.amazonaws.com", "sts:AssumeRole", "sts:TagSession")
    conditions = {
        **({"StringEquals": {"aws:SourceAccount": account}} if account else {}),
        **({"ArnEquals": {"aws:SourceArn": cluster_arn}} if cluster_arn else {}),
    }
    if conditions:
        policy["Statement"][0]["Condition"] = conditions
    return policy


def autoscaler_permissions(cluster: str) -> Policy:
    """Rights of the cluster autoscaler; changes only on groups of one cluster.

    Source: https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/cloudprovider/aws/README.md
    """
    reads = [
        "autoscaling:DescribeAutoScalingGroups",
        "autoscaling:DescribeAutoScalingInstances",
        "autoscaling:DescribeLaunchConfigurations",
        "autoscaling:DescribeTags",
        "ec2:DescribeImages",
        "ec2:DescribeInstanceTypes",
        "ec2:DescribeLaunchTemplateVersions",
        "ec2:GetInstanceTypesFromInstanceRequirements",
        "eks:DescribeNodegroup",
    ]
    changes = ["autoscaling:SetDesiredCapacity", "autoscaling:TerminateInstanceInAutoScalingGroup"]
    own = {"StringEquals": {f"aws:ResourceTag/k8s.io/cluster-autoscaler/{cluster}": "owned"}}
    return {"Version": _VERSION, "Statement": [_allow(reads), {**_allow(changes), "Condition": own}]}


def _allow(actions: Sequence[str]) -> Policy:
    return {"Effect": "Allow", "Action": list(actions), "Resource": "*"}


def _trust(service: str, *actions: str) -> Policy:
    return {
        "Version": _VERSION,
        "Statement": [{"Effect": "Allow", "Principal": {"Service": service}, "Action": list(actions)}],
    }


def _managed(partition: Partition, name: str) -> str:
    return f"arn:{partition}:iam::aws:policy/{name}"
