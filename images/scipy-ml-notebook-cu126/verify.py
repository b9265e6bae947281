"""Runs inside the built image, without network and without a GPU: packages and kernels are those of the spec.

PyTorch says for which CUDA, cuDNN and GPUs it was built without having one; computing on a GPU is skipped with a
message where there is none.
"""

import subprocess
from collections.abc import Iterator

import numpy as np
import torch
import torchvision
import verifying
from matplotlib import pyplot as plt
from scipy import linalg

NEEDED = {"sm_60", "sm_75"}  # what GTX 10 and RTX 20 cards run
TENSORFLOW = "import tensorflow as f; print(f.__version__); print(len(f.config.list_physical_devices('GPU')))"


def problems() -> Iterator[str]:
    """What is not as it should be: every library of the server's environment is used once."""
    plt.plot([0, 1])
    if abs(linalg.det(np.eye(3)) - 1) > 1e-12:
        yield "SciPy cannot compute a determinant"
    yield from torch_problems()
    yield from verifying.single_user_problems()
    yield from verifying.kernel_problems("import torch; print(f'torch {torch.__version__}')", "torch 2.7.1")
    yield from framework_problems()
    if verifying.FACTS["missing"]:
        verifying.skipped(", ".join(verifying.FACTS["missing"]), "this site leaves it out")


def torch_problems() -> Iterator[str]:
    """PyTorch loads its CUDA libraries, which are the only ones, and has code for the cards that it is for."""
    if torch.version.cuda != "12.6":
        yield f"torch is built for CUDA {torch.version.cuda}, the spec says 12.6"
    if torch.backends.cudnn.version() != 90501:
        yield f"torch loads cuDNN {torch.backends.cudnn.version()}, the spec says 9.5.1"
    # torch.cuda.get_arch_list() says nothing where there is no GPU.
    if missing := NEEDED - set(torch._C._cuda_getArchFlags().split()):  # noqa: SLF001 - see above
        yield f"torch has no code for {', '.join(sorted(missing))}"
    boxes, scores = torch.tensor([[0.0, 0.0, 1.0, 1.0], [0.0, 0.0, 1.0, 0.9]]), torch.tensor([0.9, 0.8])
    if torchvision.ops.nms(boxes, scores, 0.5).tolist() != [0]:
        yield "torchvision does not find the better of two boxes"
    if not torch.cuda.is_available():
        verifying.skipped("torch on a GPU", "there is none here")
        return
    eye = torch.eye(64, device="cuda")
    if not bool((eye @ eye == eye).all()):
        yield "torch computes wrongly on the GPU"


def framework_problems() -> Iterator[str]:
    """Start the kernel's Python and import its framework."""
    for kernel, pins in verifying.FACTS["kernels"].items():
        python = f"/opt/conda/envs/{kernel}/bin/python"
        ran = subprocess.run([python, "-c", TENSORFLOW], capture_output=True, text=True, check=False)
        said = ran.stdout.split()
        if ran.returncode or f"tensorflow[and-cuda]=={said[0]}" not in pins:
            yield f"{kernel}: tensorflow is {said}, the spec says {', '.join(pins)}: {ran.stderr}"
        elif said[1] == "0":
            verifying.skipped("tensorflow on a GPU", "there is none here")


if __name__ == "__main__":
    verifying.check(problems(), "server and kernels start")
