"""Patch resources: some fields of objects that others made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conftest import Cluster
    from conversation import Conversation, Resource

Values = dict[str, Any]


def patch(namespace: str, data: Values, **metadata: Any) -> Values:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"namespace": namespace, "name": "theirs", **metadata},
        "data": data,
    }


def node_patch(name: str, **labels: str) -> Values:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}


@pytest.fixture
def theirs(namespace: str, cluster: Cluster) -> str:
    """A ConfigMap that somebody else made; the namespace's name."""
    cluster.create(patch(namespace, {"theirs": "1"}), namespace)
    return namespace


@pytest.fixture
def node(unique: str, cluster: Cluster) -> Iterator[str]:
    """A node that nobody manages and that takes no pods."""
    metadata = {"name": unique, "labels": {"theirs": "1"}}
    cluster.create({"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": {"unschedulable": True}})
    yield unique
    cluster.delete("v1", "Node", unique)


def data_of(cluster: Cluster, namespace: str) -> Values:
    found = cluster.get("v1", "ConfigMap", "theirs", namespace)
    assert found is not None
    return dict(found.get("data") or {})


def test_a_patch_adds_its_fields_and_leaves_the_others(plugin: Conversation, theirs: str, cluster: Cluster) -> None:
    """Provider docs, "Patch resources": existing fields stay."""
    resource = plugin.resource("core/v1:ConfigMapPatch")
    resource.create(patch(theirs, {"ours": "2"}))
    assert data_of(cluster, theirs) == {"theirs": "1", "ours": "2"}
    assert resource.id == f"{theirs}/theirs"


def test_deleting_a_patch_gives_its_fields_up_and_leaves_the_object(
    plugin: Conversation, theirs: str, cluster: Cluster
) -> None:
    """Provider docs, "Patch resources", destroy: fields of this manager alone are removed, the object stays."""
    resource = plugin.resource("core/v1:ConfigMapPatch")
    resource.create(patch(theirs, {"ours": "2"}))
    resource.delete()
    assert data_of(cluster, theirs) == {"theirs": "1"}


@pytest.fixture
def vanished(plugin: Conversation, theirs: str, cluster: Cluster) -> Resource:
    """A patch of an object that somebody has deleted since."""
    resource = plugin.resource("core/v1:ConfigMapPatch")
    resource.create(patch(theirs, {"ours": "2"}))
    cluster.delete("v1", "ConfigMap", "theirs", theirs)
    return resource


def test_deleting_a_patch_of_an_object_that_is_gone_makes_an_empty_one(
    vanished: Resource, theirs: str, cluster: Cluster
) -> None:
    """Provider docs, "Patch resources", destroy: fields are given up, by an apply, and applying creates."""
    vanished.delete()
    assert data_of(cluster, theirs) == {}


def test_a_refresh_forgets_a_patch_of_an_object_that_is_gone(vanished: Resource) -> None:
    """Pulumi protocol, Read: an empty id says that the resource does not exist. Then no delete follows."""
    assert not vanished.read()


def test_a_patch_of_an_object_that_is_not_there_makes_it_and_leaves_it(
    plugin: Conversation, namespace: str, cluster: Cluster
) -> None:
    """Kubernetes docs, server-side apply: applying creates. So a misspelt name makes a new object."""
    resource = plugin.resource("core/v1:ConfigMapPatch")
    resource.preview(patch(namespace, {"ours": "2"}))
    assert cluster.get("v1", "ConfigMap", "theirs", namespace) is None
    resource.create(patch(namespace, {"ours": "2"}))
    assert data_of(cluster, namespace) == {"ours": "2"}
    resource.delete()
    assert data_of(cluster, namespace) == {}


def test_a_field_that_a_patch_drops_goes_away(plugin: Conversation, theirs: str, cluster: Cluster) -> None:
    """Kubernetes docs, server-side apply: a field that its only manager stops applying is removed."""
    resource = plugin.resource("core/v1:ConfigMapPatch")
    resource.create(patch(theirs, {"a": "1", "b": "2"}))
    assert resource.diff(patch(theirs, {"a": "1"})).replaces == []
    resource.update(patch(theirs, {"a": "1"}))
    assert data_of(cluster, theirs) == {"theirs": "1", "a": "1"}


def test_two_patches_of_one_object_do_not_disturb_each_other(
    plugin: Conversation, theirs: str, cluster: Cluster
) -> None:
    """Provider docs, "Patch resources": each has a field manager of its own."""
    one, two = (plugin.resource("core/v1:ConfigMapPatch", name) for name in ("one", "two"))
    one.create(patch(theirs, {"one": "1"}))
    two.create(patch(theirs, {"two": "2"}))
    one.delete()
    assert data_of(cluster, theirs) == {"theirs": "1", "two": "2"}


def test_a_patch_can_name_its_field_manager(plugin: Conversation, theirs: str, cluster: Cluster) -> None:
    """Provider docs, annotation pulumi.com/patchFieldManager."""
    annotations = {"pulumi.com/patchFieldManager": "gpu-commons"}
    plugin.resource("core/v1:ConfigMapPatch").create(patch(theirs, {"ours": "2"}, annotations=annotations))
    found = cluster.get("v1", "ConfigMap", "theirs", theirs)
    assert found is not None
    assert "gpu-commons" in {each["manager"] for each in found["metadata"]["managedFields"]}


def test_a_node_patch_adds_labels_and_destroy_takes_exactly_them_away(
    plugin: Conversation, node: str, cluster: Cluster
) -> None:
    """Provider docs, "Patch resources", with NodePatch: what a GPU node pool does."""
    resource = plugin.resource("core/v1:NodePatch")
    resource.create(node_patch(node, **{"example.com/pool": "a"}))
    labelled = cluster.get("v1", "Node", node)
    assert labelled is not None
    assert labelled["metadata"]["labels"] == {"theirs": "1", "example.com/pool": "a"}
    resource.delete()
    left = cluster.get("v1", "Node", node)
    assert left is not None
    assert left["metadata"]["labels"] == {"theirs": "1"}


def test_a_node_patch_can_set_taints_beside_the_node_controller(
    plugin: Conversation, node: str, cluster: Cluster
) -> None:
    """Provider docs, annotation pulumi.com/patchForce: the list of taints is atomic and others write it too."""
    cluster.merge(
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": node},
            "spec": {"taints": [{"key": "theirs", "effect": "NoSchedule"}]},
        }
    )
    body = node_patch(node)
    body["metadata"]["annotations"] = {"pulumi.com/patchForce": "true"}
    body["spec"] = {"taints": [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}]}
    outputs = plugin.resource("core/v1:NodePatch").create(body)
    assert "nvidia.com/gpu" in [taint["key"] for taint in outputs["spec"]["taints"]]


def test_a_patch_that_changed_nothing_shows_nothing(plugin: Conversation, node: str) -> None:
    """Pulumi protocol, Diff: a status that moves by itself (heartbeats of a node) is no difference."""
    resource = plugin.resource("core/v1:NodePatch")
    resource.create(node_patch(node, **{"example.com/pool": "a"}))
    assert resource.read()
    assert resource.diff(node_patch(node, **{"example.com/pool": "a"})).changes == {}
    assert resource.diff(node_patch(node, **{"example.com/pool": "b"})).changes == {
        'metadata.labels["example.com/pool"]': "update"
    }
