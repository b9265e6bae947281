"""A second stack on the fleet of the first one: what it makes, what its students do, and what is left afterwards.

Students log in with a browser, choose a profile, run a cell. A real Chromium, a real notebook server.
Tests run in the order of the file: the last ones take the stack away.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import own_stack
import pictures
import pytest
import users_stack
from hub_browser import choose, log_in, open_notebook, run_cell, stop_server
from hub_users import administrator
from own_stack import HUB, JOBS, OwnStack
from playwright.sync_api import Page, expect
from running_lab import Object, RunningLab, wait_for
from users_stack import UsersStack

from lab import health
from lab.cluster import name_of
from lab.instance import open_instance

USER_PODS = f"/api/v1/namespaces/{HUB}/pods"
USER_VOLUMES = f"/api/v1/namespaces/{HUB}/persistentvolumeclaims"
SERVER_LABEL = ("app.kubernetes.io/component", "singleuser-server")
WHO = "hub.jupyter.org/username"
SERVER_STARTS_WITHIN_S = 240


# --- the stack


@dataclass(frozen=True)
class Deployed:
    """The stack, what the pack proved when it went up, and what it put out."""

    stack: OwnStack
    proved: set[str]
    outputs: Mapping[str, Any]


@pytest.fixture(scope="module")
def before(lab: RunningLab) -> UsersStack:
    """The user's stack as it was when these tests began."""
    own_stack.remove_namespaces(lab)  # of a run that was killed
    return users_stack.look(lab)


@pytest.fixture(scope="module")
def own(lab: RunningLab, before: UsersStack, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployed]:
    """The tests' own stack; it is gone afterwards, whatever happened."""
    assert before.objects
    stack = OwnStack(lab, tmp_path_factory.mktemp("own"))
    try:
        proved = stack.up()
        yield Deployed(stack, proved, stack.outputs())
    finally:
        stack.remove()


def test_on_a_fleet_of_somebody_else_a_stack_makes_workloads_and_nothing_for_nodes(own: Deployed) -> None:
    made = own.stack.resources()
    ours = {kind.rpartition(":")[2]: count for kind, count in made.items() if kind.startswith("gpu-commons:")}
    assert ours == {"GpuImage": 4, "NotebookHub": 1, "PrePuller": 2, "GpuJob": 1, "StackRecord": 1}
    objects = {kind.rpartition(":")[2]: count for kind, count in made.items() if kind.startswith("kubernetes:")}
    assert objects == {
        "Namespace": 1,
        "NamespacePatch": 1,
        "ConfigMap": 1,
        "Service": 4,
        "ServiceAccount": 3,
        "Role": 2,
        "RoleBinding": 2,
        "ClusterRole": 1,
        "ClusterRoleBinding": 1,
        "NetworkPolicy": 5,
        "Deployment": 2,
        "StatefulSet": 1,
        "DaemonSet": 2,
        "Job": 2,
    }
    assert set(own.outputs) == {"images", "image_sizes", "hubs"}
    assert own.outputs["hubs"] == {"e2e-hub": "http://127.0.0.1:30081/"}


def test_the_pack_proves_its_workloads_against_the_pools_of_the_shared_fleet(own: Deployed) -> None:
    assert {"e2e-hub", "e2e-hub-hub", "e2e-hub-proxy", "e2e-hub-availability", "gpu-smoke-job"} <= own.proved
    changed = own_stack.settings()
    (pool,) = [each for each in changed["config"]["gpu-commons:fleet"]["pools"] if each["name"] == "rtx2080ti"]
    pool["taints"] = [{"key": "example.edu/exam", "effect": "NoSchedule"}]
    preview = own.stack.preview(changed)
    assert preview.code != 0
    reported = [event["policyEvent"] for event in preview.events() if "policyEvent" in event]
    refused = [each["message"] for each in reported if each["enforcementLevel"] == "mandatory"]
    assert len(refused) == 1
    assert "P-HOST: profile rtx2080ti of hub e2e-hub: no pool can host it" in refused[0]
    assert "rtx2080ti: it does not tolerate the taint example.edu/exam:NoSchedule" in refused[0]
    assert not [step for step in preview.steps().values() if step["type"].endswith((":GpuNodePool", ":NodePatch"))]


def test_an_image_that_another_stack_pushed_is_not_built_anew(lab: RunningLab, own: Deployed) -> None:
    assert own.outputs["images"] == lab.outputs["images"]
    theirs, ours = lab.outputs["image_sizes"], own.outputs["image_sizes"]
    since = ("before", "change_mb")  # of the user's stack, which may have had other images
    assert ours == {
        name: {key: value for key, value in size.items() if key not in since} for name, size in theirs.items()
    }


