"""The process of a stand-in plugin: start, stop, talk to the engine, and its launcher.

It prints its port on standard output and takes the engine's address as its argument.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, NoReturn

import grpc
from pulumi.runtime.proto import engine_pb2, engine_pb2_grpc, provider_pb2_grpc

from lab.providers.servicer import Servicer
from lab.providers.vocabulary import CancelledError, Provider

CHANNEL_OPTIONS: Final = [("grpc.max_receive_message_length", 400 << 20), ("grpc.max_send_message_length", 400 << 20)]
# Most of these threads only wait (for a rollout, for a build); they are created as needed and then reused.
# More than any sensible --parallel: a Cancel must not queue behind what it is to cancel.
MAX_WORKERS: Final = 512
STARTED_BY: Final = "GPU_COMMONS_PLUGIN_STARTED_BY"  # the engine's process id, from the launcher


class Engine:
    """The engine's side of the conversation: log lines, status lines, and requests to stop."""

    def __init__(self) -> None:
        self.cancelled = threading.Event()
        self._stub: engine_pb2_grpc.EngineStub | None = None

    def connect(self, address: str) -> None:
        self._stub = engine_pb2_grpc.EngineStub(grpc.insecure_channel(address, options=CHANNEL_OPTIONS))

    def status(self, urn: str, message: str) -> None:
        """A line beside the resource, replaced by the next one."""
        self._log(engine_pb2.INFO, urn, message, ephemeral=True)

    def info(self, urn: str, message: str) -> None:
        self._log(engine_pb2.INFO, urn, message)

    def warning(self, urn: str, message: str) -> None:
        self._log(engine_pb2.WARNING, urn, message)

    def cancel(self) -> None:
        self.cancelled.set()

    def wait(self, seconds: float) -> None:
        """Sleep; raises CancelledError as soon as the engine cancels."""
        if self.cancelled.wait(seconds):
            raise CancelledError("cancelled")

    def _log(
        self, severity: engine_pb2.LogSeverity.ValueType, urn: str, message: str, *, ephemeral: bool = False
    ) -> None:
        if self._stub is None:
            return
        with contextlib.suppress(grpc.RpcError):  # a lost log line must not fail an operation
            self._stub.Log(
                engine_pb2.LogRequest(severity=severity, message=message, urn=urn, ephemeral=ephemeral), timeout=10
            )


def serve(version: str, make_provider: Callable[[Engine], Provider]) -> NoReturn:
    """Serve until SIGINT, SIGTERM or the end of our parent process. Never returns."""
    # From the launcher, because the engine may be killed while this interpreter still starts.
    parent = int(os.environ.get(STARTED_BY) or os.getppid())
    engine = Engine()
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    if len(sys.argv) > 1:
        engine.connect(sys.argv[1])
    server = grpc.server(ThreadPoolExecutor(max_workers=MAX_WORKERS), options=CHANNEL_OPTIONS)
    provider_pb2_grpc.add_ResourceProviderServicer_to_server(Servicer(version, make_provider(engine), engine), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    print(port, flush=True)
    while not ended.wait(1):
        if os.getppid() != parent:  # the engine was killed: nobody else would end us
            break
    engine.cancelled.set()
    server.stop(grace=1).wait(2)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)  # a thread in a long request must not block the exit; the engine keeps the state


def write_launcher(target: Path, python: Path, module: str) -> Path:
    """Write the executable `pulumi-resource-X` that runs `module` with that interpreter; returns `target`.

    Isolated from the caller's PYTHONPATH and folder (`-I`). `python` is not resolved: the interpreter's link locates
    the virtual environment.
    """
    root = Path(__file__).resolve().parents[2]
    start = f"import runpy, sys; sys.path.insert(0, {str(root)!r}); runpy.run_module({module!r}, run_name='__main__')"
    target.parent.mkdir(parents=True, exist_ok=True)
    # `exec` keeps the process id that the engine signals; /bin/sh, because a shebang line must be short.
    target.write_text(
        f"#!/bin/sh\n# {module}: a stand-in for the official plugin of this name\n"
        f"export {STARTED_BY}=$PPID\n"
        f'exec {shlex.quote(str(python.absolute()))} -I -c {shlex.quote(start)} "$@"\n'
    )
    target.chmod(0o755)
    return target
