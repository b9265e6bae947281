"""Runs inside the built image, without network and without a GPU: packages and kernels are those of the spec.

The server is the parent's, and the parent's verify.py has started it. Where the frameworks could be installed, each
kernel imports its own; computing on a GPU is skipped with a message where there is none.
"""

import json
import os
import pathlib
import subprocess
import sys
from importlib import metadata

import numpy as np
from matplotlib import pyplot as plt
from scipy import linalg

FACTS = json.loads(pathlib.Path("/usr/local/share/gpu-commons/image.json").read_text())
FRAMEWORKS = {
    "tensorflow": "import tensorflow as f; print(f.__version__); print(len(f.config.list_physical_devices('GPU')))",
    "torch": "import torch as f; print(f.__version__); print(f.cuda.device_count())",
}


def wrong() -> list[str]:
    """What is not as it should be."""
    found = [] if os.getuid() else ["runs as root"]
    for pin in FACTS["packages"]:
        name, _, version = pin.partition("==")
        if metadata.version(name) != version:
            found.append(f"{name} is {metadata.version(name)}, the spec says {version}")
    subprocess.run(["jupyterhub-singleuser", "--version"], check=True, stdout=subprocess.DEVNULL)
    return found + scipy_problems() + kernel_problems()


def scipy_problems() -> list[str]:
    """Use every library of the server's environment once."""
    plt.plot([0, 1])
    return [] if abs(linalg.det(np.eye(3)) - 1) < 1e-12 else ["SciPy cannot compute a determinant"]


def kernel_problems() -> list[str]:
    """Start each kernel's Python and import its framework."""
    found: list[str] = []
    for kernel, pins in FACTS["kernels"].items():
        for framework, program in FRAMEWORKS.items():
            versions = [pin.partition("==")[2] for pin in pins if pin.startswith(f"{framework}==")]
            if not versions:
                continue
            python = f"/opt/conda/envs/{kernel}/bin/python"
            said = subprocess.run([python, "-c", program], check=True, capture_output=True, text=True).stdout.split()
            if said[0] != versions[0]:
                found.append(f"{kernel}: {framework} is {said[0]}, the spec says {versions[0]}")
            if said[1] == "0":
                print(f"skipped: {framework} on a GPU, because there is none here")
    if FACTS["missing"]:
        print(f"left out on this site: {', '.join(FACTS['missing'])}")
    return found


if __name__ == "__main__":
    problems = wrong()
    print("\n".join(problems) or f"{FACTS['image']} {FACTS['version']}: as its spec says")
    sys.exit(1 if problems else 0)
