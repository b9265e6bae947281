"""Size and speed of the node volume for images.

`root_volume_gib` takes the packed and unpacked bytes of those images, as counted by `imaging.size`.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from fleet.machines import USABLE_SHARE

GIB: Final = 2**30
# Space besides our images: EKS gives a node 20 GiB by default, including system and its own pods.
# Source: https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateNodegroup.html, diskSize
SYSTEM_GIB: Final = 20
_STEP_GIB: Final = 10
MIN_THROUGHPUT: Final = 125  # MiB/s, the default of a gp3 volume
# Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/aws-resource-ec2-volume.html, Throughput:
# 2,000 MiB/s at most, and 0.25 MiB/s for each provisioned IOPS.
MAX_THROUGHPUT: Final = 2000
_IOPS_PER_MIB: Final = 4
PARALLEL_THROUGHPUT: Final = 600  # MiB/s; below it, parallel pulls wait for the disk
# Source: https://github.com/aws-samples/karpenter-blueprints/tree/main/blueprints/soci-snapshotter, "a good starting
# point by setting the throughput to 600MiB/s and keeping base IOPs to 3,000".
BASE_IOPS: Final = 3000


@dataclass(frozen=True, slots=True)
class Volume:
    """A gp3 volume, always encrypted and deleted with its node."""

    gib: int
    throughput: int = MIN_THROUGHPUT  # MiB/s
    iops: int = BASE_IOPS
    kms_key: str = ""  # an ARN; empty: the account's own key for EBS


def iops_of(throughput: int) -> int:
    """Minimum IOPS of a volume with that many MiB/s; above the base they cost extra."""
    return max(BASE_IOPS, throughput * _IOPS_PER_MIB)


def root_volume_gib(image_bytes: int, pods_gib: int = 0) -> int:
    """Smallest volume, in steps of 10 GiB, on which the kubelet need not clean up with all images present.

    `pods_gib` is for container data besides images: logs, scratch files, byte code.
    """
    wanted = image_bytes / GIB + pods_gib + SYSTEM_GIB
    return in_steps(wanted / USABLE_SHARE)


def in_steps(gib: float) -> int:
    """The next step of 10 GiB."""
    return math.ceil(gib / _STEP_GIB) * _STEP_GIB


@dataclass(frozen=True, slots=True)
class VolumeProblem:
    """Why a volume is insufficient. `is_slow`: it works, but nodes start later than possible."""

    reason: str
    fix: str
    is_slow: bool = False


def volume_problems(volume: Volume, image_bytes: int, *, parallel_pulls: bool) -> Iterator[VolumeProblem]:
    """Is the volume large enough for the images, and fast enough for the pull method?"""
    needed = root_volume_gib(image_bytes)
    if volume.gib < needed:
        size = f"{image_bytes / GIB:.1f} GiB of images, packed and unpacked"
        reason = f"a root volume of {volume.gib} GiB is too small for {size}, and the system"
        yield VolumeProblem(reason, f"give it {needed} GiB, or leave the size out")
    if volume.throughput < MIN_THROUGHPUT:
        reason = f"a gp3 volume has at least {MIN_THROUGHPUT} MiB/s, not {volume.throughput}"
        yield VolumeProblem(reason, f"give it {MIN_THROUGHPUT} MiB/s or more")
    elif parallel_pulls and volume.throughput < PARALLEL_THROUGHPUT:
        reason = f"parallel pulls want {PARALLEL_THROUGHPUT} MiB/s of the volume, which has {volume.throughput}"
        yield VolumeProblem(reason, f"give it {PARALLEL_THROUGHPUT} MiB/s, or pull one after the other", is_slow=True)
