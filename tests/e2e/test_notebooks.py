"""What a student does: log in with a browser, choose a profile, run a cell. A real Chromium, a real notebook server."""

from __future__ import annotations

import re
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright
from running_lab import HUB_NAMESPACE, Object, RunningLab, wait_for

# One worker drives the browser: a second one would only wait for the same two cores.
pytestmark = pytest.mark.browser

FLAGS = (
    "--no-sandbox",  # Chromium refuses to run as root with it
    "--disable-gpu",
    # Nothing leaves the machine.
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
USER_PODS = f"/api/v1/namespaces/{HUB_NAMESPACE}/pods"
USER_VOLUMES = f"/api/v1/namespaces/{HUB_NAMESPACE}/persistentvolumeclaims"
SERVER_LABEL = ("app.kubernetes.io/component", "singleuser-server")
WHO = "hub.jupyter.org/username"
SERVER_STARTS_WITHIN_S = 240


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.fail("chromium is not on PATH: run `make test`, or as root: apt-get install -y chromium", pytrace=False)
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=chromium, args=list(FLAGS))
        yield launched
        launched.close()


@pytest.fixture
def page(browser: Browser, artefacts: Path, request: pytest.FixtureRequest) -> Iterator[Page]:
    """A browser window of somebody who has no cookies. What it showed last is kept, for the reader of a failure."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    context.set_default_timeout(30_000)
    first = context.new_page()
    yield first
    first.screenshot(path=artefacts / f"last-{request.node.name}.png")
    context.close()


@pytest.fixture
def hub(lab: RunningLab) -> str:
    url = lab.outputs["hubs"]["datahub"]
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", url), url
    return str(url)


def of_user(lab: RunningLab, path: str, user: str) -> list[Object]:
    """Objects of the hub that belong to a user."""
    return [each for each in lab.cluster.items(path) if each["metadata"].get("annotations", {}).get(WHO) == user]


@pytest.fixture
def user(lab: RunningLab) -> Iterator[str]:
    """Somebody who was never here before. Server and home are gone afterwards."""
    name = f"e2e-ada-{secrets.token_hex(4)}"
    yield name
    for path in (USER_PODS, USER_VOLUMES):
        for each in of_user(lab, path, name):
            lab.cluster.delete(f"{path}/{each['metadata']['name']}")
    wait_for(
        lambda: not of_user(lab, USER_PODS, name) and not of_user(lab, USER_VOLUMES, name),
        what=f"server and home of {name} are gone",
        within_s=120,
    )


def log_in(page: Page, hub: str, user: str, password: str) -> None:
    page.goto(hub)
    page.get_by_label("Username:").fill(user)
    page.get_by_label("Password:").fill(password)
    page.get_by_role("button", name="Sign in").click()


def choose(page: Page, title: str) -> None:
    page.get_by_role("radio", name=title).check()
    page.get_by_role("button", name="Start").click()


def server_of(lab: RunningLab, user: str) -> Object:
    """The user's pod, as soon as a node was chosen for it."""

    def scheduled() -> Object | None:
        return next((pod for pod in of_user(lab, USER_PODS, user) if pod["spec"].get("nodeName")), None)

    return wait_for(scheduled, what=f"the server of {user} has a node")


def test_a_wrong_password_leads_back_to_the_login_page_and_says_why(page: Page, hub: str) -> None:
    log_in(page, hub, "e2e-mallory", "not-the-password")
    expect(page.get_by_text("Invalid username or password")).to_be_visible()
    expect(page).to_have_url(re.compile(r"/hub/login"))
    expect(page.get_by_role("button", name="Sign in")).to_be_visible()


def test_a_student_runs_a_cell_on_a_node_with_one_gpu_requested(
    lab: RunningLab, page: Page, hub: str, user: str, artefacts: Path
) -> None:
    page.goto(hub)
    page.screenshot(path=artefacts / "1-login.png")
    log_in(page, hub, user, lab.credentials()["dummy-password"])
    expect(page.get_by_role("radio")).to_have_count(3)
    expect(page.get_by_role("radio", name="CPU only")).to_be_checked()
    page.get_by_role("radio", name="One GTX 1080 Ti").check()
    page.screenshot(path=artefacts / "2-profiles.png")
    choose(page, "One GTX 1080 Ti")

    # JupyterLab: the launcher's card of the Python kernel makes a notebook.
    card = page.locator('.jp-LauncherCard[data-category="Notebook"]').filter(has_text="Python 3")
    card.click(timeout=SERVER_STARTS_WITHIN_S * 1000)
    # Before the kernel is there the page still moves the cursor from place to place, and typed text gets lost.
    expect(page.get_by_role("button", name="Python 3 (ipykernel) | Idle")).to_be_visible(timeout=120_000)
    cell = page.locator(".jp-Notebook .jp-CodeCell").first
    editor = cell.locator(".cm-content")
    editor.click()
    page.keyboard.type("print(6*7)")
    expect(editor).to_have_text("print(6*7)")
    page.keyboard.press("Shift+Enter")
    expect(cell.locator(".jp-OutputArea-output pre")).to_have_text(re.compile(r"^42\s*$"))
    page.screenshot(path=artefacts / "3-notebook.png")

    pod = server_of(lab, user)
    (container,) = pod["spec"]["containers"]
    assert pod["spec"]["nodeName"] == "n01"
    assert container["resources"]["requests"]["nvidia.com/gpu"] == "1"
    assert container["resources"]["limits"]["nvidia.com/gpu"] == "1"
    assert container["image"] == lab.outputs["images"]["scipy-ml-notebook"]
    digest = container["image"].partition("@")[2]
    assert re.fullmatch(r"sha256:[0-9a-f]{64}", digest)
    (status,) = pod["status"]["containerStatuses"]
    assert status["ready"]
    assert status["imageID"].endswith(digest)

    # Stopping gives the GPU back and keeps the home. From a second page: the first one has unsaved work.
    home = page.context.new_page()
    home.goto(f"{hub}hub/home")
    home.get_by_role("button", name="Stop My Server").click()
    wait_for(lambda: not of_user(lab, USER_PODS, user), what=f"the server of {user} has ended")
    assert len(of_user(lab, USER_VOLUMES, user)) == 1


def test_a_student_on_another_node_waits_on_the_pending_page(
    lab: RunningLab, page: Page, hub: str, user: str, artefacts: Path
) -> None:
    log_in(page, hub, user, lab.credentials()["dummy-password"])
    choose(page, "One RTX 2080 Ti")
    expect(page).to_have_url(re.compile(rf"/hub/spawn-pending/{user}"))
    expect(page.get_by_text("Your server is starting up")).to_be_visible()
    pod = server_of(lab, user)
    assert pod["spec"]["nodeName"] in {"n18", "n21", "n22", "n24"}
    assert pod["spec"]["containers"][0]["resources"]["requests"]["nvidia.com/gpu"] == "1"
    # These nodes are simulated: nobody pulls an image or starts a process there.
    path = f"{USER_PODS}/{pod['metadata']['name']}"

    def reason() -> str | None:
        statuses = ((lab.cluster.get(path) or {}).get("status") or {}).get("containerStatuses") or ()
        return next((each["state"].get("waiting", {}).get("reason") for each in statuses), None)

    assert wait_for(reason, what="the simulated node says why the server does not run") == "ContainerCreating"
    page.screenshot(path=artefacts / "4-pending.png")
