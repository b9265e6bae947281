"""Arguments of a hub: every mistake at once, each with path, value and what to write instead."""

from __future__ import annotations

from typing import Any

import pytest
from rows import each_row

from errors.problems import SettingsError
from platforms.kubernetes.hub import parse_hub
from platforms.kubernetes.job import Job, parse_job
from workloads.arguments import OWN_KEYS
from workloads.hub import Hub

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


LTI = {
    "kind": "lti13",
    "issuer": "https://canvas.example.edu",
    "authorize_url": "https://canvas.example.edu/authorize",
    "jwks_endpoint": "https://canvas.example.edu/jwks",
    "client_ids": ["hub"],
}
COURSE = {"name": "ml", "title": "Machine learning", "seats": 120, "profiles": ["gpu"]}
DAYS = {"first_day": "2026-10-01", "last_day": "2026-12-18"}


def of_hub(**changes: Any) -> dict[str, Any]:
    return changes


def of_profile(**changes: Any) -> dict[str, Any]:
    return {"profiles": [{**PROFILE, **changes}]}


def of_course(**changes: Any) -> dict[str, Any]:
    return {"courses": [{**COURSE, **changes}]}


def messages(**changes: Any) -> list[str]:
    """Each problem on one line: `path: value reason; fix`."""
    with pytest.raises(SettingsError) as caught:
        parse_hub("hub", {**ARGS, **changes})
    return [str(problem).replace("\n    ", "; ") for problem in caught.value.problems]


