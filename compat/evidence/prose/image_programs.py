"""The program that an image is named after, where its repository is in no table: `somebody/frigate:0.14.1-tensorrt`."""

from __future__ import annotations

import re
from collections.abc import Container
from functools import lru_cache

from compat.evidence.prose.patterns import pattern
from compat.evidence.reading.distributions import ALIASES
from compat.facts import tables
from compat.facts.rows import Row

# Words on how an image is made or used, beside the name of its content.
_BESIDE = frozenset(
    {"gpu", "cuda", "nvidia", "docker", "container", "image", "server", "official", "openai", "worker", "runtime"}
)
_WITH_RELEASE = pattern(r"(tensorflow|pytorch|torch|jax|mxnet|cupy|vllm)[:_-]v?(\d+\.\d+(?:\.\d+)?)")
_VERSION = pattern(r"(?:^|-)v?(\d+\.\d+(?:\.\d+)*(?:\.?(?:post|rc|a|b)\d+)*)(?=$|[-_])", re.ASCII)
# They run on the wheels of torch, whose CUDA their tags name: those of ComfyUI, of web interfaces to Stable Diffusion.
# Sources: github:Comfy-Org/ComfyUI README.md, github:AUTOMATIC1111/stable-diffusion-webui modules/launch_utils.py,
# github:YanWenKun/ComfyUI-Docker README.adoc
_ON_TORCH = pattern(
    r"comfy-?ui|stable-?diffusion(?!-?(?:\.?cpp))|easy-?diffusion|automatic1111|a1111|sd-?webui|sd-?forge|invoke-?ai|fooocus|kohya|text-generation-webui|xtts"
)
_OF_A_CUDA = pattern(r"(?:^|[-_.])cu(?:da)?-?\d")
_OF_NVIDIA = "nvcr.io/nvidia/"
_MONTH = pattern(r"\d\d\.(?:0[1-9]|1[0-2])(?=$|[-_.])", re.ASCII)


def runs_on_torch(name: str) -> bool:
    """Is it a program that is a set of scripts on PyTorch, whose wheel decides?"""
    return _ON_TORCH.search(name.lower()) is not None


@lru_cache(4096)
def program_in(repository: str, tag: str) -> Row:
    """Program and release, as far as the name states them; nothing for names that no table lists as a program.

    A program that tables list build by build needs a release: `somebody/pytorch:latest` may be any of them.
    """
    if repository.startswith(_OF_NVIDIA) and _MONTH.match(tag):
        return {}  # nvcr.io/nvidia/vllm:25.10-py3: the number of a month, and of no release
    if match := _WITH_RELEASE.search(f"{repository}:{tag}".lower()):
        return {"framework": match[1], "framework_version": match[2]}
    name = _known(repository.rpartition("/")[2])
    if not name and _ON_TORCH.search(repository) and _OF_A_CUDA.search(tag):
        return {"framework": "pytorch"}
    if not name:
        return {}
    version = _VERSION.search(tag)
    if version is None:
        return {} if name in tables.framework_rows() else {"framework": name}
    return {"framework": name, "framework_version": version[1]}


def _tables_by_name() -> tuple[Container[str], ...]:
    return tables.programs(), tables.framework_rows(), tables.framework_floors(), tables.framework_libraries()


def _known(text: str) -> str:
    """`frigate-gpu` → frigate; empty where no table has it."""
    words = re.findall(r"[a-z0-9]+", text.lower())
    plain = [word for word in words if word not in _BESIDE and not re.fullmatch(r"cu(?:da)?\d*", word)]
    for kept in (words, plain):
        key = "".join(kept)
        name = ALIASES.get(key, key)
        if any(name in known for known in _tables_by_name()):
            return name
    return ""
