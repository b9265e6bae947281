"""Arguments of a hub: every mistake at once, each with path, value and what to write instead."""

from __future__ import annotations

from typing import Any

import pytest

from components.notebook_hub import NotebookHubArgs
from kube.hub_model import parse_hub
from messages.problems import SettingsError

PROFILE: dict[str, Any] = {
    "name": "gpu",
    "title": "One GPU",
    "image": "registry.example.edu/ml@sha256:0",
    "image_name": "ml",
    "gpus": 1,
    "cpu": 4,
    "memory_gib": 16,
}
ARGS: dict[str, Any] = {
    "hub_image": "registry.example.edu/hub@sha256:0",
    "proxy_image": "registry.example.edu/proxy@sha256:0",
    "profiles": [PROFILE],
    "expose": {"kind": "cluster_ip"},
    "authenticator": {"kind": "dummy"},
}
OAUTH = {
    "kind": "oauth",
    "authorize_url": "https://login.example.edu/authorize",
    "token_url": "https://login.example.edu/token",
    "userdata_url": "https://login.example.edu/me",
    "callback_url": "https://hub.example.edu/hub/oauth_callback",
    "client_id": "hub",
    "client_secret": {"secret": "login", "key": "client-secret"},
}


def test_every_argument_of_the_component_is_read() -> None:
    parse_hub("datahub", {**dict.fromkeys(NotebookHubArgs.__annotations__), **ARGS})


def messages(**changes: Any) -> list[str]:
    """Each problem on one line: `path: value reason; fix`."""
    with pytest.raises(SettingsError) as caught:
        parse_hub("hub", {**ARGS, **changes})
    return [str(problem).replace("\n    ", "; ") for problem in caught.value.problems]


def of_profile(**changes: Any) -> list[str]:
    return messages(profiles=[{**PROFILE, **changes}])


CASES: list[tuple[dict[str, Any], str]] = [
    ({"hub_image": None}, "hub.hub_image: is missing; give an image by digest, such as the `ref` of a GpuImage"),
    (
        {"namespace": "Data Hub"},
        (
            'hub.namespace: "Data Hub" is not a name for Kubernetes; use lower-case letters, digits and inner hyphens, '
            "63 characters at most"
        ),
    ),
    ({"start_timeout_s": 0}, "hub.start_timeout_s: 0 is not a whole number in range; use 1 or more"),
    ({"volume_gib": "10Gi"}, 'hub.volume_gib: "10Gi" is not an amount; use a number above 0'),
    ({"profiles": []}, "hub.profiles: a list of 0 leaves nothing to start; give at least one profile"),
    (
        {"expose": {"kind": "ingress"}},
        'hub.expose.kind: "ingress" is not a choice; use cluster_ip, load_balancer or node_port',
    ),
    ({"expose": {"kind": "node_port"}}, "hub.expose.port: is missing; use 30000 to 32767"),
    (
        {"expose": {"kind": "node_port", "port": 80}},
        "hub.expose.port: 80 is not a whole number in range; use 30000 to 32767",
    ),
    (
        {"cull": {"idle_s": 3600, "max_age_s": 600}},
        "hub.cull.max_age_s: 600 is below idle_s: 3600; raise it, or use 0 for no maximum age",
    ),
    (
        {"public_url": "hub.example.edu"},
        'hub.public_url: "hub.example.edu" is not a URL; write it in full, such as https://login.example.edu/authorize',
    ),
    ({"authenticator": {"kind": "pam"}}, 'hub.authenticator.kind: "pam" is not a choice; use dummy, lti13 or oauth'),
    (
        {"authenticator": OAUTH},
        "hub.authenticator.allowed_users: nobody could log in; list users, or say allow_all: true",
    ),
    (
        {"authenticator": {"kind": "dummy", "allow_all": True, "allowed_users": ["ada"]}},
        "hub.authenticator.allow_all: true lets everybody in, listed or not; drop it, or drop allowed_users",
    ),
    ({"core_tolerations": [{"key": "a"}]}, "hub.core_tolerations[0].value: is missing; write some text"),
]


@pytest.mark.parametrize(("changes", "message"), CASES, ids=[case[1].split(";")[0] for case in CASES])
def test_a_wrong_argument_is_named_with_its_value_and_what_to_write(changes: dict[str, Any], message: str) -> None:
    assert messages(**changes) == [message]


PROFILE_CASES: list[tuple[dict[str, Any], str]] = [
    ({"gpus": 0.5}, "hub.profiles[0].gpus: 0.5 is not a whole number in range; use 0 or more"),
    ({"cpu": True}, "hub.profiles[0].cpu: true is not an amount; use a number above 0"),
    ({"cpu_guarantee": 5}, "hub.profiles[0].cpu_guarantee: 5 is above cpu: 4; lower it"),
    (
        {"shm_gib": 17},
        "hub.profiles[0].shm_gib: 17 is above memory_gib: 16; shared memory is part of the memory: lower it",
    ),
    (
        {"pool": "a", "pools": ["a"]},
        (
            "hub.profiles[0].pools: a list of 1 is given beside pool; "
            "keep one of the two: pool for one pool, pools for several"
        ),
    ),
    (
        {"pools": "a"},
        'hub.profiles[0].pools: "a" is not a list of pools; write their names, such as [gtx1080ti, rtx2080ti]',
    ),
    (
        {"pools": []},
        "hub.profiles[0].pools: a list of 0 is empty; name at least one pool, or leave it out",
    ),
    (
        {"pools": ["a", "b", "a"]},
        "hub.profiles[0].pools: a list of 3 has a twice; name each pool once",
    ),
]