WRONG: list[tuple[dict[str, Any], str]] = [
    (
        of_hub(hub_image=None),
        "hub.hub_image: is missing; add hub_image: image by digest, such as the `ref` of a GpuImage",
    ),
    (
        of_hub(hub_image=""),
        'hub.hub_image: "" is empty; give an image by digest, such as the `ref` of a GpuImage',
    ),
    (
        of_hub(namespace="Data Hub"),
        (
            'hub.namespace: "Data Hub" is not a name; use lower-case letters, digits and dashes, a letter or '
            "digit at both ends, 63 characters at most"
        ),
    ),
    (of_hub(start_timeout_s=0), "hub.start_timeout_s: 0 is out of range: 1 or more is allowed; Seconds that"),
    (
        of_hub(storage={"homes": {"size_gib": "10Gi"}}),
        'hub.storage.homes.size_gib: "10Gi" is not a number; write size_gib: 10',
    ),
    (of_hub(volume_gib=10), "hub.volume_gib: is not a known key; write it as storage.homes.size_gib"),
    (of_hub(profiles=[]), "hub.profiles: a list of 0 is empty; give at least one: What users can choose"),
    (
        of_hub(expose={"kind": "route"}),
        (
            'hub.expose.kind: "route" is not a known kind; known kinds: cluster_ip, gateway, ingress, load_balancer, '
            "node_port"
        ),
    ),
    (of_hub(expose={"kind": "node_port"}), "hub.expose.port: is missing; add port: Node port, 30000 to 32767"),
    (
        of_hub(expose={"kind": "node_port", "port": 80}),
        "hub.expose.port: 80 is out of range: 30000 or more is allowed; Node port, 30000 to 32767",
    ),
    (
        of_hub(cull={"max_age_s": 600}),
        "hub.cull.max_age_s: 600 is below idle_s, which is 3600; write 3600 or more, or 0 for no maximum age",
    ),
    (
        of_hub(public_url="hub.example.edu"),
        (
            'hub.public_url: "hub.example.edu" is not an http or https address; '
            "write https://host/path, or http://… where there is no TLS, without user name or password"
        ),
    ),
    (
        of_hub(authenticator={"kind": "pam"}),
        'hub.authenticator.kind: "pam" is not a known kind; known kinds: dummy, lti13, oauth',
    ),
    (
        of_hub(authenticator=OAUTH),
        "hub.authenticator: lets nobody log in; list allowed_users, or set allow_all: true",
    ),
    *(
        (of_hub(**{key: "hunter2"}), f"hub.{key}: the value (not shown) is not a mapping; {fix}")
        for key, fix in {
            "authenticator": "write a mapping with kind: one of dummy, lti13, oauth",
            "expose": "write a mapping with kind: one of cluster_ip, gateway, ingress, load_balancer, node_port",
            "cull": "When idle and old servers are ended",
        }.items()
    ),
    (of_hub(profiles="hunter2"), "hub.profiles: the value (not shown) is not a list; What users can choose"),
    (of_hub(profiles=["hunter2"]), "hub.profiles[0]: the value (not shown) is not a mapping; write a mapping"),
    (
        of_hub(authenticator=["oauth"]),
        ("hub.authenticator: a list of 1 is not a mapping; write a mapping with kind: one of dummy, lti13, oauth"),
    ),
    (
        of_hub(authenticator={**OAUTH, "allow_all": True, "client_secret": {"secret": 1234, "key": "k"}}),
        "hub.authenticator.client_secret.secret: the value (not shown) is not text; put it in quotes",
    ),
    (
        of_hub(authenticator={**OAUTH, "allow_all": True, "token_url": "https://ada:pw@login.example.edu/token"}),
        (
            'hub.authenticator.token_url: "https://…@login.example.edu/token" holds a user, a password or a token; '
            "remove it, from the version history too: whoever needs it gets it from a secret store"
        ),
    ),
    (
        of_hub(authenticator={**OAUTH, "allow_all": True, "ca_certificates": "authority.pem"}),
        (
            'hub.authenticator.ca_certificates: "authority.pem" is not a list of PEM certificates; '
            "give the text of the file with its lines BEGIN CERTIFICATE and END CERTIFICATE"
        ),
    ),
    (
        of_hub(core_node_selector={"zone": None}),
        "hub.core_node_selector.zone: null is not text",
    ),
    (of_profile(node_selector={"zone": None}), "hub.profiles[0].node_selector.zone: null is not text"),
    *(
        (
            of_profile(contents={key: value}),
            f'hub.profiles[0].contents.{where}: "" is empty; write some text',
        )
        for key, value, where in (
            ("title", "", "title"),
            ("stands_on", "", "stands_on"),
            ("missing_reason", "", "missing_reason"),
            ("frameworks", ["TensorFlow 2.3.4", ""], "frameworks[1]"),
            ("packages", [""], "packages[0]"),
            ("cuda_lines", [""], "cuda_lines[0]"),
            ("missing", [""], "missing[0]"),
        )
    ),
    (of_profile(title=""), 'hub.profiles[0].title: "" is empty; write some text: What users read'),
    (
        of_hub(authenticator={"kind": "dummy", "allow_all": True, "allowed_users": ["ada"]}),
        (
            "hub.authenticator.allowed_users: has no effect: allow_all lets everybody in; "
            "write allow_all: false, or leave allowed_users out"
        ),
    ),
    (
        of_hub(authenticator={**OAUTH, "client_secret": "hunter2", "allow_all": True}),
        "hub.authenticator.client_secret: the value (not shown) is not a mapping; Where the client secret is kept",
    ),
    (
        of_hub(core_tolerations=[{"key": "a"}]),
        "hub.core_tolerations[0].value: is missing; add value, or write operator: Exists",
    ),
    (
        of_hub(core_tolerations=[{"operator": "Exists", "value": "a"}]),
        "hub.core_tolerations[0].value: is given beside operator Exists; leave one of the two out",
    ),
    (of_hub(start_timeout=300), "hub.start_timeout: is not a known key; did you mean start_timeout_s"),
    (of_profile(titel="x"), "hub.profiles[0].titel: is not a known key; did you mean title?"),
    (of_profile(gpus=0.5), "hub.profiles[0].gpus: 0.5 is not a whole number; Whole GPUs"),
    (of_profile(cpu=True), "hub.profiles[0].cpu: true is not a number; CPU cores"),
    (of_profile(cpu_guarantee=5), "hub.profiles[0].cpu_guarantee: 5 is above cpu, which is 4; write at most 4"),
    (
        of_profile(memory_guarantee_gib=17),
        "hub.profiles[0].memory_guarantee_gib: 17 is above memory_gib, which is 16; write at most 16",
    ),
    (
        of_profile(shm_gib=17),
        (
            "hub.profiles[0].shm_gib: 17 is above memory_gib, which is 16; "
            "write at most 16: shared memory is part of the memory"
        ),
    ),
    (
        of_profile(pool="a", pools=["a"]),
        "hub.profiles[0].pools: is given beside pool; keep one of the two: pool for one pool, pools for several",
    ),
    (of_profile(pools="a"), 'hub.profiles[0].pools: "a" is not a list; write pools: [a]'),
    (of_profile(pools=[]), "hub.profiles[0].pools: a list of 0 is empty; give at least one: Several pools"),
    (of_profile(pools=["a", "b", "a"]), 'hub.profiles[0].pools[2]: "a" is listed twice; name each pool once'),
    (
        of_hub(profiles=[PROFILE, {**PROFILE, "title": "Again"}]),
        'hub.profiles[1].name: "gpu" is taken by profiles[0]; give each of the profiles its own name',
    ),
    (
        of_hub(profiles=[PROFILE, {**PROFILE, "name": "other"}]),
        'hub.profiles[1].title: "One GPU" is the title of profile gpu; give each profile its own title',
    ),
    (
        of_hub(profiles=[{**PROFILE, "is_default": True, "name": n, "title": n} for n in ("gpu", "other")]),
        "hub.profiles: have 2 defaults; keep is_default: true on one of gpu, other",
    ),
    (
        of_hub(profiles=[PROFILE, {**PROFILE, "name": "b", "title": "b", "image": "registry.example.edu/ml@sha256:1"}]),
        'hub.profiles[1].image_name: "ml" names two different images; give each image its own name',
    ),
    (
        of_course(profiles=["gpu", "gqu"]),
        'hub.courses[0].profiles[1]: "gqu" is not a profile of this hub; choose from gpu',
    ),
    (
        of_course(peak_share=25),
        "hub.courses[0].peak_share: 25 is out of range: at most 1.0 is allowed; write peak_share: 0.25",
    ),
    (of_course(first_day="October"), 'hub.courses[0].first_day: "October" is not a day; write YYYY-MM-DD'),
    (of_course(first_day="2026-9-1"), 'hub.courses[0].first_day: "2026-9-1" is not a day; write YYYY-MM-DD'),
    (
        of_course(**DAYS | {"last_day": "2026-09-01"}),
        'hub.courses[0].last_day: "2026-09-01" is before first_day; write a day that is not before it',
    ),
    (of_course(seats=0), "hub.courses[0].seats: 0 is out of range: 1 or more is allowed; People in the course"),
]


