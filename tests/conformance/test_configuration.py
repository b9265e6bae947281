"""The provider's own settings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from conversation import Conversation, Refused

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from conftest import Cluster

GONE = """\
apiVersion: v1
kind: Config
current-context: gone
clusters:
- name: gone
  cluster:
    server: https://127.0.0.1:1
contexts:
- name: gone
  context:
    cluster: gone
    user: nobody
users:
- name: nobody
  user:
    token: none
"""


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


def test_a_kubeconfig_may_be_a_path(executable: Path, kubeconfig: Path, tmp_path: Path, namespace: str) -> None:
    """Provider docs, provider input `kubeconfig`: the content, or the path of a file."""
    conversation = Conversation(executable, {"kubeconfig": str(kubeconfig)}, tmp_path)
    conversation.configure()
    body: dict[str, Any] = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": namespace}}
    assert conversation.resource("core/v1:ConfigMap").create(body)["metadata"]["uid"]
    conversation.close()


@pytest.fixture
def after_the_end(executable: Path, tmp_path: Path) -> Iterator[Conversation]:
    """A plugin that may forget the objects of a cluster that is gone."""
    conversation = Conversation(executable, {"kubeconfig": GONE, "deleteUnreachable": True}, tmp_path)
    conversation.configure()
    yield conversation
    conversation.close()


def test_objects_of_a_cluster_that_is_gone_can_be_forgotten(
    plugin: Conversation, after_the_end: Conversation, namespace: str, cluster: Cluster
) -> None:
    """Provider docs, `deleteUnreachable`: delete succeeds without a server; without it, it is an error."""
    made = plugin.resource("core/v1:ConfigMap")
    made.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": namespace}})
    lost = after_the_end.resource("core/v1:ConfigMap")
    lost.id, lost.inputs, lost.outputs = made.id, made.inputs, made.outputs
    lost.delete()
    assert cluster.get("v1", "ConfigMap", "a", namespace) is not None


def test_the_wrong_cluster_is_an_error_on_delete(executable: Path, tmp_path: Path) -> None:
    """Provider docs, "unreachable cluster": objects are not forgotten by mistake."""
    conversation = Conversation(executable, {"kubeconfig": GONE}, tmp_path)
    conversation.configure()
    resource = conversation.resource("core/v1:ConfigMap")
    resource.id = "default/a"
    resource.inputs = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}}
    resource.outputs = dict(resource.inputs)
    with pytest.raises(Refused, match="reach"):
        resource.delete()
    conversation.close()


def test_yaml_is_decoded_for_the_yaml_components(plugin: Conversation) -> None:
    """Provider schema, function kubernetes:yaml:decode: for ConfigFile and ConfigGroup. Half documents are left out."""
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n---\n# nothing\n---\nkind: Service\n"
    found = plugin.invoke("kubernetes:yaml:decode", {"text": text})["result"]
    assert [each["kind"] for each in found] == ["ConfigMap"]
