"""Runs inside the built image, without network and without a GPU: packages and kernels are those of the spec.

Where the frameworks could be installed, each kernel imports its own; computing on a GPU is skipped with a message
where there is none.
"""

import subprocess
from collections.abc import Iterator

import numpy as np
import verifying
from matplotlib import pyplot as plt
from scipy import linalg

FRAMEWORKS = {
    "tensorflow": "import tensorflow as f; print(f.__version__); print(len(f.config.list_physical_devices('GPU')))",
    "torch": "import torch as f; print(f.__version__); print(f.cuda.device_count())",
}


def problems() -> Iterator[str]:
    """What is not as it should be: every library of the server's environment is used once."""
    plt.plot([0, 1])
    if abs(linalg.det(np.eye(3)) - 1) > 1e-12:
        yield "SciPy cannot compute a determinant"
    yield from verifying.single_user_problems()
    yield from verifying.kernel_problems("import scipy; print(f'scipy {scipy.__version__}')", "scipy 1")
    yield from framework_problems()
    if verifying.FACTS["missing"]:
        verifying.skipped(", ".join(verifying.FACTS["missing"]), "this site leaves it out")


def framework_problems() -> Iterator[str]:
    """Start each kernel's Python and import its framework."""
    for kernel, pins in verifying.FACTS["kernels"].items():
        for framework, program in FRAMEWORKS.items():
            versions = [pin.partition("==")[2] for pin in pins if pin.startswith(f"{framework}==")]
            if not versions:
                continue
            python = f"/opt/conda/envs/{kernel}/bin/python"
            ran = subprocess.run([python, "-c", program], capture_output=True, text=True, check=False)
            said = ran.stdout.split()
            if ran.returncode or said[0] != versions[0]:
                yield f"{kernel}: {framework} is {said}, the spec says {versions[0]}: {ran.stderr}"
            elif said[1] == "0":
                verifying.skipped(f"{framework} on a GPU", "there is none here")


if __name__ == "__main__":
    verifying.check(problems(), "server and kernels start")
