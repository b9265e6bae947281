"""The stand-in's pure parts: values, differences, names, state."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.providers import paths
from lab.providers.kubernetes import difference, messages, state
from lab.providers.kubernetes.configuration import check_settings, compare_settings, parse_settings
from lab.providers.kubernetes.kinds import ObjectKind, Served, object_id, split_id
from lab.providers.kubernetes.naming import NameNeededError, field_manager, with_name
from lab.providers.values import (
    UNKNOWN,
    UNKNOWN_STRING,
    Properties,
    Secret,
    from_struct,
    has_unknown,
    marked_like,
    plain,
    to_struct,
    without_nulls,
    without_unknowns,
)
from lab.providers.vocabulary import Autonaming, Change

DEPLOYMENT = ObjectKind("apps/v1", "Deployment")
CONFIG_MAP = ObjectKind("v1", "ConfigMap")

scalars = st.none() | st.booleans() | st.integers(-(2**50), 2**50) | st.text() | st.just(UNKNOWN)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(min_size=1), inner, max_size=3)
)
properties = st.dictionaries(st.text(min_size=1), values | st.builds(Secret, scalars), max_size=4)


@pytest.mark.slow
@given(properties)
def test_values_survive_the_way_through_protobuf(given_properties: Properties) -> None:
    assert from_struct(to_struct(given_properties)) == given_properties


@pytest.mark.slow
@given(properties)
def test_a_secret_shows_in_no_text(given_properties: Properties) -> None:
    hidden = {"a": [Secret("hush-hush")], **{key: Secret("hush-hush") for key in given_properties}}
    assert "hush-hush" not in repr(hidden)


def test_whole_numbers_are_integers_and_others_are_not() -> None:
    found = from_struct(to_struct({"replicas": 3, "part": 0.5}))
    assert found == {"replicas": 3, "part": 0.5}
    assert isinstance(found["replicas"], int)


def test_every_sentinel_of_the_engine_is_unknown() -> None:
    sentinels = [UNKNOWN_STRING, "6a19a0b0-7e62-4c92-b797-7f8e31da9cc2", "dd056dcd-154b-4c76-9bd3-c8f88648b5ff"]
    assert from_struct(to_struct({"list": sentinels})) == {"list": [UNKNOWN, UNKNOWN, UNKNOWN]}


def test_an_output_value_is_what_is_in_it() -> None:
    signature = {"4dabf18193072939515e22adb298388d": "d0e6a833031e9bbcd3f4e8bde6ca49a4"}
    outputs = {
        "known": {**signature, "value": 1},
        "secret": {**signature, "value": "x", "secret": True},
        "no": signature,
    }
    assert from_struct(to_struct(outputs)) == {"known": 1, "secret": Secret("x"), "no": UNKNOWN}


def test_marks_are_copied_to_the_same_places() -> None:
    pattern = {"a": Secret("1"), "list": [{"b": Secret("2")}, {"b": "3"}]}
    marked = marked_like({"a": "1", "list": [{"b": "2"}, {"b": "3"}], "new": 1}, pattern)
    assert marked == {"a": Secret("1"), "list": [{"b": Secret("2")}, {"b": "3"}], "new": 1}


def test_a_list_of_another_length_is_sealed_as_a_whole() -> None:
    assert marked_like({"list": ["x", "hush"]}, {"list": [Secret("hush")]}) == {"list": Secret(["x", "hush"])}


def test_unknowns_and_nulls_can_be_left_out() -> None:
    assert without_unknowns({"a": [1, UNKNOWN], "b": UNKNOWN}) == {"a": [1]}
    assert without_nulls({"a": None, "b": [{"c": None}], "d": Secret({"e": None})}) == {"b": [{}], "d": Secret({})}
    assert has_unknown({"a": Secret([UNKNOWN])})


@pytest.mark.parametrize(
    ("token", "expected"),
    [
        ("kubernetes:core/v1:ConfigMap", ObjectKind("v1", "ConfigMap")),
        ("kubernetes:apps/v1:DeploymentPatch", ObjectKind("apps/v1", "Deployment", is_patch=True)),
        ("kubernetes:example.com/v1:Patch", ObjectKind("example.com/v1", "Patch")),
    ],
)
def test_a_token_says_version_and_kind(token: str, expected: ObjectKind) -> None:
    assert ObjectKind.of_token(token) == expected


@pytest.mark.parametrize("token", ["kubernetes:yaml:ConfigFile", "aws:ec2/v1:Thing", "kubernetes:core/v1", ""])
def test_a_token_of_something_else_is_refused(token: str) -> None:
    with pytest.raises(ValueError, match="is not the type of a Kubernetes object"):
        ObjectKind.of_token(token)


def test_paths_of_core_and_other_groups() -> None:
    assert Served("v1", "Node", "nodes", is_namespaced=False).path("", "n1") == "/api/v1/nodes/n1"
    jobs = Served("batch/v1", "Job", "jobs", is_namespaced=True)
    assert jobs.path("batch", "once") == "/apis/batch/v1/namespaces/batch/jobs/once"


@pytest.mark.parametrize("identifier", ["", "a/", "a/b/c"])
def test_an_invalid_id_is_refused(identifier: str) -> None:
    with pytest.raises(ValueError, match='write "name" or "namespace/name"'):
        split_id(identifier)


@given(st.text("abc-", max_size=5), st.text("abc-", min_size=1, max_size=5))
def test_an_id_is_read_as_it_was_written(namespace: str, name: str) -> None:
    assert split_id(object_id(namespace, name)) == (namespace, name)


@given(st.lists(st.text('ab."[]\\/-', min_size=1) | st.integers(0, 99), min_size=1, max_size=4))
def test_a_property_path_is_read_as_it_was_written(steps: list[str | int]) -> None:
    assert paths.parse(paths.render(tuple(steps))) == tuple(steps)


@pytest.mark.slow
@given(properties)
def test_nothing_differs_from_itself_unless_it_is_unknown(given_properties: Properties) -> None:
    known = without_unknowns(given_properties)
    if not has_unknown(known):
        assert compared(known, known) == {}


@pytest.mark.slow
@given(properties, properties)
def test_what_differs_one_way_differs_the_other_way(one: Properties, other: Properties) -> None:
    if not has_unknown(one) and not has_unknown(other):
        assert set(compared(one, other)) == set(compared(other, one))


def compared(old: Properties, new: Properties, kind: ObjectKind = DEPLOYMENT) -> dict[str, Change]:
    return dict(difference.compare(kind, old, new, config_map_mutable=False, secret_mutable=False).changes)


def test_a_change_above_an_immutable_field_replaces_too() -> None:
    old: Properties = {"spec": {"selector": {"matchLabels": {"a": "b"}}}}
    assert compared(old, {}) == {"spec": Change.DELETE_REPLACE}


@pytest.mark.parametrize(
    ("token", "path"),
    [
        ("apps/v1:DaemonSet", "spec.selector"),
        ("apps/v1:StatefulSet", "spec.volumeClaimTemplates"),
        ("batch/v1:Job", "spec.template"),
        ("core/v1:PersistentVolumeClaim", "spec.accessModes"),
        ("core/v1:Secret", "type"),
        ("node.k8s.io/v1:RuntimeClass", "handler"),
        ("rbac.authorization.k8s.io/v1:ClusterRoleBinding", "roleRef"),
        ("storage.k8s.io/v1:StorageClass", "provisioner"),
    ],
)
def test_immutable_fields_are_known_without_a_server(token: str, path: str) -> None:
    kind = ObjectKind.of_token(f"kubernetes:{token}")
    first, *rest = paths.parse(path)
    old, new = ({first: {rest[0]: side} if rest else side} for side in ("old", UNKNOWN))
    assert compared(old, new, kind) == {path: Change.UPDATE_REPLACE}


def test_null_and_absent_are_the_same() -> None:
    assert compared({"spec": {"replicas": None}}, {"spec": {}}) == {}


def test_a_secret_that_did_not_change_is_no_change() -> None:
    assert compared({"data": {"a": Secret("x")}}, {"data": {"a": "x"}}, CONFIG_MAP) == {}


def test_a_patch_replaces_only_for_another_object() -> None:
    patch = ObjectKind("v1", "ConfigMap", is_patch=True)
    old = {"metadata": {"name": "a"}, "data": {"x": "1"}}
    assert compared(old, {"metadata": {"name": "a"}, "data": {"x": "2"}}, patch) == {"data.x": Change.UPDATE}
    assert compared(old, {"metadata": {"name": "b"}, "data": {"x": "1"}}, patch) == {
        "metadata.name": Change.UPDATE_REPLACE
    }


@pytest.mark.parametrize(
    ("cause", "path", "replaces"),
    [
        (("spec.clusterIP", "Invalid value: []: field is immutable"), "spec.clusterIP", True),
        (("spec", "Forbidden: updates to statefulset spec for fields other than … are forbidden"), "spec.x", True),
        (("spec.handler", "field is immutable"), "metadata.labels", False),
        (("spec.ports[0].port", "must be between 1 and 65535"), "spec.ports[0].port", False),
    ],
)
def test_what_the_server_calls_immutable_replaces(cause: tuple[str, str], path: str, *, replaces: bool) -> None:
    found = difference.refused_by_server({path: Change.UPDATE}, [cause])
    assert found[path].replaces is replaces


def test_a_name_that_a_secret_holds_is_still_the_users_name() -> None:
    inputs = {"metadata": {"name": Secret("given")}}
    assert with_name(inputs, {}, resource_name="a", seed=b"1", autonaming=None) == inputs


def test_the_users_autonaming_is_followed() -> None:
    proposed = with_name({}, {}, resource_name="a", seed=b"1", autonaming=Autonaming("chosen", disabled=False))
    assert proposed["metadata"]["name"] == "chosen"
    with pytest.raises(NameNeededError, match=r"set metadata\.name"):
        with_name({}, {}, resource_name="a", seed=b"1", autonaming=Autonaming("", disabled=True))


def test_a_name_given_by_the_user_is_not_mistaken_for_an_automatic_one() -> None:
    named = with_name({}, {"metadata": {"name": "given"}}, resource_name="a", seed=b"1", autonaming=None)
    assert named["metadata"]["name"].startswith("a-")


def test_a_renamed_resource_keeps_its_field_manager() -> None:
    first = field_manager("urn:old", {}, {})
    assert field_manager("urn:old", {}, {}) == first
    assert field_manager("urn:new", {}, {"__fieldManager": first}) == first
    assert field_manager("urn:new", {}, {}) != first


def test_a_drifted_string_of_a_secret_is_seen() -> None:
    inputs = {"stringData": Secret({"a": "old", "b": "same"})}
    desired = {"data": {"a": "b2xk", "b": "c2FtZQ=="}}
    live = {"data": {"a": "bmV3", "b": "c2FtZQ=="}}
    assert state.with_drift(inputs, desired, live) == {"stringData": Secret({"a": "new", "b": "same"})}
    assert state.with_drift(inputs, desired, desired) == inputs


@pytest.mark.slow
@given(properties)
def test_no_drift_changes_no_input(inputs: Properties) -> None:
    clean = without_nulls(without_unknowns(inputs))
    if not has_unknown(clean):
        assert plain(state.with_drift(clean, {"x": 1}, {"x": 1})) == plain(clean)


def test_a_previewed_service_promises_no_address_that_is_allocated() -> None:
    live = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "a", "uid": "1"},
        "spec": {"clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"], "ports": [{"port": 80, "nodePort": 30123}]},
        "status": {},
    }
    shown = state.previewed(live, is_new=True)
    assert shown["spec"] == {"clusterIP": UNKNOWN, "clusterIPs": UNKNOWN, "ports": [{"port": 80, "nodePort": UNKNOWN}]}
    assert (shown["metadata"]["uid"], shown["status"]) == (UNKNOWN, UNKNOWN)
    assert state.previewed(live, is_new=False)["spec"] == live["spec"]


def test_an_ignored_field_is_dropped_only_when_it_differs() -> None:
    body = {"spec": {"replicas": 1, "paused": True}}
    path = paths.parse("spec.replicas")
    assert state.without_ignored(body, {"spec": {"replicas": 3}}, path) == {"spec": {"paused": True}}
    assert state.without_ignored(body, {"spec": {"replicas": 1}}, path) == body


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"enableServerSideApply": "false"}, "server-side apply only"),
        ({"enableSecretMutable": "yes"}, "neither true nor false"),
        ({"kubeconfg": "x"}, "has no such setting; it has"),
        ({"renderYamlToDirectory": "out"}, "does not render files"),
    ],
)
def test_a_wrong_setting_is_named_with_what_is_allowed(config: Properties, expected: str) -> None:
    (failure,) = check_settings(config)
    assert expected in failure.reason
    assert failure.property in failure.reason


def test_settings_arrive_as_json_or_from_the_environment() -> None:
    found = parse_settings({"enableSecretMutable": "true", "namespace": '"hub"', "context": "lab"}, {})
    assert (found.secret_mutable, found.namespace, found.context) == (True, "hub", "lab")
    environment = {"PULUMI_K8S_DELETE_UNREACHABLE": "true", "KUBECONFIG": "/a"}
    from_environment = parse_settings({}, environment)
    assert (from_environment.delete_unreachable, from_environment.kubeconfig) == (True, "/a")


def test_a_kubeconfig_given_as_json_text_stays_a_text() -> None:
    text = '{"clusters": [], "contexts": []}'
    assert parse_settings({"kubeconfig": text}, {}).kubeconfig == text


def test_another_server_replaces_the_provider_unless_it_is_the_same_cluster() -> None:
    old: dict[str, Any] = {"kubeconfig": "a"}
    new: dict[str, Any] = {"kubeconfig": "b"}
    moved = compare_settings(old, new, old_server="https://one", new_server="https://two")
    assert moved.changes == {"kubeconfig": Change.UPDATE_REPLACE}
    named = {"clusterIdentifier": "lab"}
    same = compare_settings({**old, **named}, {**new, **named}, old_server="https://one", new_server="https://two")
    assert same.changes == {"kubeconfig": Change.UPDATE}


def test_a_conflict_names_manager_field_and_the_two_ways_out() -> None:
    reason = messages.refusal(
        CONFIG_MAP, "hub/a", status=409, message="", causes=[(".data.a", 'conflict with "kubectl" using v1')]
    )
    assert "ConfigMap hub/a: conflict" in reason
    assert '.data.a: conflict with "kubectl"' in reason
    assert "pulumi.com/patchForce" in reason


def test_a_change_of_string_data_is_reported_where_the_server_stores_it() -> None:
    kind = ObjectKind("v1", "Secret")
    old = {"stringData": Secret({"a": "1", "b": Secret("2")}), "data": {"c": "Mw=="}}

    def changes(new: Properties) -> dict[str, Change]:
        return dict(difference.compare(kind, old, new, config_map_mutable=False, secret_mutable=True).changes)

    assert changes({**old, "stringData": {"a": "9", "b": UNKNOWN}}) == {
        "data.a": Change.UPDATE,
        "data.b": Change.UPDATE,
    }
    assert changes({"data": {"a": "MQ==", "b": "Mg==", "c": "Mw=="}}) == {}
    assert changes({**old, "stringData": UNKNOWN}) == {"stringData": Change.UPDATE}


def test_an_object_that_somebody_deleted_is_named_as_the_server_names_it() -> None:
    served = Served("apps/v1", "Deployment", "deployments", is_namespaced=True)
    reason = messages.gone(served, "web", "urn:web")
    assert reason.startswith('update of resource "urn:web" failed: deployments.apps "web" not found\n')
    assert "`pulumi refresh`" in reason