def test_the_size_of_each_image_is_an_output(lab: RunningLab) -> None:
    sizes = lab.outputs["image_sizes"]
    assert sorted(sizes) == ["datahub-base-notebook", "hub", "proxy", "scipy-ml-notebook"]
    for size in sizes.values():
        assert 10 < size["compressed_mb"] < size["unpacked_mb"] < 5000
    base, child = (sizes[name] for name in ("datahub-base-notebook", "scipy-ml-notebook"))
    assert base["unpacked_mb"] < child["unpacked_mb"], "the child stands on the base and adds packages"


def test_images_are_brought_to_the_nodes_of_the_pools_that_they_land_on_and_no_others(
    lab: RunningLab, own: Deployed
) -> None:
    assert own.outputs

    def pulled() -> dict[str, Object] | None:
        pods = [pod for pod in lab.pods(HUB) if pod["metadata"]["labels"].get("app.kubernetes.io/name") == "pre-puller"]
        by_node = {pod["spec"]["nodeName"]: pod for pod in pods if pod["status"].get("phase") == "Running"}
        return by_node if len(by_node) == 14 else None

    by_node = wait_for(pulled, what="the pre-pullers", within_s=120)
    assert "n10" not in by_node, "no profile lands on its pool"
    real = by_node["n01"]["status"]
    assert [each["name"] for each in real["initContainerStatuses"]] == [
        "pull-datahub-base-notebook",
        "pull-scipy-ml-notebook",
    ]
    assert all(each["state"]["terminated"]["exitCode"] == 0 for each in real["initContainerStatuses"])


