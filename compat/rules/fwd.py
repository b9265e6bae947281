"""R-FWD: a cuda-compat package runs a newer CUDA on an older driver, on some GPUs and some branches."""

from __future__ import annotations

from compat.evidence.compat_package import SOURCE, UNLISTED, service
from compat.rules.rule import Need, Rule
from compat.values.findings import Finding, Severity
from compat.values.hosts import PoolFacts
from compat.values.images import ImageFacts

ID = "R-FWD"


def check(image: ImageFacts, pool: PoolFacts) -> tuple[Finding, ...]:
    found = service(image, pool)
    return () if found is None else (Finding(ID, found.severity, found.message, found.fact, (), found.fixes),)


RULE = Rule(
    id=ID,
    title="Forward-compatibility packages",
    says=(
        "A cuda-compat-X-Y package inside the image brings the user-mode driver of a newer CUDA. It supports "
        "data-centre GPUs and selected RTX cards on listed host branches, never GeForce, and adds no GPU to a kernel "
        "driver. A branch that is not listed but newer than one that is gives a warning, from CUDA 11 on."
    ),
    sources=(SOURCE, UNLISTED),
    severity=Severity.REFUSE,
    need=Need.CUDA,
    check=check,
    of_pool=("gpu", "driver", "platform"),
    passing={"gpu": "A100", "driver": "535.129.03", "cuda": "13.0", "cuda_compat": "yes"},
    failing={"gpu": "RTX 3090", "driver": "535.129.03", "cuda": "13.0", "cuda_compat": "yes"},
    undecided={"gpu": "A100", "driver": "535.129.03", "cuda": "13.0", "cuda_compat": "unknown"},
)
