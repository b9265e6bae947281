"""Deleting: until the object is really gone."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

import pytest
from conversation import Conversation, NotReady, landing

if TYPE_CHECKING:
    from conftest import Cluster

Values = dict[str, Any]


def config_map(namespace: str, **metadata: Any) -> Values:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"namespace": namespace, "name": "settings", **metadata},
        "data": {"a": "1"},
    }


def deployment(namespace: str, **annotations: str) -> Values:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"namespace": namespace, "name": "web", "annotations": annotations},
        "spec": {
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "main", "image": "nginx:1.27"}], **landing()},
            },
        },
    }


def test_a_deleted_object_is_gone(plugin: Conversation, namespace: str, cluster: Cluster) -> None:
    """Pulumi protocol, Delete: it returns when the resource is gone."""
    resource = plugin.resource("core/v1:ConfigMap")
    resource.create(config_map(namespace))
    resource.delete()
    assert cluster.get("v1", "ConfigMap", "settings", namespace) is None


def test_deleting_what_is_already_gone_is_fine(plugin: Conversation, namespace: str, cluster: Cluster) -> None:
    """Provider source, Deletion: "not found" is the wish fulfilled."""
    resource = plugin.resource("core/v1:ConfigMap")
    resource.create(config_map(namespace))
    cluster.delete("v1", "ConfigMap", "settings", namespace)
    resource.delete()


def test_deleting_waits_for_finalizers(plugin: Conversation, namespace: str, cluster: Cluster) -> None:
    """Provider docs, "Await logic", delete: the object may be held by a finalizer."""
    resource = plugin.resource("core/v1:ConfigMap")
    resource.create(config_map(namespace))
    held = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "settings", "finalizers": ["a.example.com/b"]},
    }
    cluster.merge(held, namespace)

    def release() -> None:
        time.sleep(2)
        cluster.merge({**held, "metadata": {"name": "settings", "finalizers": None}}, namespace)

    releasing = threading.Thread(target=release)
    started = time.monotonic()
    releasing.start()
    resource.delete()
    releasing.join()
    assert time.monotonic() - started >= 2
    assert cluster.get("v1", "ConfigMap", "settings", namespace) is None


def test_an_object_that_does_not_go_away_is_an_error(plugin: Conversation, namespace: str, cluster: Cluster) -> None:
    """Provider docs, `customTimeouts.delete`: after it, an error. The object stays in the state."""
    resource = plugin.resource("core/v1:ConfigMap")
    resource.create(config_map(namespace))
    held = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "settings", "finalizers": ["a.example.com/b"]},
    }
    cluster.merge(held, namespace)
    try:
        with pytest.raises(NotReady, match="timed out waiting for the condition"):
            resource.delete(timeout_s=2)
        assert resource.id
    finally:
        cluster.merge({**held, "metadata": {"name": "settings", "finalizers": None}}, namespace)


def test_what_an_object_owns_goes_with_it(plugin: Conversation, namespace: str, cluster: Cluster) -> None:
    """Provider docs, annotation pulumi.com/deletionPropagationPolicy: the default is foreground."""
    resource = plugin.resource("apps/v1:Deployment")
    resource.create(deployment(namespace), timeout_s=60)
    resource.delete(timeout_s=60)
    assert cluster.list("apps/v1", "ReplicaSet", namespace) == []


def test_what_an_object_owns_can_be_left(plugin: Conversation, namespace: str, cluster: Cluster) -> None:
    """Provider docs, annotation pulumi.com/deletionPropagationPolicy: orphan."""
    resource = plugin.resource("apps/v1:Deployment")
    annotations = {"pulumi.com/deletionPropagationPolicy": "orphan"}
    resource.create(deployment(namespace, **annotations), timeout_s=60)
    resource.delete(timeout_s=60)
    assert len(cluster.list("apps/v1", "ReplicaSet", namespace)) == 1


def test_a_namespace_is_deleted_with_what_is_in_it(plugin: Conversation, unique: str, cluster: Cluster) -> None:
    """Provider docs, "Await logic", Namespace: until it is gone, not only terminating."""
    resource = plugin.resource("core/v1:Namespace")
    resource.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": unique}})
    plugin.resource("core/v1:ConfigMap").create(config_map(unique))
    resource.delete(timeout_s=60)
    assert cluster.get("v1", "Namespace", unique) is None
