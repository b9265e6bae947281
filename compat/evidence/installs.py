"""How a framework build is installed, in the words of its own project."""

from __future__ import annotations

import re

from packaging.version import Version

from compat.facts.rows import Build
from compat.values.versions import parse_release

_TORCH_INDEX = "https://download.pytorch.org/whl"
_PLAIN = {"paddle": "paddlepaddle-gpu", "onnxruntime": "onnxruntime-gpu"}


def install(build: Build) -> str:
    """`pip install torch==2.6.0 --index-url https://download.pytorch.org/whl/cu118`; never empty.

    Sources: https://pytorch.org/get-started/previous-versions/, https://www.tensorflow.org/install/pip,
    https://docs.jax.dev/en/latest/installation.html, https://docs.cupy.dev/en/stable/install.html,
    https://docs.rapids.ai/install/, names of the distributions on PyPI.
    """
    if build.distribution.startswith("container "):
        return f"the image {build.distribution.removeprefix('container ')}"
    if build.framework == "pytorch":
        return _torch(build)
    if build.framework == "rapids":
        line = f"{build.cuda.major}.{build.cuda.minor}" if build.cuda else ""
        return f"conda install -c rapidsai -c conda-forge rapids={build.version} cuda-version={line}"
    return f"pip install {_requirement(build)}"


def _requirement(build: Build) -> str:
    version = build.version
    if named := re.match(r"pip ([\w-]+)(\[[\w-]+\])?(?: |$)", build.distribution):
        name, extra = named[1].replace("_", "-"), named[2] or ""
        return f'"{name}{extra}=={version}"' if extra else f"{name}=={version}"
    return f"{_PLAIN.get(build.framework, build.framework)}=={version}"


def _torch(build: Build) -> str:
    version, variant = parse_release(build.version), build.variant
    if "conda" in build.distribution:
        line = variant.removeprefix("cuda")
        short = ".".join(line.split(".")[:2])
        toolkit = f"pytorch-cuda={short} -c nvidia" if version >= Version("1.13") else f"cudatoolkit={short}"
        return f"conda install pytorch=={build.version} {toolkit} -c pytorch"
    if build.is_default:
        return f"pip install torch=={build.version}"
    if version >= Version("2.0"):
        return f"pip install torch=={build.version} --index-url {_TORCH_INDEX}/{variant}"
    if version >= Version("1.11"):
        return f"pip install torch=={build.version}+{variant} --extra-index-url {_TORCH_INDEX}/{variant}"
    return f"pip install torch=={build.version}+{variant} -f {_TORCH_INDEX}/torch_stable.html"


def short_name(build: Build) -> str:
    """`torch 2.6.0+cu118`, `tensorflow 2.10.0`, `jax 0.4.30 (cuda12)`."""
    name = "torch" if build.framework == "pytorch" else build.framework
    if build.framework == "pytorch" and "conda" not in build.distribution:
        return f"{name} {build.version}+{build.variant}"
    line = f" for CUDA {build.cuda.line}" if build.cuda else ""
    return f"{name} {build.version}{line}"
