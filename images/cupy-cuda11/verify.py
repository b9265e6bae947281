"""Runs inside the built image, without network and without a GPU: programs run, and CUDA compiles for both cards.

The run-time compiler needs no GPU, but CuPy 13 asks for one before it uses it: it is called here as CuPy calls it. It
makes machine code, so that a driver of R470 has no PTX of a newer CUDA to read.
"""

import ctypes
from collections.abc import Iterator
from importlib import metadata

import verifying

SOURCE = b'extern "C" __global__ void twice(float* x) { x[threadIdx.x] *= 2.0f; }'
CARDS = {b"sm_37": "Tesla K80", b"sm_60": "Tesla P100"}
LIBRARY = "libnvrtc.so.11.2"  # the name that CuPy loads for all of CUDA 11


def problems() -> Iterator[str]:
    yield from verifying.extra_problems("jupyter", "ipykernel", "notebook", "tornado")
    program = "import cupy; print(f'cupy {cupy.__version__}')"
    said = f"cupy {metadata.version('cupy-cuda11x')}"
    yield from verifying.run_problems(["tini", "-g", "--", "python", "-"], said, given=program)
    yield from verifying.run_problems(["tini", "-g", "--", "python", "/app/seen.py"], "cuda_visible_devices none")
    try:
        compiler = ctypes.CDLL(LIBRARY)
    except OSError as error:
        yield f"the run-time compiler cannot be loaded: {error}"
        return
    yield from (f"no machine code for {card}" for target, card in CARDS.items() if not machine_code(compiler, target))
    verifying.skipped("computing on a GPU", "a build has none")


def machine_code(compiler: ctypes.CDLL, target: bytes) -> int:
    """Bytes of the kernel compiled for a GPU; 0 where that fails."""
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    options = (ctypes.c_char_p * 1)(b"--gpu-architecture=" + target)
    compiler.nvrtcCreateProgram(ctypes.byref(program), SOURCE, b"twice.cu", 0, None, None)
    if compiler.nvrtcCompileProgram(program, 1, options) == 0:
        compiler.nvrtcGetCUBINSize(program, ctypes.byref(size))
    return size.value


if __name__ == "__main__":
    verifying.check(problems(), "programs run, CUDA kernels compile for K80 and P100")