@pytest.mark.parametrize(("changes", "message"), PROFILE_CASES, ids=[case[1].split(";")[0] for case in PROFILE_CASES])
def test_a_wrong_profile_is_named_by_its_place(changes: dict[str, Any], message: str) -> None:
    assert of_profile(**changes) == [message]


def test_an_unknown_argument_is_refused_with_the_nearest_one() -> None:
    (hub,) = messages(start_timeout=300)
    assert hub.startswith("hub.start_timeout: is an unknown argument; did you mean start_timeout_s")
    (profile,) = of_profile(titel="x")
    assert profile.startswith("hub.profiles[0].titel: is an unknown argument; did you mean title?")


def test_two_profiles_of_one_name_are_refused() -> None:
    assert messages(profiles=[PROFILE, {**PROFILE, "title": "Again"}]) == [
        'hub.profiles[1].name: "gpu" is there twice, and names one profile; give each its own'
    ]


def test_a_course_is_told_to_reviewers_and_names_profiles_that_are_there() -> None:
    course = {"name": "ml", "title": "Machine learning", "seats": 120, "profiles": ["gpu"]}
    parse_hub("hub", {**ARGS, "courses": [course]})
    (profile,) = messages(courses=[{**course, "profiles": ["gpu", "gqu"]}])
    assert profile.startswith("hub.courses[0].profiles")
    assert "has gqu, which is not a profile of this hub" in profile
    promised = {"peak_share": 0.25, "guaranteed_gpus": 8, "borrowable_gpus": 4}
    days = {"first_day": "2026-10-01", "last_day": "2026-12-18"}
    parse_hub("hub", {**ARGS, "courses": [{**course, **promised, **days}]})
    (share,) = messages(courses=[{**course, "peak_share": 25}])
    assert "hub.courses[0].peak_share: 25 is above 1" in share
    (day,) = messages(courses=[{**course, "first_day": "October"}])
    assert 'hub.courses[0].first_day: "October" is not a day' in day
    (end,) = messages(courses=[{**course, **days, "last_day": "2026-09-01"}])
    assert 'hub.courses[0].last_day: "2026-09-01" is before first_day' in end
    (seats,) = messages(courses=[{**course, "seats": 0}])
    assert seats.startswith("hub.courses[0].seats")


def test_two_defaults_are_refused() -> None:
    first = {**PROFILE, "is_default": True}
    (message,) = messages(profiles=[first, {**first, "name": "other", "title": "Other"}])
    assert "has several defaults (gpu, other)" in message


def test_one_image_name_for_two_images_is_refused() -> None:
    other = {**PROFILE, "name": "other", "title": "Other", "image": "registry.example.edu/ml@sha256:1"}
    assert messages(profiles=[PROFILE, other]) == [
        'hub.profiles[0].image_name: "ml" names two different images; give each image its own name'
    ]


def test_all_mistakes_are_told_at_once() -> None:
    found = messages(expose={}, authenticator={}, start_timeout_s=-1, profiles=[{**PROFILE, "memory_gib": 0}])
    assert [line.split(":")[0] for line in found] == [
        "hub.profiles[0].memory_gib",
        "hub.expose.kind",
        "hub.authenticator.kind",
        "hub.start_timeout_s",
    ]


def test_a_secret_written_where_a_reference_belongs_is_not_repeated() -> None:
    found = messages(authenticator={**OAUTH, "client_secret": "hunter2", "allow_all": True})
    assert found[0] == "hub.authenticator.client_secret: a plain value is not enough; write its keys"
    assert "hunter2" not in "\n".join(found)


def test_a_hub_without_pools_lands_anywhere() -> None:
    hub = parse_hub("hub", ARGS)
    assert hub.core_node_selector == {}
    assert hub.profiles[0].node_selector == {}


def test_tolerations_of_a_site_replace_ours() -> None:
    tolerations = [{"key": "dedicated", "value": "courses", "effect": "NoSchedule"}]
    hub = parse_hub("hub", {**ARGS, "core_tolerations": tolerations, "profiles": [{**PROFILE, "tolerations": []}]})
    assert hub.core_tolerations == [
        {"operator": "Equal", "key": "dedicated", "value": "courses", "effect": "NoSchedule"}
    ]
    assert hub.profiles[0].tolerations == []


def test_the_message_says_whose_arguments_they_are_and_how_many_are_wrong() -> None:
    with pytest.raises(SettingsError) as caught:
        parse_hub("hub", {**ARGS, "start_timeout_s": 0, "http_timeout_s": 0})
    assert str(caught.value).splitlines()[:3] == [
        "NotebookHub hub: 2 problems",
        "  hub.start_timeout_s: 0 is not a whole number in range",
        "    use 1 or more",
    ]
