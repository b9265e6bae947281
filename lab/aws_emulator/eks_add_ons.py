"""Add-ons and Pod Identity associations. Facts: docs.aws.amazon.com/eks/latest/APIReference."""

from __future__ import annotations

import json
import re
from typing import Final

from lab.aws_emulator.eks_state import (
    IN_USE,
    INVALID,
    Cluster,
    State,
    Values,
    found,
    fresh_id,
    given,
    now,
    updated,
)
from lab.aws_emulator.faults import ServiceFault

VERSION: Final = re.compile(r"v\d+\.\d+\.\d+-eksbuild\.\d+")
UNKNOWN_VERSION: Final = "v0.0.0-eksbuild.0"  # no request named one, and the default is not known here
KEPT: Final = ("serviceAccountRoleArn", "configurationValues", "namespaceConfig")


def create(state: State, parameters: Values) -> Values:
    cluster, name = state.cluster(parameters["clusterName"]), parameters["addonName"]
    if name in cluster.add_ons:
        raise ServiceFault(IN_USE, "Addon already exists.", status=409)
    _check(parameters)
    add_on = {
        "addonName": name,
        "clusterName": cluster.name,
        "status": "ACTIVE",
        "addonVersion": parameters.get("addonVersion", UNKNOWN_VERSION),
        "health": {"issues": []},
        "addonArn": state.arn("addon", cluster.name, name, fresh_id()),
        "createdAt": now(),
        "modifiedAt": now(),
        "tags": dict(parameters.get("tags", {})),
        **given(parameters, *KEPT),
    }
    cluster.add_ons[name] = add_on
    _own_identities(state, cluster, add_on, parameters)
    return {"addon": {**add_on, "status": "CREATING"}}


def describe(state: State, parameters: Values) -> Values:
    return {"addon": _add_on(state, parameters)}


def list_names(state: State, parameters: Values) -> Values:
    return {"addons": sorted(state.cluster(parameters["clusterName"]).add_ons)}


def change(state: State, parameters: Values) -> Values:
    cluster, add_on = state.cluster(parameters["clusterName"]), _add_on(state, parameters)
    _check(parameters)
    add_on.update(given(parameters, "addonVersion", *KEPT), modifiedAt=now())
    _own_identities(state, cluster, add_on, parameters)
    return updated(cluster, "AddonUpdate", AddonVersion=add_on["addonVersion"])


def delete(state: State, parameters: Values) -> Values:
    cluster, add_on = state.cluster(parameters["clusterName"]), _add_on(state, parameters)
    del cluster.add_ons[add_on["addonName"]]
    _drop_owned(cluster, add_on)
    return {"addon": {**add_on, "status": "DELETING"}}


def _check(parameters: Values) -> None:
    version = parameters.get("addonVersion")
    if version is not None and not VERSION.fullmatch(version):
        raise ServiceFault(INVALID, f"Addon version specified is not supported: {version}; v1.2.3-eksbuild.1 is one")
    if text := parameters.get("configurationValues"):
        try:
            json.loads(text)
        except ValueError as error:
            raise ServiceFault(INVALID, f"configurationValues: not JSON: {error}") from error


def _own_identities(state: State, cluster: Cluster, add_on: Values, parameters: Values) -> None:
    """The Pod Identity associations that are created and deleted with an add-on."""
    if "podIdentityAssociations" not in parameters:
        return
    _drop_owned(cluster, add_on)
    made = [
        _associate(state, cluster, {"namespace": "kube-system", **each}, owner=add_on["addonArn"])
        for each in parameters["podIdentityAssociations"]
    ]
    add_on["podIdentityAssociations"] = [each["associationArn"] for each in made]


def _drop_owned(cluster: Cluster, add_on: Values) -> None:
    owned = [key for key, each in cluster.pod_identities.items() if each.get("ownerArn") == add_on["addonArn"]]
    for key in owned:
        del cluster.pod_identities[key]


def _add_on(state: State, parameters: Values) -> Values:
    return found(state.cluster(parameters["clusterName"]).add_ons, parameters["addonName"], "addon")


def create_identity(state: State, parameters: Values) -> Values:
    cluster = state.cluster(parameters["clusterName"])
    return {"association": _associate(state, cluster, parameters)}


def _associate(state: State, cluster: Cluster, requested: Values, owner: str = "") -> Values:
    state.check_role(requested["roleArn"])
    whose = requested["namespace"], requested["serviceAccount"]
    for each in cluster.pod_identities.values():
        if (each["namespace"], each["serviceAccount"]) == whose:
            raise ServiceFault(IN_USE, f"Association already exists: {each['associationId']}", status=409)
    identity = f"a-{fresh_id().replace('-', '')[:17]}"
    association = {
        "clusterName": cluster.name,
        "namespace": requested["namespace"],
        "serviceAccount": requested["serviceAccount"],
        "roleArn": requested["roleArn"],
        "associationArn": state.arn("podidentityassociation", cluster.name, identity),
        "associationId": identity,
        "tags": dict(requested.get("tags", {})),
        "createdAt": now(),
        "modifiedAt": now(),
        "disableSessionTags": requested.get("disableSessionTags", False),
        **given(requested, "targetRoleArn", "policy"),
        **({"ownerArn": owner} if owner else {}),
    }
    cluster.pod_identities[identity] = association
    return association


def describe_identity(state: State, parameters: Values) -> Values:
    return {"association": _identity(state, parameters)}


def list_identities(state: State, parameters: Values) -> Values:
    shown = ("clusterName", "namespace", "serviceAccount", "associationArn", "associationId", "ownerArn")
    wanted = given(parameters, "namespace", "serviceAccount").items()
    every = state.cluster(parameters["clusterName"]).pod_identities.values()
    return {"associations": [given(each, *shown) for each in every if wanted <= each.items()]}


def change_identity(state: State, parameters: Values) -> Values:
    association = _identity(state, parameters)
    if "roleArn" in parameters:
        state.check_role(parameters["roleArn"])
    association.update(given(parameters, "roleArn", "disableSessionTags", "targetRoleArn", "policy"), modifiedAt=now())
    return {"association": association}


def delete_identity(state: State, parameters: Values) -> Values:
    association = _identity(state, parameters)
    del state.cluster(parameters["clusterName"]).pod_identities[association["associationId"]]
    return {"association": association}


def _identity(state: State, parameters: Values) -> Values:
    cluster = state.cluster(parameters["clusterName"])
    return found(cluster.pod_identities, parameters["associationId"], "association")
