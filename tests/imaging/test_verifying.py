"""What the checks inside images share: each fault is reported, and one fault does not hide another."""

from __future__ import annotations

import importlib.util
import json
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from imaging.spec.load import VERIFYING

FACTS = {
    "image": "tiny",
    "target": "batch",
    "version": "1.0",
    "layout": "debian",
    "packages": ["pytest==0.0.1", "no-such-thing==1", "nothing@2"],
    "kernels": {},
}


@pytest.fixture
def verifying(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    """The module as it is inside an image whose facts are these."""
    spec = importlib.util.spec_from_file_location("verifying", VERIFYING / "verifying.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with monkeypatch.context() as inside:
        inside.setattr(Path, "read_text", lambda _: json.dumps(FACTS))
        spec.loader.exec_module(module)
    monkeypatch.setenv("HOME", str(tmp_path))
    return module


def test_wrong_and_missing_versions_of_packages_are_reported_with_the_spec(verifying: ModuleType) -> None:
    found = list(verifying.version_problems())
    assert found[0] == f"pytest is {pytest.__version__}, the spec says 0.0.1"
    assert found[1:] == [
        "no-such-thing is not installed, the spec says 1",
        "nothing is not installed, the spec says 2",
    ]


def test_a_folder_that_the_user_cannot_write_in_is_reported_beside_the_home(
    verifying: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there, gone = tmp_path / "there", tmp_path / "gone"
    there.mkdir()
    monkeypatch.setitem(verifying.FACTS, "folders", [str(there), str(gone)])
    found = [problem for problem in verifying.user_problems() if "cannot write" in problem]
    assert found == [f"cannot write to its folder {gone}: No such file or directory"]


def test_a_check_that_breaks_down_hides_nothing_and_fails(
    verifying: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken() -> Iterator[str]:
        yield "the first fault"
        raise RuntimeError("the second one")

    with pytest.raises(SystemExit) as ended:
        verifying.check(broken(), "never said")
    output = capsys.readouterr().out
    assert ended.value.code == 1
    assert all(text in output for text in ("the spec says 0.0.1", "the first fault", "RuntimeError: the second one"))
    assert "never said" not in output


def test_a_missing_program_is_reported(verifying: ModuleType) -> None:
    (problem,) = verifying.server_problems(["/no/such/server"], {"http://127.0.0.1:9/": ""})
    assert "/no/such/server: [Errno 2]" in problem


@pytest.mark.slow
def test_a_server_that_exits_at_once_is_reported_with_its_output_without_waiting(verifying: ModuleType) -> None:
    command = [sys.executable, "-c", "print('no licence', flush=True); raise SystemExit(3)"]
    (problem,) = verifying.server_problems(command, {"http://127.0.0.1:9/": "x"})
    assert "answers nothing, not 200" in problem
    assert "no licence" in problem


@pytest.mark.slow
def test_a_server_that_does_not_stop_is_reported(verifying: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verifying, "END_S", 0.5)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    program = (
        "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); from http import server;"
        f"server.HTTPServer(('127.0.0.1', {port}), server.SimpleHTTPRequestHandler).serve_forever()"
    )
    found = list(verifying.server_problems([sys.executable, "-c", program], {f"http://127.0.0.1:{port}/": "log"}))
    assert "does not end within" in found[0]


@pytest.mark.slow
def test_a_stand_in_answers_what_it_was_given_and_nothing_else(verifying: ModuleType) -> None:
    with verifying.stand_in({"/hub/api": {"version": "5"}}, {"X-Hub": "5"}) as port:
        here = f"http://127.0.0.1:{port}"
        assert verifying.answer(f"{here}/hub/api/", {}, within_s=5) == (200, '{"version": "5"}')
        assert verifying.answer(f"{here}/other", {}, within_s=5) == (404, "")


@pytest.mark.slow
def test_a_path_open_to_everybody_is_reported(verifying: ModuleType) -> None:
    with verifying.stand_in({"/api": {}}) as port:
        url = f"http://127.0.0.1:{port}/api"
        command = [sys.executable, "-c", "import time; time.sleep(60)"]
        (problem,) = verifying.server_problems(command, {url: "{}"}, token="t", closed=[url])
    assert f"{url} answers 200 to whoever has no token" in problem
