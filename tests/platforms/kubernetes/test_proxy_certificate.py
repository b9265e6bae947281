"""The program of a proxy with TLS: it ends when its certificate is renewed, so that the kubelet starts it again."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from platforms.kubernetes.hub_core_pods import SHOW_CERTIFICATE
from platforms.kubernetes.hub_entry import TLS_FOLDER

PROXY = '#!/bin/sh\necho "$@" > {folder}/started\nexec sleep 60\n'


@pytest.fixture
def running(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """The container's command with a proxy that only waits, and a minute that lasts a moment."""
    (tmp_path / "tls.crt").write_text("of May")
    programs = {"configurable-http-proxy": PROXY.format(folder=tmp_path), "sleep": "#!/bin/sh\nexec /bin/sleep 0.1\n"}
    for name, text in programs.items():
        (tmp_path / name).write_text(text.replace("exec sleep 60", "exec /bin/sleep 60"))
        (tmp_path / name).chmod(0o755)
    argv = ["sh", "-c", SHOW_CERTIFICATE.replace(TLS_FOLDER, str(tmp_path)), "sh", "--port=8443"]
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    with subprocess.Popen(argv, env=environment, start_new_session=True) as process:
        while not (tmp_path / "started").exists():
            time.sleep(0.02)
        yield process
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)


@pytest.mark.slow
def test_it_runs_as_long_as_the_certificate_is_the_same(running: subprocess.Popen[bytes], tmp_path: Path) -> None:
    assert (tmp_path / "started").read_text() == "--port=8443\n"
    time.sleep(0.5)
    assert running.poll() is None


@pytest.mark.slow
def test_it_ends_when_the_certificate_is_renewed(running: subprocess.Popen[bytes], tmp_path: Path) -> None:
    (tmp_path / "tls.crt").write_text("of July")
    running.wait(10)


@pytest.mark.slow
def test_it_ends_at_once_when_it_is_asked_to(running: subprocess.Popen[bytes]) -> None:
    running.terminate()
    running.wait(5)
