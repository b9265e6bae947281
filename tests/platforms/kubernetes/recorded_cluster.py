"""An API server with the few requests of KubeSpawner: what it says of a pod is recorded, and its time runs from `POST`.

A moment of a recording is (seconds since the pod was made, status of the pod, events): the latest that has come holds.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

Object = dict[str, Any]
Moment = tuple[float, Object, Sequence[tuple[str, str]]]  # events: reason and message
PENDING: Object = {"phase": "Pending"}


@dataclass
class RecordedCluster:
    recording: Sequence[Moment] = ((0, PENDING, ()),)
    refusal: tuple[int, str] | None = None  # what a POST of a pod gets
    made: dict[str, tuple[Object, float]] = field(default_factory=dict)
    claims: dict[str, Object] = field(default_factory=dict)
    versions: dict[str, tuple[str, int]] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)
    is_over: bool = False

    def objects(self, kind: str) -> dict[str, Object]:
        """Pods or events as they are now, by name; a changed one has a new version."""
        with self.lock:
            found = {}
            for name, (pod, made_at) in self.made.items():
                passed = time.monotonic() - made_at
                _, status, events = [moment for moment in self.recording if moment[0] <= passed][-1]
                if kind == "pods":
                    node = {} if status.get("conditions") else {"nodeName": "n18"}
                    found[name] = {**pod, "spec": {**pod["spec"], **node}, "status": status}
                else:
                    found |= {f"{name}.{index}": self._event(pod, index, *each) for index, each in enumerate(events)}
            for name, one in found.items():
                text = json.dumps(one, sort_keys=True)
                known, version = self.versions.get(name, ("", len(self.versions)))
                if text != known:
                    version = sum(number for _, number in self.versions.values()) + 1
                    self.versions[name] = (text, version)
                one["metadata"] = {**one["metadata"], "resourceVersion": str(version)}
            return found

    def _event(self, pod: Object, index: int, reason: str, message: str) -> Object:
        made = datetime.fromisoformat(pod["metadata"]["creationTimestamp"])
        return {
            "metadata": {"name": f"event-{index}", "namespace": "hub", "uid": f"{pod['metadata']['uid']}-{index}"},
            "involvedObject": {"kind": "Pod", "name": pod["metadata"]["name"], "uid": pod["metadata"]["uid"]},
            "type": "Normal",
            "reason": reason,
            "message": message,
            "lastTimestamp": made.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "eventTime": None,
        }


class _Requests(BaseHTTPRequestHandler):
    cluster: RecordedCluster

    def do_GET(self) -> None:
        split = urlsplit(self.path)
        kind = split.path.rsplit("/", 1)[-1]
        if kind in self.cluster.claims:
            self._answer(200, self.cluster.claims[kind])
        elif kind not in ("pods", "events"):
            self._answer(404, {"message": "not recorded"})
        elif "watch" in parse_qs(split.query):
            self._watch(kind)
        else:
            self._answer(200, {"metadata": {"resourceVersion": "1"}, "items": [*self.cluster.objects(kind).values()]})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        name = body["metadata"]["name"]
        if self.path.endswith("/pods"):
            if self.cluster.refusal:
                status, message = self.cluster.refusal
                self._answer(status, {"kind": "Status", "message": message})
                return
            made = {"namespace": "hub", "uid": f"uid-{time.monotonic_ns()}"}
            body["metadata"] |= {**made, "creationTimestamp": datetime.now(UTC).isoformat()}
            with self.cluster.lock:
                self.cluster.made[name] = (body, time.monotonic())
        elif self.cluster.claims.setdefault(name, body) is not body:
            self._answer(409, {"kind": "Status", "message": "already exists"})
            return
        self._answer(201, body)

    def do_DELETE(self) -> None:
        kind, name = self.path.split("?")[0].rsplit("/", 2)[-2:]
        with self.cluster.lock:
            found = (self.cluster.made if kind == "pods" else self.cluster.claims).pop(name, None)
        self._answer(200 if found else 404, {})

    def _watch(self, kind: str) -> None:
        self._head(200)
        sent: dict[str, Object] = {}
        try:
            while not self.cluster.is_over:
                now = self.cluster.objects(kind)
                for name in sent.keys() - now.keys():
                    self._line({"type": "DELETED", "object": sent.pop(name)})
                for name, one in now.items():
                    if sent.get(name) != one:
                        self._line({"type": "MODIFIED", "object": one})
                        sent[name] = one
                time.sleep(0.05)
        except OSError:
            pass  # the watcher left

    def _line(self, content: Object) -> None:
        self.wfile.write(json.dumps(content).encode() + b"\n")
        self.wfile.flush()

    def _head(self, status: int) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.end_headers()

    def _answer(self, status: int, content: Object) -> None:
        self._head(status)
        self._line(content)

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def serving(cluster: RecordedCluster) -> Iterator[str]:
    """The cluster's address while it serves."""
    requests = type("Requests", (_Requests,), {"cluster": cluster})
    server = ThreadingHTTPServer(("127.0.0.1", 0), requests)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        cluster.is_over = True
        server.shutdown()
        server.server_close()
        thread.join()
