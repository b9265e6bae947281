"""R-PERSIST: without a client that holds the GPU open, each start initializes the driver again."""

from __future__ import annotations

from compat.evidence.machine_images import image_row, read_release
from compat.facts.rows import Origin
from compat.rules.rule import Rule
from compat.values.findings import Finding, Severity, note, warn
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


_CASE = {"gpu": "T4", "cuda": "11.8", "instance_type": "g4dn.xlarge"}

RULE = Rule(
    id=ID,
    title="Persistence daemon",
    says=(
        "Without nvidia-persistenced, or another client that holds the GPU open, the driver's state is torn down after "
        "each job and set up again, which takes seconds at each start."
    ),
    sources=(_SOURCE, "github:NVIDIA/nvidia-persistenced"),
    severity=Severity.WARN,
    check=check,
    of_pool=("driver", "ami_release", "cpu_architecture"),
    passing={**_CASE, "ami_release": "AL2023_x86_64_NVIDIA 20250620"},
    failing={**_CASE, "ami_release": "AL2_x86_64_GPU 20250228"},
    undecided={**_CASE, "ami_release": "AL2_x86_64_GPU 20250620"},
)
