"""R-OPERATOR: the GPU operator installs a driver of its own choice, unless it is pinned."""

from compat.evidence.drivers import driver_of, last_driver, operator_row
from compat.facts.rows import Origin
from compat.rules.rule import Rule
from compat.values.fact import Fact
from compat.values.findings import Finding, note, unknown
from compat.values.hosts import PoolFacts
from compat.values.images import ImageFacts

ID = "R-OPERATOR"
_SOURCE = "github:NVIDIA/gpu-operator deployments/gpu-operator/values.yaml"


def check(image: ImageFacts, pool: PoolFacts) -> tuple[Finding, ...]:  # noqa: ARG001 - every rule has this shape
    if not pool.operator:
        return ()
    row = operator_row(pool.operator)
    if row is None:
        fact = Fact(f"no table has GPU operator {pool.operator[:40]}", _SOURCE, "", verified=False)
        message = f"it is not known which driver GPU operator {pool.operator[:40]} installs"
        return (unknown(ID, f"{message}: gpu-commons probe reads the driver of a node", fact),)
    default = driver_of(row)
    fact = Origin.of(row).fact(
        f"GPU operator {row['operator_version']} installs driver {default} by default", "default_driver"
    )
    last = last_driver(pool.gpu)
    if pool.driver == default or pool.driver is None:
        return (note(ID, fact.text, fact),)
    if last is not None and default > last >= pool.driver:
        message = f"{fact.text}, which no longer supports {pool.gpu.name}: keep driver.version pinned to {pool.driver}"
        return (note(ID, message, fact),)
    return (note(ID, f"{fact.text}; this pool has {pool.driver}", fact),)


RULE = Rule(ID, check, sources=(_SOURCE,))
