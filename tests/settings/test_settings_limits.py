"""What Kubernetes, JupyterHub or a registry would refuse later is refused here, and its neighbours are not."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml
from rows import each_row

from settings.reading import Problem, SettingsError, Stack, from_pulumi, load_stack

MIXED = Path(__file__).parents[1] / "stacks" / "Pulumi.mixed.yaml"
RAW = {
    key.removeprefix("gpu-commons:"): value
    for key, value in yaml.safe_load(MIXED.read_text(encoding="utf-8"))["config"].items()
}
OAUTH = {
    "kind": "oauth",
    "client_id": "hub",
    "client_secret": {"secret": "datahub-oauth", "key": "client-secret"},
    "callback_url": "https://hub.example.edu/hub/oauth_callback",
    "authorize_url": "https://login.example.edu/authorize",
    "token_url": "https://login.example.edu/token",
    "userdata_url": "https://login.example.edu/userinfo",
    "allow_all": True,
}
Place = tuple[str | int, ...]
POOL: Place = ("fleet", "pools", 1)
HUB: Place = ("hubs", 0)
PROFILE: Place = (*HUB, "profiles", 0)
JOB: Place = ("jobs", 0)
COURSE: Place = ("courses", 0)
LOGIN: Place = ("site", "authenticator")


def put(raw: Any, place: Place, value: Any) -> None:
    for step in place[:-1]:
        raw = raw.setdefault(step, {}) if isinstance(raw, dict) else raw[step]
    raw[place[-1]] = value


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., Stack]:
    """Reads the mixed stack with some values in other places; in `plain` a value stands as YAML and not as JSON."""

    def read_with(*changes: tuple[Place, Any], plain: str | None = None) -> Stack:
        raw = copy.deepcopy(RAW)
        for place, value in changes:
            put(raw, place, value)
        text = json.dumps({"config": {f"gpu-commons:{key}": part for key, part in raw.items()}}, indent=1)
        file = tmp_path / "Pulumi.x.yaml"
        file.write_text(text if plain is None else text.replace('"PLAIN"', plain), encoding="utf-8")
        return load_stack(file)

    return read_with


def refusal(read: Callable[..., Stack], *changes: tuple[Place, Any], plain: str | None = None) -> Problem:
    with pytest.raises(SettingsError) as caught:
        read(*changes, plain=plain)
    (problem,) = caught.value.problems
    assert problem.line
    assert problem.fix
    return problem


# --- each: a place, what is refused there, why, and what stands beside it and is fine

VALUES: dict[str, tuple[Place, Any, str, Any]] = {
    "more retries than a job has": ((*JOB, "retries"), 21, "is out of range: at most 20", 20),
    "retries above int32": ((*JOB, "retries"), 2**31, "is out of range", 0),
    "less than no retry": ((*JOB, "retries"), -1, "is out of range: 0 or more", 6),
    "a deadline above int32": ((*JOB, "deadline_s"), 2**31, "at most 2147483647", 2**31 - 1),
    "a deadline of nothing": ((*JOB, "deadline_s"), 0, "1 or more", 1),
    "a time above int64": ((*HUB, "start_timeout_s"), 2**63, "at most 2147483647", 86400),
    "an idle time below a minute": ((*HUB, "cull"), {"idle_s": 59, "every_s": 20}, "60 or more", {"idle_s": 600}),
    "looks without a pause": ((*HUB, "cull"), {"every_s": 9}, "10 or more", {"every_s": 10}),
    "an age below the idle time": (
        (*HUB, "cull"),
        {"idle_s": 3600, "max_age_s": 3599},
        "is below idle_s, which is 3600",
        {"idle_s": 3600, "max_age_s": 0},
    ),
    "memory that no quantity can be written for": ((*PROFILE, "memory_gib"), 1e6, "at most 100000", 1024),
    "memory of less than a MiB": ((*JOB, "memory_gib"), 1e-5, "0.001 or more", 0.5),
    "a volume of nothing": ((*HUB, "storage", "homes", "size_gib"), 0, "0.001 or more", 0.5),
    "less than a thousandth of a core": ((*JOB, "cpu"), 1e-9, "0.001 or more", 0.001),
    "more cores than any machine has": ((*POOL, "cpu"), 10**9, "at most 10000", 256),
    "a rate of nothing": ((*POOL, "pull_mb_per_s"), 1e-12, "0.1 or more", 12.5),
    "more seats than a university": ((*COURSE, "seats"), 10**9, "at most 1000000", 100_000),
    "a negative guarantee": ((*COURSE, "guaranteed_gpus"), -1, "0 or more", 0),
    "shared memory above the memory": ((*PROFILE, "shm_gib"), 3, "is above memory_gib, which is 2", 2),
    "shared memory of a job above its memory": ((*JOB, "shm_gib"), 2.5, "is above memory_gib, which is 2", 1),
    "a storage class with capitals": (
        (*HUB, "storage", "homes", "storage_class"),
        "Fast",
        "is not a name of a Kubernetes",
        "1gp.example.edu",
    ),
    "a storage class with two dots": (
        (*HUB, "storage", "homes", "storage_class"),
        "a..b",
        "is not a name of a Kubernetes",
        "rook-ceph",
    ),
    "a storage class of 254 characters": (
        (*HUB, "storage", "homes", "storage_class"),
        "a" * 254,
        "is not a name of",
        "a" * 63,
    ),
    "a label key with two slashes": ((*POOL, "labels"), {"a/b/c": "x"}, "is not a label", {"example.edu/b_C.d": "x"}),
    "a label key with an empty part": ((*POOL, "labels"), {"a..b/c": "x"}, "is not a label", {"a.b/c": "x"}),
    "a label key that ends with a dash": ((*POOL, "labels"), {"row-": "x"}, "is not a label", {"row": "x"}),
    "a label key behind a prefix too long": (
        (*POOL, "labels"),
        {f"{'a' * 64}.edu/c": "x"},
        "is not a label",
        {f"{'a' * 63}.edu/c": "x"},
    ),
    "a label key of 64 characters": ((*POOL, "labels"), {"a" * 64: "x"}, "is not a label", {"a" * 63: "x"}),
    "a label of the kubelet": (
        (*POOL, "labels"),
        {"kubernetes.io/hostname": "x"},
        "is set by the kubelet",
        {"topology.example.edu/hostname": "x"},
    ),
    "a label value with a blank": ((*POOL, "labels"), {"row": "b 2"}, "is not a label value", {"row": "B_2.c"}),
    "a label value of 64 characters": ((*POOL, "labels"), {"row": "b" * 64}, "is not a label value", {"row": "b" * 63}),
    "two taints of a key and an effect": (
        (*POOL, "taints"),
        [{"key": "a", "value": value, "effect": "NoSchedule"} for value in ("x", "y")],
        "has the key and the effect of taints[0]",
        [{"key": "a", "value": "x", "effect": effect} for effect in ("NoSchedule", "NoExecute")],
    ),
    "two profiles of a title": ((*HUB, "profiles", 1, "title"), "CPU only", "is the title of profile cpu", "cpu only"),
    "a job in the runtime's namespace": ((*JOB, "namespace"), "gpu-runtime", "of the runtime", "gpu-runtime-jobs"),
    "jobs of one name in two namespaces": (
        ("jobs", 1),
        {**RAW["jobs"][1], "name": "any-gpu", "namespace": "other"},
        "is taken by jobs[0]",
        {**RAW["jobs"][1], "namespace": "other"},
    ),
    "a NUL character in a command": ((*JOB, "command"), ["echo", "a\0b"], "holds a NUL", ["echo", "a\n\tb", "\x1b[1m"]),
    "a command of no program": ((*JOB, "command"), ["", "x"], "begins with an empty string", ["true", ""]),
    "an argument longer than Linux takes": ((*JOB, "command"), ["x" * 131_072], "more than 131071 bytes", ["x" * 9999]),
    "a control character in a title": ((*PROFILE, "title"), "a\x1b[31m", "control character (U+001B)", "Übung № 1"),
    "a line break in a title": ((*PROFILE, "title"), "a\nb", "has a line break", "a b"),
    "a text that turns its direction": ((*COURSE, "title"), "a\u202eb", "control character (U+202E)", "עברית"),
    "a title of blanks": ((*COURSE, "title"), "  ", "is blank", "x"),
    "a title of a whole book": ((*COURSE, "title"), "x" * 501, "has more than 500 characters", "x" * 500),
    "a control character in a description": ((*PROFILE, "description"), "a\x07", "control character", "a\nb"),
    "a user with a slash": ((*LOGIN, "admins"), ["a/b"], "is not a user name for JupyterHub", ["ada@example.edu"]),
    "a user with blanks around": ((*LOGIN, "admins"), [" ada"], "is not a user name for JupyterHub", ["Ada Lovelace"]),
    "a list of users that lets everybody in": (
        LOGIN,
        {**RAW["site"]["authenticator"], "allowed_users": ["ada"]},
        "has no effect: allow_all lets everybody in",
        {**RAW["site"]["authenticator"], "allowed_users": ["ada"], "allow_all": False},
    ),
    "two scopes in one": (
        LOGIN,
        {**OAUTH, "scopes": ["openid email"]},
        "is not a scope",
        {**OAUTH, "scopes": ["a:/b"]},
    ),
    "a secret called like no object": (
        LOGIN,
        {**OAUTH, "client_secret": {"secret": "A_b", "key": "k"}},
        "the value (not shown)",
        {**OAUTH, "client_secret": {"secret": "1.example.edu", "key": "tls.crt"}},
    ),
    "an endpoint with a fragment": (
        LOGIN,
        {**OAUTH, "token_url": "https://login.example.edu/t#x"},
        "has a fragment",
        {**OAUTH, "token_url": "https://login.example.edu:8443/t?tenant=1"},
    ),
    "a public address with a query": ((*HUB, "public_url"), "https://h.edu/?x=1", "has a query", "https://h.edu:8443/"),
    "an address with a port that is none": (
        (*HUB, "help_url"),
        "https://h.edu:99999/",
        "is not an https",
        "https://h.edu/#a",
    ),
    "an address without a host": ((*HUB, "help_url"), "https:///x", "is not an https", "https://192.0.2.1/x"),
    "an address with a host too long": (
        (*HUB, "help_url"),
        f"https://{'a' * 64}.edu",
        "is not an https",
        "https://a.edu",
    ),
    "a registry with a port that is none": (
        ("runtime", "device_plugin"),
        "a.edu:99999/x:1",
        "names a registry that is not a valid host",
        "a.edu:5000/x:1",
    ),
    "a builder with a blank": (("site", "builder"), "a b", "is not the name of a buildx builder", "gpu-commons_1"),
    "a kubeconfig in place of its path": (
        ("site", "kubeconfig"),
        "apiVersion: v1\nx: y",
        "line break",
        "~/.kube/my config",
    ),
    "more nodes than a cluster has": (
        ("fleet", "pools", 0, "nodes"),
        ["a1-a4000", "b1-b4000"],
        "have more than 5000 nodes",
        ["a1-a4000"],
    ),
}


@pytest.mark.slow
@each_row(("place", "bad", "reason", "good"), VALUES.values(), ids=VALUES.keys())
def test_what_would_fail_later_is_refused_and_its_neighbour_is_not(
    read: Callable[..., Stack], place: Place, bad: Any, reason: str, good: Any
) -> None:
    problem = refusal(read, (place, bad))
    assert reason in f"{problem.value} {problem.reason}"
    assert read((place, good))


@pytest.mark.parametrize("number", [".inf", "-.inf", "1e400"])
def test_a_number_without_end_is_refused(read: Callable[..., Stack], number: str) -> None:
    problem = refusal(read, ((*POOL, "memory_gib"), "PLAIN"), plain=number)
    assert (problem.path, problem.reason) == ("fleet.pools[1].memory_gib", "is not a finite number")


def test_nan_from_the_engine_is_refused_too(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = copy.deepcopy(RAW)
    put(raw, (*POOL, "cpu"), float("nan"))
    monkeypatch.setenv("PULUMI_CONFIG", json.dumps({f"gpu-commons:{key}": json.dumps(raw[key]) for key in raw}))
    with pytest.raises(SettingsError) as caught:
        from_pulumi()
    assert [(each.path, each.reason) for each in caught.value.problems] == [
        ("fleet.pools[1].cpu", "is not a finite number")
    ]


# --- names that are made from others


def named(hub: str, pool: str, *, pre_pull: bool) -> list[tuple[Place, Any]]:
    return [
        ((*HUB, "name"), hub),
        ((*HUB, "pre_pull"), pre_pull),
        ((*COURSE, "hub"), hub),
        ((*POOL, "name"), pool),
        ((*HUB, "profiles", 1, "pool"), pool),
        ((*HUB, "profiles", 2, "pools"), [pool]),
        ((*JOB, "pools"), [pool]),
    ]


def test_a_pre_puller_whose_name_has_64_characters_is_refused_and_one_of_63_is_not(read: Callable[..., Stack]) -> None:
    problem = refusal(read, *named("h" * 32, "p" * 31, pre_pull=True))
    assert (problem.path, problem.reason) == (
        "hubs[0].name",
        "results in a pre-puller name of 64 characters; at most 63 are allowed",
    )
    assert "pool ppp" in problem.fix
    assert read(*named("h" * 31, "p" * 31, pre_pull=True))
    assert read(*named("h" * 63, "p" * 63, pre_pull=False))


def test_two_pre_pullers_of_one_name_are_refused(read: Callable[..., Stack]) -> None:
    second = copy.deepcopy(RAW["hubs"][0])
    second |= {"name": "a-b", "pre_pull": True, "expose": {"kind": "node_port", "port": 30081}}
    second["profiles"] = [{**second["profiles"][0], "pool": "c"}]
    pools = [{**RAW["fleet"]["pools"][0], "name": name, "nodes": [f"x{name}"]} for name in ("b-c", "c")]
    changes: list[tuple[Place, Any]] = [
        *named("a", "gtx", pre_pull=True),
        (("hubs",), [copy.deepcopy(RAW["hubs"][0]), second]),
        ((*HUB, "pre_pull"), True),
        ((*HUB, "name"), "a"),
        ((*HUB, "profiles"), [{**RAW["hubs"][0]["profiles"][0], "pool": "b-c"}]),
        (("fleet", "pools"), [*RAW["fleet"]["pools"], *pools]),
        ((*COURSE, "profiles"), ["cpu"]),
        ((*JOB, "pools"), ["gtx1080ti"]),
    ]
    problem = refusal(read, *changes)
    assert problem.reason == "results in a pre-puller name a-b-c with pool c, as a with pool b-c does"
    assert read(*changes, (("hubs", 1, "name"), "a-d"))


def test_two_resources_of_one_name_are_refused(read: Callable[..., Stack]) -> None:
    def pools(last: str) -> list[Any]:
        cpu = RAW["fleet"]["pools"][0]
        return [*RAW["fleet"]["pools"], {**cpu, "name": "a", "nodes": ["b-c"]}, {**cpu, "name": last, "nodes": ["c"]}]

    problem = refusal(read, (("fleet", "pools"), pools("a-b")))
    assert problem.reason == "results in a resource name a-b-c with node c, as a with node b-c does"
    assert read((("fleet", "pools"), pools("ab")))


def test_an_image_that_fits_no_container_of_the_pre_puller_is_refused_where_there_is_one(
    read: Callable[..., Stack],
) -> None:
    def changes(length: int, *, pre_pull: bool) -> list[tuple[Place, Any]]:
        name = "i" * length
        images = [*RAW["images"], {"name": name}]
        return [(("images",), images), ((*PROFILE, "image"), name), ((*HUB, "pre_pull"), pre_pull)]

    problem = refusal(read, *changes(59, pre_pull=True))
    assert problem.path == "images[4].name"
    assert "results in a pre-puller's container name of 64 characters" in problem.reason
    assert read(*changes(58, pre_pull=True))
    assert read(*changes(59, pre_pull=False))


def test_an_image_and_its_target_make_one_name_of_63_characters_at_most(read: Callable[..., Stack]) -> None:
    problem = refusal(read, (("images",), [*RAW["images"], {"name": "i" * 58, "target": "batch"}]))
    assert problem.reason == "results in an image name of 64 characters; at most 63 are allowed"
    assert read((("images",), [*RAW["images"], {"name": "i" * 57, "target": "batch"}]))


def test_a_registry_that_leaves_no_room_for_the_names_of_images_is_refused(read: Callable[..., Stack]) -> None:
    def registry(length: int) -> str:
        return "registry.example.edu/".ljust(length, "a")

    problem = refusal(read, (("site", "registry"), registry(234)))
    assert problem.path == "site.registry"
    assert "results in a repository name of 256 characters; at most 255 are allowed" in problem.reason
    assert read((("site", "registry"), registry(233)))


# --- days

DAYS = [
    "2027-02-30",
    "2027-13-01",
    "2027-06-30T12:00:00Z",
    "20270630",
    "soon",
    "true",
    "1.5",
    "0001-01-01",
    "9999-12-31",
]


@pytest.mark.slow
@each_row("quote", ["", '"'], ids=["without quotes", "quoted"])
@each_row("day", DAYS)
def test_what_is_no_day_of_our_time_is_refused(read: Callable[..., Stack], day: str, quote: str) -> None:
    problem = refusal(read, ((*COURSE, "last_day"), "PLAIN"), plain=f"{quote}{day}{quote}")
    assert problem.path == "courses[0].last_day"
    assert problem.reason in {"is not a day", "is out of range"}


@pytest.mark.parametrize("quote", ["", '"'], ids=["without quotes", "quoted"])
def test_a_day_is_the_same_day_with_and_without_quotes(read: Callable[..., Stack], quote: str) -> None:
    stack = read(((*COURSE, "last_day"), "PLAIN"), plain=f"{quote}2027-03-20{quote}")
    assert stack.courses[0].last_day == date(2027, 3, 20)


def test_a_site_whose_nodes_start_the_persistence_daemon_names_no_image_for_it(read: Callable[..., Stack]) -> None:
    runtime = read((("runtime", "persistence_daemon"), None), (("runtime", "assumptions"), [])).own_runtime
    assert runtime is not None
    assert runtime.persistence_daemon is None


def test_days_are_compared_as_days_and_not_as_texts(read: Callable[..., Stack]) -> None:
    days = ((*COURSE, "first_day"), (*COURSE, "last_day"))
    problem = refusal(read, (days[0], "2026-10-01"), (days[1], "2026-9-30"))
    assert (problem.path, problem.reason) == ("courses[0].last_day", "is before first_day")
    assert read((days[0], "2026-9-30"), (days[1], "2026-10-01"))
    assert read((days[0], "2026-10-01"), (days[1], "2026-10-01"))


# --- passwords

WITH_PASSWORD: list[tuple[Place, Any]] = [
    ((*HUB, "public_url"), "https://user:hunter2@h.edu"),
    ((*HUB, "help_url"), "https://user:hun/hunter2@h.edu"),
    ((*HUB, "help_url"), "https://user:hunter2 hunter2@h.edu"),
    ((*HUB, "help_url"), "https://hunter2@h.edu/x"),
    ((*HUB, "help_url"), "https://h.edu/x?access_token=hunter2"),
    (LOGIN, {**OAUTH, "token_url": "https://user:hunter2@h.edu/t"}),
    (("site", "registry"), "user:hunter2@registry.example.edu/x"),
    (("site", "registry"), "https://user:hunter2@registry.example.edu/x"),
    (("site", "allowed_registries"), ["registry.example.edu", "user:hunter2@h.edu"]),
    (("site", "allowed_registries"), "user:hunter2@h.edu"),
    (("site", "https://user:hunter2@h.edu/x"), 1),
    (("site", "substitutes"), [{"reference": "a/b:1", "with": "https://user:hunter2@h.edu", "reason": "x"}]),
    (("runtime", "device_plugin"), "user:hunter2@nvcr.io/x:1"),
    (("runtime", "device_plugin"), f"user:hunter2@nvcr.io/x:1@sha256:{'a' * 64}"),
    ((*JOB, "image"), "https://user:hunter2@h.edu/x:1"),
    (("images",), [*RAW["images"], {"name": "https://user:hunter2@h.edu/x"}, {"name": "hub"}]),
]


@pytest.mark.slow
@each_row(("place", "value"), WITH_PASSWORD)
def test_a_password_in_an_address_or_a_registry_is_refused_and_never_echoed(
    read: Callable[..., Stack], place: Place, value: Any
) -> None:
    with pytest.raises(SettingsError) as caught:
        read((place, value))
    assert "hunter2" not in str(caught.value)
    assert not [problem for problem in caught.value.problems if "hunter2" in repr(problem)]


@each_row(
    ("place", "value"),
    [
        ((*HUB, "help_url"), "https://h.edu/@ada/x?token_url=1"),
        (("runtime", "device_plugin"), f"nvcr.io:5000/x:1.2@sha256:{'a' * 64}"),
        (("site", "allowed_registries"), ["registry.example.edu", "nvcr.io:5000/a"]),
        (("site", "substitutes"), [{"reference": "http://deb.debian.org/a@b", "with": "a/b:1", "reason": "x"}]),
    ],
)
def test_an_address_or_a_registry_without_a_password_is_taken(
    read: Callable[..., Stack], place: Place, value: Any
) -> None:
    assert read((place, value))


def test_what_is_shown_of_an_address_is_its_host(read: Callable[..., Stack]) -> None:
    problem = refusal(read, ((*HUB, "help_url"), "https://user:hunter2@h.edu/x"))
    assert problem.value == '"https://…@h.edu/x"'
    assert problem.reason == "holds a user, a password or a token"


# --- many mistakes


def test_the_list_of_mistakes_ends_after_50_with_a_count(read: Callable[..., Stack]) -> None:
    def mistakes(many: int) -> tuple[str, int]:
        with pytest.raises(SettingsError) as caught:
            read((("site", "allowed_registries"), ["registry.example.edu", *["x"] * many]))
        return str(caught.value), len(caught.value.problems)

    text, number = mistakes(73)
    assert number == 73
    assert "73 problems" in text
    assert text.count("is not a registry") == 50
    assert text.endswith("… and 23 more")
    assert "more" not in mistakes(50)[0]
