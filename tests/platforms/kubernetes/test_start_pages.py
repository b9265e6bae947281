"""The pages of a start, from a real JupyterHub with our spawner and a cluster whose pods are recorded."""

from __future__ import annotations

import os
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import groupby
from pathlib import Path
from typing import Any

import pictures
import pytest
from playwright.sync_api import Browser, expect

sys.path.insert(0, str(Path(__file__).parent))  # folders of tests are no packages here
from recorded_cluster import Moment, RecordedCluster, serving
from running_hub import PASSWORD, RunningHub, running_hub

from platforms.kubernetes.hub import parse_hub

pytestmark = pytest.mark.slow

START_S = 12
HTTP_S = 3
TITLE = "One RTX 2080 Ti (11 GB)"
ARGS: dict[str, Any] = {
    "hub_image": "registry.example.edu/hub@sha256:0",
    "proxy_image": "registry.example.edu/proxy@sha256:0",
    "profiles": [
        {
            "name": "rtx2080ti",
            "title": TITLE,
            "image": "registry.example.edu/scipy-ml-notebook@sha256:0",
            "image_name": "scipy-ml-notebook",
            "pool": "rtx2080ti",
            "gpus": 1,
            "cpu": 4,
            "memory_gib": 16,
        }
    ],
    "expose": {"kind": "node_port", "port": 30080},
    "authenticator": {"kind": "dummy"},
    "start_timeout_s": START_S,
    "http_timeout_s": HTTP_S,
}
BUSY = "0/15 nodes are available: 4 Insufficient nvidia.com/gpu, 11 node(s) didn't match Pod's node affinity/selector."
UNPLACED: dict[str, Any] = {
    "phase": "Pending",
    "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": BUSY}],
}
NOT_FOUND = "rpc error: code = NotFound desc = failed to pull and unpack image: not found"
SCHEDULED = ("Scheduled", "Successfully assigned hub/jupyter-ada to n18")
PULLING = ("Pulling", 'Pulling image "registry.example.edu/scipy-ml-notebook@sha256:0"')
CANNOT = (
    f"The image scipy-ml-notebook of “{TITLE}” cannot be downloaded: the registry does not have it. "
    "Starting it again will not help: choose another option, and please tell the people who run this hub."
)
NO_GPU = (
    f"No GPU for “{TITLE}” became free within {START_S} seconds, so your server was not started. "
    "Try again later, or choose another option."
)


def container(state: dict[str, Any], phase: str = "Pending", **more: Any) -> dict[str, Any]:
    status = {"name": "notebook", "state": state, "restartCount": 0, "ready": phase == "Running", **more}
    return {"phase": phase, "podIP": "127.0.0.1", "containerStatuses": [status]}


def waiting(reason: str, message: str = "", **more: Any) -> dict[str, Any]:
    return container({"waiting": {"reason": reason, "message": message}}, **more)


RUNNING = container({"running": {"startedAt": "2026-11-22T15:00:00Z"}}, "Running")
DEAF = {**RUNNING, "podIP": "127.0.0.2"}  # nobody listens there
CRASHED = waiting("CrashLoopBackOff", restartCount=1, lastState={"terminated": {"exitCode": 3, "reason": "Error"}})
NO_IMAGE: list[Moment] = [
    (0, UNPLACED, ()),
    (1.2, waiting("ContainerCreating"), [SCHEDULED, PULLING]),
    (2.4, waiting("ErrImagePull", NOT_FOUND), [SCHEDULED, PULLING]),
]


@dataclass(frozen=True)
class Site:
    hub: RunningHub
    cluster: RecordedCluster

    def failure(self, student: str) -> dict[str, Any]:
        """The last event of a start."""
        one = self.hub.student(student)
        one.start("rtx2080ti")
        *_, last = one.events()
        return last


