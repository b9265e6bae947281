"""The plugin under the real engine: programs of a few resources, run in this process by the Automation API."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pulumi
import pulumi_kubernetes as k8s
import pytest
from conversation import landing
from pulumi import automation

from components.on_kubernetes.gpu_node_pool import GpuNodePool

if TYPE_CHECKING:
    from conftest import Cluster

Program = Callable[[k8s.Provider], None]
Stack = Callable[..., automation.Stack]
NOWHERE = {"conformance.example.com/no-such-node": "true"}


@pytest.fixture
def stack(workspace: automation.LocalWorkspaceOptions, kubeconfig: Path, cluster: Cluster) -> Stack:
    """A stack of its own backend that runs `program`; called again, the same stack with another program."""
    del cluster  # first of all the cluster must answer

    def make(program: Program, **settings: Any) -> automation.Stack:
        def run() -> None:
            arguments = {"kubeconfig": kubeconfig.read_text(), "cluster_identifier": "conformance", **settings}
            program(k8s.Provider("cluster", **arguments))

        return automation.create_or_select_stack("dev", project_name="conformance", program=run, opts=workspace)

    return make


def web(provider: k8s.Provider, namespace: str, timeout_s: int = 180, **pod: Any) -> k8s.apps.v1.Deployment:
    containers = [{"name": "main", "image": "nginx:1.27", "resources": {"limits": {"memory": "1024Mi"}}}]
    return k8s.apps.v1.Deployment(
        "web",
        metadata={"namespace": namespace, "annotations": {"pulumi.com/timeoutSeconds": str(timeout_s)}},
        spec={
            "selector": {"match_labels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": containers, **landing(), **pod},
            },
        },
        opts=pulumi.ResourceOptions(provider=provider),
    )


def everything(provider: k8s.Provider, namespace: str) -> None:
    """A namespace's worth of objects that refer to each other."""
    options = pulumi.ResourceOptions(provider=provider)
    metadata = {"namespace": namespace}
    containers = [{"name": "main", "image": "a:1"}]
    settings = k8s.core.v1.ConfigMap("settings", metadata=metadata, data={"a": "1"}, opts=options)
    token = k8s.core.v1.Secret("token", metadata=metadata, string_data={"token": "hush-hush"}, opts=options)
    web(
        provider,
        namespace,
        volumes=[
            {"name": "settings", "config_map": {"name": settings.metadata["name"]}},
            {"name": "token", "secret": {"secret_name": token.metadata["name"]}},
        ],
    )
    k8s.core.v1.Service(
        "web", metadata=metadata, spec={"selector": {"app": "web"}, "ports": [{"port": 80}]}, opts=options
    )
    k8s.batch.v1.Job(
        "once",
        metadata=metadata,
        spec={"template": {"spec": {"restartPolicy": "Never", "containers": containers, **landing()}}},
        opts=options,
    )


def test_a_stack_goes_up_shows_no_change_and_goes_down(
    stack: Stack, namespace: str, cluster: Cluster, tmp_path: Path
) -> None:
    """Pulumi docs: up, preview, refresh and destroy; a second run of an unchanged program changes nothing."""
    ours = stack(lambda provider: everything(provider, namespace))
    assert ours.up().summary.resource_changes == {"create": 7}
    assert ours.preview(expect_no_changes=True).change_summary == {"same": 7}
    states = [path.read_text() for path in (tmp_path / "state").rglob("dev.json*")]
    assert states
    assert not [state for state in states if "hush-hush" in state], "a secret reached the state"
    ours.refresh(expect_no_changes=True)
    assert ours.preview(expect_no_changes=True).change_summary == {"same": 7}
    ours.destroy()
    assert cluster.list("apps/v1", "Deployment", namespace) == []
    assert cluster.list("v1", "Secret", namespace) == []


def test_a_refresh_straight_after_an_update_shows_no_change(
    stack: Stack, namespace: str, unique: str, cluster: Cluster
) -> None:
    """Pulumi docs, "Drift": what nobody changed is none, with a pool that patches nodes of others."""
    # As a kubelet registers it: with its capacity, and it takes no pods.
    registered = {"spec": {"unschedulable": True}, "status": {"capacity": {"cpu": "8"}}}
    cluster.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": unique}, **registered})

    def program(provider: k8s.Provider) -> None:
        everything(provider, namespace)
        options = pulumi.ResourceOptions(providers=[provider])
        GpuNodePool("pool", {"pool": "conformance", "node_names": [unique]}, options)

    try:
        ours = stack(program)
        assert set(ours.preview().change_summary) == {"create"}
        ours.up()
        ours.refresh(expect_no_changes=True)
        assert set(ours.preview(expect_no_changes=True).change_summary) == {"same"}
        ours.destroy()
    finally:
        cluster.delete("v1", "Node", unique)


