"""What counts as a change, how it is reported, and which changes need a new object."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import pytest

from lab.providers.values import UNKNOWN

if TYPE_CHECKING:
    from conftest import Configured
    from conversation import Conversation, Resource

Values = dict[str, Any]


def config_map(namespace: str, **metadata: Any) -> Values:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"namespace": namespace, **metadata},
        "data": {"a": "1", "b": "2"},
    }


def deployment(namespace: str, image: str = "nginx:1.27") -> Values:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"namespace": namespace, "name": "web", "annotations": {"pulumi.com/skipAwait": "true"}},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "main", "image": image, "resources": {"limits": {"cpu": "1000m"}}}]},
            },
        },
    }


def changed(inputs: Values, path: str, value: Any) -> Values:
    """A copy with another value at `path`, steps separated by slashes."""
    copied = copy.deepcopy(inputs)
    *parents, last = path.split("/")
    place: Any = copied
    for step in parents:
        place = place[int(step)] if step.isdigit() else place.setdefault(step, {})
    place[last] = value
    return copied


@pytest.fixture
def web(plugin: Conversation, namespace: str) -> Resource:
    resource = plugin.resource("apps/v1:Deployment")
    resource.create(deployment(namespace))
    return resource


def test_nothing_changed_is_no_difference(web: Resource, namespace: str) -> None:
    """Pulumi protocol, Diff: DIFF_NONE; the server's defaults and other spellings (1000m, 1) are no change."""
    assert web.diff(deployment(namespace)).changes == {}


def test_a_change_is_reported_with_the_path_of_the_property(web: Resource, namespace: str) -> None:
    """Pulumi protocol, detailedDiff: keys are property paths with list indices."""
    found = web.diff(deployment(namespace, image="nginx:1.28"))
    assert found.changes == {"spec.template.spec.containers[0].image": "update"}
    assert found.replaces == []


def test_a_key_with_dots_and_slashes_is_quoted(web: Resource, namespace: str) -> None:
    """Pulumi property paths: a key that is no identifier stands in brackets and quotes."""
    labelled = changed(deployment(namespace), "metadata/annotations", {"pulumi.com/skipAwait": "true", "a.b/c": "d"})
    assert web.diff(labelled).changes == {'metadata.annotations["a.b/c"]': "add"}


def test_additions_and_removals_are_distinguished(web: Resource, namespace: str) -> None:
    """Pulumi protocol, PropertyDiff.Kind: ADD, DELETE."""
    without = deployment(namespace)
    del without["spec"]["replicas"]
    assert web.diff(without).changes == {"spec.replicas": "delete"}
    assert web.diff(changed(deployment(namespace), "spec/minReadySeconds", 5)).changes == {
        "spec.minReadySeconds": "add"
    }


def test_a_value_that_is_not_known_yet_counts_as_a_change(web: Resource, namespace: str) -> None:
    """Pulumi docs, "Previews": an unknown value may differ, so the preview shows an update."""
    unknown = changed(deployment(namespace), "spec/template/spec/containers/0/image", UNKNOWN)
    # Beside an unknown it compares spellings: the server has written 1000m as 1.
    spelt = {"spec.template.spec.containers[0].resources.limits.cpu": "update"}
    assert web.diff(unknown).changes == {"spec.template.spec.containers[0].image": "update", **spelt}


def test_data_of_a_config_map_needs_a_new_object(plugin: Conversation, namespace: str) -> None:
    """Provider docs, `enableConfigMapMutable`: by default a change of data replaces the ConfigMap."""
    resource = plugin.resource("core/v1:ConfigMap")
    resource.create(config_map(namespace))
    found = resource.diff(changed(config_map(namespace), "data/a", "9"))
    assert found.changes == {"data.a": "update-replace"}
    assert not found.delete_before_replace, "an automatic name lets the new one come first"


def test_a_given_name_means_that_the_old_object_goes_first(plugin: Conversation, namespace: str) -> None:
    """Provider docs, "Autonaming": with a name of the user's, a replacement deletes before it creates."""
    resource = plugin.resource("core/v1:ConfigMap")
    resource.create(config_map(namespace, name="given"))
    found = resource.diff(changed(config_map(namespace, name="given"), "data/a", "9"))
    assert found.replaces == ["data.a"]
    assert found.delete_before_replace


