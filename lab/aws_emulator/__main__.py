"""The emulator's process: `python -m lab.aws_emulator --port 4566`, on loopback only, with its state in memory.

`--cluster-endpoint` and `--cluster-authority` (a PEM file) are the address that EKS clusters report.
"""

from __future__ import annotations

import argparse
import base64
import os
import signal
import sys
import tempfile
from pathlib import Path

from werkzeug.serving import WSGIRequestHandler, make_server

from lab.aws_emulator import images
from lab.aws_emulator.application import Application, Emulator
from lab.aws_emulator.cloud import OverHttp
from lab.aws_emulator.eks_state import Endpoint

HOST = "127.0.0.1"


class Quiet(WSGIRequestHandler):
    """Logs no requests: in AWS's query protocol, each is `POST /`."""

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        del code, size


def _moto() -> Application:
    with tempfile.TemporaryDirectory() as folder:
        os.environ["MOTO_AMIS_PATH"] = str(images.write(Path(folder) / "images.json"))
        # Not at the top: the import reads that file.
        from moto.ec2.models import amis  # noqa: F401, PLC0415
        from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app  # noqa: PLC0415
    application: Application = DomainDispatcherApplication(create_backend_app)
    return application


def main() -> None:
    parser = argparse.ArgumentParser(prog="lab.aws_emulator")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--cluster-endpoint", default="")
    parser.add_argument("--cluster-authority", type=Path)
    options = parser.parse_args()
    authority = base64.b64encode(options.cluster_authority.read_bytes()).decode() if options.cluster_authority else ""
    emulator = Emulator(
        moto=_moto(),
        cloud_of=lambda region: OverHttp(f"http://{HOST}:{options.port}", region),
        log=lambda line: print(line, flush=True),
        endpoint=Endpoint(options.cluster_endpoint, authority) if authority else Endpoint(options.cluster_endpoint),
    )
    server = make_server(HOST, options.port, emulator, threaded=True, request_handler=Quiet)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    server.serve_forever()


if __name__ == "__main__":
    main()
