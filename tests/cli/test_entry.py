"""Commands in a broken environment: one line with the cause and its place, the right exit code, no traceback."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result
from rows import each_row

from cli.entry import explained
from imaging.inspection.network_environment import network_faults

Run = Callable[..., Result]
PROJECT = Path(__file__).resolve().parents[2]
GPU_COMMONS = (sys.executable, "-m", "cli")
LAB = (sys.executable, "-m", "lab")
ONE = ("check", "--gpu", "T4", "--driver", "535.54.03", "--cuda", "12.2")


def ended(*command: str, redirected: str = "", **variables: str) -> tuple[int, str, str]:
    """Code, output and errors of a command that a shell starts."""
    environment = {**os.environ, "PYTHONPATH": str(PROJECT), **variables}
    line = ["bash", "-c", f'exec "$@" {redirected}', "-", *command]
    done = subprocess.run(line, capture_output=True, text=True, check=False, cwd=PROJECT, env=environment, timeout=60)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("command", [(*GPU_COMMONS, *ONE), (*GPU_COMMONS, "--help")])
@pytest.mark.parametrize(
    ("redirected", "why"), [(">&-", "Bad file descriptor"), (">/dev/full", "No space left on device")]
)
def test_an_output_that_cannot_be_written_is_reported_in_one_line(
    command: tuple[str, ...], redirected: str, why: str
) -> None:
    code, _, errors = ended(*command, redirected=redirected)
    assert code == 2
    assert errors == (f"error: standard output: {why}; the output is incomplete: redirect it to a file or a pipe\n")


@pytest.mark.slow
def test_the_lab_ends_likewise() -> None:
    code, _, errors = ended(*LAB, "--help", redirected=">/dev/full")
    assert code == 1
    assert errors.startswith("error: standard output: No space left on device")
    assert "Traceback" not in errors


@pytest.mark.slow
@pytest.mark.parametrize("program", [GPU_COMMONS, LAB])
def test_help_whose_reader_is_gone_ends_silently(program: tuple[str, ...]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [*program, "--help"], stdout=writing, stderr=subprocess.PIPE, check=False, cwd=PROJECT, timeout=60
        )
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.slow
@pytest.mark.parametrize("redirected", ["2>&-", "2>/dev/full", "<&-"])
def test_other_closed_or_full_streams_do_not_change_the_answer(redirected: str) -> None:
    code, output, _ = ended(*GPU_COMMONS, *ONE, redirected=redirected)
    assert code == 0
    assert "compatible" in output


@pytest.mark.slow
def test_a_file_that_is_opened_next_does_not_become_the_closed_output(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    code, _, _ = ended(*GPU_COMMONS, "matrix", "--stack", "dsmlp-fall", "--html", str(page), redirected=">&-")
    assert code in {0, 1, 2}
    assert page.read_text().startswith("<!")
    assert page.read_text().rstrip().endswith("</html>")


@pytest.mark.slow
def test_a_working_directory_that_is_gone_is_named(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    line = f"cd '{gone}' && rmdir '{gone}' && exec '{sys.executable}' -m cli stack check dsmlp-fall"
    environment = {**os.environ, "PYTHONPATH": str(PROJECT)}
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 2
    assert done.stderr == "error: the working directory no longer exists: change to another one (cd …)\n"


@pytest.fixture
def surroundings(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Without proxies and certificates of this machine."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    return monkeypatch


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("HTTPS_PROXY", "http://[::1", 'HTTPS_PROXY: "http://[::1" is not the address of a proxy'),
        ("https_proxy", "http://proxy:http", 'https_proxy: "http://proxy:http" is not the address of a proxy'),
        (
            "HTTP_PROXY",
            "http://u:hush42@x:99999",
            'HTTP_PROXY: "http://(secret)@x:99999" is not the address of a proxy',
        ),
        ("HTTP_PROXY", "http://a b:1", 'HTTP_PROXY: "http://a b:1" is not the address of a proxy'),
        ("ALL_PROXY", "ftp://x:1", 'ALL_PROXY: "ftp://x:1" has the scheme ftp, which no proxy has'),
        ("ALL_PROXY", "socks5://127.0.0.1:1", "is a SOCKS proxy, which needs the package socksio"),
        ("SSL_CERT_FILE", "/nonexistent/ca.pem", 'SSL_CERT_FILE: "/nonexistent/ca.pem" cannot be read: No such file'),
        ("SSL_CERT_FILE", "/tmp", 'SSL_CERT_FILE: "/tmp" cannot be read: Is a directory'),
        ("SSL_CERT_FILE", __file__, "holds no certificates in PEM"),
        ("SSL_CERT_DIR", "/nonexistent", 'SSL_CERT_DIR: "/nonexistent" is not a folder'),
    ],
)
def test_a_broken_variable_of_the_network_is_named(
    run: Run, surroundings: pytest.MonkeyPatch, name: str, value: str, expected: str
) -> None:
    surroundings.setenv(name, value)
    result = run("inspect", "127.0.0.1:1/a/b:1")
    assert result.exit_code == 2
    message = result.stderr or str(result.exception)
    assert expected.replace("(secret)", "…") in message.replace("(secret)", "…")
    assert "hush42" not in message


@each_row(
    "value", ["http://proxy:3128", "proxy.example.edu:3128", "http://u:p@proxy:3128/", "http://[::1]:3128", "https://p"]
)
def test_a_valid_proxy_is_no_mistake(value: str) -> None:
    assert list(network_faults({"HTTPS_PROXY": value, "http_proxy": value})) == []


def test_empty_variables_are_ignored() -> None:
    assert list(network_faults({"HTTPS_PROXY": "", "SSL_CERT_FILE": "", "SSL_CERT_DIR": ""})) == []


@pytest.mark.slow
def test_a_mistake_is_reported_without_the_secret_in_it() -> None:
    code, _, errors = ended(*GPU_COMMONS, "explain", "https://bob:hush42@example.edu")
    assert code == 2
    assert "hush42" not in errors
    assert "https://(secret)@example.edu" in errors or "https://…@example.edu" in errors


def test_an_error_of_ours_is_not_taken_for_one_of_the_system() -> None:
    assert explained(ValueError("x")) is None
    assert explained(OSError(errno.EACCES, "Permission denied", "/x")) == "/x: Permission denied"
    assert explained(RuntimeError("Could not determine home directory.")) == (
        "HOME: is not set; set it to your home folder"
    )
    no_folder = FileNotFoundError(errno.ENOENT, "No usable temporary directory found in ['/x']")
    assert str(explained(no_folder)).startswith("TMPDIR: ")
