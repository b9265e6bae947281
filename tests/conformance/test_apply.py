"""Creating and changing objects: server-side apply, one field manager for each resource."""

from __future__ import annotations

import base64
import re
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest
from conversation import Conversation, NotReady, Refused

from lab.providers.values import Secret, has_secret, plain

if TYPE_CHECKING:
    from conftest import Cluster, Configured

Values = dict[str, Any]


def config_map(namespace: str, data: Values, name: str = "settings", **metadata: Any) -> Values:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"namespace": namespace, "name": name, **metadata},
        "data": data,
    }


def deployment(namespace: str, replicas: int, **annotations: str) -> Values:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "namespace": namespace,
            "name": "web",
            "annotations": {"pulumi.com/skipAwait": "true", **annotations},
        },
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "main", "image": "nginx:1.27"}]},
            },
        },
    }


def managers(cluster: Cluster, namespace: str, name: str = "settings") -> list[str]:
    live = cluster.get("v1", "ConfigMap", name, namespace)
    assert live is not None
    return [each["manager"] for each in live["metadata"]["managedFields"] if each["operation"] == "Apply"]


@pytest.fixture
def mutable(configured: Configured) -> Conversation:
    return configured(enableConfigMapMutable=True)


def test_a_created_object_is_there_and_its_live_fields_are_outputs(
    plugin: Conversation, namespace: str, cluster: Cluster
) -> None:
    """Provider docs, "Outputs": the object as the server has it."""
    resource = plugin.resource("core/v1:ConfigMap")
    outputs = resource.create(config_map(namespace, {"a": "1"}))
    live = cluster.get("v1", "ConfigMap", "settings", namespace)
    assert live is not None
    assert live["data"] == {"a": "1"}
    assert outputs["metadata"]["uid"] == live["metadata"]["uid"]


def test_each_resource_has_a_field_manager_of_its_own(mutable: Conversation, namespace: str, cluster: Cluster) -> None:
    """Provider docs, "Server-side apply", field managers: one for each resource, at its first update."""
    appliers = []
    for name in ("one", "two"):
        resource = mutable.resource("core/v1:ConfigMap", name)
        resource.create(config_map(namespace, {"a": "1"}, name))
        resource.update(config_map(namespace, {"a": "2"}, name))
        appliers += managers(cluster, namespace, name)
    assert [each for each in appliers if not re.fullmatch(r"pulumi-kubernetes-[0-9a-f]{8}", each)] == []
    assert len(set(appliers)) == len(appliers) == 2


def test_the_field_manager_stays_the_same_from_update_to_update(
    mutable: Conversation, namespace: str, cluster: Cluster
) -> None:
    """Provider docs, "Server-side apply": otherwise a removed field would stay for ever."""
    resource = mutable.resource("core/v1:ConfigMap")
    resource.create(config_map(namespace, {"a": "1"}))
    resource.update(config_map(namespace, {"a": "2"}))
    before = managers(cluster, namespace)
    assert len(before) == 1
    resource.update(config_map(namespace, {"a": "3"}))
    assert managers(cluster, namespace) == before


def test_an_object_that_exists_loses_nothing(plugin: Conversation, namespace: str, cluster: Cluster) -> None:
    """Provider changelog 4.29: creating an object that exists is an error; before, ours joins what is there."""
    cluster.create(config_map(namespace, {"theirs": "1"}), namespace)
    ours: dict[str, str] = {}
    try:
        plugin.resource("core/v1:ConfigMap").create(config_map(namespace, {"ours": "1"}))
        ours = {"ours": "1"}
    except Refused as error:
        assert "already exists" in str(error)  # noqa: PT017 - a release refuses, the module of January 2026 applies
    live = cluster.get("v1", "ConfigMap", "settings", namespace)
    assert live is not None
    assert live["data"] == {"theirs": "1", **ours}


def test_an_object_that_exists_can_be_taken_over_on_request(
    configured: Configured, namespace: str, cluster: Cluster
) -> None:
    """Provider docs, `upsertExistingObjects`: create becomes "create or update"."""
    cluster.create(config_map(namespace, {"theirs": "1"}), namespace)
    configured(upsertExistingObjects=True).resource("core/v1:ConfigMap").create(config_map(namespace, {"ours": "1"}))
    live = cluster.get("v1", "ConfigMap", "settings", namespace)
    assert live is not None
    assert live["data"] == {"theirs": "1", "ours": "1"}


def test_an_invalid_field_is_named(plugin: Conversation, namespace: str, cluster: Cluster) -> None:
    """Kubernetes API conventions, Status causes: the server says which field; the provider passes it on."""
    body = deployment(namespace, 1)
    body["spec"]["template"]["spec"]["containers"][0]["name"] = "Not_A_Name"
    with pytest.raises(Refused, match=r"containers\[0\]\.name"):
        plugin.resource("apps/v1:Deployment").create(body)
    assert cluster.get("apps/v1", "Deployment", "web", namespace) is None


