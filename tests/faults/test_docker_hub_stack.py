"""A hub on one Docker host, as its users meet it: GPUs in a server, or in kernels that have containers of their own."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from typing import Any

import httpx
import pictures
import pytest
from hub_browser import choose, log_in, open_notebook, run_cell
from own_lab import PROJECT, OwnLab, changes, own_lab
from playwright.sync_api import Browser, Page, expect

from lab import processes
from lab.cluster import wait_until

pytestmark = [pytest.mark.lab, pytest.mark.browser, pytest.mark.timeout(1500)]

HUB = "dcsg"
SERVER, REMOTE = "Notebook with a GPU", "Notebook, kernels with a GPU of their own"
KERNEL = "CuPy (1 GPU)"
SEES = "import glob, socket; print(socket.gethostname(), *[each[11:] for each in glob.glob('/dev/nvidia[0-9]*')])"
SEEN = re.compile(r"^\S+ \d+\s*$")


@pytest.fixture(scope="module")
def lab() -> Iterator[OwnLab]:
    with own_lab("dcsg") as lab:
        yield lab


@pytest.fixture(scope="module")
def url(lab: OwnLab) -> str:
    return str(json.loads(lab.pulumi("stack", "output", "hubs", "--json"))[HUB]).rstrip("/") + "/"


@pytest.fixture(scope="module")
def password(lab: OwnLab) -> str:
    return docker(lab, "exec", f"{HUB}-hub", "cat", "/credentials/login-password").strip()


@pytest.fixture
def certificates_are_trusted() -> bool:
    """The hub made its certificate itself."""
    return True


@pytest.fixture
def second_page(browser: Browser) -> Iterator[Page]:
    """Somebody else's window."""
    context = browser.new_context(ignore_https_errors=True)
    context.set_default_timeout(30_000)
    yield context.new_page()
    context.close()


def docker(lab: OwnLab, *words: str) -> str:
    """The engine's own command, on the lab's engine."""
    return processes.run(["docker", *words], cwd=PROJECT, env=lab.shell())


def containers(lab: OwnLab) -> dict[str, str]:
    """Images of the containers that run, by name."""
    lines = docker(lab, "ps", "--format", "{{.Names}} {{.Image}}").splitlines()
    return dict(line.split() for line in lines)


def held(lab: OwnLab) -> dict[int, str]:
    """Who has which card, as `gpu-commons top` says it."""
    command = [sys.executable, "-m", "cli", "top", "--stack", lab.stack, "--json"]
    found: list[dict[str, Any]] = json.loads(processes.run(command, cwd=PROJECT, env=lab.shell()))["gpus"]
    return {each["gpu"]: each["holder"] for each in found if each.get("holder")}


def test_it_ends_with_the_hubs_address_and_the_table_of_the_host_and_its_cards(lab: OwnLab, url: str) -> None:
    assert url in lab.output
    assert "Tesla V100" in lab.output
    assert "refused none" in lab.output


def test_two_users_have_different_gpus_one_in_a_server_and_one_in_a_kernel_of_another_image(
    lab: OwnLab, url: str, password: str, page: Page, second_page: Page, artefacts: Any
) -> None:
    log_in(page, url, "ada", password)
    pictures.take(page, artefacts / "docker-1-profiles.png")
    choose(page, SERVER)
    open_notebook(page, "Python 3", within_s=180, idle="Python 3 (ipykernel)")
    first = run_cell(page, SEES, SEEN).split()
    assert first[0] in docker(lab, "inspect", "--format", "{{.Config.Hostname}}", f"{HUB}-server-ada")

    log_in(second_page, url, "bob", password)
    choose(second_page, REMOTE)
    open_notebook(second_page, KERNEL, within_s=180)
    second = run_cell(second_page, SEES, SEEN).split()
    pictures.take(second_page, artefacts / "docker-2-kernel.png")
    running = containers(lab)
    (kernel,) = [name for name in running if name.startswith(f"{HUB}-kernel-bob-")]
    assert docker(lab, "inspect", "--format", "{{.Config.Hostname}}", kernel).strip() == second[0]
    assert running[kernel] != running[f"{HUB}-server-bob"]
    assert (first[1], second[1]) in {("0", "1"), ("1", "0")}
    assert held(lab) == {int(first[1]): f"{HUB}-server-ada", int(second[1]): kernel}

    second_page.get_by_text("Kernel", exact=True).click()
    second_page.get_by_text("Shut Down Kernel", exact=True).click()
    wait_until(lambda: {kernel} & {*held(lab).values()}, within_s=60, what="a kernel that ended still holds its card")
    assert f"{HUB}-server-bob" in containers(lab)


def test_who_comes_when_no_gpu_is_free_reads_who_has_them(lab: OwnLab, url: str, password: str, page: Page) -> None:
    hold = ("--label", "gpu-commons.org/pool=workstation", "--network", "gpu-commons-card-1")
    image = docker(lab, "inspect", "--format", "{{.Image}}", f"{HUB}-hub").strip()
    docker(lab, "run", "-d", "--name", "somebody", *hold, "--entrypoint", "sleep", image, "600")
    try:
        log_in(page, url, "cleo", password)
        choose(page, SERVER)
        expect(page.get_by_text(re.compile("somebody")).first).to_be_visible(timeout=120_000)
        assert f"{HUB}-server-cleo" not in containers(lab)
    finally:
        docker(lab, "rm", "-f", "somebody")


def test_the_hub_and_gateways_reach_the_engine_through_the_filter_alone(lab: OwnLab) -> None:
    names = docker(lab, "ps", "--format", "{{.Names}}").split()
    inspected = json.loads(docker(lab, "inspect", *names))
    sources = {each["Name"].lstrip("/"): {mount.get("Source", "") for mount in each["Mounts"]} for each in inspected}
    with_socket = {name for name, found in sources.items() if any(each.endswith("docker.sock") for each in found)}
    assert with_socket == {f"{HUB}-engine"}
    ask = (
        "import socket; s = socket.socket(socket.AF_UNIX); s.connect('/run/engine/hub.sock'); "
        "s.sendall(b'GET /images/json HTTP/1.0\\r\\n\\r\\n'); print(s.recv(99))"
    )
    assert " 403 " in docker(lab, "exec", f"{HUB}-hub", "python3", "-c", ask)


def _does_not_answer(url: str) -> set[str]:
    try:
        return set() if httpx.get(url, verify=False).is_success else {url}  # noqa: S501 - the hub made it itself
    except httpx.TransportError:
        return {url}


def test_a_killed_hub_finds_its_servers_again(lab: OwnLab, url: str, password: str, page: Page) -> None:
    before = containers(lab)
    docker(lab, "kill", f"{HUB}-hub")
    docker(lab, "start", f"{HUB}-hub")
    wait_until(lambda: _does_not_answer(f"{url}hub/health"), within_s=60, what="the hub does not answer")
    log_in(page, url, "bob", password)
    expect(page.locator(".jp-Launcher, .jp-Notebook").first).to_be_visible(timeout=120_000)
    assert {*before} <= {*containers(lab)}


def test_a_second_run_changes_nothing_and_destroy_leaves_homes_and_the_database(lab: OwnLab) -> None:
    assert not changes(lab.up())
    lab.pulumi("destroy", "--yes", "--skip-preview")
    assert docker(lab, "ps", "-aq") == ""
    assert HUB not in docker(lab, "network", "ls")
    volumes = docker(lab, "volume", "ls", "-q").split()
    assert {*volumes} == {f"{HUB}-database", f"{HUB}-home-ada", f"{HUB}-home-bob"}
