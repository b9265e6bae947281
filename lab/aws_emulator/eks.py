"""The lab's EKS: every operation it answers, by name. moto's EKS lacks much and reads back wrongly."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from lab.aws_emulator import eks_access, eks_add_ons, eks_clusters, eks_node_groups
from lab.aws_emulator.eks_state import State, Values
from lab.aws_emulator.faults import ServiceFault
from lab.aws_emulator.rest_json import Call

OPERATIONS: Final[Mapping[str, Callable[[State, Values], Values]]] = {
    "CreateCluster": eks_clusters.create,
    "DescribeCluster": eks_clusters.describe,
    "ListClusters": eks_clusters.list_names,
    "UpdateClusterConfig": eks_clusters.change,
    "UpdateClusterVersion": eks_clusters.change_version,
    "DeleteCluster": eks_clusters.delete,
    "DescribeUpdate": eks_clusters.describe_update,
    "TagResource": eks_clusters.tag,
    "UntagResource": eks_clusters.untag,
    "ListTagsForResource": eks_clusters.tags_of,
    "CreateNodegroup": eks_node_groups.create,
    "DescribeNodegroup": eks_node_groups.describe,
    "ListNodegroups": eks_node_groups.list_names,
    "UpdateNodegroupConfig": eks_node_groups.change,
    "UpdateNodegroupVersion": eks_node_groups.change_version,
    "DeleteNodegroup": eks_node_groups.delete,
    "CreateAccessEntry": eks_access.create,
    "DescribeAccessEntry": eks_access.describe,
    "ListAccessEntries": eks_access.list_principals,
    "UpdateAccessEntry": eks_access.change,
    "DeleteAccessEntry": eks_access.delete,
    "AssociateAccessPolicy": eks_access.associate,
    "DisassociateAccessPolicy": eks_access.disassociate,
    "ListAssociatedAccessPolicies": eks_access.list_policies,
    "CreateAddon": eks_add_ons.create,
    "DescribeAddon": eks_add_ons.describe,
    "ListAddons": eks_add_ons.list_names,
    "UpdateAddon": eks_add_ons.change,
    "DeleteAddon": eks_add_ons.delete,
    "CreatePodIdentityAssociation": eks_add_ons.create_identity,
    "DescribePodIdentityAssociation": eks_add_ons.describe_identity,
    "ListPodIdentityAssociations": eks_add_ons.list_identities,
    "UpdatePodIdentityAssociation": eks_add_ons.change_identity,
    "DeletePodIdentityAssociation": eks_add_ons.delete_identity,
}


def answer(state: State, call: Call) -> Values:
    """Raises ServiceFault for requests that AWS would refuse or that this EKS lacks."""
    if call.operation not in OPERATIONS:
        raise ServiceFault("UnknownOperationException", f"the lab's EKS has no {call.operation}", status=501)
    return OPERATIONS[call.operation](state, call.parameters)