def test_a_misspelt_field_of_a_new_object_is_dropped_without_a_word(
    plugin: Conversation, namespace: str, cluster: Cluster
) -> None:
    """So what our components make is compared with the server's schema by a test of the lab."""
    body = deployment(namespace, 1)
    body["spec"]["replica"] = 3
    plugin.resource("apps/v1:Deployment").create(body)
    live = cluster.get("apps/v1", "Deployment", "web", namespace)
    assert live is not None
    assert "replica" not in live["spec"]


def test_a_field_that_the_program_drops_goes_away(mutable: Conversation, namespace: str, cluster: Cluster) -> None:
    """Kubernetes docs, server-side apply: a field that its only manager stops applying is removed."""
    resource = mutable.resource("core/v1:ConfigMap")
    resource.create(config_map(namespace, {"a": "1", "b": "2"}))
    outputs = resource.update(config_map(namespace, {"a": "1"}))
    assert outputs["data"] == {"a": "1"}
    live = cluster.get("v1", "ConfigMap", "settings", namespace)
    assert live is not None
    assert live["data"] == {"a": "1"}


def test_fields_of_others_stay(mutable: Conversation, namespace: str, cluster: Cluster) -> None:
    """Kubernetes docs, server-side apply: what another manager set is not touched."""
    resource = mutable.resource("core/v1:ConfigMap")
    resource.create(config_map(namespace, {"a": "1"}))
    cluster.merge(config_map(namespace, {"theirs": "x"}), namespace)
    resource.update(config_map(namespace, {"a": "2"}))
    live = cluster.get("v1", "ConfigMap", "settings", namespace)
    assert live is not None
    assert live["data"] == {"a": "2", "theirs": "x"}


def test_a_field_that_somebody_else_changed_is_a_conflict(
    mutable: Conversation, namespace: str, cluster: Cluster
) -> None:
    """Provider docs, "Server-side apply", conflicts: an error that names manager and field; nothing is changed.

    The plugin tells it as an initialisation that failed: the new inputs are kept, and the next update tries again.
    """
    resource = mutable.resource("core/v1:ConfigMap")
    resource.create(config_map(namespace, {"a": "1"}))
    cluster.merge(config_map(namespace, {"a": "theirs"}), namespace)
    reason = r"(?is)failed to fully initialize or become live: server-side apply field conflict detected"
    with pytest.raises(NotReady, match=reason) as refused:
        resource.update(config_map(namespace, {"a": "2"}))
    assert "somebody-else" in str(refused.value)
    assert ".data.a" in str(refused.value)
    assert refused.value.properties["data"] == {"a": "theirs"}
    live = cluster.get("v1", "ConfigMap", "settings", namespace)
    assert live is not None
    assert live["data"] == {"a": "theirs"}


def test_a_conflict_can_be_forced(mutable: Conversation, namespace: str, cluster: Cluster) -> None:
    """Provider docs, annotation pulumi.com/patchForce: the resource takes the field over."""
    resource = mutable.resource("core/v1:ConfigMap")
    resource.create(config_map(namespace, {"a": "1"}))
    cluster.merge(config_map(namespace, {"a": "theirs"}), namespace)
    forced = config_map(namespace, {"a": "2"}, annotations={"pulumi.com/patchForce": "true"})
    assert resource.update(forced)["data"] == {"a": "2"}


def test_an_ignored_field_is_left_to_whoever_changed_it(plugin: Conversation, namespace: str, cluster: Cluster) -> None:
    """Pulumi docs, `ignoreChanges`, and provider docs on autoscalers: the live number of replicas stays."""
    resource = plugin.resource("apps/v1:Deployment")
    resource.create(deployment(namespace, 1))
    scaled = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": {"replicas": 3}}
    cluster.merge(scaled, namespace)
    outputs = resource.update(deployment(namespace, 1, team="a"), ignore_changes=("spec.replicas",))
    assert outputs["spec"]["replicas"] == 3
    assert outputs["metadata"]["annotations"]["team"] == "a"


def test_an_update_of_an_object_that_somebody_deleted_is_an_error(
    mutable: Conversation, namespace: str, cluster: Cluster
) -> None:
    """Provider source, Update: the live object is read first. After a refresh the next update makes it."""
    resource = mutable.resource("core/v1:ConfigMap")
    resource.create(config_map(namespace, {"a": "1"}))
    cluster.delete("v1", "ConfigMap", "settings", namespace)
    reason = r'(?s)update of resource .* failed: configmaps "settings" not found.*unable to get cluster state'
    with pytest.raises(Refused, match=reason):
        resource.update(config_map(namespace, {"a": "2"}))
    assert cluster.get("v1", "ConfigMap", "settings", namespace) is None
    assert not resource.read()
    resource.create(config_map(namespace, {"a": "2"}))
    assert cluster.get("v1", "ConfigMap", "settings", namespace) is not None


