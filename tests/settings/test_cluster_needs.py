"""What a cluster lacks of a stack: each is one sentence with the command or the choice that helps."""

from __future__ import annotations

import base64
import datetime as dt
from pathlib import Path
from typing import Any

import pytest
import trustme

from platforms.kubernetes.feature_discovery import definitions
from settings.cluster_needs import ClusterObjects, kinds_needed, lacking, worth_knowing
from settings.models import Hub
from settings.pools import ProvidedRuntime
from settings.reading import Stack, load_stack
from workloads.authenticator import OAuthAuthenticator, SecretKey

NOW = dt.datetime(2026, 11, 30, tzinfo=dt.UTC)
HOST = "hub.example.edu"
EXPORT = {"server": "nfs.example.edu", "path": "/export/homes"}
DEFAULT_STORAGE = "storageclass.kubernetes.io/is-default-class"


@pytest.fixture(scope="module")
def fall() -> Stack:
    """The stack, without a storage class of its own."""
    return with_hub(load_stack(Path(__file__).parents[2] / "stacks" / "Pulumi.dsmlp-fall.yaml"), storage={})


def named(name: str, **more: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, **more.pop("metadata", {})}, **more}


def with_hub(stack: Stack, **changes: Any) -> Stack:
    hub = Hub.model_validate({**stack.hubs[0].model_dump(by_alias=True), **changes})
    return stack.model_copy(update={"hubs": (hub,)})


def texts(stack: Stack, secrets: dict[str, Any] | None = None, issuers: Any = None, **kinds: Any) -> list[str]:
    hub = stack.hubs[0].name
    cluster = ClusterObjects(kinds, {hub: secrets} if secrets is not None else {}, {hub: issuers})  # type: ignore[dict-item]
    return [str(each).replace("\n    ", "; ") for each in lacking(stack, cluster, NOW)]


def test_a_cluster_without_a_default_class_leaves_homes_waiting(fall: Stack) -> None:
    database, homes = texts(fall, storageclasses=[named("fast"), named("slow")])
    assert database == (
        "hubs[0].storage.database.storage_class: is not set, and the cluster has no default storage class, so the "
        "hub's database would wait for a volume; choose from fast, slow"
    )
    assert homes.startswith("hubs[0].storage.homes.storage_class: is not set")
    assert texts(with_hub(fall, storage={"homes": {"nfs": EXPORT}}), storageclasses=[named("fast"), named("slow")]) == [
        database
    ]
    default = named("fast", metadata={"annotations": {DEFAULT_STORAGE: "true"}})
    assert not texts(fall, storageclasses=[default])


def test_a_class_that_nobody_has_is_named_beside_those_that_are_there(fall: Stack) -> None:
    gold = with_hub(fall, storage={"homes": {"storage_class": "fast"}, "database": {"storage_class": "gold"}})
    (text,) = texts(gold, storageclasses=[named("fast")])
    assert text.startswith('hubs[0].storage.database.storage_class: "gold" is no storage class of the cluster')
    assert text.endswith("choose from fast")
    ingress = {"kind": "ingress", "host": HOST, "ingress_class": "nginx"}
    (text,) = texts(with_hub(fall, expose=ingress), ingressclasses=[named("traefik")])
    assert '"nginx" is no ingress class of the cluster, so no controller would serve the ingress; choose' in text


def test_a_controller_may_be_named_by_an_annotation(fall: Stack) -> None:
    ingress = {"kind": "ingress", "host": HOST}
    (text,) = texts(with_hub(fall, expose=ingress), ingressclasses=[])
    assert "so no controller would serve the ingress, unless one serves those without a class" in text
    annotated = {**ingress, "annotations": {"kubernetes.io/ingress.class": "gce"}}
    assert not texts(with_hub(fall, expose=annotated), ingressclasses=[])


