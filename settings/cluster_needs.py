"""What a stack needs from an existing cluster, and what that cluster lacks. Pure.

Objects of the cluster are in the API's own form. A kind that could not be read is None, and nothing is said of it.
"""

from __future__ import annotations

import base64
import datetime as dt
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from errors.problems import Loc, Problem, listing, path_text, show
from fleet.labels import GFD_DRIVER, NVIDIA_PREFIX
from platforms.kubernetes.feature_discovery import NODE_FEATURES, OURS
from platforms.kubernetes.hub import DATABASE_CLAIM
from platforms.kubernetes.runtime import RUNTIME_CLASS
from settings.fleet import landing_pools
from settings.models import Hub
from settings.pool import Pool
from settings.pools import ProvidedRuntime
from settings.reading import Stack
from settings.resolve import by_claims
from workloads.authenticator import OAuthAuthenticator
from workloads.certificate_files import certificate_problems
from workloads.exposure import TLS_TYPE, Certificate, Entry, Gateway, Ingress

Objects = Sequence[Mapping[str, Any]]

_DEFAULT: Final = {
    "storageclasses": (
        "storageclass.kubernetes.io/is-default-class",
        "storageclass.beta.kubernetes.io/is-default-class",
    ),
    "ingressclasses": ("ingressclass.kubernetes.io/is-default-class",),
}
# Provisioners whose volumes are folders or disks of one node, by their own documentation.
NODE_BOUND: Final = frozenset(
    {
        "kubernetes.io/no-provisioner",
        "rancher.io/local-path",
        "local.csi.openebs.io",
        "openebs.io/local",
        "zfs.csi.openebs.io",
        "topolvm.io",
        "microk8s.io/hostpath",
        "k8s.io/minikube-hostpath",
    }
)
_OWN_RUNTIME: Final = "write runtime.device_plugin, and the stack brings it"
_NFD_PREFIX: Final = "feature.node.kubernetes.io/"
_OWN_CLASS: Final = "kubernetes.io/ingress.class"  # how a class was named before there were objects for it
_CLASSES: Final = {"storageclasses": "storage class", "ingressclasses": "ingress class"}
PATHS: Final = {
    "nodes": "/api/v1/nodes",
    "storageclasses": "/apis/storage.k8s.io/v1/storageclasses",
    "ingressclasses": "/apis/networking.k8s.io/v1/ingressclasses",
    "runtimeclasses": "/apis/node.k8s.io/v1/runtimeclasses",
    "clusterissuers": "/apis/cert-manager.io/v1/clusterissuers",
    "gateways": "/apis/gateway.networking.k8s.io/v1/gateways",
    "nodefeatures": (
        f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions?fieldSelector=metadata.name%3D{NODE_FEATURES}"
    ),
}
"""API paths of kinds without a namespace."""


@dataclass(frozen=True, slots=True)
class ClusterObjects:
    """What was read of a cluster. `secrets`, `issuers` and `claims` by namespace."""

    of_cluster: Mapping[str, Objects | None]
    secrets: Mapping[str, Objects | None] = field(default_factory=dict)
    issuers: Mapping[str, Objects | None] = field(default_factory=dict)
    claims: Mapping[str, Objects | None] = field(default_factory=dict)

    def kind(self, name: str) -> Objects | None:
        return self.of_cluster.get(name)


def kinds_needed(stack: Stack) -> frozenset[str]:
    """Kinds of `PATHS` that the stack depends on."""
    needed = {"runtimeclasses", "nodes"} if _pools_of_the_site(stack) else set()
    if _discovers(stack):
        needed |= {"nodefeatures", "nodes"}
    for hub in stack.hubs:
        needed.add("storageclasses")
        if isinstance(hub.expose, Ingress):
            needed.add("ingressclasses")
        if isinstance(hub.expose, Gateway):
            needed.add("gateways")
        if (certificate := _certificate(hub)) and certificate.cluster_issuer:
            needed.add("clusterissuers")
    return frozenset(needed)


def namespaces_with_secrets(stack: Stack) -> tuple[str, ...]:
    """Namespaces of hubs whose Secrets must exist before the first update."""
    login = isinstance(stack.site.authenticator, OAuthAuthenticator)
    return tuple(hub.name for hub in stack.hubs if login or ((own := _certificate(hub)) and own.secret))


