"""Runs inside the built image, without network and without a GPU: CuPy and its run-time compiler work.

The compiler needs no GPU: a kernel is compiled to PTX for the oldest and the newest card of the commons. Computing is
skipped with a message where there is no GPU.
"""

import json
import os
import pathlib
import subprocess
import sys
from importlib import metadata

import cupy
from cupy.cuda import nvrtc

FACTS = json.loads(pathlib.Path("/usr/local/share/gpu-commons/image.json").read_text())
SOURCE = '#include <cuda_fp16.h>\nextern "C" __global__ void twice(float* x) { x[threadIdx.x] *= 2.0f; }'


def wrong() -> list[str]:
    """What is not as it should be."""
    found = [] if os.getuid() else ["runs as root"]
    for pin in FACTS["packages"]:
        name, _, version = pin.partition("==")
        if metadata.version(name) != version:
            found.append(f"{name} is {metadata.version(name)}, the spec says {version}")
    for program in ("jupyter-lab", "jupyterhub-singleuser"):
        subprocess.run([program, "--version"], check=True, stdout=subprocess.DEVNULL)
    if (major := nvrtc.getVersion()[0]) != 12:
        found.append(f"the run-time compiler is of CUDA {major}, not 12")
    found += [f"no PTX for {it}" for it in ("compute_61", "compute_90") if it not in ptx(it)]
    return found + gpu_problems()


def ptx(architecture: str) -> str:
    """Compile a kernel as CuPy would, with the headers of the CUDA runtime wheel."""
    headers = [
        str(file.locate().parent)
        for file in metadata.files("nvidia-cuda-runtime-cu12") or ()
        if file.name == "cuda_fp16.h"
    ]
    program = nvrtc.createProgram(SOURCE, "twice.cu", [], [])
    nvrtc.compileProgram(program, [f"--gpu-architecture={architecture}", *(f"-I{folder}" for folder in headers)])
    return nvrtc.getPTX(program).decode().replace(".target sm_", "compute_")


def gpu_problems() -> list[str]:
    """Compute on the GPU, if there is one."""
    if not cupy.cuda.is_available():
        print("skipped: computing on a GPU, because there is none here")
        return []
    return [] if int(cupy.arange(10).sum()) == 45 else ["the GPU adds wrongly"]


if __name__ == "__main__":
    problems = wrong()
    print("\n".join(problems) or f"{FACTS['image']} {FACTS['version']}: as its spec says; CUDA kernels compile")
    sys.exit(1 if problems else 0)