def test_a_gateway_that_does_not_let_the_hub_in_is_named(fall: Stack) -> None:
    def site(**listener: Any) -> dict[str, Any]:
        secure = {"name": "secure", "hostname": "*.example.edu", **listener}
        return named("campus", metadata={"namespace": "gateways"}, spec={"listeners": [secure]})

    everybody = {"allowedRoutes": {"namespaces": {"from": "All"}}}
    at_gateway = {"gateway": "campus", "gateway_namespace": "gateways", "listener": "secure"}
    stack = with_hub(fall, expose={"kind": "gateway", "host": HOST, **at_gateway})
    assert "gateways" in kinds_needed(stack)
    assert not texts(stack, gateways=[site(**everybody)])
    (text,) = texts(stack, gateways=[site()])
    assert '"campus" admits only routes of its own namespace gateways, and the hub\'s are in datahub' in text
    (text,) = texts(stack, gateways=[site(**{**everybody, "name": "tls"})])
    assert text == 'hubs[0].expose.listener: "secure" is no listener of that Gateway; choose from tls'
    (text,) = texts(stack, gateways=[site(**{**everybody, "hostname": "other.example.edu"})])
    assert f'"{HOST}" is the host of none of its listeners' in text
    plain = {**everybody, "name": "web"}
    redirected = with_hub(fall, expose={"kind": "gateway", "host": HOST, **at_gateway, "http_listener": "web"})
    two = named("campus", metadata={"namespace": "gateways"}, spec={"listeners": [{"name": "secure"}, plain]})
    (text,) = texts(redirected, gateways=[two])
    assert "admits only routes of its own namespace" in text, "one listener that admits the hub is not enough"
    (text,) = texts(stack, gateways=[])
    assert '"campus" is no Gateway of namespace gateways; create it, or name another' in text


def test_gpus_by_claims_need_no_runtime_class() -> None:
    eks = load_stack(Path(__file__).parents[2] / "stacks" / "Pulumi.eks-g6.yaml")
    pools = tuple(pool.model_copy(update={"gpus_by": "claims"}) for pool in eks.fleet.pools)
    claiming = eks.model_copy(update={"fleet": eks.fleet.model_copy(update={"pools": pools})})
    assert not texts(claiming, runtimeclasses=[], nodes=[])


def test_homes_that_stay_on_one_node_close_the_other_pools(fall: Stack) -> None:
    default = {"annotations": {DEFAULT_STORAGE: "true"}}
    local = named("local-path", provisioner="rancher.io/local-path", metadata=default, reclaimPolicy="Retain")
    (text,) = texts(fall, storageclasses=[local])
    assert "homes of class local-path are bound to the node of the first start (rancher.io/local-path)" in text
    assert "in one of the pools gtx1080ti, rtx2080ti" in text
    assert text.endswith("name a class whose volumes every node can mount, or homes.nfs, before people have homes")
    of_one_pool = with_hub(fall, profiles=with_hub(fall).hubs[0].profiles[:2])
    assert not texts(of_one_pool, storageclasses=[local])
    (notice,) = worth_knowing(of_one_pool, ClusterObjects({"storageclasses": [local]}))
    assert "start only there, and not while that node is full or down" in str(notice)


def labelled(name: str, *labels: str, gpus: str = "8") -> dict[str, Any]:
    metadata = {"labels": dict.fromkeys(labels, "x")}
    return named(name, metadata=metadata, status={"allocatable": {"nvidia.com/gpu": gpus}})


def test_what_the_gpu_operator_gives_is_looked_for(fall: Stack) -> None:
    stack = fall.model_copy(update={"runtime": ProvidedRuntime(provided_by="gpu-operator")})
    assert {"runtimeclasses", "nodes"} <= kinds_needed(stack)
    assert "nodefeatures" not in kinds_needed(stack)
    fine = labelled("n01", "nvidia.com/cuda.driver-version.full", "feature.node.kubernetes.io/pci-10de.present")
    assert not texts(stack, runtimeclasses=[named("nvidia")], nodes=[fine])
    no_class, no_gpus = texts(stack, runtimeclasses=[], nodes=[labelled("n01"), labelled("n02", gpus="0")])
    assert no_class == (
        "runtime: comes from the GPU operator, and the cluster has no runtime class nvidia; look at the operator's "
        "ClusterPolicy and its pods, or write runtime.device_plugin, and the stack brings it"
    )
    assert 'fleet.pools[0]: "gtx1080ti" offers no nvidia.com/gpu on n02; look at' in no_gpus
    (no_label,) = texts(stack, runtimeclasses=[named("nvidia")], nodes=[labelled("n01")])
    assert "has no label nvidia.com/cuda.driver-version.full on n01, so a changed driver is not seen" in no_label


