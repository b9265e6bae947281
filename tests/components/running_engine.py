"""A Docker engine as far as a preview asks one: its facts and its containers, over a real socket."""

from __future__ import annotations

import json
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

VERSION = {"Version": "20.10.24", "ApiVersion": "1.41", "MinAPIVersion": "1.12"}
INFO = {
    "OperatingSystem": "Debian GNU/Linux 12 (bookworm)", "KernelVersion": "6.1.0", "NCPU": 16,
    "MemTotal": 128 * 2**30, "CgroupVersion": "1", "CgroupDriver": "cgroupfs", "Driver": "overlay2",
    "DockerRootDir": "/var/lib/docker", "Runtimes": {"runc": {}, "nvidia": {}},
    "DefaultRuntime": "runc", "CDISpecDirs": [],
}  # fmt: skip


def holder(name: str, *cards: int, state: str = "running") -> dict[str, Any]:
    """A container that was given cards, as `GET /containers/json` has it."""
    networks = {"gpu-commons": {}, **{f"gpu-commons-card-{card}": {} for card in cards}}
    return {
        "Id": name, "Names": [f"/{name}"], "State": state, "Created": 1700000000,
        "Labels": {"gpu-commons.org/pool": "box"}, "NetworkSettings": {"Networks": networks},
    }  # fmt: skip


@contextmanager
def running_engine(folder: Path, *containers: dict[str, Any], **facts: Any) -> Iterator[str]:
    """The address of an engine with these containers; `facts` change what `GET /info` and `GET /version` say."""
    info, version = ({**known, **{k: v for k, v in facts.items() if k in known}} for known in (INFO, VERSION))
    answers = {"/info": info, "/version": version, "/containers/json": list(containers)}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = "/" + self.path.partition("?")[0].rpartition("/v1.")[2].partition("/")[2]
            body = json.dumps(answers.get(path, answers["/version"])).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Nothing."""

    address = folder / "e.sock"
    with socketserver.ThreadingUnixStreamServer(str(address), Handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"unix://{address}"
        finally:
            server.shutdown()
