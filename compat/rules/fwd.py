"""R-FWD: a cuda-compat package runs a newer CUDA on an older driver, on some GPUs and some branches."""

from compat.evidence.compat_package import SOURCE, UNLISTED, service
from compat.rules.rule import Need, Rule
from compat.values.findings import Finding
from compat.values.hosts import PoolFacts
from compat.values.images import ImageFacts

ID = "R-FWD"


def check(image: ImageFacts, pool: PoolFacts) -> tuple[Finding, ...]:
    found = service(image, pool)
    return () if found is None else (Finding(ID, found.severity, found.message, found.fact, (), found.fixes),)


RULE = Rule(ID, check, sources=(SOURCE, UNLISTED), need=Need.CUDA)
