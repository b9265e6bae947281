"""Access entries and their associated access policies.

Facts: docs.aws.amazon.com/eks/latest/userguide/access-entries.html and creating-access-entries.html.
"""

from __future__ import annotations

from typing import Final

from lab.aws_emulator.cloud import ACCOUNT
from lab.aws_emulator.eks_state import (
    BAD_REQUEST,
    IN_USE,
    INVALID,
    NOT_FOUND,
    Cluster,
    State,
    Values,
    fresh_id,
    given,
    now,
)
from lab.aws_emulator.faults import ServiceFault

WHOLE: Final = {"type": "cluster"}
POLICY_PREFIX: Final = "arn:aws:eks::aws:cluster-access-policy/"
CREATOR: Final = f"arn:aws:iam::{ACCOUNT}:user/moto"  # the identity of everybody in moto's STS
NODE_NAME: Final = "system:node:{{EC2PrivateDNSName}}"


def create(state: State, parameters: Values) -> Values:
    cluster = _open_cluster(state, parameters)
    principal, kind = parameters["principalArn"], parameters.get("type", "STANDARD")
    if principal in cluster.access_entries:
        message = "The specified access entry resource is already in use on this cluster."
        raise ServiceFault(IN_USE, message, status=409)
    if kind != "STANDARD":
        if unwanted := given(parameters, "kubernetesGroups", "username"):
            raise ServiceFault(INVALID, f"an access entry of type {kind} takes no {' and no '.join(unwanted)}")
        if ":role/" not in principal or not state.cloud.role_exists(principal):
            reason = f"an access entry of type {kind} needs an IAM role of this account that exists"
            raise ServiceFault(INVALID, f"The specified principalArn is invalid: {principal}: {reason}")
    entry = _entry(state, cluster, principal, kind)
    entry.update(given(parameters, "kubernetesGroups", "username", "tags"))
    cluster.access_entries[principal] = entry
    return {"accessEntry": entry}


def entry_for_nodes(state: State, cluster: Cluster, role: str) -> None:
    """As EKS does for a managed node group: its nodes may join."""
    if cluster.values["accessConfig"]["authenticationMode"] != "CONFIG_MAP":
        cluster.access_entries.setdefault(role, _entry(state, cluster, role, "EC2_LINUX"))


def entry_for_creator(state: State, cluster: Cluster) -> None:
    """The creator of a cluster may administer it, unless they opt out."""
    if cluster.values["accessConfig"]["authenticationMode"] != "CONFIG_MAP":
        cluster.access_entries[CREATOR] = _entry(state, cluster, CREATOR, "STANDARD")
        whose = {"clusterName": cluster.name, "principalArn": CREATOR}
        associate(state, {**whose, "policyArn": f"{POLICY_PREFIX}AmazonEKSClusterAdminPolicy", "accessScope": WHOLE})


def _entry(state: State, cluster: Cluster, principal: str, kind: str) -> Values:
    name = principal.rsplit("/", 1)[-1]
    is_for_nodes = kind != "STANDARD"
    user = f"{principal.replace(':iam:', ':sts:').replace(':role/', ':assumed-role/')}/{{{{SessionName}}}}"
    return {
        "clusterName": cluster.name,
        "principalArn": principal,
        "kubernetesGroups": ["system:nodes"] if is_for_nodes else [],
        "accessEntryArn": state.arn("access-entry", cluster.name, "role", principal.split(":")[4], name, fresh_id()),
        "createdAt": now(),
        "modifiedAt": now(),
        "tags": {},
        "username": NODE_NAME if is_for_nodes else user if ":role/" in principal else principal,
        "type": kind,
    }


def describe(state: State, parameters: Values) -> Values:
    return {"accessEntry": _found(state, parameters)[1]}


def list_principals(state: State, parameters: Values) -> Values:
    cluster, policy = _open_cluster(state, parameters), parameters.get("associatedPolicyArn")
    principals = [each for each in cluster.access_entries if not policy or policy in cluster.policies.get(each, {})]
    return {"accessEntries": sorted(principals)}


def change(state: State, parameters: Values) -> Values:
    entry = _found(state, parameters)[1]
    changes = given(parameters, "kubernetesGroups", "username")
    if changes and entry["type"] != "STANDARD":
        raise ServiceFault(INVALID, f"an access entry of type {entry['type']} takes no {' and no '.join(changes)}")
    entry.update(changes, modifiedAt=now())
    return {"accessEntry": entry}


def delete(state: State, parameters: Values) -> Values:
    cluster, entry = _found(state, parameters)
    del cluster.access_entries[entry["principalArn"]]
    cluster.policies.pop(entry["principalArn"], None)
    return {}


def associate(state: State, parameters: Values) -> Values:
    cluster, entry = _found(state, parameters)
    policy, scope = parameters["policyArn"], parameters["accessScope"]
    if not policy.startswith(POLICY_PREFIX):
        raise ServiceFault(INVALID, f"The policyArn parameter format is not valid: {policy}; {POLICY_PREFIX}NAME is")
    if entry["type"] != "STANDARD":
        raise ServiceFault(BAD_REQUEST, f"an access entry of type {entry['type']} takes no access policy")
    if (scope.get("type") == "namespace") != bool(scope.get("namespaces")):
        raise ServiceFault(INVALID, "accessScope: namespaces for the type namespace, and for no other")
    before = cluster.policies.get(entry["principalArn"], {}).get(policy, {})
    association = {
        "policyArn": policy,
        "accessScope": {"namespaces": [], **scope},
        "associatedAt": before.get("associatedAt", now()),
        "modifiedAt": now(),
    }
    cluster.policies.setdefault(entry["principalArn"], {})[policy] = association
    return {**_whose(cluster, entry), "associatedAccessPolicy": association}


def disassociate(state: State, parameters: Values) -> Values:
    cluster, entry = _found(state, parameters)
    if cluster.policies.get(entry["principalArn"], {}).pop(parameters["policyArn"], None) is None:
        raise ServiceFault(NOT_FOUND, f"No access policy {parameters['policyArn']} is associated.", status=404)
    return {}


def list_policies(state: State, parameters: Values) -> Values:
    cluster, entry = _found(state, parameters)
    associations = cluster.policies.get(entry["principalArn"], {})
    return {**_whose(cluster, entry), "associatedAccessPolicies": list(associations.values())}


def _whose(cluster: Cluster, entry: Values) -> Values:
    return {"clusterName": cluster.name, "principalArn": entry["principalArn"]}


def _open_cluster(state: State, parameters: Values) -> Cluster:
    cluster = state.cluster(parameters["clusterName"])
    if cluster.values["accessConfig"]["authenticationMode"] == "CONFIG_MAP":
        message = (
            "The cluster's authentication mode must be set to one of [API, API_AND_CONFIG_MAP] "
            "to perform this operation."
        )
        raise ServiceFault(BAD_REQUEST, message)
    return cluster


def _found(state: State, parameters: Values) -> tuple[Cluster, Values]:
    cluster = _open_cluster(state, parameters)
    principal = parameters["principalArn"]
    if principal not in cluster.access_entries:
        message = f"The specified principalArn could not be found: {principal}"
        raise ServiceFault(NOT_FOUND, message, status=404)
    return cluster, cluster.access_entries[principal]