def namespaces_with_issuers(stack: Stack) -> tuple[str, ...]:
    return tuple(hub.name for hub in stack.hubs if (own := _certificate(hub)) and own.issuer)


def lacking(stack: Stack, cluster: ClusterObjects, now: dt.datetime) -> tuple[Problem, ...]:
    """What an update would wait for in vain, or what people would meet after it."""
    found = [*_runtime(stack, cluster), *_two_labellers(stack, cluster)]
    for index, hub in enumerate(stack.hubs):
        loc: Loc = ("hubs", index)
        found += [*_storage(loc, hub, stack, cluster), *_entry(loc, hub, cluster, now), *_login(stack, hub, cluster)]
    return tuple(found)


def worth_knowing(stack: Stack, cluster: ClusterObjects) -> tuple[Problem, ...]:
    """What works on the first day and surprises people later."""
    found: list[Problem] = []
    for index, hub in enumerate(stack.hubs):
        loc: Loc = ("hubs", index, "storage")
        if len(_pools_of_profiles(stack, hub)) < 2:
            found += _node_bound(loc, hub, stack, cluster)
        found += [*_deleted(loc, hub, cluster), *_kept_sizes(loc, hub, cluster)]
    return tuple(found)


def _node_bound(loc: Loc, hub: Hub, stack: Stack, cluster: ClusterObjects) -> Iterator[Problem]:
    """Homes that only one node can mount; of several pools, all but one are then closed to a person."""
    found, is_shared = _class_of_homes(hub, cluster), hub.storage.homes.access == "ReadWriteMany"
    if found is None or found.get("provisioner") not in NODE_BOUND or is_shared or len(stack.fleet.node_names) < 2:
        return  # volumes of one node refuse that access mode; some provisioners also have shared ones, which do not
    pools = _pools_of_profiles(stack, hub)
    elsewhere = f"in one of the pools {listing(pools)}, " if len(pools) > 1 else ""
    reason = (
        f"homes of class {_name(found)} are bound to the node of the first start ({found['provisioner']}): a person's "
        f"servers start only there, {elsewhere}and not while that node is full or down"
    )
    fix = "name a class whose volumes every node can mount, or homes.nfs, before people have homes"
    yield _problem((*loc, "homes", "storage_class"), hub.storage.homes.storage_class, reason, fix)


def _pools_of_profiles(stack: Stack, hub: Hub) -> list[str]:
    return sorted({pool for profile in hub.profiles for pool in landing_pools(stack, profile)})


def _deleted(loc: Loc, hub: Hub, cluster: ClusterObjects) -> Iterator[Problem]:
    if (found := _class_of_homes(hub, cluster)) and found.get("reclaimPolicy", "Delete") == "Delete":
        reason = (
            f"homes of class {_name(found)} go with their claims: whoever deletes namespace {hub.name} deletes them"
        )
        yield _problem((*loc, "homes"), None, reason, "name a class with reclaimPolicy Retain, or keep backups")


def _kept_sizes(loc: Loc, hub: Hub, cluster: ClusterObjects) -> Iterator[Problem]:
    """Volumes that are there and keep their size, whatever the stack says now."""
    claims = cluster.claims.get(hub.name) or ()
    stated = {
        "homes": ("claim-", hub.storage.homes.size_gib),
        "database": (DATABASE_CLAIM, hub.storage.database.size_gib),
    }
    for part, (prefix, size_gib) in stated.items():
        smaller = [each for each in claims if _name(each).startswith(prefix) and 0 < _gib(each) < size_gib]
        if not smaller:
            continue
        classes = cluster.kind("storageclasses") or ()
        fixed = sorted({name for each in smaller if (name := _fixed_size(each, classes))})
        patch = f"kubectl --namespace {hub.name} patch persistentvolumeclaim {_name(smaller[0])} --patch"
        to_size = f"{{spec: {{resources: {{requests: {{storage: {size_gib:g}Gi}}}}}}}}"
        fix = f"{patch} '{to_size}'"
        if fixed:
            fix = f"copy what is in there: class {listing(fixed)} does not expand volumes"
        there = listing([_name(each) for each in smaller], most=4)
        yield _problem(
            (*loc, part, "size_gib"),
            f"{size_gib:g}",
            f"is the size of new volumes only, and these are smaller: {there}",
            fix,
        )


