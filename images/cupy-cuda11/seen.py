"""Says what the scheduler gave to this process, and computes on a GPU where there is one.

    python /app/seen.py

Prints one `name value` a line: node, devices as Slurm and CUDA name them, device files, the driver that nvidia-smi
shows, and the C library; the last line is the sum that CuPy computed, or why it did not.
"""

import os
import pathlib
import platform
import shutil
import socket
import subprocess
from collections.abc import Iterator

import cupy

NONE = "none"


def process() -> Iterator[tuple[str, str]]:
    """What this process sees of what it was started with."""
    yield "node", os.environ.get("SLURMD_NODENAME") or socket.gethostname()
    yield "user", str(os.getuid())
    for name in ("SLURM_JOB_ID", "SLURM_JOB_PARTITION", "SLURM_JOB_GPUS", "CUDA_VISIBLE_DEVICES"):
        yield name.lower(), os.environ.get(name) or NONE
    yield "device_files", ",".join(sorted(map(str, pathlib.Path("/dev").glob("nvidia[0-9]*")))) or NONE
    yield "driver", driver()
    yield "glibc", platform.libc_ver()[1]
    yield "cupy", cupy.__version__


def driver() -> str:
    """What nvidia-smi shows: the host brings it, and the image has none."""
    if shutil.which("nvidia-smi") is None:
        return NONE
    asked = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    return ",".join(sorted(set(done.stdout.split()))) or NONE


def computed() -> str:
    try:
        return str(int(cupy.arange(10).sum()))
    except cupy.cuda.runtime.CUDARuntimeError as error:
        return f"not: {error}"


if __name__ == "__main__":
    for name, value in process():
        print(name, value, flush=True)
    print("sum", computed(), flush=True)
