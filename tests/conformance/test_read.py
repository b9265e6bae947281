"""Reading: refresh, drift, import, get."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest
from conversation import Conversation, NotReady, landing

if TYPE_CHECKING:
    from conftest import Cluster

Values = dict[str, Any]


def config_map(namespace: str, data: Values | None = None) -> Values:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"namespace": namespace, "name": "settings", "labels": {"team": "a"}},
        "data": data or {"a": "1", "b": "2"},
    }


def deployment(namespace: str) -> Values:
    limits = {"cpu": "1000m", "memory": "1024Mi"}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"namespace": namespace, "name": "web"},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {
                    "containers": [{"name": "main", "image": "nginx:1.27", "resources": {"limits": limits}}],
                    **landing(),
                },
            },
        },
    }


def test_a_refresh_of_an_unchanged_object_changes_no_input(plugin: Conversation, namespace: str) -> None:
    """Pulumi docs, "pulumi refresh": no drift. Other spellings of a quantity (1024Mi, 1Gi) are none."""
    resource = plugin.resource("apps/v1:Deployment")
    resource.create(deployment(namespace), timeout_s=60)
    before = resource.inputs
    assert resource.read()
    assert resource.inputs == before
    assert resource.diff(deployment(namespace)).changes == {}


def test_a_refresh_sees_what_somebody_changed(plugin: Conversation, namespace: str, cluster: Cluster) -> None:
    """Pulumi docs, "Drift": the state takes the live value, so the next preview shows how to undo it."""
    resource = plugin.resource("core/v1:ConfigMap")
    resource.create(config_map(namespace))
    cluster.merge(
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"a": "9", "b": None}},
        namespace,
    )
    assert resource.read()
    assert resource.outputs["data"] == {"a": "9"}
    assert set(resource.diff(config_map(namespace)).changes) == {"data.a", "data.b"}


def test_a_field_that_somebody_added_is_no_drift(plugin: Conversation, namespace: str, cluster: Cluster) -> None:
    """Provider docs, "Server-side apply": fields that the program does not set belong to others."""
    resource = plugin.resource("core/v1:ConfigMap")
    resource.create(config_map(namespace))
    cluster.merge(
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings", "labels": {"theirs": "x"}}},
        namespace,
    )
    assert resource.read()
    assert resource.diff(config_map(namespace)).changes == {}


def test_a_refresh_of_a_deleted_object_empties_the_state(
    plugin: Conversation, namespace: str, cluster: Cluster
) -> None:
    """Pulumi protocol, Read: an empty id says that the resource is gone."""
    resource = plugin.resource("core/v1:ConfigMap")
    resource.create(config_map(namespace))
    cluster.delete("v1", "ConfigMap", "settings", namespace)
    assert not resource.read()


def test_a_refresh_of_an_object_that_is_not_ready_says_so(
    plugin: Conversation, namespace: str, cluster: Cluster
) -> None:
    """Provider docs, "Await logic": a refresh reports an unhealthy object, and keeps it."""
    resource = plugin.resource("apps/v1:Deployment")
    resource.create(deployment(namespace), timeout_s=60)
    broken = {"spec": {"template": {"spec": {"nodeSelector": {"conformance.example.com/no-such-node": "true"}}}}}
    body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, **broken}
    cluster.merge(body, namespace)
    deadline = time.monotonic() + 30
    while (cluster.get("apps/v1", "Deployment", "web", namespace) or {})["status"].get("observedGeneration") != 2:
        assert time.monotonic() < deadline, "the controller has not seen the change"
        time.sleep(0.2)
    with pytest.raises(NotReady) as found:
        resource.read()
    assert found.value.identifier == f"{namespace}/web"


def test_an_object_can_be_got_by_its_id(plugin: Conversation, namespace: str, cluster: Cluster) -> None:
    """Pulumi docs, "Resource getter functions": ConfigMap.get(name, "namespace/name")."""
    cluster.create(config_map(namespace), namespace)
    resource = plugin.resource("core/v1:ConfigMap")
    assert resource.read(f"{namespace}/settings")
    assert resource.id == f"{namespace}/settings"
    assert resource.outputs["data"] == {"a": "1", "b": "2"}


def test_a_node_can_be_got_by_its_name(plugin: Conversation, cluster: Cluster) -> None:
    """Pulumi docs, "Resource getter functions": an object of the cluster has its name as id."""
    # Other cases have nodes of their own that no kubelet speaks for.
    name = next(each["metadata"]["name"] for each in cluster.list("v1", "Node") if each["status"].get("allocatable"))
    resource = plugin.resource("core/v1:Node")
    assert resource.read(name)
    assert resource.outputs["metadata"]["name"] == name
    assert resource.outputs["status"]["allocatable"]


def test_getting_an_object_that_is_not_there_finds_nothing(plugin: Conversation, namespace: str) -> None:
    """Pulumi protocol, Read: an empty id says that the resource does not exist."""
    assert not plugin.resource("core/v1:ConfigMap").read(f"{namespace}/nothing")


def test_an_imported_object_matches_the_program_that_describes_it(
    plugin: Conversation, namespace: str, cluster: Cluster
) -> None:
    """Pulumi docs, "Importing resources": a program that says what is there causes no change."""
    cluster.create(config_map(namespace), namespace)
    resource = plugin.resource("core/v1:ConfigMap")
    assert resource.read(f"{namespace}/settings")
    assert "uid" not in resource.inputs["metadata"]
    assert "status" not in resource.inputs
    assert resource.inputs["data"] == {"a": "1", "b": "2"}
    assert resource.diff(config_map(namespace)).changes == {}


def test_what_the_server_filled_in_is_a_difference_on_import(
    plugin: Conversation, namespace: str, cluster: Cluster
) -> None:
    """Pulumi docs, "Importing resources": the program has to repeat the server's defaults."""
    body = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"namespace": namespace, "name": "web"},
        "spec": {"ports": [{"port": 80, "protocol": "TCP", "targetPort": 80}], "selector": {"app": "web"}},
    }
    cluster.create(body, namespace)
    resource = plugin.resource("core/v1:Service")
    assert resource.read(f"{namespace}/web")
    found = resource.diff(body).changes
    assert found
    assert {path.partition(".")[0] for path in found} == {"spec"}


def test_an_import_shows_where_the_program_differs(plugin: Conversation, namespace: str, cluster: Cluster) -> None:
    """Pulumi docs, "Importing resources": a difference is shown."""
    cluster.create(config_map(namespace), namespace)
    resource = plugin.resource("core/v1:ConfigMap")
    resource.read(f"{namespace}/settings")
    found = resource.diff(config_map(namespace, {"a": "other", "b": "2"})).changes
    assert "data.a" in found


def test_an_imported_object_can_be_changed(plugin: Conversation, namespace: str, cluster: Cluster) -> None:
    """Provider docs, "Import" with server-side apply: the resource becomes a manager of the object."""
    cluster.create(config_map(namespace), namespace)
    resource = plugin.resource("core/v1:ConfigMap")
    resource.read(f"{namespace}/settings")
    wanted = config_map(namespace)
    wanted["metadata"]["labels"]["more"] = "x"
    resource.update(wanted)
    live = cluster.get("v1", "ConfigMap", "settings", namespace)
    assert live is not None
    assert live["metadata"]["labels"] == {"team": "a", "more": "x"}
