"""What the lab asks of a container runtime, against a server that stands in for one."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import grpc
import pytest

from lab.instance import LabError
from lab.machine import cri

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


def test_a_runtime_that_listens_is_waited_for_until_it_has_loaded_what_it_keeps(tmp_path: Path) -> None:
    with runtime(tmp_path / "socket", refusals=3) as calls:
        cri.wait_until_ready(tmp_path / "socket")
    assert calls == ["Version"] * 4


def test_one_that_does_not_become_ready_is_named_with_its_last_answer(tmp_path: Path) -> None:
    with (
        runtime(tmp_path / "socket", refusals=1000),
        pytest.raises(LabError, match=rf"at {tmp_path}/socket is not ready: {REFUSAL}"),
    ):
        cri.wait_until_ready(tmp_path / "socket", within_s=0.3)