def test_its_job_runs_on_a_node_of_the_shared_fleet_and_its_log_can_be_read(lab: RunningLab, own: Deployed) -> None:
    assert own.outputs
    (pod,) = lab.pods(JOBS)
    assert pod["metadata"]["labels"]["batch.kubernetes.io/job-name"] == "gpu-smoke"
    assert pod["status"]["phase"] == "Succeeded"
    assert pod["spec"]["nodeName"] == "n01"
    assert pod["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] == "1"
    # Of a job that has just run: a node that was down since then has no logs of before.
    log = lab.run("kubectl", "logs", "--namespace", JOBS, "job/gpu-smoke")
    assert log.code == 0, log.err
    assert log.out.splitlines()[-1] == "gpu-smoke done"


# --- its hub


def test_a_hub_whose_pod_was_deleted_comes_back_and_answers_through_its_service(lab: RunningLab, own: Deployed) -> None:
    instance = open_instance(os.environ["GPU_COMMONS_LAB"])
    assert own.outputs["hubs"] == {HUB: "http://127.0.0.1:30081/"}
    assert list(health.check(instance, [HUB]).answering) == [HUB]
    pod = f"{USER_PODS}/hub-0"
    before = (lab.cluster.get(pod) or {})["metadata"]["uid"]
    lab.cluster.delete(pod)
    wait_for(lambda: not (now := lab.cluster.get(pod)) or now["metadata"]["uid"] != before, what="the pod is gone")
    assert list(health.check(instance, [HUB]).answering) == [HUB]
    assert (lab.cluster.get(pod) or {})["metadata"]["uid"] != before


# --- its students


@pytest.fixture
def hub(own: Deployed) -> str:
    return str(own.outputs["hubs"][HUB])


def of_user(lab: RunningLab, path: str, user: str) -> list[Object]:
    """Objects of the hub that belong to a user."""
    return [each for each in lab.cluster.items(path) if each["metadata"].get("annotations", {}).get(WHO) == user]


@pytest.fixture
def user(lab: RunningLab, hub: str) -> Iterator[str]:
    """Somebody who was never here before, and is not afterwards."""
    name = f"{users_stack.TEST_USERS}{secrets.token_hex(4)}"
    yield name
    with administrator(lab, hub) as admin:
        admin.remove(name)
    for claim in of_user(lab, USER_VOLUMES, name):
        lab.cluster.delete(f"{USER_VOLUMES}/{name_of(claim)}")


def server_of(lab: RunningLab, user: str) -> Object:
    """The user's pod, as soon as a node was chosen for it."""

    def scheduled() -> Object | None:
        return next((pod for pod in of_user(lab, USER_PODS, user) if pod["spec"].get("nodeName")), None)

    return wait_for(scheduled, what=f"the server of {user} has a node")


@pytest.mark.browser
def test_a_wrong_password_leads_back_to_the_login_page_and_says_why(page: Page, hub: str) -> None:
    log_in(page, hub, f"{users_stack.TEST_USERS}mallory", "not-the-password")
    expect(page.get_by_text("Invalid username or password")).to_be_visible()
    expect(page).to_have_url(re.compile(r"/hub/login"))
    expect(page.get_by_role("button", name="Sign in")).to_be_visible()


@pytest.mark.browser
def test_neither_password_works_in_the_place_of_the_other(lab: RunningLab, page: Page, hub: str, user: str) -> None:
    users, admins = lab.credentials(HUB)["dummy-password"], lab.credentials(HUB, "hub-admin")["admin-password"]
    for name, password in ((user, admins), ("admin", users)):
        log_in(page, hub, name, password)
        expect(page.get_by_text("Invalid username or password")).to_be_visible()


@pytest.mark.browser
def test_an_administrator_sees_everybody_on_the_admin_page(
    lab: RunningLab, page: Page, hub: str, user: str, artefacts: Path
) -> None:
    log_in(page, hub, user, lab.credentials(HUB)["dummy-password"])
    expect(page.get_by_role("link", name="Admin")).to_have_count(0)
    page.context.clear_cookies()
    log_in(page, hub, "admin", lab.credentials(HUB, "hub-admin")["admin-password"])
    page.goto(f"{hub}hub/admin")
    expect(page.get_by_role("cell", name=user, exact=True)).to_be_visible()
    expect(page.get_by_role("link", name="Admin")).to_be_visible()
    pictures.take(page, artefacts / "5-admin.png")


@pytest.mark.browser
def test_a_student_runs_a_cell_on_a_node_with_one_gpu_requested(
    lab: RunningLab, own: Deployed, page: Page, hub: str, user: str, artefacts: Path
) -> None:
    page.goto(hub)
    pictures.take(page, artefacts / "1-login.png")
    log_in(page, hub, user, lab.credentials(HUB)["dummy-password"])
    expect(page.get_by_role("radio")).to_have_count(3)
    expect(page.get_by_role("radio", name="CPU only")).to_be_checked()
    page.get_by_role("radio", name="One GTX 1080 Ti").check()
    pictures.take(page, artefacts / "2-profiles.png")
    choose(page, "One GTX 1080 Ti")

    open_notebook(page, "Python 3", within_s=SERVER_STARTS_WITHIN_S, idle="Python 3 (ipykernel)")
    run_cell(page, "print(6*7)", re.compile(r"^42\s*$"))
    pictures.take(page, artefacts / "3-notebook.png")

    pod = server_of(lab, user)
    (container,) = pod["spec"]["containers"]
    assert pod["spec"]["nodeName"] == "n01"
    assert container["resources"]["requests"]["nvidia.com/gpu"] == "1"
    assert container["resources"]["limits"]["nvidia.com/gpu"] == "1"
    assert container["image"] == own.outputs["images"]["scipy-ml-notebook"]
    digest = container["image"].partition("@")[2]
    assert re.fullmatch(r"sha256:[0-9a-f]{64}", digest)
    (status,) = pod["status"]["containerStatuses"]
    assert status["ready"]
    assert status["imageID"].endswith(digest)

    # Stopping gives the GPU back and keeps the home. From a second page: the first one has unsaved work.
    stop_server(page.context.new_page(), hub)
    wait_for(lambda: not of_user(lab, USER_PODS, user), what=f"the server of {user} has ended")
    assert len(of_user(lab, USER_VOLUMES, user)) == 1


@pytest.mark.browser
def test_a_student_on_a_simulated_node_reads_within_seconds_that_nothing_runs_there(
    lab: RunningLab, page: Page, hub: str, user: str, artefacts: Path
) -> None:
    log_in(page, hub, user, lab.credentials(HUB)["dummy-password"])
    choose(page, "One RTX 2080 Ti")
    expect(page).to_have_url(re.compile(rf"/hub/spawn-pending/{user}"))
    expect(page.get_by_role("heading", name="Your server is starting up")).to_be_visible()
    pod = server_of(lab, user)
    assert pod["spec"]["nodeName"] in {"n18", "n21", "n22", "n24"}
    assert pod["spec"]["containers"][0]["resources"]["requests"]["nvidia.com/gpu"] == "1"
    pictures.take(page, artefacts / "4-pending.png")
    expect(page.get_by_role("heading", name="Your server could not start")).to_be_visible(timeout=30_000)
    why = f"node {pod['spec']['nodeName']} is simulated, so nothing runs there. Choose another option."
    expect(page.get_by_role("status")).to_have_text(f"The machine that was chosen did not run your server: {why}")
    pictures.take(page, artefacts / "4-pending-failed.png")
    wait_for(lambda: not of_user(lab, USER_PODS, user), what=f"the server of {user} is removed, its GPU is free")
    page.get_by_role("link", name="Choose again").click()
    expect(page.get_by_role("radio", name="CPU only")).to_be_visible()


@pytest.mark.browser
def test_no_user_of_a_test_is_left_and_no_volume_of_theirs(lab: RunningLab, hub: str) -> None:
    with administrator(lab, hub) as admin:
        assert admin.users() == {"admin"}
    claims = {name_of(claim) for claim in lab.cluster.items(USER_VOLUMES)}
    assert claims == {"database-hub-0"}
    wait_for(lambda: len(own_stack.volumes(lab)) == 1, what="the volumes of the tests' users are gone")


@pytest.mark.browser
def test_a_student_whose_gpus_are_all_in_use_reads_what_is_free_and_cancels(
    lab: RunningLab, own: Deployed, page: Page, hub: str, user: str, artefacts: Path
) -> None:
    assert own.outputs
    log_in(page, hub, user, lab.credentials(HUB)["dummy-password"])
    expect(page.get_by_text(re.compile(r"^(\d+|More than 50) free now$")).first).to_be_visible()
    with own_stack.all_gpus_in_use(lab, "rtx2080ti"):

        def is_full() -> bool:
            page.reload()
            return page.get_by_text("None free now: all 32 GeForce RTX 2080 Ti GPUs are in use").count() > 0

        wait_for(is_full, what="the page says that no RTX 2080 Ti is free", within_s=60)
        pictures.take(page, artefacts / "5-full.png", whole=True)
        choose(page, "One RTX 2080 Ti")
        expect(page.get_by_text("All 32 GeForce RTX 2080 Ti GPUs are in use.")).to_be_visible()
        expect(page.get_by_text(re.compile(r"You can cancel and choose .*“CPU only”"))).to_be_visible()
        pictures.take(page, artefacts / "6-waiting.png", whole=True)
        assert len(of_user(lab, USER_PODS, user)) == 1
        page.get_by_role("button", name="Cancel this start").click()
        expect(page.get_by_role("button", name="Start")).to_be_visible()
        wait_for(lambda: not of_user(lab, USER_PODS, user), what=f"the server of {user} is gone")


@pytest.mark.parametrize(
    ("account", "verb", "resource", "answer"),
    [
        ("availability", "list", "pods", "yes"),
        ("availability", "list", "nodes", "yes"),
        ("availability", "get", "pods", "no"),
        ("availability", "create", "pods", "no"),
        ("availability", "delete", "pods", "no"),
        ("availability", "list", "secrets", "no"),
        ("availability", "get", "pods/log", "no"),
        ("hub", "list", "nodes", "no"),
        ("hub", "list", "pods", "no"),
    ],
)
def test_who_counts_sees_nodes_and_pods_of_the_cluster_and_the_hub_does_not(
    lab: RunningLab, own: Deployed, account: str, verb: str, resource: str, answer: str
) -> None:
    assert own.outputs
    who = f"--as=system:serviceaccount:{HUB}:{account}"
    result = lab.run("kubectl", "auth", "can-i", verb, resource, "--all-namespaces", who)
    assert result.out.strip() == answer, result.shown


# --- the end of it


def test_after_its_removal_nothing_of_it_is_left(lab: RunningLab, own: Deployed) -> None:
    own.stack.remove()
    assert {HUB, JOBS} & {name_of(each) for each in lab.cluster.items("/api/v1/namespaces")} == set()
    assert own_stack.volumes(lab) == set()
    assert [pod for pod in lab.cluster.pods() if pod["metadata"]["namespace"] in {HUB, JOBS}] == []
    for kind in ("clusterroles", "clusterrolebindings"):
        names = {name_of(each) for each in lab.cluster.items(f"/apis/rbac.authorization.k8s.io/v1/{kind}")}
        assert not [name for name in names if HUB in name]
    assert own.stack.pulumi("stack", "ls", "--json").out.strip() == "[]"


def test_the_users_stack_is_untouched(lab: RunningLab, own: Deployed, before: UsersStack) -> None:
    own.stack.remove()
    assert before.changes(users_stack.look(lab)) == set()
    preview = lab.preview("--expect-no-changes")
    assert preview.code == 0, preview.messages() + preview.err
    assert {name for name in users_stack.people(lab) if name.startswith(users_stack.TEST_USERS)} == set()
