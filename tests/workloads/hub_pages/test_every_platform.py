"""The pages of a hub on a cluster, a Docker host and Slurm: the same files, with what each platform knows."""

from __future__ import annotations

import html
import json
import os
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pictures
import pytest
from asking import ARGS, DIGEST, ML, Asker, window
from playwright.sync_api import Browser, expect

from platforms.docker.hub import hub_document as docker_document
from platforms.docker.hub_model import parse_hub as docker_hub
from platforms.slurm.hub import hub_document as slurm_document
from platforms.slurm.hub_model import parse_hub as slurm_hub
from platforms.slurm.site_model import SlurmAccess

pytestmark = pytest.mark.slow  # a real JupyterHub starts

PEOPLE = [f"ada{number}" for number in range(20)]
SHOWN = {key: ML[key] for key in ("gpu", "gpu_memory_gb", "contents")}


def profile(name: str, title: str, gpus: int, **more: Any) -> dict[str, Any]:
    image = {"image": f"registry.example.edu/{name}@{DIGEST}", "image_name": f"{name}-image"}
    return {**image, "name": name, "title": title, "gpus": gpus, "cpu": 2, "memory_gib": 8, **more}


PROFILES = [
    profile("cpu", "CPU only", 0),
    profile("one", "One RTX 2080 Ti", 1, **SHOWN),
    profile("lost", "Lost image", 0),
    profile("crash", "Crash", 0),
]
OF_EVERY_HUB: dict[str, Any] = {
    **{key: ARGS[key] for key in ("hub_image", "proxy_image", "authenticator", "cull", "site_name", "help_url")},
    "http_timeout_s": 30,
}


@dataclass(frozen=True)
class Site:
    """A hub, and what its platform says."""

    platform: str
    hub: Asker
    free: str
    waits: str  # of a start that goes on
    lost: str
    crashed: str


def on_docker(serve: Callable[..., Asker]) -> Site:
    kernel = {**profile("kernel", "CuPy", 1), "memory_gib": 4}
    args = {
        **OF_EVERY_HUB,
        "pool": "box",
        "engine": "unix:///run/docker.sock",
        "expose": {"kind": "host_port"},
        "cards": [{"index": index, "device": str(index), "network": f"card-{index}"} for index in range(2)],
        "filter_image": f"registry.example.edu/filter@{DIGEST}",
        "gateway_image": f"registry.example.edu/gateway@{DIGEST}",
        "profiles": [
            *PROFILES,
            profile("two", "Two", 2),
            profile("remote", "A GPU for each kernel", 0, kernels=[kernel]),
        ],
    }
    return Site(
        "docker",
        serve("docker", docker_document("dcsg", docker_hub("dcsg", args))),
        "1 free now",
        "Your server runs and is getting ready",
        f"The image of “Lost image” (registry.example.edu/lost@{DIGEST}) cannot be downloaded: the registry does not "
        "have it. Starting it again will not help",
        "Your server ended as it started (exit code 3).",
    )


def on_slurm(serve: Callable[..., Asker]) -> Site:
    hubs = {
        "access": {"kind": "local"}, "inside": "login-1", "identity": "/identity",
        "accounts": {name: name for name in PEOPLE},
    }  # fmt: skip
    site = SlurmAccess.model_validate({"access": {"kind": "local"}, "image_store": "/images", "hubs": hubs})
    placed = {"partitions": [{"pool": "gpu", "partition": "gpu"}], "time_min": 240}
    args = {
        **OF_EVERY_HUB,
        "expose": {"kind": "login_node"},
        "profiles": [{**each, **placed} for each in PROFILES],
    }
    hub = slurm_hub("quest", args, site)
    sifs = dict.fromkeys(("slurm-hub", "proxy", *(f"{each['name']}-image" for each in PROFILES)), "/x.sif")
    return Site(
        "slurm",
        serve("slurm", slurm_document("quest", hub, site, sifs)),
        "None free now: all 2 GeForce RTX 2080 Ti GPUs are in use; 3 jobs wait",
        "All machines for “One RTX 2080 Ti” are in use. Your server starts by itself as soon as this changes.",
        "Slurm did not start “Lost image”: Invalid account. Choose another option",
        "Your server ended as it started: No module named 'numpy'.",
    )


@pytest.fixture(scope="module", params=[on_docker, on_slurm], ids=["docker", "slurm"])
def site(request: pytest.FixtureRequest, serve_below: Callable[..., Asker]) -> Site:
    made: Site = request.param(serve_below)
    return made


def text(page: str) -> str:
    return html.unescape(re.sub(r"\s+", " ", re.sub(r"<style>.*?</style>|<[^>]+>", " ", page, flags=re.DOTALL)))


def start(site: Site, session: httpx.Client, name: str) -> str:
    form = re.search(r'id="spawn_form" action="([^"]+)"', session.get("/hub/spawn").text)
    assert form, site.hub.log.read_text()[-3000:]
    return session.post(html.unescape(form[1]), data={"profile": name}).text