class _Notebook(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture(scope="module")
def notebook() -> Iterator[int]:
    """Port of something that answers as a notebook server would."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Notebook)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_address[1]
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory, notebook: int) -> Iterator[Site]:
    cluster = RecordedCluster()
    config = f"""
import hub_files.base_spawner

hub_files.base_spawner.SAY_EVERY_S = 1
c.KubeSpawner.port = {notebook}
"""
    with (
        serving(cluster) as address,
        running_hub(parse_hub("hub", ARGS), address, tmp_path_factory.mktemp("hub"), config) as hub,
    ):
        yield Site(hub, cluster)


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 15
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.fixture
def site(running: Site) -> Site:
    running.cluster.refusal = None
    return running


def test_a_start_that_cannot_succeed_ends_with_its_reason(site: Site) -> None:
    site.cluster.recording = NO_IMAGE
    failed = site.failure("ada")
    assert failed["failed"]
    assert failed["html_message"] == CANNOT
    ada = site.hub.student("ada")
    page = ada.page("/hub/spawn-pending/ada")
    assert page.status_code == 503
    assert CANNOT in page.text
    assert 'href="/hub/spawn/ada"' in page.text
    assert "Spawn failed" not in page.text


def test_each_step_of_a_start_is_a_line_that_replaces_itself(site: Site) -> None:
    site.cluster.recording = NO_IMAGE
    grace = site.hub.student("grace")
    grace.start("rtx2080ti")
    shown = [(event.get("line"), event["message"]) for event in grace.events()]
    steps = [line for line, _ in groupby(line for line, _ in shown) if line != "preparing"]
    assert steps == [None, "requested", "placing", "pulling", None]
    text = dict(shown)
    assert (
        text["placing"] == f"All GPUs for “{TITLE}” are in use. Your server starts by itself as soon as this changes."
    )
    assert text["pulling"].startswith("A machine was found; it is downloading the image scipy-ml-notebook (")


def test_a_start_that_takes_too_long_says_what_it_waited_for(site: Site) -> None:
    site.cluster.recording = [(0, UNPLACED, ())]
    assert site.failure("edsger")["html_message"] == NO_GPU


def test_an_exhausted_quota_is_shown_at_once(site: Site) -> None:
    site.cluster.refusal = (
        403,
        (
            'pods "jupyter-barbara" is forbidden: exceeded quota: ml-intro, requested: requests.nvidia.com/gpu=1, '
            "used: requests.nvidia.com/gpu=4, limited: requests.nvidia.com/gpu=4"
        ),
    )
    assert site.failure("barbara")["html_message"].startswith(
        f"The quota of this hub is used up: 4 of 4 GPUs are in use, and “{TITLE}” needs 1 GPU."
    )


def test_a_server_that_crashes_is_shown_before_the_time_out(site: Site) -> None:
    site.cluster.recording = [(0, DEAF, ()), (1.5, CRASHED, ())]
    assert site.failure("alan")["html_message"].startswith("Your server ended as it started (exit code 3).")


def test_a_server_that_runs_and_does_not_answer_is_shown(site: Site) -> None:
    site.cluster.recording = [(0, DEAF, ())]
    assert site.failure("tony")["html_message"].startswith(
        f"Your server runs, but did not answer within {HTTP_S} seconds."
    )


def test_a_server_that_answers_is_opened(site: Site) -> None:
    site.cluster.recording = [(0, waiting("ContainerCreating"), ()), (1.2, RUNNING, ())]
    last = site.failure("niklaus")
    assert last["ready"]
    assert last["url"] == "/user/niklaus/"


def test_a_server_that_somebody_deletes_while_it_starts_is_not_waited_for(site: Site) -> None:
    site.cluster.recording = [(0, UNPLACED, ())]
    radia = site.hub.student("radia")
    radia.start("rtx2080ti")
    events = radia.events()
    assert next(event for event in events if event.get("line") == "placing")
    site.cluster.made.clear()
    *_, last = events
    assert last["html_message"].startswith("Your server was removed while it started, by the cluster or by somebody")


def test_a_second_start_knows_nothing_of_the_first_one(site: Site) -> None:
    site.cluster.recording = NO_IMAGE
    assert site.failure("donald")["html_message"] == CANNOT
    site.cluster.recording = [(0, RUNNING, ())]
    assert site.failure("donald")["ready"]


def test_a_start_that_never_ran_leaves_no_home_bound(site: Site) -> None:
    site.cluster.recording = NO_IMAGE
    assert site.failure("maurice")["failed"]
    wait_until(lambda: "claim-maurice" not in site.cluster.claims)
    site.cluster.recording = [(0, RUNNING, ())]
    assert site.failure("maurice")["ready"]
    assert "claim-maurice" in site.cluster.claims


def test_a_home_in_which_a_server_has_run_is_kept(site: Site) -> None:
    site.cluster.recording = [(0, DEAF, ()), (1.5, CRASHED, ())]
    assert site.failure("frances")["failed"]
    home = site.cluster.claims["claim-frances"]
    site.cluster.recording = NO_IMAGE  # the second start never runs, and did not make the home
    assert site.failure("frances")["failed"]
    site.cluster.recording = [(0, RUNNING, ())]
    assert site.failure("frances")["ready"]
    assert site.cluster.claims["claim-frances"] is home


def test_without_scripts_the_page_says_where_the_start_is_and_looks_again(site: Site) -> None:
    site.cluster.recording = [(0, UNPLACED, ())]
    ken = site.hub.student("ken")
    ken.start("rtx2080ti")
    assert next(event for event in ken.events() if event.get("line") == "placing")
    page = ken.page("/hub/spawn-pending/ken").text
    assert f"All GPUs for “{TITLE}” are in use." in page
    assert '<noscript><meta http-equiv="refresh" content="5"></noscript>' in page


# In a browser


@pytest.mark.browser
def test_a_student_reads_one_line_for_each_step_and_then_the_reason(
    site: Site, browser: Browser, tmp_path: Path
) -> None:
    folder = Path(os.environ.get("GPU_COMMONS_ARTEFACTS") or tmp_path)
    # The download goes on for so long that its line is shown again.
    unplaced, pulling, failed = NO_IMAGE
    site.cluster.recording = [unplaced, (2.5, *pulling[1:]), (10, *failed[1:])]
    context = browser.new_context(viewport={"width": 390, "height": 700})
    page = context.new_page()
    page.goto(f"{site.hub.url}/hub/login?next=/hub/spawn")
    page.get_by_label("Username:").fill("margaret")
    page.get_by_label("Password:").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("button", name="Start").click()
    expect(page.get_by_role("heading", name="Your server is starting up")).to_be_visible()
    expect(page.get_by_role("status")).to_contain_text("All GPUs for", timeout=10_000)
    pictures.take(page, folder / "start-waiting.png")
    expect(page.get_by_role("heading", name="Your server could not start")).to_be_visible(timeout=20_000)
    expect(page.get_by_role("status")).to_have_text(CANNOT)
    page.get_by_text("What happened so far").click()
    lines = page.locator("#progress-log li").all_inner_texts()
    assert len([text for text in lines if text.startswith("All GPUs for")]) == 1
    (download,) = [text for text in lines if "it is downloading the image" in text]
    assert lines[-1] == CANNOT
    # It was shown again, and replaced the one before.
    assert int(re.findall(r"\((\d+) second", download)[0]) >= 2
    pictures.take(page, folder / "start-failed.png")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.reload()
    expect(page.get_by_role("heading", name="Your server could not start")).to_be_visible()
    expect(page.get_by_text(CANNOT)).to_be_visible()
    pictures.take(page, folder / "start-failed-later.png")
    page.emulate_media(color_scheme="dark")
    pictures.take(page, folder / "start-failed-dark.png")
    page.get_by_role("link", name="Choose again").click()
    expect(page.get_by_role("button", name="Start")).to_be_visible()
    context.close()