def test_data_of_a_config_map_can_be_made_mutable(configured: Configured, namespace: str) -> None:
    """Provider docs, `enableConfigMapMutable`: true updates in place, unless the object says `immutable`."""
    plugin = configured(enableConfigMapMutable=True)
    resource = plugin.resource("core/v1:ConfigMap")
    resource.create(config_map(namespace))
    assert resource.diff(changed(config_map(namespace), "data/a", "9")).changes == {"data.a": "update"}
    fixed = plugin.resource("core/v1:ConfigMap", "fixed")
    fixed.create({**config_map(namespace), "immutable": True})
    assert fixed.diff({**changed(config_map(namespace), "data/a", "9"), "immutable": True}).replaces


def test_data_of_a_secret_can_be_made_mutable(configured: Configured, plugin: Conversation, namespace: str) -> None:
    """Provider docs, `enableSecretMutable`: the same for Secrets. A change is reported where the server stores it."""
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"namespace": namespace}, "stringData": {"a": "1"}}
    by_default = plugin.resource("core/v1:Secret", "by-default")
    by_default.create(body)
    assert by_default.diff(changed(body, "stringData/a", "2")).replaces == ["data.a"]
    mutable = configured(enableSecretMutable=True).resource("core/v1:Secret", "mutable")
    mutable.create(body)
    assert mutable.diff(changed(body, "stringData/a", "2")).changes == {"data.a": "update"}


def test_another_name_or_namespace_is_another_object(plugin: Conversation, namespace: str) -> None:
    """Kubernetes API conventions: name and namespace are the identity; the old one need not go first."""
    resource = plugin.resource("core/v1:ConfigMap")
    resource.create(config_map(namespace, name="one"))
    renamed = resource.diff(config_map(namespace, name="two"))
    assert renamed.replaces == ["metadata.name"]
    assert not renamed.delete_before_replace
    assert resource.diff(config_map("default", name="one")).replaces == ["metadata.namespace"]


def test_the_selector_of_a_deployment_needs_a_new_object(web: Resource, namespace: str) -> None:
    """Kubernetes docs, Deployment: the label selector is immutable in apps/v1."""
    other = changed(deployment(namespace), "spec/selector/matchLabels", {"app": "web", "tier": "a"})
    other["spec"]["template"]["metadata"]["labels"]["tier"] = "a"
    found = web.diff(other)
    assert found.delete_before_replace
    assert any(path.startswith("spec.selector") for path in found.replaces)
    assert found.changes["spec.template.metadata.labels.tier"] == "add"


def test_the_template_of_a_job_needs_a_new_object(plugin: Conversation, namespace: str) -> None:
    """Kubernetes docs, Job: the pod template is immutable."""
    pod = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "busybox:1"}]}
    body = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"namespace": namespace, "annotations": {"pulumi.com/skipAwait": "true"}},
        "spec": {"template": {"spec": pod}},
    }
    resource = plugin.resource("batch/v1:Job")
    resource.create(body)
    other = changed(body, "spec/template/spec/containers/0/image", "busybox:2")
    assert resource.diff(other).changes == {"spec.template.spec.containers[0].image": "update-replace"}


def test_the_storage_class_of_a_claim_needs_a_new_object_but_its_size_does_not(
    plugin: Conversation, namespace: str
) -> None:
    """Kubernetes docs, PersistentVolumeClaim: immutable after creation except the requested size."""
    body = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"namespace": namespace, "name": "claim", "annotations": {"pulumi.com/skipAwait": "true"}},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "one",
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }
    resource = plugin.resource("core/v1:PersistentVolumeClaim")
    resource.create(body)
    assert resource.diff(changed(body, "spec/storageClassName", "two")).replaces == ["spec.storageClassName"]


def test_the_role_of_a_binding_needs_a_new_object(plugin: Conversation, namespace: str) -> None:
    """Kubernetes docs, RBAC: roleRef is immutable; subjects are not."""
    body = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"namespace": namespace, "name": "binding"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "one"},
        "subjects": [{"kind": "ServiceAccount", "name": "a", "namespace": namespace}],
    }
    resource = plugin.resource("rbac.authorization.k8s.io/v1:RoleBinding")
    resource.create(body)
    assert resource.diff(changed(body, "roleRef/name", "two")).replaces == ["roleRef.name"]
    assert resource.diff(changed(body, "subjects/0/name", "b")).replaces == []