def failure(site: Site, session: httpx.Client, who: str, name: str) -> str:
    """The last event that the waiting page gets."""
    start(site, session, name)
    token = session.cookies.get("_xsrf", path="/hub/")
    with session.stream("GET", f"/hub/api/users/{who}/server/progress", params={"_xsrf": str(token)}) as stream:
        lines = [line for line in stream.iter_lines() if line.startswith("data: ")]
    last = json.loads(lines[-1].removeprefix("data: "))
    assert last["failed"], last
    return html.unescape(last["html_message"])


def test_the_spawn_page_has_the_choices_what_is_free_and_when_a_server_ends(site: Site) -> None:
    with site.hub.session(PEOPLE[0]) as session:
        page = session.get("/hub/spawn").text
    assert re.findall(r'type="radio"[^>]*value="(\w+)"', page)[:4] == ["cpu", "one", "lost", "crash"]
    for words in (
        "dsmlp",
        "1 GPU, 2 CPU cores, 8 GiB memory",
        "GeForce RTX 2080 Ti, 11 GB",
        "Machine learning",
        "PyTorch 1.7.1",
        site.free,
        "stops after 1 hour without activity, and at the latest 12 hours after it started. Files in your home folder",
        "Help",
    ):
        assert words in text(page), site.hub.log.read_text()[-3000:]


def test_a_start_that_waits_says_so_and_is_cancelled_by_a_plain_form(site: Site) -> None:
    who = PEOPLE[1]
    with site.hub.session(who) as session:
        page = start(site, session, "one")
        deadline = time.monotonic() + 20
        while site.waits not in text(page) and time.monotonic() < deadline:
            time.sleep(0.5)
            page = session.get(f"/hub/spawn-pending/{who}").text
        assert site.waits in text(page), text(page) + site.hub.log.read_text()[-3000:]
        form = re.search(r'action="([^"]+gpu-commons/cancel/[^"]+)".*?name="_xsrf" value="([^"]+)"', page, re.DOTALL)
        assert form
        answer = session.post(form[1], data={"_xsrf": form[2]})
        assert answer.url.path == f"/hub/spawn/{who}"
    log = site.hub.log.read_text()
    assert {"docker": f"removed dcsg-server-{who}", "slurm": f"ended {who}"}[site.platform] in log


@pytest.mark.parametrize("name", ["lost", "crash"])
def test_a_start_that_fails_says_why_and_leads_back_to_the_choice(site: Site, name: str) -> None:
    who = PEOPLE[2 if name == "lost" else 3]
    words = {"lost": site.lost, "crash": site.crashed}[name]
    with site.hub.session(who) as session:
        assert words in failure(site, session, who, name), site.hub.log.read_text()[-3000:]
        page = session.get(f"/hub/spawn-pending/{who}").text
    assert words in text(page)
    assert f'href="/hub/spawn/{who}"' in page


def test_a_choice_that_there_is_not_is_refused_in_a_sentence(site: Site) -> None:
    with site.hub.session(PEOPLE[4]) as session:
        assert "This hub has no such option" in failure(site, session, PEOPLE[4], "nonsense")


def test_where_kernels_take_the_gpus_the_page_says_how_many_and_a_full_host_who_has_them(
    serve_below: Callable[..., Asker],
) -> None:
    site = on_docker(serve_below)
    with site.hub.session(PEOPLE[5]) as session:
        page = text(session.get("/hub/spawn").text)
        assert "1 of 2 GPUs free for kernels now" in page
        kernels = "Every kernel is a container of its own and holds its GPUs as long as it runs"
        assert f"{kernels} (CuPy: 1 GPU, 2 CPU cores, 4 GiB memory)" in page
        assert "None free now: 1 of 2 GPUs are in use, and no machine has 2 free" in page
        said = failure(site, session, PEOPLE[5], "two")
    assert "“Two” needs 2 GPUs, and 1 of 2 is free (somebody has GPU 0)" in said


@pytest.mark.browser
def test_in_a_browser_the_pages_look_alike_everywhere(site: Site, browser: Browser, tmp_path: Path) -> None:
    folder = Path(os.environ.get("GPU_COMMONS_ARTEFACTS") or tmp_path)
    page = window(browser, site.hub, PEOPLE[6])
    pictures.take(page, folder / f"spawn-{site.platform}.png", whole=True)
    page.get_by_role("radio", name="One RTX 2080 Ti").check()
    page.get_by_role("button", name="Start").click()
    expect(page.get_by_role("heading", name="Your server is starting up")).to_be_visible()
    expect(page.get_by_role("status")).to_contain_text(site.waits, timeout=20_000)
    if site.platform == "slurm":
        expect(page.get_by_text("You can cancel and choose “CPU only” (5 free now).")).to_be_visible(timeout=15_000)
    pictures.take(page, folder / f"waiting-{site.platform}.png")
    page.get_by_role("button", name="Cancel this start").click()
    expect(page.get_by_role("button", name="Start")).to_be_visible()
