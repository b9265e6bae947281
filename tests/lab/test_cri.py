"""When a container runtime counts as ready: against a server that stands in for containerd."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import grpc

from lab.instance import Instance
from lab.servers import containerd
from tests.lab.programs import Programs

REFUSAL = "server is not initialized yet"  # in containerd's words


@contextmanager
def runtime(socket: Path, refusals: int) -> Iterator[list[str]]:
    """One that listens, and refuses that many calls before it answers; the calls that it got."""
    calls: list[str] = []

    def answer(_: bytes, context: grpc.ServicerContext) -> bytes:
        calls.append("Version")
        if len(calls) <= refusals:
            context.abort(grpc.StatusCode.UNKNOWN, REFUSAL)
        return b""

    handlers = {"Version": grpc.unary_unary_rpc_method_handler(answer)}
    server = grpc.server(ThreadPoolExecutor(max_workers=1))
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("runtime.v1.RuntimeService", handlers),))
    server.add_insecure_port(f"unix:{socket}")
    server.start()
    try:
        yield calls
    finally:
        server.stop(None).wait()


def test_a_runtime_is_ready_once_it_has_loaded_what_it_keeps(
    new_instance: Callable[..., Instance],
) -> None:
    with TemporaryDirectory(prefix="gc-") as folder:  # short enough for sockets
        instance = new_instance(Path(folder) / "lab")
        server = containerd.server(instance, Programs())
        assert not server.ready(), "nothing listens yet"
        with runtime(containerd.socket_path(instance), refusals=2) as calls:
            assert [server.ready() for _ in range(4)] == [False, False, True, True]
        assert len(calls) == 4