def test_a_second_node_feature_discovery_is_told_before_it_overwrites_the_first(fall: Stack) -> None:
    assert {"nodefeatures", "nodes"} <= kinds_needed(fall)
    (definition,) = [each for name, each in definitions().items() if name.startswith("nodefeatures.")]
    ours = [labelled("n01", "nvidia.com/gpu.product")]
    assert not texts(fall, nodefeatures=[definition], nodes=ours)
    (text,) = texts(fall, nodefeatures=[named("nodefeatures.nfd.k8s-sigs.io")], nodes=ours)
    assert text == (
        "runtime.node_feature_discovery: would be a second Node Feature Discovery on the cluster "
        "(nodefeatures.nfd.k8s-sigs.io is not of this stack), and they overwrite each other; leave it out; if the GPU "
        "operator runs there, write runtime: {provided_by: gpu-operator}"
    )
    theirs = [labelled("n01", "feature.node.kubernetes.io/cpu-cpuid.AVX")]
    (text,) = texts(fall, nodefeatures=[], nodes=theirs)
    assert "(it labelled n01)" in text


def test_homes_that_every_node_can_mount_close_none(fall: Stack) -> None:
    default = {"annotations": {DEFAULT_STORAGE: "true"}}
    local = named("local-path", provisioner="rancher.io/local-path", metadata=default)
    shared = named("nfs", provisioner="nfs.csi.k8s.io", reclaimPolicy="Retain")
    of_class = {"homes": {"storage_class": "nfs"}, "database": {"storage_class": "local-path"}}
    of_provisioner = {
        "homes": {"storage_class": "folders", "access": "ReadWriteMany"},
        "database": of_class["database"],
    }
    folders = named("folders", provisioner="rancher.io/local-path", reclaimPolicy="Retain")
    for storage in (of_class, of_provisioner, {"homes": {"nfs": EXPORT}}):
        stack = with_hub(fall, storage=storage)
        assert not texts(stack, storageclasses=[local, shared, folders])
        assert not worth_knowing(stack, ClusterObjects({"storageclasses": [local, shared, folders]}))


def test_homes_that_go_with_their_namespace_are_worth_knowing(fall: Stack) -> None:
    ebs = named("ebs", provisioner="ebs.csi.aws.com", metadata={"annotations": {DEFAULT_STORAGE: "true"}})
    (notice,) = worth_knowing(fall, ClusterObjects({"storageclasses": [ebs]}))
    assert "homes of class ebs go with their claims: whoever deletes namespace datahub deletes them" in str(notice)


def test_volumes_that_are_there_keep_their_size(fall: Stack) -> None:
    def claim(name: str, size: str, of_class: str) -> dict[str, Any]:
        return named(name, spec={"storageClassName": of_class, "resources": {"requests": {"storage": size}}})

    claims = [claim("claim-ada", "5Gi", "grows"), claim("claim-alan", "10Gi", "grows")]
    claims += [claim("database-hub-0", "512Mi", "fixed"), claim("elsewhere", "1Gi", "grows")]
    classes = [named("grows", allowVolumeExpansion=True), named("fixed")]
    homes, database = worth_knowing(fall, ClusterObjects({"storageclasses": classes}, claims={"datahub": claims}))
    assert (homes.path, homes.value, homes.reason) == (
        "hubs[0].storage.homes.size_gib",
        '"10"',
        "is the size of new volumes only, and these are smaller: claim-ada",
    )
    assert "kubectl --namespace datahub patch persistentvolumeclaim claim-ada" in homes.fix
    assert database.fix == "copy what is in there: class fixed does not expand volumes"


def test_what_could_not_be_read_is_no_mistake(fall: Stack) -> None:
    assert not texts(fall, storageclasses=None)
    assert not texts(fall)


