"""Device code of ggml, the library of llama.cpp, as its build generates it without stated targets.

A user who compiles it gets code for the GPU that is there (GGML_NATIVE); published builds have the list.
"""

from __future__ import annotations

from packaging.version import Version

from compat.evidence.prose.patterns import pattern
from compat.values.model import Code, Fact
from compat.values.versions import CudaVersion, Target

# Projects whose CUDA code is ggml's, by their names in letters and digits; those that people compile on Linux.
COMPILED_AT_HOME = frozenset({"llamacpp", "llamacpppython", "whispercpp", "ikllamacpp", "stablediffusioncpp"})
OF_GGML = COMPILED_AT_HOME | {"llamafile", "llamabox", "koboldcpp", "lmstudio", "jan", "gpt4all", "localai"}
# Their images are FROM nvidia/cuda, which brings the compat package of its CUDA.
# Sources: github:ggml-org/llama.cpp .devops/cuda.Dockerfile, https://github.com/ggml-org/llama.cpp/issues/19279,
# https://github.com/noonghunna/club-3090/issues/222, https://github.com/noonghunna/club-3090/issues/633
ON_CUDA_IMAGES = frozenset({"llamacpp", "ikllamacpp"})
_LIST = (
    "github:ggml-org/llama.cpp ggml/src/ggml-cuda/CMakeLists.txt (00a2d609) ; "
    "https://github.com/ggml-org/llama.cpp/pull/11984 ; https://github.com/Thireus/GGUF-Tool-Suite/issues/75"
)
_DATE = "2026-11-26"
_VIRTUAL = 4900  # builds of llama.cpp since March 2025 have only PTX for less common GPUs
# Programs with a newer llama.cpp in them, and the first such release. https://github.com/mudler/LocalAI/issues/8370 is
# about 3.9, and 3.0 is from summer 2025.
_VIRTUAL_SINCE = {"localai": Version("3.0")}
_NUMBER = pattern(r"\bb?(\d{3,5})\b")


def code_of(cuda: CudaVersion, framework: str, version: Version | None) -> Code:
    """Code of a published build by this CUDA: machine code for the GPUs that are sold most, PTX for the others.

    The version of llama.cpp is a build number; without one, the older list counts, with machine code for each.
    """
    number = _NUMBER.search(str(version or "")) if framework.startswith("llama") else None
    since = _VIRTUAL_SINCE.get(framework)
    is_newer = since is not None and version is not None and version >= since
    is_virtual = is_newer or (number is not None and int(number[1]) >= _VIRTUAL)
    ptx = [*(() if cuda.major >= 13 else ("5.0", "6.1", "7.0")), "7.5", "8.0"]
    cubins = ["8.6"] if is_virtual else [*ptx]
    if cuda >= CudaVersion(11, 8) and is_virtual:
        cubins.append("8.9")
    if cuda >= CudaVersion(12, 8):
        cubins.append("12.0a")
    if cuda >= CudaVersion(12, 9):
        cubins.append("12.1a")
    fact = Fact("published builds of ggml have PTX for 5.0 to 8.0 beside their machine code", _LIST, _DATE)
    return Code(tuple(map(Target.parse, cubins)), tuple(map(Target.parse, ptx)), fact)
