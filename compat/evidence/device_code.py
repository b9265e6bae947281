"""The device code of a case: lists of targets, words of a build, the targets of the compiler, compression."""

from __future__ import annotations

import re

from compat.evidence.case import Case
from compat.evidence.problems import Reader
from compat.evidence.prose.build_words import of_this_build
from compat.evidence.prose.capability_bounds import lowest_in, without_bounds
from compat.evidence.prose.gpu_words import built_on
from compat.evidence.prose.patterns import pattern
from compat.evidence.prose.target_words import targets_in
from compat.evidence.reading.targets import Targets, read_compressed, read_ptx, read_targets
from compat.facts import tables
from compat.values.model import THE_CASE, Code, Compressed, Fact
from compat.values.versions import CudaVersion, Target, VersionError

AS_LISTED = Fact("the targets as given", THE_CASE, "")
_NO_PTX_LISTED = Fact(
    "a list of targets that names no PTX is one without: get_arch_list() of PyTorch and cuobjdump show compute_… where "
    "there is PTX, and code=sm_… of nvcc makes none",
    "github:pytorch/pytorch torch/cuda/__init__.py (get_arch_list, _check_cubins) ; "
    "https://docs.nvidia.com/cuda/cuda-compiler-driver-nvcc/index.html#gpu-compilation ; "
    "https://docs.nvidia.com/cuda/cuda-binary-utilities/index.html ; "
    "https://github.com/faiss-wheels/faiss-wheels/issues/151 ; "
    "https://github.com/RosettaCommons/RFdiffusion2/issues/1",
    "2026-11-26",
)
AS_COMPRESSED = Fact("the compression as given", THE_CASE, "")
UNREAD_TARGETS = Code(None, None, Fact("the targets as given cannot be read", THE_CASE, ""))
# `balance` leaves machine code as it is without -Xfatbin -compress-all: read from files that fatbinary 13.0 made.
_MODE = pattern(r"compress-mode[=\s]+(none|speed|balance|size)\b")
# Newest CUDA first.
_DEFAULTS = tuple(
    (CudaVersion.parse(first), Target.parse(target))
    for first, target in (("13.0", "7.5"), ("11.0", "5.2"), ("9.0", "3.0"), ("7.0", "2.0"))
)
_DEFAULT_TARGETS = Fact(
    "the target that nvcc takes by itself: 2.0 up to CUDA 8, 3.0 in 9 and 10, 5.2 in 11 and 12, 7.5 in 13",
    "https://nanxiao.me/2016/12/12/ ; https://github.com/scikit-hep/awkward/pull/669 ; PyPI nvidia-cuda-nvcc-cu11 "
    "11.8.89, nvidia-cuda-nvcc-cu12 12.4.131 and nvidia-cuda-nvcc 13.0.88 (ptxas --help) ; "
    "https://github.com/llvm/llvm-project/pull/177469",
    "2026-11-24",
)
_UNKNOWN_TARGETS = pattern(r"\b(targets|architectures|arch(es)?) (are |is )?(unknown|not known)")


def read_code(reader: Reader, case: Case) -> Code | None:
    build = case.build
    if _UNKNOWN_TARGETS.search(build.lower()):
        return Code(None, None, Fact("the targets are said to be unknown", THE_CASE, ""))
    sm_list = "" if _EVERY.fullmatch(case.sm_list.lower()) else case.sm_list
    listed = reader.read("sm_list", sm_list, _read_list)
    cubins = listed.cubins if listed else None
    written = reader.read("ptx", case.ptx, lambda text: read_ptx(text, cubins or ()))
    if (sm_list and listed is None) or (case.ptx and written is None):
        return UNREAD_TARGETS
    shown_ptx = written.ptx if written else (listed.ptx if listed else None)
    if cubins is None and shown_ptx is None:
        return _targets_of_build(reader, build)
    if cubins is not None and shown_ptx is None and written is None:
        return _as_built(cubins, build)
    return Code(cubins, shown_ptx, AS_LISTED)


# nvcc's words for all targets that it knows, or for the GPU that is there: then the toolkit's targets count.
_EVERY = pattern(r"(?:nvcc )?(?:-arch=)?(?:all|all-major|native|default)")


def _read_list(text: str) -> Targets:
    """A list of targets, or of generations: `Turing, Ampere`."""
    try:
        return read_targets(text)
    except VersionError:
        named = targets_in(f"built for {of_this_build(text)}")
        if not named.cubins:
            raise
        return Targets(named.cubins)


