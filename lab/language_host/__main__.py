"""`python -m lab.language_host ENGINE_ADDRESS`: prints its port; the engine or a signal ends it."""

from __future__ import annotations

import argparse
import asyncio
import importlib.util
import os
import shutil
import signal
import sys
import types
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab.language_host.commands import Addresses

EXEC_NAME = "pulumi-language-python-exec"
EXEC_VARIABLE = "GPU_COMMONS_PULUMI_EXEC"
MESSAGE_BYTES = 400 * 1024 * 1024  # the limit of Pulumi's own servers; a state can be large
PARENT_CHECK_S = 1.0


def main(argv: Sequence[str]) -> int:
    # Until the loop handles interrupts, one ends us without a Python traceback.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    parser = argparse.ArgumentParser(
        prog="pulumi-language-python",
        description="Stand-in for the Python language host of Pulumi. Started by `pulumi`, not by people.",
        epilog="example: python -m lab.language_host 127.0.0.1:40000",
    )
    parser.add_argument("engine", metavar="ENGINE_ADDRESS", help="where the engine listens, host:port")
    parser.add_argument("--exec-script", type=Path, help=f"{EXEC_NAME}; else ${EXEC_VARIABLE}, else found on PATH")
    parser.add_argument("--tracing", default="", help="handed to programs")
    parser.add_argument("--logtostderr", action="store_true", help="accepted and ignored")
    parser.add_argument("--logflow", action="store_true", help="accepted and ignored")
    parser.add_argument("-v", "--verbose", default="0", help="accepted and ignored")
    arguments = parser.parse_args(argv)
    _hide_the_sdk()
    from lab.language_host.commands import Addresses  # noqa: PLC0415 - after the SDK is hidden

    addresses = Addresses(arguments.engine, arguments.tracing, find_exec_script(arguments.exec_script))
    asyncio.run(_serve(addresses, parent=os.getppid()))
    return 0


def find_exec_script(beside: Path | None) -> Path:
    """The SDK's script that runs programs: from the variable, beside the launcher, or from PATH.

    The name alone if there is none: the call that needs it reports that.
    """
    if named := os.environ.get(EXEC_VARIABLE):
        return Path(named)
    if beside and beside.is_file():
        return beside
    return Path(shutil.which(EXEC_NAME) or EXEC_NAME)


async def _serve(addresses: Addresses, parent: int) -> None:
    import grpc  # noqa: PLC0415 - after the SDK is hidden
    from pulumi.runtime.proto.language_pb2_grpc import add_LanguageRuntimeServicer_to_server  # noqa: PLC0415

    from lab.language_host.children import Children  # noqa: PLC0415
    from lab.language_host.servicer import LanguageHost  # noqa: PLC0415

    stopped = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    sizes = [("grpc.max_receive_message_length", MESSAGE_BYTES), ("grpc.max_send_message_length", MESSAGE_BYTES)]
    server = grpc.aio.server(options=sizes)
    children = Children()
    add_LanguageRuntimeServicer_to_server(LanguageHost(addresses, children), server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    print(port, flush=True)
    # A killed engine notifies nobody. Its death changes our parent, and then nobody waits for us either.
    while not stopped.is_set() and os.getppid() == parent:
        try:
            await asyncio.wait_for(stopped.wait(), PARENT_CHECK_S)
        except TimeoutError:
            continue
    await children.end_all()
    await server.stop(grace=None)


def _hide_the_sdk() -> None:
    """Import the stubs without the SDK around them.

    `import pulumi` costs a third of a second at each start of the engine, and a host needs only two of its files.
    """
    specification = importlib.util.find_spec("pulumi")
    if specification is None or not specification.submodule_search_locations or "pulumi" in sys.modules:
        return
    folder = Path(specification.submodule_search_locations[0])
    for name in ("pulumi", "pulumi.runtime", "pulumi.runtime.proto"):
        package = types.ModuleType(name)
        package.__path__ = [str(folder.joinpath(*name.split(".")[1:]))]
        sys.modules[name] = package


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
