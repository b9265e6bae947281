"""Runs inside the built image, without network and without a GPU: each target is what it is for.

The run-time compiler needs no GPU: a kernel is compiled to PTX for the oldest and the newest card of the commons.
Computing is skipped with a message where there is no GPU.
"""

from collections.abc import Iterator
from importlib import metadata

import verifying

SOURCE = '#include <cuda_fp16.h>\nextern "C" __global__ void twice(float* x) { x[threadIdx.x] *= 2.0f; }'
PROGRAM = "import cupy; print(f'cupy {cupy.__version__}')"


def server() -> Iterator[str]:
    yield from verifying.import_problems("jupyterlab", "jupyterhub.singleuser", "ipykernel", "numpy")
    yield from verifying.single_user_problems()
    yield from verifying.lab_problems({"/api/status": "kernels"})
    yield from verifying.kernel_problems()
    yield from cuda_problems()


def gateway_client() -> Iterator[str]:
    """JupyterLab offers the kernels of the gateway, and has nothing of CUDA."""
    yield from verifying.import_problems("jupyterlab", "jupyterhub.singleuser")
    yield from verifying.extra_problems("nvidia-", "cupy", "cuda-", "numpy")
    yield from verifying.single_user_problems()
    spec = {"display_name": "Far away", "language": "python", "argv": [], "env": {}}
    specs = {"default": "far", "kernelspecs": {"far": {"name": "far", "spec": spec, "resources": {}}}}
    with verifying.stand_in({"/api/kernelspecs": specs, "/api/kernels": []}) as port:
        env = {"JUPYTER_GATEWAY_URL": f"http://127.0.0.1:{port}"}
        yield from verifying.lab_problems({"/api/kernelspecs": "Far away"}, env=env)


def kernel() -> Iterator[str]:
    """A cell runs as a gateway would start it, and there is no server."""
    yield from verifying.extra_problems("jupyterlab", "jupyterhub", "jupyter-server", "notebook")
    yield from verifying.kernel_problems(PROGRAM, f"cupy {metadata.version('cupy-cuda12x')}")
    yield from cuda_problems()


def batch() -> Iterator[str]:
    """A program runs as a job would start it, and there is nothing of Jupyter."""
    yield from verifying.extra_problems("jupyter", "ipykernel", "ipython", "notebook", "tornado")
    said = f"cupy {metadata.version('cupy-cuda12x')}"
    yield from verifying.run_problems(["tini", "-g", "--", "python", "-"], said, given=PROGRAM)
    yield from cuda_problems()


def cuda_problems() -> Iterator[str]:
    """CuPy and its run-time compiler work; computing needs a GPU."""
    import cupy  # noqa: PLC0415 - the gateway client has none
    from cupy.cuda import nvrtc  # noqa: PLC0415

    if (major := nvrtc.getVersion()[0]) != 12:
        yield f"the run-time compiler is of CUDA {major}, not 12"
    yield from (f"no PTX for {it}" for it in ("compute_61", "compute_90") if it not in ptx(nvrtc, it))
    if not cupy.cuda.is_available():
        verifying.skipped("computing on a GPU", "there is none here")
    elif int(cupy.arange(10).sum()) != 45:
        yield "the GPU adds wrongly"


def ptx(nvrtc: object, architecture: str) -> str:
    """Compile a kernel as CuPy would, with the headers of the CUDA runtime wheel."""
    headers = [
        str(file.locate().parent)
        for file in metadata.files("nvidia-cuda-runtime-cu12") or ()
        if file.name == "cuda_fp16.h"
    ]
    program = nvrtc.createProgram(SOURCE, "twice.cu", [], [])
    nvrtc.compileProgram(program, [f"--gpu-architecture={architecture}", *(f"-I{folder}" for folder in headers)])
    return nvrtc.getPTX(program).decode().replace(".target sm_", "compute_")


TARGETS = {
    "server": (server, "server and kernel start, CUDA kernels compile"),
    "gateway-client": (gateway_client, "the server starts and shows the kernels of a gateway"),
    "kernel": (kernel, "a cell runs, CUDA kernels compile"),
    "batch": (batch, "a program runs, CUDA kernels compile"),
}

if __name__ == "__main__":
    problems, works = TARGETS[verifying.FACTS.get("target", "server")]
    verifying.check(problems(), works)
