"""Who may do what."""

from __future__ import annotations

import json
from typing import Any

import pytest

from platforms.aws import roles
from platforms.aws.roles import Partition


def test_nodes_may_pull_images_and_not_push_them() -> None:
    assert roles.node_policies(Partition.COMMERCIAL, with_cni=False) == (
        "arn:aws:iam::aws:policy/AmazonEKSWorkerNodePolicy",
        "arn:aws:iam::aws:policy/AmazonEC2ContainerRegistryPullOnly",
    )


def test_nodes_have_the_policy_of_the_network_only_where_nobody_else_has_it() -> None:
    assert "arn:aws:iam::aws:policy/AmazonEKS_CNI_Policy" in roles.node_policies(Partition.COMMERCIAL, with_cni=True)
    namespace, account, policy = roles.add_on_policies(Partition.COMMERCIAL)["vpc-cni"]
    assert (namespace, account, policy.rpartition("/")[2]) == ("kube-system", "aws-node", "AmazonEKS_CNI_Policy")


@pytest.mark.parametrize(
    ("region", "arn"),
    [
        ("us-east-1", "arn:aws:iam::aws:policy/AmazonEKSClusterPolicy"),
        ("cn-north-1", "arn:aws-cn:iam::aws:policy/AmazonEKSClusterPolicy"),
        ("us-gov-west-1", "arn:aws-us-gov:iam::aws:policy/AmazonEKSClusterPolicy"),
    ],
)
def test_a_policy_is_of_the_regions_partition(region: str, arn: str) -> None:
    assert roles.cluster_policies(roles.partition_of(region)) == (arn,)


def test_trust_and_permissions(golden: Any) -> None:
    found = {
        "cluster": roles.cluster_trust(),
        "node": roles.node_trust(),
        "pod": roles.pod_trust("123456789012", "arn:aws:eks:us-east-1:123456789012:cluster/eks-g6"),
        "autoscaler": roles.autoscaler_permissions("eks-g6"),
    }
    golden("iam/eks-g6.json").equals(json.dumps(found, indent=2) + "\n")


def test_an_autoscaler_changes_groups_of_its_own_cluster_alone() -> None:
    reads, changes = roles.autoscaler_permissions("eks-g6")["Statement"]
    assert not [action for action in reads["Action"] if ":Describe" not in action and ":Get" not in action]
    assert changes["Condition"] == {"StringEquals": {"aws:ResourceTag/k8s.io/cluster-autoscaler/eks-g6": "owned"}}
