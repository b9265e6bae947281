"""User data of a managed group's node: nodeadm's NodeConfig or Bottlerocket's TOML.

EKS adds its own part: the cluster's address, and the group's labels and taints.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from compat.evidence.machine_images import release_order
from platforms.aws.instances import GroupShape
from platforms.aws.machine_images import MachineImage
from platforms.templates import rendered

# First releases that support the setting.
# Sources: https://github.com/awslabs/ai-on-eks/issues/235 (2025-08-29); https://github.com/awslabs/amazon-eks-ami/pull/2352
_FIRST_PARALLEL: Final = {"nodeadm": "20250829", "bottlerocket": "1.44.0"}
_MIN_VCPU: Final = 8  # on smaller nodes nodeadm ignores the setting, by the same request


class Pulls(StrEnum):
    """How image layers are pulled: by containerd, or in parallel with SOCI, which waits for no layer."""

    SERIAL = "serial"
    PARALLEL = "parallel"


class LocalDisks(StrEnum):
    """Use of instance store disks: none, or one array for images, logs and pod data."""

    UNUSED = "unused"
    STRIPED = "striped"


@dataclass(frozen=True, slots=True)
class NodeSettings:
    """Startup settings of a pool's nodes."""

    pulls: Pulls = Pulls.SERIAL
    local_disks: LocalDisks = LocalDisks.UNUSED


def user_data(image: MachineImage, settings: NodeSettings) -> str:
    """Text for the machine image's family; empty if not needed."""
    is_parallel, is_striped = settings.pulls is Pulls.PARALLEL, settings.local_disks is LocalDisks.STRIPED
    if not (is_parallel or is_striped or image.branch_setting):
        return ""
    template = Path(__file__).with_name("bottlerocket.toml.j2" if image.is_bottlerocket else "nodeadm.mime.j2")
    values = {"is_parallel": is_parallel, "is_striped": is_striped, "branch": image.branch_setting}
    return rendered(template, **values).removesuffix("\n" if image.is_bottlerocket else "")


def settings_problems(image: MachineImage, shape: GroupShape, settings: NodeSettings) -> Iterator[tuple[str, str]]:
    """Settings that nodes would ignore or fail to start with: reason and fix."""
    family = "bottlerocket" if image.is_bottlerocket else "nodeadm"
    if settings.pulls is Pulls.PARALLEL:
        first = _FIRST_PARALLEL[family]
        if release_order(image.release) < release_order(first):
            yield f"{image} does not know parallel pulls", f"take {first} or newer, or serial pulls"
        elif family == "nodeadm" and shape.vcpu < _MIN_VCPU:
            reason = f"nodes with fewer than {_MIN_VCPU} vCPUs leave parallel pulls unused; {shape} has {shape.vcpu}"
            yield reason, "take a larger size, or serial pulls"
    if settings.local_disks is LocalDisks.STRIPED and not shape.local_nvme_gb:
        without = next(each.name for each in shape.types if not each.local_nvme_gb)
        yield f"{without} has no disks of its own", "leave local disks unused, or take a type with an instance store"
