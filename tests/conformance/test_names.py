"""Names, namespaces and what Check does to the inputs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from conftest import Cluster, Configured
    from conversation import Conversation

CONFIG_MAP = "core/v1:ConfigMap"


def config_map(**metadata: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"a": "1"}}


def test_an_object_without_a_name_gets_the_resource_name_and_a_random_suffix(plugin: Conversation) -> None:
    """Pulumi docs, "Resource names": autonaming; the Kubernetes provider joins with a hyphen."""
    names = {plugin.resource(CONFIG_MAP, "settings").checked(config_map())["metadata"]["name"] for _ in range(2)}
    assert len(names) == 2
    assert all(re.fullmatch(r"settings-[0-9a-f]{8}", name) for name in names)


def test_an_automatic_name_says_so_in_an_annotation(plugin: Conversation) -> None:
    """Provider docs, "Pulumi annotations": pulumi.com/autonamed."""
    checked = plugin.resource(CONFIG_MAP).checked(config_map())
    assert checked["metadata"]["annotations"]["pulumi.com/autonamed"] == "true"


def test_an_automatic_name_stays_the_same_on_update(plugin: Conversation, namespace: str) -> None:
    """Provider docs, "Autonaming": the name is chosen when the object is created."""
    resource = plugin.resource(CONFIG_MAP)
    resource.create(config_map(namespace=namespace))
    name = resource.inputs["metadata"]["name"]
    labelled = config_map(namespace=namespace, labels={"a": "b"})
    assert resource.checked(labelled)["metadata"]["name"] == name
    assert list(resource.diff(labelled).changes) == ["metadata.labels"]


def test_a_replacement_gets_a_new_automatic_name(plugin: Conversation, namespace: str) -> None:
    """Pulumi docs, "Autonaming": so that the new object can be there before the old one goes."""
    resource = plugin.resource(CONFIG_MAP)
    resource.create(config_map(namespace=namespace))
    again = resource.check(config_map(namespace=namespace), is_new=True)
    assert again.inputs["metadata"]["name"] != resource.inputs["metadata"]["name"]


def test_a_given_name_is_kept(plugin: Conversation) -> None:
    """Provider docs, "Autonaming": a name that is given is taken as it is."""
    checked = plugin.resource(CONFIG_MAP).checked(config_map(name="exactly-this"))
    assert checked["metadata"]["name"] == "exactly-this"
    assert "annotations" not in checked["metadata"]


def test_a_name_that_is_not_known_yet_is_left_alone(plugin: Conversation) -> None:
    """Provider source, metadata.AssignNameIfAutonamable: a computed name is the user's name."""
    from lab.providers.values import UNKNOWN  # noqa: PLC0415

    assert plugin.resource(CONFIG_MAP).checked(config_map(name=UNKNOWN))["metadata"]["name"] is UNKNOWN


def test_an_object_goes_to_the_default_namespace(plugin: Conversation) -> None:
    """Provider docs, provider input `namespace`: without it, that of the kubeconfig's context, else `default`."""
    assert plugin.resource(CONFIG_MAP).checked(config_map(name="a"))["metadata"]["namespace"] == "default"


def test_the_providers_namespace_is_the_default(configured: Configured, namespace: str) -> None:
    """Provider docs, provider input `namespace`: for namespaced objects that name none."""
    plugin = configured(namespace=namespace)
    assert plugin.resource(CONFIG_MAP).checked(config_map(name="a"))["metadata"]["namespace"] == namespace
    kept = plugin.resource(CONFIG_MAP).checked(config_map(name="a", namespace="other"))
    assert kept["metadata"]["namespace"] == "other"


def test_an_object_of_the_cluster_gets_no_namespace(configured: Configured, namespace: str) -> None:
    """Provider docs, provider input `namespace`: ignored for cluster-scoped kinds."""
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}}
    assert "namespace" not in configured(namespace=namespace).resource("core/v1:Namespace").checked(body)["metadata"]


def test_a_patch_needs_a_name(plugin: Conversation) -> None:
    """Provider docs, "Server-side apply": a Patch resource names an object that exists."""
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"labels": {"a": "b"}}}
    failures: list[str] = []
    try:
        failures = plugin.resource("core/v1:ConfigMapPatch").check(body).failures
    except Exception as error:  # noqa: BLE001 - a failure or an error: both stop the preview
        failures = [str(error)]
    assert failures
    assert all("name" in failure for failure in failures)


def test_the_id_is_namespace_and_name(plugin: Conversation, namespace: str, unique: str, cluster: Cluster) -> None:
    """Provider docs, "Import": `namespace/name`, or the name alone for an object of the cluster."""
    inside = plugin.resource(CONFIG_MAP)
    inside.create(config_map(name="inside", namespace=namespace))
    assert inside.id == f"{namespace}/inside"
    outside = plugin.resource("scheduling.k8s.io/v1:PriorityClass")
    outside.create(
        {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": unique}, "value": 7}
    )
    assert outside.id == unique
    outside.delete()
    assert cluster.get("scheduling.k8s.io/v1", "PriorityClass", unique) is None
