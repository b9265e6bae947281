"""R-CUDNN: GPUs and CUDA lines that a cuDNN release supports."""

from functools import lru_cache

from packaging.version import Version

from compat.facts import tables
from compat.facts.rows import Cudnn
from compat.rules.rule import Rule
from compat.values.fact import Fact
from compat.values.findings import Finding, note, warn
from compat.values.hosts import PoolFacts
from compat.values.images import ImageFacts
from compat.values.versions import ComputeCapability, CudaVersion

ID = "R-CUDNN"
_SOURCE = "https://docs.nvidia.com/deeplearning/cudnn/backend/latest/reference/support-matrix.html"


def check(image: ImageFacts, pool: PoolFacts) -> tuple[Finding, ...]:
    if image.gpu_free or image.cudnn is None or image.cuda is None:
        return ()
    return _check(image.cudnn, image.cuda.line, pool.gpu.capability, pool.gpu.name)


@lru_cache(4096)
def _rows_of(cudnn: Version, parts: int, cuda_major: int) -> tuple[Cudnn, ...]:  # 9 and 9.0 compare equal
    """Rows of the newest release, up to this one, for the CUDA line's major.

    A major alone (`9`) may be any release of it: all its rows, so one that supports the GPU is enough.
    """
    fitting = [row for row in tables.cudnns() if row.first_cuda.major <= cuda_major <= row.last_cuda.major]
    fitting = [row for row in fitting if row.first.major == cudnn.major]
    if parts == 1:
        return tuple(fitting)
    prefix = cudnn.release[:3]
    older = [row for row in fitting if row.first <= cudnn or row.first.release[: len(prefix)] == prefix]
    newest = max((row.first for row in older), default=None)
    return tuple(row for row in older if row.first == newest)


def _check(cudnn: Version, cuda: CudaVersion, gpu: ComputeCapability, name: str) -> tuple[Finding, ...]:
    rows = _rows_of(cudnn, len(cudnn.release), cuda.major)
    if not rows:
        fact = Fact(f"no table has cuDNN {cudnn} for CUDA {cuda.major}", _SOURCE, "", verified=False)
        return (note(ID, f"it is not known which GPUs cuDNN {cudnn} for CUDA {cuda.major} supports", fact),)
    own = [row for row in rows if row.first_cuda <= cuda <= row.last_cuda] or rows
    row = next((row for row in own if row.lowest <= gpu <= row.highest), own[-1])
    span = f"compute capability {row.lowest} to {row.highest}"
    fact = row.origin.fact(
        f"cuDNN {row.first} for CUDA {row.first_cuda} to {row.last_cuda} serves {span}", "cc_min", "cc_max"
    )
    if gpu < row.lowest:
        message = f"cuDNN {cudnn} has no engines for {name} ({gpu}): convolutions fail or are slow; it supports {span}"
        return (warn(ID, message, fact),)
    if gpu.major > row.highest.major:
        message = f"cuDNN {cudnn} is older than {name} ({gpu}); it supports {span}"
        return (warn(ID, message, fact),)
    return (note(ID, f"cuDNN {cudnn} supports {name} ({gpu})", fact),)


RULE = Rule(ID, check, sources=(_SOURCE,))
