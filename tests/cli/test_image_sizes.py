"""`gpu-commons image sizes` against an index on the loopback address."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from click.testing import Result

from imaging.inspection import image_locations
from imaging.inspection.session import RetryPolicy, Session
from imaging.spec.load import load_sizes, load_spec
from imaging.spec.wheels import SIZES_FILE

Run = Callable[..., Result]
WHEEL = "jupyterhub-5.5.4-py3-none-any.whl"
CONTENT = b"x" * 12_345
SHA256 = hashlib.sha256(CONTENT).hexdigest()
SPEC = """
name: tiny
title: Tiny
description: A server for tests
version: "1.0"
released: 2026-11-21
base: {reference: "docker.io/library/debian:bookworm-1", digest_note: none, layout: debian}
python: {packages: [jupyterhub==5.5.4]}
user: {name: jovyan, uid: 1000, gid: 100, home: /home/jovyan}
command: [jupyterhub]
"""
JSON = "application/vnd.pypi.simple.v1+json"


@dataclass
class Index:
    """The answers of the index, and the requests that it got."""

    files: dict[str, str] = field(default_factory=lambda: {WHEEL: SHA256})  # with their hashes
    is_html: bool = False
    has_ranges: bool = True
    page: bytes | None = None  # in place of the right one
    faults: list[int] = field(default_factory=list)  # of the next answers
    requests: list[tuple[str, str]] = field(default_factory=list)  # path and Authorization

    def body(self) -> tuple[str, bytes]:
        if self.page is not None:
            return JSON, self.page
        if self.is_html:
            links = "".join(f'<a href="../../files/{n}#sha256={h}">{n}</a>\n' for n, h in self.files.items())
            return "text/html", f"<!DOCTYPE html><html><body>{links}</body></html>".encode()
        files = [
            {"filename": n, "url": f"../../files/{n}", "hashes": {"sha256": h}, "size": len(CONTENT)}
            for n, h in self.files.items()
        ]
        return JSON, json.dumps({"meta": {"api-version": "1.1"}, "name": "jupyterhub", "files": files}).encode()


class Handler(BaseHTTPRequestHandler):
    """Answers as `index` defines."""

    index: Index

    def do_GET(self) -> None:
        self.index.requests.append((self.path, self.headers.get("Authorization", "")))
        if self.index.faults:
            self.answer(self.index.faults.pop(0), "text/plain", b"")
        elif self.path == "/simple/jupyterhub/":
            self.answer(200, *self.index.body())
        elif self.path == f"/files/{WHEEL}" and self.headers.get("Range") == "bytes=0-0" and self.index.has_ranges:
            self.answer(206, "application/octet-stream", b"x", {"Content-Range": f"bytes 0-0/{len(CONTENT)}"})
        elif self.path == f"/files/{WHEEL}":
            self.answer(200, "application/octet-stream", CONTENT)
        else:
            self.answer(404, "text/plain", b"")

    def answer(self, status: int, kind: str, body: bytes, more: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(body)), **(more or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture
def index(monkeypatch: pytest.MonkeyPatch) -> Iterator[Index]:
    """An index that runs, and that uv and pip are set to; attempts come quickly."""
    found = Index()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (Handler,), {"index": found}))
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    monkeypatch.setenv("UV_DEFAULT_INDEX", f"http://me:secret@127.0.0.1:{server.server_port}/simple/")
    retries = RetryPolicy(attempts=3, first_wait_s=0.01, longest_wait_s=0.02)
    monkeypatch.setattr(image_locations, "open_session", lambda *_, **__: Session(retries=retries))
    yield found
    server.shutdown()
    server.server_close()


@pytest.fixture
def image(tmp_path: Path) -> Path:
    """The folder of an image whose lock has one wheel."""
    folder = tmp_path / "tiny"
    folder.mkdir()
    (folder / "image.yaml").write_text(SPEC)
    (folder / "requirements.lock").write_text(f"jupyterhub==5.5.4 \\\n    --hash=sha256:{SHA256}\n")
    (folder / "verify.py").write_text("")
    (folder / ".dockerignore").write_text("*\n!requirements.lock\n!verify.py\n")
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(("is_html", "has_ranges"), [(False, True), (True, True), (True, False)])
def test_the_sizes_of_the_locked_wheels_are_written(
    run: Run, index: Index, image: Path, *, is_html: bool, has_ranges: bool
) -> None:
    index.is_html, index.has_ranges = is_html, has_ranges
    result = run("image", "sizes", str(image))
    assert result.exit_code == 0, result.stderr
    assert result.stdout == f"wrote {image / SIZES_FILE}: 1 wheel, 12.3 kB\n"
    (size,) = load_sizes(image, load_spec(image)) or ()
    assert (size.name, size.wheel, size.bytes) == ("jupyterhub", WHEEL, len(CONTENT))
    assert "127.0.0.1" not in (image / SIZES_FILE).read_text()
    assert [path for path, _ in index.requests] == ["/simple/jupyterhub/", *([f"/files/{WHEEL}"] if is_html else [])]
    assert all(header.startswith("Basic ") for _, header in index.requests)  # the user and password of the index


def test_json_says_what_was_written(run: Run, index: Index, image: Path) -> None:
    assert index.files
    found = json.loads(run("image", "sizes", str(image), "--json").stdout)
    assert found == {"image": "tiny", "file": str(image / SIZES_FILE), "wheels": 1, "bytes": len(CONTENT)}


@pytest.mark.slow
def test_a_fault_of_the_index_is_tried_again(run: Run, index: Index, image: Path) -> None:
    index.faults = [500, 503]
    assert run("image", "sizes", str(image)).exit_code == 0
    assert len(index.requests) == 3


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "says", "questions"),
    [
        ({"files": {WHEEL: "0" * 64}}, "has a hash of the lock", 1),
        ({"files": {"jupyterhub-5.5.3-py3-none-any.whl": SHA256}}, "has no wheel of 5.5.4", 1),
        ({"files": {}}, "has no wheel of 5.5.4", 1),
        ({"faults": [404]}, "does not have it (404)", 1),
        ({"faults": [401]}, "denies access (401)", 1),
        ({"faults": [500, 500, 500]}, "returned a server error (500)", 3),
        ({"page": b"[]"}, "no page of an index", 1),
        ({"page": b"{"}, "no page of an index", 1),
    ],
)
def test_what_the_index_does_not_have_is_reported_and_nothing_is_written(
    run: Run, index: Index, image: Path, changes: dict[str, object], says: str, questions: int
) -> None:
    for name, value in changes.items():
        setattr(index, name, value)
    result = run("image", "sizes", str(image))
    assert result.exit_code == 2
    assert "jupyterhub" in result.stderr
    assert says in result.stderr
    assert "secret" not in result.stderr
    assert len(index.requests) == questions
    assert not (image / SIZES_FILE).exists()


def test_an_unreachable_index_is_reported(run: Run, index: Index, image: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UV_DEFAULT_INDEX", "http://127.0.0.1:9/simple")
    result = run("image", "sizes", str(image))
    assert result.exit_code == 2
    assert "127.0.0.1 cannot be reached" in result.stderr
    assert not index.requests


def test_an_image_without_wheels_has_nothing_to_ask(run: Run) -> None:
    result = run("image", "sizes", "proxy")
    assert result.exit_code == 2
    assert "proxy has no wheels" in result.stderr
