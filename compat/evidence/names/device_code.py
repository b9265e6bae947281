"""Reads a case's device code: machine code, PTX, and targets compressed by zstd."""

import re

from compat.evidence.names.typed import read_compressed, read_ptx, read_targets
from compat.facts import tables
from compat.values.fact import THE_CASE, Fact
from compat.values.images import Code, Compressed
from compat.values.versions import CudaVersion, Target

AS_LISTED = Fact("the targets as given", THE_CASE, "")
AS_COMPRESSED = Fact("the compression as given", THE_CASE, "")
UNREAD_TARGETS = Code(None, None, Fact("the targets as given cannot be read", THE_CASE, ""))
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
# nvcc's words for all targets that it knows, or for the GPU present: then the toolkit's targets count.
_BY_TOOLKIT = re.compile(r"(?:-arch=)?(?:all|all-major|native|default)")


def listed_code(sm_list: str, ptx: str) -> Code | None:
    """Device code by the fields `sm_list` and `ptx`; None if both are empty. Raises VersionError."""
    listed = read_targets(sm_list) if sm_list and not _BY_TOOLKIT.fullmatch(sm_list.lower()) else None
    cubins = listed.cubins if listed else None
    stated = read_ptx(ptx, cubins or ()) if ptx else listed
    of_ptx = stated.ptx if stated else None
    if cubins is None and of_ptx is None:
        return None
    if cubins is not None and of_ptx is None and not ptx:
        return without_ptx(cubins)
    return Code(cubins, of_ptx, AS_LISTED, languages=stated.languages if stated else ())


def without_ptx(cubins: tuple[Target, ...]) -> Code:
    """A list that names only machine code means a build without PTX, unless the case states `ptx`.

    Tools that read binaries list both kinds, and people who request PTX from a compiler say so.
    """
    return Code(cubins, (), AS_LISTED, ptx_fact=_NO_PTX_LISTED, ptx_is_unstated=True)


def only_ptx(code: Code | None) -> Code:
    """`ptx only`: the listed targets are PTX; without a list the targets are not known."""
    targets = (*(code.cubins or ()), *(code.ptx or ())) if code else ()
    return Code((), targets or None, AS_LISTED)


def listed_compression(text: str) -> Compressed:
    """Compression by the field `compressed`. Raises VersionError."""
    found = read_compressed(text)
    return Compressed(found.cubins, found.ptx, AS_COMPRESSED)


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
