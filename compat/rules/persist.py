"""R-PERSIST: without a client that holds the GPU open, each start initializes the driver again."""

from compat.evidence.machine_images import image_row, read_release
from compat.facts.rows import Origin
from compat.rules.rule import Rule
from compat.values.findings import Finding, note, warn
from compat.values.hosts import PoolFacts
from compat.values.images import ImageFacts

ID = "R-PERSIST"
_SOURCE = "https://docs.nvidia.com/deploy/driver-persistence/"


def check(image: ImageFacts, pool: PoolFacts) -> tuple[Finding, ...]:  # noqa: ARG001 - every rule has this shape
    row = image_row(pool)
    if row is None or row["nvidia_driver"] == "none":
        return ()
    fact = Origin.of(row).fact(
        f"{row['ami_type']} {row['release']}: persistence daemon {row['persistenced_enabled'] or 'not known'}",
        "persistenced_enabled",
    )
    enabled = row["persistenced_enabled"]
    if enabled == "yes":
        return (note(ID, "the machine image runs the persistence daemon", fact),)
    if enabled == "no":
        return (
            warn(
                ID,
                "the machine image runs no persistence daemon: each job first waits for the driver to start",
                fact,
            ),
        )
    tell = warn if read_release(pool.ami_release)[0] else note  # without a release, the machine image is a guess
    return (tell(ID, "it is not known whether the machine image runs the persistence daemon", fact),)


RULE = Rule(ID, check, sources=(_SOURCE, "github:NVIDIA/nvidia-persistenced"))