def test_a_secret_is_sent_in_clear_and_kept_sealed(plugin: Conversation, namespace: str, cluster: Cluster) -> None:
    """Pulumi docs, "Secrets", and provider docs, Secret: data and stringData are secret outputs."""
    resource = plugin.resource("core/v1:Secret")
    body = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"namespace": namespace, "name": "token"},
        "stringData": Secret({"token": "hush"}),
    }
    outputs = resource.create(body)
    live = cluster.get("v1", "Secret", "token", namespace)
    assert live is not None
    assert base64.b64decode(live["data"]["token"]) == b"hush"
    assert has_secret(outputs["data"])
    assert "hush" not in str(outputs)
    assert base64.b64encode(b"hush").decode() not in str(outputs)


def test_a_secret_in_any_other_object_is_kept_sealed(mutable: Conversation, namespace: str) -> None:
    """Pulumi docs, "Secrets": what goes in as a secret comes out as a secret, after an update and a refresh too."""
    resource = mutable.resource("core/v1:ConfigMap")
    resource.create(config_map(namespace, {"open": "1", "sealed": Secret("hush")}))
    assert resource.outputs["data"]["open"] == "1"
    assert isinstance(resource.outputs["data"]["sealed"], Secret)
    resource.update(config_map(namespace, {"open": "2", "sealed": Secret("hush")}))
    assert resource.read()
    assert "hush" not in str(resource.outputs) + str(resource.inputs)
    assert plain(resource.outputs["data"]) == {"open": "2", "sealed": "hush"}


def test_a_custom_resource_and_its_definition(plugin: Conversation, namespace: str, unique: str) -> None:
    """Provider docs, CustomResource: any kind that the server serves, found by discovery."""
    group = f"{unique}.example.com"
    definition = plugin.resource("apiextensions.k8s.io/v1:CustomResourceDefinition")
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    definition.create(
        {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": f"things.{group}"},
            "spec": {
                "group": group,
                "scope": "Namespaced",
                "names": {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"},
                "versions": [
                    {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}},
                ],
            },
        }
    )
    thing = plugin.resource(f"{group}/v1:Thing")
    body = {"apiVersion": f"{group}/v1", "kind": "Thing", "metadata": {"name": "a"}, "spec": {"size": 3, "part": 0.5}}
    body["metadata"]["namespace"] = namespace
    assert thing.create(body)["spec"] == {"size": 3, "part": 0.5}
    assert thing.diff(body).changes == {}
    thing.delete()
    definition.delete()


def test_policies_and_classes_need_no_code_of_their_own(plugin: Conversation, namespace: str, unique: str) -> None:
    """Provider docs: every kind of the API is a resource. Here some that a GPU commons uses."""
    bodies = {
        "node.k8s.io/v1:RuntimeClass": {"metadata": {"name": unique}, "handler": "nvidia"},
        "storage.k8s.io/v1:StorageClass": {
            "metadata": {"name": unique},
            "provisioner": "example.com/none",
            "volumeBindingMode": "WaitForFirstConsumer",
        },
        "networking.k8s.io/v1:NetworkPolicy": {
            "metadata": {"name": "deny", "namespace": namespace},
            "spec": {"podSelector": {}, "policyTypes": ["Ingress"]},
        },
        "admissionregistration.k8s.io/v1:ValidatingAdmissionPolicy": {
            "metadata": {"name": unique},
            "spec": {
                "matchConstraints": {
                    "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
                    "resourceRules": [
                        {
                            "apiGroups": [""],
                            "apiVersions": ["v1"],
                            "operations": ["CREATE"],
                            "resources": ["pods"],
                        }
                    ],
                },
                "validations": [{"expression": "true"}],
            },
        },
    }
    for kind, body in bodies.items():
        version, name = kind.split(":")
        resource = plugin.resource(kind)
        resource.create({"apiVersion": version, "kind": name, **body})
        assert resource.diff({"apiVersion": version, "kind": name, **body}).changes == {}, kind
        resource.delete()


def test_many_requests_at_once(plugin: Conversation, namespace: str, cluster: Cluster) -> None:
    """Pulumi docs, `--parallel`: the engine asks for many resources at the same time."""

    def create(number: int) -> str:
        resource = plugin.resource("core/v1:ConfigMap", f"many-{number}")
        resource.create(config_map(namespace, {"n": str(number)}, f"many-{number}"))
        return resource.id

    with ThreadPoolExecutor(16) as pool:
        ids = set(pool.map(create, range(32)))
    assert len(ids) == 32
    found = [
        each for each in cluster.list("v1", "ConfigMap", namespace) if each["metadata"]["name"].startswith("many-")
    ]
    assert len(found) == 32