@each_row(("changes", "message"), WRONG, ids=[case[1].split(";")[0] for case in WRONG])
def test_a_wrong_argument_is_named_with_its_value_and_what_to_write(changes: dict[str, Any], message: str) -> None:
    (found,) = messages(**changes)
    assert found.startswith(message)
    assert "hunter2" not in found


FINE: dict[str, dict[str, Any]] = {
    "a course that names its profiles": of_course(),
    "a course with promises and days": of_course(peak_share=0.25, guaranteed_gpus=8, borrowable_gpus=4, **DAYS),
    "a hub without pools": {},
    "a name that begins with a digit": of_hub(namespace="2hub"),
    "a login without TLS": of_hub(authenticator={**OAUTH, "token_url": "http://login:9000/t", "allow_all": True}),
    "a login for administrators only": of_hub(authenticator={**OAUTH, "admins": ["ada"]}),
    "a login for a list and administrators": of_hub(
        authenticator={**LTI, "allow_all": False, "allowed_users": ["grace"], "admins": ["ada"]}
    ),
    "whole numbers as other languages send them": of_hub(start_timeout_s=300.0, **of_profile(gpus=2.0)),
    "no shared memory": of_profile(shm_gib=0),
}


@each_row("changes", FINE.values(), ids=FINE.keys())
def test_what_a_hub_may_be(changes: dict[str, Any]) -> None:
    assert parse_hub("hub", {**ARGS, **changes})