def _targets_of_build(reader: Reader, build: str) -> Code | None:
    """The GPUs that a build is for according to its words: the oldest one, a list, generations."""
    build = of_this_build(build)
    if _FOR_THE_GPU.search(build) and not _NAMES_FLAG.search(build):
        return None  # whatever it calls it
    if (lowest := lowest_in(build)) is not None and not _FOR_ONE_GPU.search(build):
        return Code(None, None, AS_LISTED, at_least=lowest)
    try:
        found = read_targets(without_bounds(build), bare=False) if build else Targets()
    except VersionError as error:
        reader.problem("build", build, error.reason)
        return UNREAD_TARGETS
    if found.cubins is None and not found.ptx:
        found = targets_in(build)
    if found.cubins is None and not found.ptx:
        there = built_on(build)
        return None if there is None else without_ptx((Target(there),))
    return without_ptx(found.cubins) if found.cubins and found.ptx is None else Code(found.cubins, found.ptx, AS_LISTED)


_FOR_ONE_GPU = pattern(
    r"\b(?:requires?|needs?)\b[^.;,]{0,24}\b(?:sm|compute)_?\d{2,3}a\b"
)  # `requires Hopper (sm_90a)`
_FOR_THE_GPU = pattern(
    r"\b(?:nvrtc|nvcc|at run ?time)\b.*\bcompiles?\b(?: \w+)?(?: at run ?time)? for the (?:gpu|card|device)\b"
)
_NAMES_FLAG = pattern(r"arch\w*\s*=|gencode")
_WITHOUT_ARCH = pattern(r"\b(?:no|without)\b[^,;)]{0,20}(?:arch\w*|gencode)\S*|\bdefault (?:target|arch\w*)")
_COMPILES = pattern(r"\bnvcc\b(?:\s+-\S+)*\s+[\w./-]+\.cu\b")
_NAMES_ARCH = pattern(r"arch|gencode|\b(?:sm|compute)_?\d|cmake")


def made_by_default(build: str, cudas: tuple[CudaVersion, ...]) -> Code | None:
    """What nvcc generates without a stated target: machine code and PTX for its default one."""
    text = build.lower()
    rest = _WITHOUT_ARCH.sub(" ", text)
    if "nvcc" not in text or _NAMES_ARCH.search(rest) or not (rest != text or _COMPILES.search(text)):
        return None
    targets = {next(target for first, target in _DEFAULTS if each.line >= first) for each in cudas}
    return Code(tuple(targets), tuple(targets), _DEFAULT_TARGETS) if len(targets) == 1 else None


def read_compression(reader: Reader, case: Case) -> Compressed | None:
    """Compression as the case lists it, or as the compiler mode in the words of the build implies it."""
    found = reader.read("compressed", case.compressed, read_compressed)
    if found is None and (mode := _MODE.search(case.build.lower())):
        found = read_compressed(mode[1]) if mode[1] != "balance" or "compress-all" in case.build else Targets((), None)
    if found is None:
        return None
    return Compressed(found.cubins, found.ptx, AS_COMPRESSED)


_SPEAKS_OF_PTX = pattern(r"\bptx\b|\bjit\b|virtual", re.IGNORECASE)


def _as_built(cubins: tuple[Target, ...], build: str) -> Code:
    """Listed machine code with the PTX that the words of the build name; without PTX where they name none."""
    try:
        targets = read_targets(build, bare=False) if build else Targets()
    except VersionError:
        targets = Targets()
    if targets.ptx or (targets.ptx is None and _SPEAKS_OF_PTX.search(build)):
        return Code(cubins, targets.ptx, AS_LISTED)
    return without_ptx(cubins)


def without_ptx(cubins: tuple[Target, ...]) -> Code:
    """A list that names only machine code means a build without PTX, unless the case states `ptx`.

    A reader of a binary sees both kinds side by side, and a person who requests PTX from a compiler writes so.
    """
    return Code(cubins, (), AS_LISTED, ptx_fact=_NO_PTX_LISTED, ptx_is_unstated=True)


def can_make(cuda: CudaVersion, code: Code) -> bool:
    """Does the compiler of a line know each target? A target without a known first CUDA rules no line out."""
    known = [tables.architectures().get(target.capability) for target in (*(code.cubins or ()), *(code.ptx or ()))]
    return all(
        arch is None
        or (
            (arch.first_cuda is None or arch.first_cuda <= cuda.line)
            and (arch.last_cuda is None or cuda.line <= arch.last_cuda)
        )
        for arch in known
    )
