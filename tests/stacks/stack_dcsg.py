"""dcsg: a hub on one Docker host, whose GPUs are in a server, or in kernels that have containers of their own."""

from __future__ import annotations

import json
import re
import sys
from typing import Any

from hub_browser import choose, log_in, open_notebook, run_cell
from own_lab import PROJECT, OwnLab
from playwright.sync_api import expect

from lab import processes
from lab.cluster import wait_until
from tests.stacks.contract import Contract, Window

HUB = "dcsg"
SERVER, REMOTE = "Notebook with a GPU", "Notebook, kernels with a GPU of their own"
KERNEL = "CuPy (1 GPU)"
SEES = "import glob, socket; print(socket.gethostname(), *[each[11:] for each in glob.glob('/dev/nvidia[0-9]*')])"
SEEN = re.compile(r"^\S+ \d+\s*$")


def containers(lab: OwnLab) -> dict[str, str]:
    """Images of the containers that run, by name."""
    lines = lab.docker("ps", "--format", "{{.Names}} {{.Image}}").splitlines()
    return dict(line.split() for line in lines)


def held(lab: OwnLab) -> dict[int, str]:
    """Who has which card, as `gpu-commons top` says it."""
    command = [sys.executable, "-m", "cli", "top", "--stack", lab.stack, "--json"]
    found: list[dict[str, Any]] = json.loads(processes.run(command, cwd=PROJECT, env=lab.shell()))["gpus"]
    return {each["gpu"]: each["holder"] for each in found if each.get("holder")}


def hostname(lab: OwnLab, container: str) -> str:
    return lab.docker("inspect", "--format", "{{.Config.Hostname}}", container).strip()


def use(lab: OwnLab, window: Window) -> None:
    """Two users have different GPUs, one in a server and one in a kernel of another image; a third has none left."""
    reaches_its_engine_through_the_filter_alone(lab)
    url = f"{lab.output_of('hubs')[HUB].rstrip('/')}/"
    assert url in lab.output
    password = lab.docker("exec", f"{HUB}-hub", "cat", "/credentials/login-password").strip()
    of_ada, of_bob = window(), window()
    log_in(of_ada, url, "ada", password)
    choose(of_ada, SERVER)
    open_notebook(of_ada, "Python 3", within_s=180, idle="Python 3 (ipykernel)")
    first = run_cell(of_ada, SEES, SEEN).split()
    assert first[0] == hostname(lab, f"{HUB}-server-ada")

    log_in(of_bob, url, "bob", password)
    choose(of_bob, REMOTE)
    open_notebook(of_bob, KERNEL, within_s=180)
    second = run_cell(of_bob, SEES, SEEN).split()
    running = containers(lab)
    (kernel,) = [name for name in running if name.startswith(f"{HUB}-kernel-bob-")]
    assert second[0] == hostname(lab, kernel)
    assert running[kernel] != running[f"{HUB}-server-bob"]
    assert (first[1], second[1]) in {("0", "1"), ("1", "0")}
    assert held(lab) == {int(first[1]): f"{HUB}-server-ada", int(second[1]): kernel}

    of_bob.get_by_text("Kernel", exact=True).click()
    of_bob.get_by_text("Shut Down Kernel", exact=True).click()
    wait_until(lambda: {kernel} & {*held(lab).values()}, within_s=60, what="a kernel that ended still holds its card")
    assert f"{HUB}-server-bob" in containers(lab)

    image = lab.docker("inspect", "--format", "{{.Image}}", f"{HUB}-hub").strip()
    hold = ("--label", "gpu-commons.org/pool=workstation", "--network", f"gpu-commons-card-{second[1]}")
    lab.docker("run", "-d", "--name", "somebody", *hold, "--entrypoint", "sleep", image, "600")
    of_cleo = window()
    log_in(of_cleo, url, "cleo", password)
    choose(of_cleo, SERVER)
    expect(of_cleo.get_by_text(re.compile("somebody")).first).to_be_visible(timeout=120_000)
    assert f"{HUB}-server-cleo" not in containers(lab)
    lab.docker("rm", "-f", "somebody")


def reaches_its_engine_through_the_filter_alone(lab: OwnLab) -> None:
    names = lab.docker("ps", "--format", "{{.Names}}").split()
    inspected = json.loads(lab.docker("inspect", *names))
    sources = {each["Name"].lstrip("/"): {mount.get("Source", "") for mount in each["Mounts"]} for each in inspected}
    with_socket = {name for name, found in sources.items() if any(each.endswith("docker.sock") for each in found)}
    assert with_socket == {f"{HUB}-engine"}
    ask = (
        "import socket; s = socket.socket(socket.AF_UNIX); s.connect('/run/engine/hub.sock'); "
        "s.sendall(b'GET /images/json HTTP/1.0\\r\\n\\r\\n'); print(s.recv(99))"
    )
    assert " 403 " in lab.docker("exec", f"{HUB}-hub", "python3", "-c", ask)


def left(lab: OwnLab) -> None:
    assert lab.docker("ps", "-aq") == ""
    assert HUB not in lab.docker("network", "ls")
    volumes = lab.docker("volume", "ls", "-q").split()
    assert {*volumes} == {f"{HUB}-database", f"{HUB}-home-ada", f"{HUB}-home-bob"}


CONTRACT = Contract(
    HUB,
    printed=(r"hub dcsg: https://", r"Tesla V100"),
    use=use,
    other_driver="470.256.02",
    refusal=r"P-RUN: .{0,80}cupy-notebook\S* does not run on pool workstation \(driver 470\.256\.02\)",
    left=left,
)
