"""Every decision in a stack file is in the comment when it changes: before, after, and for whom."""

from __future__ import annotations

import datetime as dt
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from rows import each_row

from cli.comment import _price
from cli.engine_events import read_stream
from cli.review.details import duration
from cli.review.document import Review, Sources, review_of
from cli.review.markdown import review_markdown
from compat.evidence.names.gpu_names import find_gpu
from compat.values.versions import DriverVersion
from platforms.node_keys import Taint
from settings.models import (
    Cluster,
    Container,
    Image,
    ImageWaiver,
    PolicyWaiver,
    Substitute,
)
from settings.pools import NodeOverride
from settings.reading import Stack, load_stack
from workloads.authenticator import OAuthAuthenticator, SecretKey
from workloads.exposure import Certificate, ClusterIp
from workloads.storage import Database, Homes, NfsExport, Storage

sys.path.insert(0, str(Path(__file__).parent))  # for previews.py: folders of tests are no packages here
import previews

import stacks

TODAY = dt.date(2020, 11, 16)
FALL = load_stack(Path(__file__).parents[2] / "stacks" / "Pulumi.dsmlp-fall.yaml")


def review(old: Stack, new: Stack, today: dt.date = TODAY, **more: Any) -> Review:
    return review_of(read_stream(stacks.preview(old, new, **more)), None, Sources(lambda *_: None, _price, today))


def markdown(old: Stack, new: Stack, today: dt.date = TODAY) -> str:
    return review_markdown(review(old, new, today), today)


def put(model: Any, path: tuple[str | int, ...], value: Any) -> Any:
    """A copy of the model with another value there; nothing is checked."""
    if not path:
        return value
    step, *rest = path
    if isinstance(step, int):
        return tuple(put(each, tuple(rest), value) if index == step else each for index, each in enumerate(model))
    return model.model_copy(update={step: put(getattr(model, step), tuple(rest), value)})


def row(text: str, what: str) -> str:
    (found,) = [line for line in text.splitlines() if line.startswith(f"| {what} |")]
    return found


# --- every key


# A hub of a cluster has none of them; what changes of a hub on a Docker host is in test_review_hosts.py.
OF_A_HOST = ("pool", "filter_image", "gateway_image", "kernels_per_user", "profiles.kernels")
WHY_NOT = {
    "assumptions": "says who knows a value, and changes none",
    "cluster": "a stack of this kind has none; of another it is what EksGpuCluster takes, where its changes show",
    "containers": "a stack of this kind has none; on a Docker host it is what DockerGpuContainer takes",
    "total_gpus": "a sum that the pools must have: their own changes are shown",
}


def full() -> Stack:
    """A stack that sets every key, so that each can be changed."""
    limit = ImageWaiver(compressed_gb=8, reason="exam", until=dt.date(2099, 1, 1))
    extra = Image(name="cupy-notebook", target="batch", limit=limit)  # nobody uses it: it may have any name
    stack = put(FALL, ("images",), (*FALL.images, extra))
    stack = put(stack, ("jobs",), (*FALL.jobs, FALL.jobs[0].model_copy(update={"name": "second"})))
    site = {
        "builder": "b", "ca_bundle": "/etc/ca.pem", "kubeconfig": "/etc/kube", "kube_context": "one",
        "substitutes": (Substitute(reference="docker.io/x:1", **{"with": "r/x:1"}, reason="offline"),),
    }  # fmt: skip
    pool = {
        "default_runtime": "runc", "pull_mb_per_s": 50, "disk_mb_per_s": 400, "labels": {"example.edu/a": "b"},
        "extra_taints": (Taint(key="example.edu/exam", value="yes", effect="NoSchedule"),),
    }  # fmt: skip
    other = NodeOverride(nodes=("n18",), driver="450.80.02", container_toolkit="1.8.0")  # type: ignore[arg-type]  # read
    export = NfsExport(server="nfs.example.edu", path="/export/homes", options=("hard",))
    homes = Homes(storage_class="fast").model_copy(update={"nfs": export})
    storage = Storage(homes=homes, database=Database(storage_class="fast"))
    hub = {"public_url": "https://hub.example.edu", "storage": storage, "help_url": "https://h.example.edu"}
    waiver = {"rule": "P-START", "resource": "stack", "reason": "r", "owner": "ops", "until": dt.date(2099, 1, 1)}
    for path, more in {
        ("site",): site,
        ("fleet", "pools", 0): pool,
        ("fleet", "pools", 1): {"node_overrides": (other,)},
        ("hubs", 0): hub,
        ("hubs", 0, "cull"): {"kernel_idle_s": 600},
        ("hubs", 0, "profiles", 1): {"description": "d", "shm_gib": 2},
        ("jobs", 0): {"shm_gib": 1, "deadline_s": 600},
        ("hubs", 0, "profiles", 2): {"pool": None, "pools": ("rtx2080ti", "gtx1080ti")},
        ("jobs", 1): {"pool": None, "pools": ("rtx2080ti", "gtx1080ti")},
        ("courses", 0): {"borrowable_gpus": 4},
        ("policies",): {
            "levels": {"P-ROOM": "refuse"}, "unproved": "warn", "waivers": (PolicyWaiver.model_validate(waiver),)
        },
    }.items():  # fmt: skip
        at: Any = stack
        for step in path:
            at = at[step] if isinstance(step, int) else getattr(at, step)
        stack = put(stack, path, at.model_copy(update=more))
    return stack