def tls(pem: bytes = b"", **more: Any) -> dict[str, Any]:
    return named("campus", **{"type": "kubernetes.io/tls", "data": {"tls.crt": base64.b64encode(pem).decode()}, **more})


def test_the_secret_of_a_certificate_is_looked_into(fall: Stack) -> None:
    expose = {"kind": "ingress", "host": HOST, "certificate": {"secret": "campus"}}
    stack = with_hub(fall, expose=expose)
    authority = trustme.CA()

    def pem(host: str) -> bytes:
        leaf = authority.issue_cert(host, not_before=NOW - dt.timedelta(1), not_after=NOW + dt.timedelta(9))
        return leaf.cert_chain_pems[0].bytes()

    assert not texts(stack, [tls(pem(HOST))])  # type: ignore[arg-type]
    (text,) = texts(stack, [])  # type: ignore[arg-type]
    assert '"campus" is not in namespace datahub; kubectl create namespace datahub if it is new, then' in text
    assert "kubectl --namespace datahub create secret tls campus" in text
    (text,) = texts(stack, [tls(pem("other.example.edu"))])  # type: ignore[arg-type]
    assert '"campus" is for other.example.edu, not for hub.example.edu' in text
    (text,) = texts(stack, [tls(pem(HOST), type="Opaque")])  # type: ignore[arg-type]
    assert '"campus" is a Secret of the type Opaque, not kubernetes.io/tls' in text
    (text,) = texts(stack, [tls(data={})])  # type: ignore[arg-type]
    assert '"campus" has no certificate in tls.crt' in text


@pytest.mark.parametrize("key", ["issuer", "cluster_issuer"])
def test_an_issuer_that_is_not_there_is_named(fall: Stack, key: str) -> None:
    stack = with_hub(fall, expose={"kind": "ingress", "host": HOST, "certificate": {key: "campus"}})
    there = {"issuers": [named("letsencrypt")], "clusterissuers": [named("letsencrypt")]}
    (text,) = texts(stack, **there)
    assert f'hubs[0].expose.certificate.{key}: "campus" is no ' in text
    assert text.endswith("create it, or name another: letsencrypt")
    assert ("clusterissuers" in kinds_needed(stack)) == (key == "cluster_issuer")


def test_the_secret_of_a_login_and_its_key_are_looked_for(fall: Stack) -> None:
    login = OAuthAuthenticator(
        kind="oauth", client_id="1", client_secret=SecretKey(secret="sso", key="client-secret"),
        callback_url="https://h.example.edu/c", authorize_url="https://i.example.edu/a",
        token_url="https://i.example.edu/t", userdata_url="https://i.example.edu/u", login_service="Campus",
    )  # fmt: skip
    stack = fall.model_copy(update={"site": fall.site.model_copy(update={"authenticator": login})})
    (text,) = texts(stack, [])  # type: ignore[arg-type]
    assert '"sso" is not in namespace datahub, and the hub would not start' in text
    (text,) = texts(stack, [named("sso", data={"secret": "x"})])  # type: ignore[arg-type]
    assert '"client-secret" is no key of Secret sso, which has: secret' in text
    assert not texts(stack, [named("sso", data={"client-secret": "eA=="})])  # type: ignore[arg-type]


def test_a_site_with_its_own_runtime_has_a_class_and_nodes_that_offer_gpus(fall: Stack) -> None:
    own = fall.model_copy(update={"runtime": None})
    offering = [named(name, status={"allocatable": {"nvidia.com/gpu": "8"}}) for name in own.fleet.node_names]
    assert not texts(own, runtimeclasses=[named("nvidia")], nodes=offering)
    offering[0] = named(offering[0]["metadata"]["name"], status={"allocatable": {"cpu": "8"}})
    found = texts(own, runtimeclasses=[], nodes=offering)
    assert "runtime: is not in the stack, and the cluster has no runtime class nvidia" in found[0]
    assert (
        f"offers no nvidia.com/gpu on {offering[0]['metadata']['name']}; look at the device plugin's pods" in found[1]
    )
    assert not texts(fall, runtimeclasses=[], nodes=[]), "the stack brings its own"