def test_all_mistakes_are_reported_at_once() -> None:
    found = messages(expose={}, authenticator={}, start_timeout_s=-1, profiles=[{**PROFILE, "memory_gib": 0}])
    assert [line.split(":")[0] for line in found] == [
        "hub.start_timeout_s",
        "hub.authenticator.kind",
        "hub.expose.kind",
        "hub.profiles[0].memory_gib",
    ]


def test_a_hub_without_pools_lands_anywhere() -> None:
    hub = parse_hub("hub", ARGS)
    assert hub.core_selector == {}
    assert hub.selector_of(hub.profiles[0]) == {}


def test_tolerations_of_a_site_replace_ours() -> None:
    tolerations = [{"key": "dedicated", "value": "courses", "effect": "NoSchedule"}]
    hub = parse_hub("hub", {**ARGS, "core_tolerations": tolerations, "profiles": [{**PROFILE, "tolerations": []}]})
    assert [each.manifest() for each in hub.core_tolerations] == [
        {"operator": "Equal", "key": "dedicated", "value": "courses", "effect": "NoSchedule"}
    ]
    assert hub.profiles[0].tolerations == ()


def test_the_message_says_whose_arguments_they_are_and_how_many_are_wrong() -> None:
    with pytest.raises(SettingsError) as caught:
        parse_hub("hub", {**ARGS, "start_timeout_s": 0, "http_timeout_s": 0})
    assert str(caught.value).splitlines()[:3] == [
        "NotebookHub hub: 2 problems",
        "  hub.start_timeout_s: 0 is out of range: 1 or more is allowed",
        "    Seconds that a server may take to start, image pull included",
    ]


@pytest.mark.parametrize("login", [{"kind": "dummy"}, LTI], ids=["dummy", "lti13"])
def test_administrators_alone_open_no_login_that_lets_in_a_list(login: dict[str, Any]) -> None:
    found = messages(authenticator={**login, "allow_all": False, "admins": ["ada"]})
    assert found == ["hub.authenticator: lets nobody log in; list allowed_users, or set allow_all: true"]


def test_mappings_whose_keys_are_the_users_own_are_known_as_such() -> None:
    def own(schema: dict[str, Any]) -> set[str]:
        inner = schema.get("$defs", {}).values()
        here = {
            key
            for key, each in schema.get("properties", {}).items()
            if isinstance(each.get("additionalProperties"), dict)
        }
        return here.union(*map(own, inner))

    assert own(Hub.model_json_schema()) | own(Job.model_json_schema()) == OWN_KEYS


def test_neither_value_nor_advice_repeats_what_may_be_a_secret() -> None:
    secret = {"secret": 4711, "key": 4711}
    login = {**OAUTH, "allow_all": True, "client_secret": secret}
    assert "4711" not in "".join(messages(authenticator=login, cull=4711, courses=[4711], core_tolerations=4711))


def test_a_secret_in_the_environment_of_a_job_is_not_repeated() -> None:
    args = {"image": PROFILE["image"], "image_name": "ml", "command": ["true"], "gpus": 0, "cpu": 1, "memory_gib": 1}
    with pytest.raises(SettingsError) as caught:
        parse_job("train", {**args, "env": {"LOGIN": 4711}})
    assert [str(each) for each in caught.value.problems] == [
        "train.env.LOGIN: the value (not shown) is not text\n    put it in quotes"
    ]
