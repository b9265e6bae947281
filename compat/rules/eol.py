"""R-EOL: when NVIDIA's support for a driver branch ends."""

from compat.facts import tables
from compat.rules.rule import Rule
from compat.values.findings import Finding, note
from compat.values.hosts import PoolFacts
from compat.values.images import ImageFacts

ID = "R-EOL"
_SOURCE = "https://docs.nvidia.com/datacenter/tesla/drivers/supported-drivers-and-cuda-toolkit-versions.html"


def check(image: ImageFacts, pool: PoolFacts) -> tuple[Finding, ...]:  # noqa: ARG001 - every rule has this shape
    if pool.driver is None or not pool.driver.given:
        return ()
    row = tables.driver_branches().get(pool.driver.branch)
    if row is None or row.end_of_life == "n/a":
        return ()
    if not row.end_of_life:
        fact = row.origin.fact(f"no source states the end of life of driver branch {row.branch}", "eol")
        return (note(ID, f"the end of life of driver branch {row.branch} is not known", fact),)
    if row.end_of_life == "eol":
        text = f"driver branch {row.branch} is past its end of life"
    else:
        # No clock: support has ended if it had ended on the day on which the source was read.
        is_over = row.end_of_life < row.origin.collected[: len(row.end_of_life)]
        status = "reached its end of life in" if is_over else "is supported until"
        text = f"driver branch {row.branch} {status} {row.end_of_life}"
    return (note(ID, text, row.origin.fact(text, "eol")),)


RULE = Rule(ID, check, sources=(_SOURCE,))
