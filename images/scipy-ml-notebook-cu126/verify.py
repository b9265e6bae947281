"""Runs inside the built image, without network and without a GPU: packages and kernels are those of the spec.

The server is the parent's, and the parent's verify.py has started it. PyTorch says for which CUDA, cuDNN and GPUs it
was built without having one; computing on a GPU is skipped with a message where there is none.
"""

import json
import os
import pathlib
import subprocess
import sys
from importlib import metadata

import numpy as np
import torch
import torchvision
from matplotlib import pyplot as plt
from scipy import linalg

FACTS = json.loads(pathlib.Path("/usr/local/share/gpu-commons/image.json").read_text())
NEEDED = {"sm_60", "sm_75"}  # what GTX 10 and RTX 20 cards run
TENSORFLOW = "import tensorflow as f; print(f.__version__); print(len(f.config.list_physical_devices('GPU')))"


def wrong() -> list[str]:
    """What is not as it should be."""
    found = [] if os.getuid() else ["runs as root"]
    for pin in FACTS["packages"]:
        name, _, version = pin.partition("==")
        if metadata.version(name) != version:
            found.append(f"{name} is {metadata.version(name)}, the spec says {version}")
    subprocess.run(["jupyterhub-singleuser", "--version"], check=True, stdout=subprocess.DEVNULL)
    return found + scipy_problems() + torch_problems() + kernel_problems()


def scipy_problems() -> list[str]:
    """Use every library of the server's environment once."""
    plt.plot([0, 1])
    return [] if abs(linalg.det(np.eye(3)) - 1) < 1e-12 else ["SciPy cannot compute a determinant"]


def torch_problems() -> list[str]:
    """PyTorch loads its CUDA libraries, which are the only ones, and has code for the cards that it is for."""
    found = []
    if torch.version.cuda != "12.6":
        found.append(f"torch is built for CUDA {torch.version.cuda}, the spec says 12.6")
    if torch.backends.cudnn.version() != 90501:
        found.append(f"torch loads cuDNN {torch.backends.cudnn.version()}, the spec says 9.5.1")
    # torch.cuda.get_arch_list() says nothing where there is no GPU.
    if missing := NEEDED - set(torch._C._cuda_getArchFlags().split()):  # noqa: SLF001 - see above
        found.append(f"torch has no code for {', '.join(sorted(missing))}")
    boxes, scores = torch.tensor([[0.0, 0.0, 1.0, 1.0], [0.0, 0.0, 1.0, 0.9]]), torch.tensor([0.9, 0.8])
    if torchvision.ops.nms(boxes, scores, 0.5).tolist() != [0]:
        found.append("torchvision does not find the better of two boxes")
    if torch.cuda.is_available():
        eye = torch.eye(64, device="cuda")
        found += [] if bool((eye @ eye == eye).all()) else ["torch computes wrongly on the GPU"]
    else:
        print("skipped: torch on a GPU, because there is none here")
    return found


def kernel_problems() -> list[str]:
    """Start the kernel's Python and import its framework."""
    found: list[str] = []
    for kernel, pins in FACTS["kernels"].items():
        python = f"/opt/conda/envs/{kernel}/bin/python"
        said = subprocess.run([python, "-c", TENSORFLOW], check=True, capture_output=True, text=True).stdout.split()
        if f"tensorflow[and-cuda]=={said[0]}" not in pins:
            found.append(f"{kernel}: tensorflow is {said[0]}, the spec says {', '.join(pins)}")
        if said[1] == "0":
            print("skipped: tensorflow on a GPU, because there is none here")
    if FACTS["missing"]:
        print(f"left out on this site: {', '.join(FACTS['missing'])}")
    return found


if __name__ == "__main__":
    problems = wrong()
    print("\n".join(problems) or f"{FACTS['image']} {FACTS['version']}: as its spec says")
    sys.exit(1 if problems else 0)
