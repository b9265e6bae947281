"""Runs inside the built image, without network and without a GPU: a server and a kernel start, CuPy is the parent's.

What CUDA compiles here is proved by the check of cupy-cuda11, which this image stands on.
"""

from collections.abc import Iterator
from importlib import metadata

import verifying

PROGRAM = "import cupy; print(f'cupy {cupy.__version__}')"


def problems() -> Iterator[str]:
    yield from verifying.import_problems("jupyterlab", "jupyterhub.singleuser", "batchspawner.singleuser", "ipykernel")
    yield from verifying.single_user_problems()
    yield from verifying.lab_problems({"/api/status": "kernels"})
    yield from verifying.kernel_problems(PROGRAM, f"cupy {metadata.version('cupy-cuda11x')}")
    verifying.skipped("computing on a GPU", "a build has none")


if __name__ == "__main__":
    verifying.check(problems(), "server and kernel start")