def test_a_new_config_map_comes_before_the_old_one_goes(stack: Stack, namespace: str, cluster: Cluster) -> None:
    """Provider docs, `enableConfigMapMutable`: a replacement under a new automatic name rolls out what mounts it."""

    def program(value: str) -> Program:
        def run(provider: k8s.Provider) -> None:
            options = pulumi.ResourceOptions(provider=provider)
            metadata = {"namespace": namespace}
            settings = k8s.core.v1.ConfigMap("settings", metadata=metadata, data={"a": value}, opts=options)
            name = settings.metadata["name"]
            web(provider, namespace, volumes=[{"name": "settings", "config_map": {"name": name}}])

        return run

    stack(program("1")).up()
    changes = stack(program("2")).up().summary.resource_changes
    assert changes is not None
    assert (changes.get("replace"), changes.get("update")) == (1, 1)
    maps = [
        each for each in cluster.list("v1", "ConfigMap", namespace) if each["metadata"]["name"].startswith("settings")
    ]
    assert [each["data"] for each in maps] == [{"a": "2"}]
    (deployment,) = cluster.list("apps/v1", "Deployment", namespace)
    mounted = deployment["spec"]["template"]["spec"]["volumes"][0]["configMap"]["name"]
    assert mounted == maps[0]["metadata"]["name"]


def test_a_named_object_is_replaced_in_place(stack: Stack, namespace: str, cluster: Cluster) -> None:
    """Provider docs, "Autonaming": with a name of the user's, the old one is deleted first."""

    def program(value: str) -> Program:
        def run(provider: k8s.Provider) -> None:
            k8s.core.v1.ConfigMap(
                "settings",
                metadata={"namespace": namespace, "name": "settings"},
                data={"a": value},
                opts=pulumi.ResourceOptions(provider=provider),
            )

        return run

    stack(program("1")).up()
    changed = stack(program("2"))
    assert changed.preview().change_summary.get("replace") == 1
    changed.up()
    found = cluster.get("v1", "ConfigMap", "settings", namespace)
    assert found is not None
    assert found["data"] == {"a": "2"}
    changed.preview(expect_no_changes=True)


def test_a_deployment_that_failed_converges_on_the_next_up(stack: Stack, namespace: str, cluster: Cluster) -> None:
    """Pulumi docs, initialization errors: the resource is kept and updated; nothing is made twice."""
    broken = stack(lambda provider: web(provider, namespace, timeout_s=5, nodeSelector=NOWHERE) and None)
    with pytest.raises(automation.CommandError, match="timed out waiting to be Ready"):
        broken.up()
    mended = stack(lambda provider: web(provider, namespace) and None)
    mended.up()
    assert len(cluster.list("apps/v1", "Deployment", namespace)) == 1
    mended.preview(expect_no_changes=True)


def test_a_namespace_and_what_is_in_it_come_in_one_update(stack: Stack, unique: str, cluster: Cluster) -> None:
    """Provider docs, previews: what is not there yet is no obstacle; destroy takes the namespace away."""

    def program(provider: k8s.Provider) -> None:
        options = pulumi.ResourceOptions(provider=provider)
        home = k8s.core.v1.Namespace("home", metadata={"name": unique}, opts=options)
        inside = {"namespace": home.metadata["name"]}
        k8s.core.v1.ServiceAccount("hub", metadata=inside, opts=options)
        k8s.core.v1.ConfigMap("settings", metadata=inside, data={"a": "1"}, opts=options)

    ours = stack(program)
    assert ours.preview().change_summary == {"create": 5}
    ours.up()
    ours.preview(expect_no_changes=True)
    ours.destroy()
    assert cluster.get("v1", "Namespace", unique) is None


def test_an_imported_object_becomes_managed(stack: Stack, namespace: str, cluster: Cluster) -> None:
    """Pulumi docs, the resource option `import_`: the object is not made anew and then belongs to the stack."""
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "theirs"}, "data": {"a": "1"}}
    made = cluster.create(body, namespace)

    def program(provider: k8s.Provider) -> None:
        k8s.core.v1.ConfigMap(
            "theirs",
            metadata={"namespace": namespace, "name": "theirs"},
            data={"a": "1"},
            opts=pulumi.ResourceOptions(provider=provider, import_=f"{namespace}/theirs"),
        )

    ours = stack(program)
    assert (ours.up().summary.resource_changes or {}).get("import") == 1
    live = cluster.get("v1", "ConfigMap", "theirs", namespace)
    assert live is not None
    assert live["metadata"]["uid"] == made["metadata"]["uid"]
    ours.preview(expect_no_changes=True)


def test_a_node_is_read_and_patched_and_left_as_it_was(stack: Stack, unique: str, cluster: Cluster) -> None:
    """Pulumi docs, getter functions; provider docs, "Patch resources": destroy leaves the node."""
    metadata = {"name": unique, "labels": {"theirs": "1"}}
    cluster.create({"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": {"unschedulable": True}})

    def program(provider: k8s.Provider) -> None:
        options = pulumi.ResourceOptions(provider=provider)
        node = k8s.core.v1.Node.get("node", unique, opts=options)
        pulumi.export("theirs", node.metadata["labels"].apply(lambda labels: labels["theirs"]))
        k8s.core.v1.NodePatch("pool", metadata={"name": unique, "labels": {"example.com/pool": "a"}}, opts=options)

    try:
        ours = stack(program)
        assert ours.up().outputs["theirs"].value == "1"
        ours.preview(expect_no_changes=True)
        ours.destroy()
        left = cluster.get("v1", "Node", unique)
        assert left is not None
        assert left["metadata"]["labels"] == {"theirs": "1"}
    finally:
        cluster.delete("v1", "Node", unique)
