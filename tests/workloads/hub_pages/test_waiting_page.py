"""What is free, on the page that starts servers and on the one that waits, and the way out of a start that waits."""

from __future__ import annotations

import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from asking import ARGS, Asker, window
from playwright.sync_api import Browser, expect

from platforms.kubernetes.hub_files.availability import Counts, server

pytestmark = pytest.mark.slow  # a real JupyterHub starts

GPU = "nvidia.com/gpu"
PODS: list[Any] = []  # of the cluster, for each test to say
NEEDS = {
    name: {"nodeSelector": {"pool": pool}, "requests": {"cpu": 0.1, "memory": 1, GPU: gpus}, "tolerations": []}
    for name, pool, gpus in (("cpu", "a", 0), ("one", "b", 1), ("two", "b", 2), ("odd", "c", 1))
}


def node(pool: str, gpus: int) -> Any:
    return {
        "metadata": {"name": f"n-{pool}", "labels": {"pool": pool}},
        "spec": {},
        "status": {
            "allocatable": {"cpu": "8", "memory": "64Gi", "pods": "110", GPU: str(gpus)},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def pod(pool: str, gpus: int) -> Any:
    container = {"resources": {"requests": {GPU: str(gpus)}}}
    return {"spec": {"nodeName": f"n-{pool}", "containers": [container]}, "status": {"phase": "Running"}}


@pytest.fixture(scope="module")
def availability() -> Iterator[str]:
    """The service, on a cluster of two kinds of GPUs."""
    nodes = [node("a", 0), node("b", 4), node("c", 2)]
    now = iter(range(10**9))
    counts = Counts(NEEDS, lambda path: nodes if "nodes" in path else PODS, clock=lambda: next(now) * 10.0)
    running = server(counts, 0, "127.0.0.1")
    thread = threading.Thread(target=running.serve_forever, args=(0.05,))
    thread.start()
    yield f"http://127.0.0.1:{running.server_port}/counts"
    running.shutdown()
    thread.join()
    running.server_close()


@pytest.fixture(scope="module")
def hub(serve: Callable[..., Asker], availability: str) -> Asker:
    return serve(ARGS, availability)


@pytest.fixture
def full() -> Iterator[None]:
    """All of one kind of GPUs are in use."""
    PODS[:] = [pod("b", 4)]
    time.sleep(3.1)  # what the hub knows is three seconds old at most
    yield
    PODS.clear()
    time.sleep(3.1)


def text(html: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<style>.*?</style>|<[^>]+>", " ", html, flags=re.DOTALL))


def start(hub: Asker, session: Any, profile: str) -> str:
    """Starts a server by plain requests; returns the waiting page."""
    form = re.search(r'id="spawn_form" action="([^"]+)"', session.get("/hub/spawn").text)
    assert form
    page = session.post(form[1].replace("&amp;", "&"), data={"profile": profile})
    assert "/hub/spawn-pending/" in str(page.url), hub.log.read_text()[-2000:]
    return str(page.text)


def cancel(session: Any, page: str) -> Any:
    form = re.search(r'action="([^"]+gpu-commons/cancel/[^"]+)".*?name="_xsrf" value="([^"]+)"', page, re.DOTALL)
    assert form, page
    return session.post(form[1], data={"_xsrf": form[2]})


def test_each_choice_says_how_many_are_free(hub: Asker) -> None:
    with hub.session("ada") as session:
        page = text(session.get("/hub/spawn").text)
    assert "1 GPU, 4 CPU cores, 16 GiB memory 4 free now" in page
    assert "2 GPUs, 8 CPU cores, 32 GiB memory 2 free now" in page
    assert "No GPU, 1 CPU core, 2 GiB memory More than 50 free now" in page


@pytest.mark.usefixtures("full")
def test_a_choice_that_is_full_says_so_and_can_still_be_chosen(hub: Asker) -> None:
    with hub.session("bob") as session:
        html = session.get("/hub/spawn").text
    assert "None free now: all 4 GeForce RTX 2080 Ti GPUs are in use" in text(html)
    assert "disabled" not in html


@pytest.mark.usefixtures("full")
def test_somebody_who_waits_reads_what_is_busy_and_what_is_free(hub: Asker) -> None:
    with hub.session("carol") as session:
        page = text(start(hub, session, "one"))
        cancel(session, session.get("/hub/spawn-pending/carol").text)
    assert "All 4 GeForce RTX 2080 Ti GPUs are in use." in page
    assert "You can cancel and choose “{{ 7 * 6 }} &lt;b&gt;&amp;” (2 free now) or “CPU only”" in page


def test_a_start_that_waits_is_cancelled_by_a_plain_form_and_the_next_one_starts(hub: Asker) -> None:
    with hub.session("dora") as session:
        answer = cancel(session, start(hub, session, "one"))
        assert answer.url.path == "/hub/spawn/dora"
        assert answer.status_code == 200
        assert "Start a server" in answer.text
        log = hub.log.read_text()
        assert "stopped dora" in log
        assert "dora waits no more" in log, "else it would take the next pod of this name for its own"
        page = start(hub, session, "cpu")
        cancel(session, page)


def test_nobody_cancels_the_start_of_somebody_else(hub: Asker) -> None:
    with hub.session("emil") as emil, hub.session("mallory") as mallory:
        page = start(hub, emil, "one")
        own = start(hub, mallory, "cpu")
        answer = cancel(mallory, own.replace("cancel/mallory", "cancel/emil"))
        assert answer.status_code in {403, 404}
        assert "/spawn-pending/emil" in str(emil.get("/hub/spawn").url)
        cancel(mallory, own)
        cancel(emil, page)


def test_a_request_of_another_site_cancels_nothing(hub: Asker) -> None:
    with hub.session("fred") as session:
        page = start(hub, session, "one")
        assert session.post("/hub/gpu-commons/cancel/fred").status_code == 403
        assert "/spawn-pending/fred" in str(session.get("/hub/spawn").url)
        cancel(session, page)


@pytest.mark.parametrize("answers", [False, True], ids=["refuses", "says nothing"])
def test_without_the_service_the_page_comes_soon_and_does_not_show_what_is_free(
    serve: Callable[..., Asker], *, answers: bool
) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        if answers:
            silent.listen(20)  # takes connections, and never answers
        hub = serve(ARGS, f"http://127.0.0.1:{silent.getsockname()[1]}/counts")
        with hub.session("gina") as session:
            began = time.monotonic()
            page = session.get("/hub/spawn")
            assert time.monotonic() - began < 4
            assert page.status_code == 200
            assert "free now" not in page.text
            waiting = start(hub, session, "one")
            assert re.search(r'id="gpu-commons-waiting"[^>]*></div>', waiting), "nothing is counted, and nothing shown"
            assert cancel(session, waiting).url.path == "/hub/spawn/gina"


@pytest.mark.browser
@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
def test_somebody_who_waits_cancels_in_a_browser(browser: Browser, hub: Asker, *, scripts: bool) -> None:
    PODS[:] = [pod("b", 4)]
    time.sleep(3.1)
    page = window(browser, hub, f"hana-{scripts}".lower(), java_script_enabled=scripts)
    page.get_by_role("radio", name="One RTX 2080 Ti").check()
    page.get_by_role("button", name="Start").click()
    expect(page.get_by_text("All 4 GeForce RTX 2080 Ti GPUs are in use.")).to_be_visible()
    if scripts:
        PODS.clear()
        expect(page.get_by_text("All 4 GeForce RTX 2080 Ti GPUs are in use.")).to_be_hidden(timeout=15_000)
    page.get_by_role("button", name="Cancel this start").click()
    expect(page).to_have_url(re.compile(r"/hub/spawn/hana"))
    expect(page.get_by_role("button", name="Start")).to_be_visible()
    PODS.clear()