def _gib(claim: Mapping[str, Any]) -> float:
    """Requested size; 0 if it is not in the units that this project writes."""
    requested = str((((claim.get("spec") or {}).get("resources") or {}).get("requests") or {}).get("storage", ""))
    found = re.fullmatch(r"([\d.]+)([GMT])i", requested)
    return float(found[1]) * {"M": 1 / 1024, "G": 1, "T": 1024}[found[2]] if found else 0


def _fixed_size(claim: Mapping[str, Any], classes: Objects) -> str | None:
    """The claim's class, if it does not expand volumes."""
    found = _find(classes, str((claim.get("spec") or {}).get("storageClassName")))
    return _name(found) if found is not None and not found.get("allowVolumeExpansion") else None


def _class_of_homes(hub: Hub, cluster: ClusterObjects) -> Mapping[str, Any] | None:
    if hub.storage.homes.nfs is not None:
        return None
    classes, name = cluster.kind("storageclasses") or (), hub.storage.homes.storage_class
    defaults = (each for each in classes if _is_default(each, "storageclasses"))
    return _find(classes, name) if name else next(defaults, None)


def _runtime(stack: Stack, cluster: ClusterObjects) -> Iterator[Problem]:
    """What the site or its operator has to bring: a runtime class, nodes that offer GPUs, and labels of them."""
    pools, provided = _pools_of_the_site(stack), isinstance(stack.runtime, ProvidedRuntime)
    if not pools:
        return
    classes = cluster.kind("runtimeclasses")
    if classes is not None and RUNTIME_CLASS not in _names(classes):
        reason, fix = "is not in the stack", "install NVIDIA's container toolkit and its runtime class on the cluster"
        if provided:
            reason, fix = "comes from the GPU operator", "look at the operator's ClusterPolicy and its pods"
        reason += f", and the cluster has no runtime class {RUNTIME_CLASS}"
        yield _problem(("runtime",), None, reason, f"{fix}, or {_OWN_RUNTIME}")
    for index, pool in pools.items():
        nodes = [each for each in cluster.kind("nodes") or () if _name(each) in pool.node_names]
        loc: Loc = ("fleet", "pools", index)
        if without := [_name(each) for each in nodes if not _offers_gpus(each)]:
            fix = f"look at the device plugin's pods there, or {_OWN_RUNTIME}"
            yield _problem(loc, pool.name, f"offers no nvidia.com/gpu on {listing(without)}", fix)
        elif provided and (unlabelled := [_name(each) for each in nodes if GFD_DRIVER not in _labels(each)]):
            reason = f"has no label {GFD_DRIVER} on {listing(unlabelled)}, so a changed driver is not seen"
            yield _problem(loc, pool.name, reason, "look at the pods of the operator's gpu-feature-discovery there")


def _two_labellers(stack: Stack, cluster: ClusterObjects) -> Iterator[Problem]:
    """Two Node Feature Discoveries remove each other's labels. Ours never sets one of NFD's own namespace."""
    if not _discovers(stack):
        return
    others = [each for each in cluster.kind("nodefeatures") or () if not OURS.items() <= _labels(each).items()]
    labelled = [
        _name(each) for each in cluster.kind("nodes") or () if any(key.startswith(_NFD_PREFIX) for key in _labels(each))
    ]
    if others or labelled:
        seen = f"it labelled {listing(labelled)}" if labelled else f"{NODE_FEATURES} is not of this stack"
        fix = "leave it out; if the GPU operator runs there, write runtime: {provided_by: gpu-operator}"
        reason = f"would be a second Node Feature Discovery on the cluster ({seen}), and they overwrite each other"
        yield _problem(("runtime", "node_feature_discovery"), None, reason, fix)


def _discovers(stack: Stack) -> bool:
    return stack.own_runtime is not None and stack.own_runtime.node_feature_discovery is not None


def _pools_of_the_site(stack: Stack) -> dict[int, Pool]:
    """Pools whose GPUs the site's own runtime serves, by index."""
    if stack.own_runtime is not None:
        return {}
    claimed = by_claims(stack)
    return {n: pool for n, pool in enumerate(stack.fleet.pools) if pool.gpus_of_node and pool.name not in claimed}