OAUTH = OAuthAuthenticator(
    kind="oauth", client_id="1", client_secret=SecretKey(secret="s", key="k"), callback_url="https://h.example.edu/c",
    authorize_url="https://i.example.edu/a", token_url="https://i.example.edu/t",
    userdata_url="https://i.example.edu/u", login_service="Campus", allowed_users=("ada",), admins=("grace",),
)  # fmt: skip
WITH_LTI, WITH_OAUTH = full(), put(full(), ("site", "authenticator"), OAUTH)
MANAGED = put(WITH_LTI, ("fleet", "managed_by"), "another stack")


def leaves(model: BaseModel, at: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Every key that holds a plain value, a list of them or a map."""
    for key in type(model).model_fields:
        value = getattr(model, key)
        if isinstance(value, BaseModel):
            yield from leaves(value, (*at, key))
        elif isinstance(value, tuple) and value and isinstance(value[0], BaseModel):
            yield from (leaf for index, each in enumerate(value) for leaf in leaves(each, (*at, key, index)))
        else:
            yield (*at, key)


OTHER_WORDS = {
    "NoSchedule": "NoExecute", "runc": "nvidia", "kubernetes": "eks", "warn": "refuse", "cupy-notebook": "hub",
    "batch": "kernel", "hub": "proxy",
    "proxy": "hub", "datahub-base-notebook": "scipy-ml-notebook", "scipy-ml-notebook": "datahub-base-notebook",
}  # fmt: skip
OTHER_VALUES: dict[str, Any] = {
    "certificate": Certificate(secret="campus"),
    "cluster": Cluster.model_validate({"region": "us-east-1", "kubernetes": "1.34", "subnets": ("subnet-00000000",)}),
    "containers": (Container(name="board", image="hub", pool="box", cpu=1, memory_gib=1),),
    "driver": DriverVersion.parse("470.82.01"),
    "engines": {"box": "unix:///run/docker.sock"},
    "gpu": find_gpu("Tesla T4"),
    "nodes": ("n31",),
    "pool": "gtx1070ti",
    "pools": ("rtx2080ti",),
    "core_pool": "gtx1070ti",
    "nodes_except": ("n01",),
    "labels": {"example.edu/new": "b"},
    "levels": {"P-ROOM": "warn"},
}


def another(value: Any, key: str) -> Any:
    """A value that somebody could have written in its place."""
    if key in OTHER_VALUES:
        return OTHER_VALUES[key]
    ways: list[tuple[type | tuple[type, ...], Callable[[Any], Any]]] = [
        (type(None), lambda _: "more"),
        (str, lambda old: OTHER_WORDS.get(old, f"{old}x")),
        (bool, lambda old: not old),
        (dt.date, lambda old: old + dt.timedelta(days=1)),
        (tuple, lambda old: (*old, "more")),
        ((int, float), lambda old: old / 2 if key.endswith("share") else old + 1),
        (object, lambda old: type(old).parse("1.99.0")),  # a version
    ]
    return next(way(value) for kind, way in ways if isinstance(value, kind))


def at(stack: Any, path: tuple[str | int, ...]) -> Any:
    for step in path:
        stack = stack[step] if isinstance(step, int) else getattr(stack, step)
    return stack


def cases(name: str, stack: Stack) -> Iterator[tuple[str, tuple[Stack, tuple[str | int, ...]]]]:
    """Each key once: of several pools, hubs, …, one that sets it."""
    found: dict[str, tuple[str | int, ...]] = {}
    for path in leaves(stack):
        key = ".".join(step for step in path if isinstance(step, str))
        if at(stack, path) not in (None, {}, ()) or key not in found:
            found[key] = path
    inner = {key.rpartition(".")[0] for key in found}
    found = {key: path for key, path in found.items() if key not in inner}
    yield from ((f"{name}: {key}", (stack, path)) for key, path in found.items())


def changed(stack: Stack, path: tuple[str | int, ...]) -> Stack:
    if path[-1] == "kind" and len(path) > 2:  # changes with what is beside it
        whole = OAUTH if "authenticator" in path else ClusterIp(kind="cluster_ip")
        return put(stack, path[:-1], whole)
    return put(stack, path, another(at(stack, path), str(path[-1])))


CASES = {
    **dict(cases("any", WITH_LTI)),
    **{name: case for name, case in cases("oauth", WITH_OAUTH) if "authenticator" in name and "kind" not in name},
    **{name: case for name, case in cases("managed", MANAGED) if "fleet" in name},
}
del CASES["any: fleet.managed_by"]  # is among the last ones
for key in OF_A_HOST:
    del CASES[f"any: hubs.{key}"]
for key in ("site", "jobs"):
    del CASES[f"any: {key}.slurm"]  # what changes of a cluster with Slurm is in test_review_slurm.py
del CASES["any: hubs.profiles.time_min"]  # the same: only a job of Slurm has it


@pytest.mark.slow
@pytest.mark.parametrize("case", [name for name, (_, path) in CASES.items() if path[-1] not in WHY_NOT])
def test_a_key_that_changes_is_in_the_comment(case: str) -> None:
    stack, path = CASES[case]
    result = review(stack, changed(stack, path))
    assert result.verdict.outcome != "unchanged", "nothing of it is recorded"
    assert result.changes, "it is in no row of the table"
    assert all(each.details or each.op in {"create", "delete"} for each in result.changes), result.changes


@each_row("case", [name for name, (_, path) in CASES.items() if path[-1] in WHY_NOT])
def test_a_key_that_changes_nothing_for_anybody_is_no_change(case: str) -> None:
    stack, path = CASES[case]
    result = review(stack, changed(stack, path))
    if path[-1] == "assumptions" and path[:2] == ("fleet", "pools"):
        return  # that a rate is an assumption is an input of the images that land there
    assert result.verdict.outcome == "unchanged"


# --- in the words of people


def course(index: int, **changes: Any) -> Stack:
    return put(FALL, ("courses", index), FALL.courses[index].model_copy(update=changes))


def hub(**changes: Any) -> Stack:
    return put(FALL, ("hubs", 0), FALL.hubs[0].model_copy(update=changes))


ML = "hub datahub: profiles cpu, gtx1080ti<br>course Introduction to machine learning (180 seats) |"


@each_row(
    ("changes", "cell"),
    [
        ({"guaranteed_gpus": 24}, "guaranteed GPUs: `36` → `24`"),
        ({"peak_share": 0.25}, "share of the seats at the busiest time: `20%` → `25%`"),
        ({"last_day": dt.date(2020, 12, 4)}, "last day: `2020-12-18` → `2020-12-04`"),
        ({"borrowable_gpus": 8}, "GPUs to borrow: `any` → `8`"),
    ],
)
def test_a_promise_to_a_course_is_shown_with_its_people(changes: dict[str, Any], cell: str) -> None:
    text = markdown(FALL, course(0, **changes))
    assert row(text, "course `ml-intro`") == f"| course `ml-intro` | {cell} | {ML}"
    assert "hub `datahub`" not in text  # the hub itself stays as it is


def test_seats_are_shown_with_the_higher_number_of_people() -> None:
    text = markdown(FALL, course(0, seats=90))
    assert row(text, "course `ml-intro`") == f"| course `ml-intro` | seats: `180` → `90` | {ML}"


def test_a_course_that_comes_and_one_that_goes_are_each_one_line() -> None:
    one = FALL.model_copy(update={"courses": FALL.courses[:1]})
    line = "120 seats on hub datahub, profiles gtx1080ti, rtx2080ti, 48 guaranteed GPUs"
    days = "40% of the seats at the busiest time, 2020-10-01 to 2020-12-18"
    assert f"| course `deep-learning` (new) | {line}, {days} |" in markdown(one, FALL)
    assert f"| course `deep-learning` (removed) | {line}, {days} |" in markdown(FALL, one)


def test_a_course_that_moves_to_another_hub_is_one_change() -> None:
    two = FALL.model_copy(update={"hubs": (FALL.hubs[0], FALL.hubs[0].model_copy(update={"name": "second"}))})
    moved = put(two, ("courses", 0, "hub"), "second")
    assert row(markdown(two, moved), "course `ml-intro`").startswith(
        "| course `ml-intro` | hub: `datahub` → `second` | hub datahub: profiles cpu, gtx1080ti<br>hub second: "
    )


CULL, STORAGE = FALL.hubs[0].cull, FALL.hubs[0].storage


@each_row(
    ("changes", "cell"),
    [
        ({"start_timeout_s": 900}, "start time-out: `10 min` → `15 min`"),
        ({"cull": CULL.model_copy(update={"idle_s": 1800})}, "idle servers end after: `1 h` → `30 min`"),
        (
            {"cull": CULL.model_copy(update={"max_age_s": 0})},
            "servers end at the latest after: `12 h` → `never`",
        ),
        ({"storage": put(STORAGE, ("homes", "size_gib"), 20.0)}, "homes, size: `10 GiB` → `20 GiB`"),
    ],
)
def test_a_limit_of_a_hub_is_shown_with_everybody_on_it(changes: dict[str, Any], cell: str) -> None:
    everybody = "courses Introduction to machine learning, Deep learning (300 seats) |"
    assert row(markdown(FALL, hub(**changes)), "hub `datahub`") == (
        f"| hub `datahub` | {cell} | hub datahub: profiles cpu, gtx1080ti, rtx2080ti<br>{everybody}"
    )


def test_homes_that_move_are_said_before_anybody_misses_them() -> None:
    export = NfsExport(server="nfs.example.edu", path="/export/homes")
    moved = hub(storage=Storage(homes=Homes(nfs=export), database=STORAGE.database))
    said = "have their homes in another place: what people have now stays where it is"
    assert said in markdown(FALL, moved)
    assert said in markdown(moved, FALL)
    slower = hub(storage=Storage(homes=Homes(nfs=export.model_copy(update={"options": ("soft",)}))))
    assert said not in markdown(hub(storage=Storage(homes=Homes(nfs=export))), slower)


@each_row(
    ("path", "value", "what", "cell"),
    [
        (("site", "allowed_registries"), ("quay.io",), "site `dsmlp`", "allowed registries: − `registry.example.edu, "),  # noqa: RUF001
        (("site", "image_limits", "refuse_compressed_gb"), 5, "site `dsmlp`", "images are refused above: `6 GB` → "),
        (("fleet", "pools", 0, "root_disk_gib"), 240, "pool `gtx1080ti`", "disk of a node: `480 GiB` → `240 GiB`"),
        (("policies", "levels"), {"P-ROOM": "refuse"}, "policies `dsmlp`", "level of P-ROOM: \\+ `refuse`"),
    ],
)  # fmt: skip
def test_a_decision_about_the_site_is_shown(path: tuple[str | int, ...], value: Any, what: str, cell: str) -> None:
    text = markdown(FALL, put(FALL, path, value))
    assert row(text, what).startswith(f"| {what} | {cell}")
    assert "| hub datahub: profiles cpu, gtx1080ti" in row(text, what)


def test_what_two_resources_record_of_a_pool_is_one_row() -> None:
    pool = FALL.fleet.pools[0].model_copy(update={"root_disk_gib": 240, "driver": DriverVersion.parse("580.95.05")})
    assert row(markdown(FALL, put(FALL, ("fleet", "pools", 0), pool)), "pool `gtx1080ti`").startswith(
        "| pool `gtx1080ti` | driver: `418.88` → `580.95.05`<br>disk of a node: `480 GiB` → `240 GiB` |"
    )


def test_a_stack_file_that_is_the_same_changes_nothing() -> None:
    assert markdown(FALL, FALL).startswith("✅ made: nothing changes.")


def test_a_limit_for_one_image_is_shown_and_nobody_pulls_anything_for_it() -> None:
    limit = ImageWaiver(compressed_gb=8, reason="exam", until=dt.date(2099, 1, 1))
    text = markdown(FALL, put(FALL, ("images", 3, "limit"), limit))
    assert row(text, "image `scipy-ml-notebook`").startswith(
        "| image `scipy-ml-notebook` | limit of its own: \\+ `8 GB, exam, until 2099-01-01` | hub datahub: profiles "
    )
    assert "What people will notice" not in text


def test_a_new_profile_is_shown_without_the_contents_of_its_image() -> None:
    more = FALL.hubs[0].profiles[1].model_copy(update={"name": "two", "title": "Two"})
    text = markdown(FALL, hub(profiles=(*FALL.hubs[0].profiles, more)))
    assert "profile two: \\+ `title: Two, pool: gtx1080ti, GPUs: 1, CPU cores: 4" in row(text, "hub `datahub`")
    assert "contents" not in row(text, "hub `datahub`")


# --- courses that are over


def test_a_course_whose_last_day_is_over_counts_for_nothing() -> None:
    after_the_term = dt.date(2020, 12, 19)
    pool = put(FALL, ("fleet", "pools", 1, "driver"), DriverVersion.parse("580.95.05"))
    assert "Deep learning (120 seats)" in markdown(FALL, pool, dt.date(2020, 12, 18))
    text = markdown(FALL, pool, after_the_term)
    assert "seats" not in text
    assert "Deep learning" not in text
    old = row(markdown(FALL, course(1, guaranteed_gpus=8), after_the_term), "course `deep-learning`")
    assert old.endswith("guaranteed GPUs: `48` → `8`<br>over since 2020-12-18 | nobody in this stack |")


# --- states that recorded less


def test_a_state_that_recorded_no_decision_yet_is_no_change_of_promises() -> None:
    old = stacks.registered(FALL)
    del old[stacks.RECORD, "stack-file"]
    for entry in old[previews.HUB, "datahub"]["courses"]:
        for key in ("peak_share", "guaranteed_gpus", "first_day", "last_day"):
            del entry[key]
    new = stacks.registered(put(FALL, ("courses", 0, "seats"), 200))
    events = [previews.step(*key, old.get(key), inputs) for key, inputs in new.items()]
    result = review_of(read_stream(previews.stream(*events)), None, Sources(lambda *_: None, _price, TODAY))
    (change,) = result.changes
    assert [(each.label, each.before, each.after) for each in change.details] == [("seats", "180", "200")]
    assert "does not record what the stack file promises and limits" in result.remarks[0]


@each_row(("seconds", "text"), [(45, "45 s"), (90, "90 s"), (600, "10 min"), (3600, "1 h"), (5400, "1 h 30 min")])
def test_a_time_is_shown_in_hours_and_minutes(seconds: int, text: str) -> None:
    assert duration(seconds) == text
