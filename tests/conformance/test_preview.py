"""Previews: what the server would do, or the program's own words where it cannot be reached."""

from __future__ import annotations

from ipaddress import ip_address
from typing import TYPE_CHECKING, Any

import pytest
from conversation import GONE, Conversation, Refused

from lab.providers.values import UNKNOWN, plain

if TYPE_CHECKING:
    from conftest import Cluster, Configured

Values = dict[str, Any]


def service(namespace: str) -> Values:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"namespace": namespace, "name": "web"},
        "spec": {"ports": [{"port": 80}], "selector": {"app": "web"}},
    }


def config_map(namespace: str, name: str = "settings") -> Values:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"namespace": namespace, "name": name},
        "data": {"a": "1"},
    }


def test_a_preview_of_a_new_object_makes_nothing(plugin: Conversation, namespace: str, cluster: Cluster) -> None:
    """Pulumi docs, "pulumi preview": nothing is changed."""
    plugin.resource("core/v1:ConfigMap").preview(config_map(namespace))
    assert cluster.get("v1", "ConfigMap", "settings", namespace) is None


def test_a_preview_shows_the_servers_defaults(plugin: Conversation, namespace: str) -> None:
    """Provider docs, "Server-side apply": previews come from a server-side dry run."""
    promised = plugin.resource("core/v1:Service").preview(service(namespace))
    assert promised["spec"]["sessionAffinity"] == "None"
    assert promised["spec"]["ports"][0]["protocol"] == "TCP"


def test_a_preview_of_an_update_changes_nothing(plugin: Conversation, namespace: str, cluster: Cluster) -> None:
    """Pulumi docs, "pulumi preview": nothing is changed."""
    resource = plugin.resource("core/v1:ConfigMap")
    resource.create(config_map(namespace))
    promised = resource.preview({**config_map(namespace), "data": {"a": "2"}})
    assert promised["data"] == {"a": "2"}
    found = cluster.get("v1", "ConfigMap", "settings", namespace)
    assert found is not None
    assert found["data"] == {"a": "1"}


def test_a_preview_refuses_what_the_server_would_refuse(plugin: Conversation, namespace: str) -> None:
    """Provider docs, "Server-side apply": a dry run goes through validation and admission."""
    wrong = service(namespace)
    wrong["spec"]["ports"] = [{"port": 80000}]
    with pytest.raises(Refused, match=r"spec\.ports\[0\]\.port"):
        plugin.resource("core/v1:Service").preview(wrong)


def test_a_namespace_that_comes_with_the_same_update_is_no_obstacle(plugin: Conversation, unique: str) -> None:
    """Provider docs, "Server-side apply": where no dry run is possible, the inputs are shown."""
    promised = plugin.resource("core/v1:ConfigMap").preview(config_map(unique))
    assert promised["data"] == {"a": "1"}


def test_a_definition_that_comes_with_the_same_update_is_no_obstacle(plugin: Conversation, namespace: str) -> None:
    """Provider docs, CustomResource: its definition may be created by the same program."""
    body = {
        "apiVersion": "nobody.example.com/v1",
        "kind": "Thing",
        "metadata": {"namespace": namespace, "name": "a"},
        "spec": {"size": 3},
    }
    assert plugin.resource("nobody.example.com/v1:Thing").preview(body)["spec"] == {"size": 3}


def test_values_that_are_not_known_yet_stay_unknown(plugin: Conversation, namespace: str) -> None:
    """Pulumi protocol, unknowns: with one among the inputs the preview shows the inputs."""
    body = service(namespace)
    body["spec"]["selector"] = {"app": UNKNOWN}
    promised = plugin.resource("core/v1:Service").preview(body)
    assert promised["spec"]["selector"] == {"app": UNKNOWN}
    assert promised["spec"]["ports"][0]["port"] == 80


def test_a_list_that_is_not_known_yet_stays_unknown(plugin: Conversation, namespace: str) -> None:
    """Pulumi protocol, unknowns: a whole list, or single items of a list."""
    body = service(namespace)
    body["spec"]["ports"] = UNKNOWN
    assert plugin.resource("core/v1:Service").preview(body)["spec"]["ports"] is UNKNOWN
    body["spec"]["ports"] = [{"port": 80}, UNKNOWN]
    assert plugin.resource("core/v1:Service").preview(body)["spec"]["ports"] == [{"port": 80}, UNKNOWN]


def test_the_address_in_a_preview_is_that_of_a_dry_run(plugin: Conversation, namespace: str) -> None:
    """A dry run allocates an address, and the update another."""
    address = plugin.resource("core/v1:Service").preview(service(namespace))["spec"]["clusterIP"]
    assert ip_address(address)


def test_secrets_stay_secret_in_a_preview(plugin: Conversation, namespace: str) -> None:
    """Pulumi docs, "Secrets": marked inputs stay marked in outputs, previews included."""
    from lab.providers.values import Secret  # noqa: PLC0415

    body = {**config_map(namespace), "data": {"a": Secret("hidden")}}
    promised = plugin.resource("core/v1:ConfigMap").preview(body)
    assert "hidden" not in str(promised["data"])
    assert plain(promised["data"]) == {"a": "hidden"}


@pytest.fixture
def without_server(configured: Configured) -> Conversation:
    return configured(kubeconfig=GONE)


def test_without_a_server_a_preview_shows_the_inputs(without_server: Conversation) -> None:
    """Provider docs, "unreachable cluster": previews go on with what the program says."""
    promised = without_server.resource("core/v1:ConfigMap").preview(config_map("default"))
    assert promised["data"] == {"a": "1"}


def test_without_a_server_kinds_of_the_cluster_still_get_no_namespace(without_server: Conversation) -> None:
    """Provider source: built-in kinds are known without discovery."""
    body = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}
    assert "namespace" not in without_server.resource("core/v1:Node").checked(body)["metadata"]


def test_without_a_server_an_update_fails_with_the_reason(without_server: Conversation) -> None:
    """Provider docs, "unreachable cluster": a change is an error that says which server does not answer."""
    with pytest.raises(Refused, match=r"reach"):
        without_server.resource("core/v1:ConfigMap").create(config_map("default"))


def test_a_foreign_object_of_the_same_name_is_left_alone(
    configured: Configured, namespace: str, cluster: Cluster
) -> None:
    """Provider changelog 4.29: creating an object that exists is an error; a preview never touches it."""
    cluster.create(config_map(namespace), namespace)
    body = {**config_map(namespace), "data": {"a": "2"}}
    try:
        configured().resource("core/v1:ConfigMap").preview(body)
    except Refused as error:
        assert "exists" in str(error)  # noqa: PT017 - the preview may say so already, or leave it to the update
    found = cluster.get("v1", "ConfigMap", "settings", namespace)
    assert found is not None
    assert found["data"] == {"a": "1"}