def _storage(loc: Loc, hub: Hub, stack: Stack, cluster: ClusterObjects) -> Iterator[Problem]:
    homes, classes = hub.storage.homes, cluster.kind("storageclasses")
    parts = {"database": ("the hub's database", hub.storage.database.storage_class)}
    parts |= {} if homes.nfs else {"homes": ("homes", homes.storage_class)}
    for part, (what, name) in parts.items():
        so = f"{what} would wait for a volume"
        yield from _class((*loc, "storage", part, "storage_class"), name, classes, "storageclasses", so)
    if len(_pools_of_profiles(stack, hub)) > 1:
        yield from _node_bound((*loc, "storage"), hub, stack, cluster)


def _entry(loc: Loc, hub: Hub, cluster: ClusterObjects, now: dt.datetime) -> Iterator[Problem]:
    expose = hub.expose
    if isinstance(expose, Ingress):
        so = "no controller would serve the ingress"
        so += "" if expose.ingress_class else ", unless one serves those without a class"
        classes = None if _OWN_CLASS in expose.annotations else cluster.kind("ingressclasses")
        yield from _class((*loc, "expose", "ingress_class"), expose.ingress_class, classes, "ingressclasses", so)
    if isinstance(expose, Gateway) and (gateways := cluster.kind("gateways")) is not None:
        yield from _gateway((*loc, "expose"), expose, hub.name, gateways)
    if not isinstance(expose, Entry) or expose.certificate is None:
        return
    at, certificate = (*loc, "expose", "certificate"), expose.certificate
    if certificate.secret and (secrets := cluster.secrets.get(hub.name)) is not None:
        secret = _find(secrets, certificate.secret)
        if secret is None:
            fix = f"{_namespace_first(hub)} create secret tls {certificate.secret} --cert FILE --key FILE"
            yield _problem((*at, "secret"), certificate.secret, f"is not in namespace {hub.name}", fix)
        else:
            yield from _tls_secret((*at, "secret"), secret, str(expose.host), now)
    if certificate.issuer:
        found, what = cluster.issuers.get(hub.name), f"Issuer of cert-manager in namespace {hub.name}"
        yield from _issuer((*at, "issuer"), certificate.issuer, found, what)
    if certificate.cluster_issuer:
        found = cluster.kind("clusterissuers")
        yield from _issuer((*at, "cluster_issuer"), certificate.cluster_issuer, found, "ClusterIssuer of cert-manager")


def _gateway(loc: Loc, expose: Gateway, hub: str, gateways: Objects) -> Iterator[Problem]:
    """A Gateway or listener that is not there, or does not admit the hub's routes."""
    there = {((each.get("metadata") or {}).get("namespace"), _name(each)): each for each in gateways}
    namespace = expose.gateway_namespace or hub
    found = there.get((namespace, expose.gateway))
    if found is None:
        names = listing(sorted(f"{where}/{name}" for where, name in there), most=8) or "there is none"
        fix = f"create it, or name another, with its gateway_namespace: {names}"
        yield _problem((*loc, "gateway"), expose.gateway, f"is no Gateway of namespace {namespace}", fix)
        return
    listeners = {str(each.get("name")): each for each in (found.get("spec") or {}).get("listeners") or ()}
    named = {key: name for key in ("listener", "http_listener") if (name := getattr(expose, key))}
    for key, name in named.items():
        if name not in listeners:
            yield _problem((*loc, key), name, "is no listener of that Gateway", f"choose from {listing([*listeners])}")
    # Each that is named has to let the hub in, otherwise one.
    used = [listeners[name] for name in named.values() if name in listeners] or [*listeners.values()]
    enough = all if named else any
    if namespace != hub and not enough(_admits(each) != "Same" for each in used):
        reason = f"admits only routes of its own namespace {namespace}, and the hub's are in {hub}"
        fix = "set allowedRoutes.namespaces on its listeners: from: All, or a selector for the hub's namespace"
        yield _problem((*loc, "gateway"), expose.gateway, reason, fix)
    if not enough(_serves(each, expose.host) for each in used):
        yield _problem((*loc, "host"), expose.host, "is the host of none of its listeners", "add a listener for it")


def _admits(listener: Mapping[str, Any]) -> str:
    return str(((listener.get("allowedRoutes") or {}).get("namespaces") or {}).get("from", "Same"))


