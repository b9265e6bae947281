"""The program of a proxy with TLS: it ends when its certificate is renewed, so that the kubelet starts it again."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from platforms.kubernetes.hub_core_pods import SHOW_CERTIFICATE
from platforms.kubernetes.hub_entry import TLS_FOLDER

WAITS = 'echo "$@" > started; exec /bin/sleep 60'
TAKES_ITS_TIME = "trap '/bin/sleep 0.5; exit 0' TERM; touch started; /bin/sleep 60 & wait"
ENDS_BY_ITSELF = "touch started; exit 3"

Start = Callable[[str], subprocess.Popen[bytes]]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts the container's command with a proxy that is a line of shell, and a minute that lasts a moment."""
    started: list[subprocess.Popen[bytes]] = []
    (tmp_path / "tls.crt").write_text("of May")

    def run(proxy: str) -> subprocess.Popen[bytes]:
        for name, text in {"configurable-http-proxy": proxy, "sleep": "exec /bin/sleep 0.1"}.items():
            (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
            (tmp_path / name).chmod(0o755)
        argv = ["sh", "-c", SHOW_CERTIFICATE.replace(TLS_FOLDER, str(tmp_path)), "sh", "--port=8443"]
        environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
        process = subprocess.Popen(argv, cwd=tmp_path, env=environment, start_new_session=True)
        started.append(process)
        while not (tmp_path / "started").exists():
            time.sleep(0.02)
        return process

    yield run
    for process in started:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
        finally:
            process.wait()


@pytest.mark.slow
def test_it_runs_as_long_as_the_certificate_is_the_same(start: Start, tmp_path: Path) -> None:
    running = start(WAITS)
    time.sleep(0.5)
    assert running.poll() is None
    assert (tmp_path / "started").read_text() == "--port=8443\n"


@pytest.mark.slow
def test_it_ends_when_the_certificate_is_renewed(start: Start, tmp_path: Path) -> None:
    running = start(WAITS)
    (tmp_path / "tls.crt").write_text("of July")
    running.wait(10)


@pytest.mark.slow
@pytest.mark.parametrize("proxy", [WAITS, TAKES_ITS_TIME])
def test_it_ends_with_the_proxy_when_it_is_asked_to(start: Start, proxy: str) -> None:
    running = start(proxy)
    running.terminate()
    running.wait(5)


@pytest.mark.slow
def test_a_proxy_that_ends_by_itself_ends_it_with_its_code(start: Start) -> None:
    assert start(ENDS_BY_ITSELF).wait(5) == 3
