"""The provider's own settings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from conversation import GONE, Conversation, Refused

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Cluster, Configured


def config_map(namespace: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": namespace}}


def test_an_unchanged_configuration_is_no_difference(plugin: Conversation) -> None:
    """Pulumi protocol, DiffConfig."""
    assert plugin.diff_config(plugin.config, plugin.config).changes == {}


def test_another_cluster_means_that_everything_is_made_anew(plugin: Conversation) -> None:
    """Provider source, DiffConfig: a change of the active cluster in the kubeconfig replaces the provider."""
    found = plugin.diff_config(plugin.config, {**plugin.config, "kubeconfig": GONE})
    assert "kubeconfig" in found.replaces


def test_another_login_for_the_same_cluster_replaces_nothing(plugin: Conversation) -> None:
    """Provider source, DiffConfig: only the active cluster counts, not how to log in."""
    other = GONE.replace("token: none", "token: another")
    found = plugin.diff_config({"kubeconfig": GONE}, {"kubeconfig": other})
    assert found.keys == ["kubeconfig"]
    assert found.replaces == []


def test_a_cluster_identifier_decides_instead_of_the_address(plugin: Conversation) -> None:
    """Provider docs, `clusterIdentifier`: replacement exactly when it changes."""
    old = {"kubeconfig": GONE, "clusterIdentifier": "lab"}
    moved = GONE.replace("127.0.0.1:1", "127.0.0.1:2")
    assert plugin.diff_config(old, {"kubeconfig": moved, "clusterIdentifier": "lab"}).replaces == []
    assert plugin.diff_config(old, {"kubeconfig": GONE, "clusterIdentifier": "other"}).replaces


def test_a_kubeconfig_may_be_a_path(configured: Configured, kubeconfig: Path, namespace: str) -> None:
    """Provider docs, provider input `kubeconfig`: the content, or the path of a file."""
    made = configured(kubeconfig=str(kubeconfig)).resource("core/v1:ConfigMap").create(config_map(namespace))
    assert made["metadata"]["uid"]


def test_objects_of_a_cluster_that_is_gone_can_be_forgotten(
    configured: Configured, namespace: str, cluster: Cluster
) -> None:
    """Provider docs, `deleteUnreachable`: delete succeeds without a server; without it, it is an error."""
    made = configured().resource("core/v1:ConfigMap")
    made.create(config_map(namespace))
    lost = configured(kubeconfig=GONE, deleteUnreachable=True).resource("core/v1:ConfigMap")
    lost.id, lost.inputs, lost.outputs = made.id, made.inputs, made.outputs
    lost.delete()
    assert cluster.get("v1", "ConfigMap", "a", namespace) is not None


def test_the_wrong_cluster_is_an_error_on_delete(configured: Configured) -> None:
    """Provider docs, "unreachable cluster": objects are not forgotten by mistake."""
    resource = configured(kubeconfig=GONE).resource("core/v1:ConfigMap")
    resource.id = "default/a"
    resource.inputs = resource.outputs = config_map("default")
    with pytest.raises(Refused, match="reach"):
        resource.delete()


def test_yaml_is_decoded_for_the_yaml_components(plugin: Conversation) -> None:
    """Provider schema, function kubernetes:yaml:decode: for ConfigFile and ConfigGroup. Half documents are left out."""
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n---\n# nothing\n---\nkind: Service\n"
    found = plugin.invoke("kubernetes:yaml:decode", {"text": text})["result"]
    assert [each["kind"] for each in found] == ["ConfigMap"]
