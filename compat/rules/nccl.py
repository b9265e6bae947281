"""R-NCCL: NCCL has machine code of its own; without code for the GPU, multi-GPU work fails."""

from packaging.version import Version

from compat.facts import tables
from compat.rules.rule import Rule
from compat.values.fact import Fact
from compat.values.findings import Finding, note, warn
from compat.values.hosts import PoolFacts
from compat.values.images import ImageFacts
from compat.values.versions import ComputeCapability, compiles, listed, runs

ID = "R-NCCL"
_SOURCE = "https://docs.nvidia.com/deeplearning/nccl/release-notes/index.html"


def check(image: ImageFacts, pool: PoolFacts) -> tuple[Finding, ...]:
    if image.nccl is None or image.gpu_free:
        return ()
    return _check(image.nccl, pool.gpu.capability, pool.gpu.name)


def _check(nccl: Version, gpu: ComputeCapability, name: str) -> tuple[Finding, ...]:
    older = [row for row in tables.nccls() if row.version <= nccl]
    if not older:
        fact = Fact(f"no table has the code of NCCL {nccl}", _SOURCE, "", verified=False)
        return (note(ID, f"it is not known which GPUs NCCL {nccl} has code for", fact),)
    row = older[-1]
    fact = row.origin.fact(f"NCCL {row.version} has machine code {listed(row.cubins)}", "sm_list", "ptx")
    covered = any(runs(target, gpu) for target in row.cubins) or any(compiles(target, gpu) for target in row.ptx or ())
    if covered:
        return (note(ID, f"NCCL {nccl} has code for {name}", fact),)
    message = f"NCCL {nccl} has no code for {name} ({gpu}): jobs on several GPUs fail"
    return (warn(ID, message, fact),)


RULE = Rule(ID, check, sources=(_SOURCE,))
