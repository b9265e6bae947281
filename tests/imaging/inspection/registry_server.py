"""A registry on loopback that keeps to the protocol, and breaks it where a test says so."""

from __future__ import annotations

import base64
import json
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from made import OCI_INDEX, OCI_MANIFEST, Image, digest, index

USER, PASSWORD = "ana", "correct-horse"


@dataclass(frozen=True)
class Fault:
    """What happens in place of an answer, or to it."""

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | None = None
    cut: int | None = None
    """Bytes of the body after which the connection breaks."""
    wait_s: float = 0.0


@dataclass
class Seen:
    method: str
    path: str
    authorization: str
    range: str


class Registry:
    """Content, faults by the end of a path (each used once, `*` at its end for ever), and the requests."""

    def __init__(self) -> None:
        self.content: dict[str, tuple[str, bytes]] = {}
        self.faults: dict[str, list[Fault]] = {}
        self.seen: list[Seen] = []
        self.auth = ""  # "", basic, bearer
        self.token_life_s = 300
        self.tokens: dict[str, float] = {}
        self.issued = 0
        self.refresh_token = ""
        self.blob_host = ""  # where blobs are redirected to
        self._lock = threading.Lock()
        registry = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_GET(self) -> None:
                registry.answer(self)

            def do_POST(self) -> None:
                registry.answer(self)

            def log_message(self, *_: object) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 128

            def handle_error(self, *_: object) -> None:
                """A client may hang up."""

        self.server = Server(("127.0.0.1", 0), Handler)
        self.host = f"127.0.0.1:{self.server.server_port}"
        self._thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self._thread.join()

    def push(self, made: Image, repository: str = "team/tiny", tag: str = "1.0") -> str:
        """Store an image; returns its reference."""
        for name, blob in made.all_blobs().items():
            self.content[f"/v2/{repository}/blobs/{name}"] = ("application/octet-stream", blob)
        for name in (tag, digest(made.manifest)):
            self.content[f"/v2/{repository}/manifests/{name}"] = (OCI_MANIFEST, made.manifest)
        return f"{self.host}/{repository}:{tag}"

    def push_index(self, images: dict[str, Image], repository: str = "team/tiny", tag: str = "1.0") -> str:
        for each in images.values():
            self.push(each, repository, tag)
        content = index(images)
        for name in (tag, digest(content)):
            self.content[f"/v2/{repository}/manifests/{name}"] = (OCI_INDEX, content)
        return f"{self.host}/{repository}:{tag}"

    def put(self, path: str, content: bytes, kind: str = OCI_MANIFEST) -> str:
        """Store any manifest; returns its reference."""
        self.content[f"/v2/team/tiny/manifests/{path}"] = (kind, content)
        return f"{self.host}/team/tiny:{path}"

    def fail(self, end: str, *faults: Fault) -> None:
        self.faults[end] = list(faults)

    def count(self, part: str = "/v2/") -> int:
        return sum(part in each.path for each in self.seen)

    def statuses(self) -> Counter[str]:
        return Counter(each.method for each in self.seen)

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        path = handler.path
        given = handler.headers.get("Authorization", "")
        body = handler.rfile.read(int(handler.headers.get("Content-Length", "0") or 0))
        with self._lock:
            self.seen.append(Seen(handler.command, path, given, handler.headers.get("Range", "")))
            fault = self._fault(urlsplit(path).path)
        if fault is not None and fault.wait_s:
            time.sleep(fault.wait_s)
        if fault is not None and fault.status:
            _send(handler, fault.status, fault.headers, fault.body or b'{"errors": []}')
            return
        if path.startswith("/token"):
            self._token(handler, given, body)
        elif path.startswith("/v2/") and not self._is_allowed(given):
            self._challenge(handler)
        elif path.startswith("/v2/") and "/blobs/" in path and self.blob_host:
            address = f"http://{self.blob_host}/store{path}?signature=very-secret"
            _send(handler, 307, {"Location": address}, b"")
        else:
            self._content(handler, urlsplit(path).path.removeprefix("/store"), fault)

    def _fault(self, path: str) -> Fault | None:
        for end, faults in self.faults.items():
            if faults and (path.endswith(end) or (end.endswith("*") and end[:-1] in path)):
                return faults[0] if end.endswith("*") else faults.pop(0)
        return None

    def _is_allowed(self, given: str) -> bool:
        if self.auth == "basic":
            return given == "Basic " + base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        if self.auth == "bearer":
            return self.tokens.get(given.removeprefix("Bearer "), 0) > time.monotonic()
        return True

    def _challenge(self, handler: BaseHTTPRequestHandler) -> None:
        repository = handler.path.split("/manifests/")[0].split("/blobs/")[0].removeprefix("/v2/")
        header = 'Basic realm="tests"'
        if self.auth == "bearer":
            scope = f"repository:{repository}:pull"
            header = f'Bearer realm="http://{self.host}/token?proxy=1",service="tests",scope="{scope}"'
        _send(handler, 401, {"WWW-Authenticate": header}, b'{"errors": [{"code": "UNAUTHORIZED"}]}')

    def _token(self, handler: BaseHTTPRequestHandler, given: str, body: bytes) -> None:
        query = parse_qs(urlsplit(handler.path).query)
        form = parse_qs(body.decode())
        scope = (form.get("scope") or query.get("scope") or [""])[0]
        login = "Basic " + base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        is_known = given == login or (self.refresh_token and form.get("refresh_token") == [self.refresh_token])
        if "private" in scope and not is_known:
            _send(handler, 401, {}, b"{}")
            return
        with self._lock:
            self.issued += 1
            token = f"token-{self.issued}-{scope}"
            self.tokens[token] = time.monotonic() + self.token_life_s
        answer: dict[str, Any] = {"token": token, "expires_in": self.token_life_s}
        _send(handler, 200, {"Content-Type": "application/json"}, json.dumps(answer).encode())

    def _content(self, handler: BaseHTTPRequestHandler, path: str, fault: Fault | None) -> None:
        if path not in self.content:
            _send(handler, 404, {}, b'{"errors": [{"code": "MANIFEST_UNKNOWN"}]}')
            return
        kind, body = self.content[path]
        headers = {"Content-Type": kind}
        if "/manifests/" in path:
            headers["Docker-Content-Digest"] = digest(body)
        status = 200
        if byte_range := handler.headers.get("Range"):
            start = int(byte_range.removeprefix("bytes=").rstrip("-"))
            headers["Content-Range"] = f"bytes {start}-{len(body) - 1}/{len(body)}"
            body, status = body[start:], 206
        if fault is not None:
            headers |= fault.headers
            body = fault.body if fault.body is not None else body
        _send(handler, status, headers, body, cut=fault.cut if fault else None)


def _send(
    handler: BaseHTTPRequestHandler, status: int, headers: dict[str, str], body: bytes, cut: int | None = None
) -> None:
    handler.send_response(status)
    for name, value in {"Content-Length": str(len(body)), **headers}.items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(body if cut is None else body[:cut])
    handler.wfile.flush()
    if cut is not None:
        handler.close_connection = True


Push = Callable[..., str]