def _serves(listener: Mapping[str, Any], host: str) -> bool:
    served = str(listener.get("hostname") or host)
    return host == served or (served.startswith("*.") and host.endswith(served[1:]))


def _tls_secret(loc: Loc, secret: Mapping[str, Any], host: str, now: dt.datetime) -> Iterator[Problem]:
    name, fix = _name(secret), "create it with: kubectl create secret tls"
    if secret.get("type") != TLS_TYPE:
        yield _problem(loc, name, f"is a Secret of the type {secret.get('type')}, not {TLS_TYPE}", fix)
        return
    try:
        pem = base64.b64decode((secret.get("data") or {})["tls.crt"], validate=True)
    except (KeyError, ValueError):
        yield _problem(loc, name, "has no certificate in tls.crt", fix)
        return
    yield from (_problem(loc, name, reason, advice) for reason, advice in certificate_problems(pem, host, now))


def _login(stack: Stack, hub: Hub, cluster: ClusterObjects) -> Iterator[Problem]:
    """The Secret of single sign-on, which the hub reads at its start."""
    login, secrets = stack.site.authenticator, cluster.secrets.get(hub.name)
    if not isinstance(login, OAuthAuthenticator) or secrets is None:
        return
    wanted, loc = login.client_secret, ("site", "authenticator", "client_secret")
    literal = f"--from-literal={wanted.key}=…"
    fix = f"{_namespace_first(hub)} create secret generic {wanted.secret} {literal}"
    if (secret := _find(secrets, wanted.secret)) is None:
        yield _problem(loc, wanted.secret, f"is not in namespace {hub.name}, and the hub would not start", fix)
    elif wanted.key not in (secret.get("data") or {}):
        keys = listing(sorted(secret.get("data") or {})) or "none"
        reason = f"is no key of Secret {wanted.secret}, which has: {keys}"
        yield _problem((*loc, "key"), wanted.key, reason, "name one of these, or add it to the Secret")


def _class(loc: Loc, name: str | None, classes: Objects | None, kind: str, so: str) -> Iterator[Problem]:
    """A class that the cluster lacks, or no class where the cluster has no default."""
    what = _CLASSES[kind]
    if classes is None:
        return
    names = sorted(_names(classes))
    choice = f"choose from {listing(names, most=8)}" if names else f"the cluster has no {what}: install one first"
    if name is not None and name not in names:
        yield _problem(loc, name, f"is no {what} of the cluster, so {so}", choice)
    elif name is None and not any(_is_default(each, kind) for each in classes):
        yield _problem(loc, None, f"is not set, and the cluster has no default {what}, so {so}", choice)


def _issuer(loc: Loc, name: str, found: Objects | None, what: str) -> Iterator[Problem]:
    if found is not None and name not in _names(found):
        fix = f"create it, or name another: {listing(sorted(_names(found)), most=8) or 'there is none'}"
        yield _problem(loc, name, f"is no {what}", fix)


def _namespace_first(hub: Hub) -> str:
    return f"kubectl create namespace {hub.name} if it is new, then kubectl --namespace {hub.name}"


def _problem(loc: Loc, value: str | None, reason: str, fix: str) -> Problem:
    return Problem(path_text(loc), "" if value is None else show(value), reason, fix)


def _certificate(hub: Hub) -> Certificate | None:
    return hub.expose.certificate if isinstance(hub.expose, Entry) else None


def _offers_gpus(node: Mapping[str, Any]) -> bool:
    offered = ((node.get("status") or {}).get("allocatable") or {}).items()
    return any(key.startswith(NVIDIA_PREFIX) and str(count) != "0" for key, count in offered)


def _is_default(each: Mapping[str, Any], kind: str) -> bool:
    found = (each.get("metadata") or {}).get("annotations") or {}
    return any(found.get(annotation) == "true" for annotation in _DEFAULT[kind])


def _name(each: Mapping[str, Any]) -> str:
    return str((each.get("metadata") or {}).get("name", ""))


def _labels(each: Mapping[str, Any]) -> Mapping[str, str]:
    return (each.get("metadata") or {}).get("labels") or {}


def _names(objects: Objects) -> set[str]:
    return {_name(each) for each in objects}


def _find(objects: Objects, name: str) -> Mapping[str, Any] | None:
    return next((each for each in objects if _name(each) == name), None)
