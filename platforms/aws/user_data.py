"""What a node of a managed group reads at its start: nodeadm's NodeConfig, or Bottlerocket's TOML.

It stands beside what EKS adds itself: the cluster's address, and labels and taints of the group.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from compat.evidence.machine_images import release_order
from platforms.aws.instances import GroupShape
from platforms.aws.machine_images import MachineImage

_BOUNDARY: Final = "gpu-commons"
_MIME: Final = """\
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="{boundary}"

--{boundary}
Content-Type: application/node.eks.aws

apiVersion: node.eks.aws/v1alpha1
kind: NodeConfig
spec:
{spec}
--{boundary}--
"""
# The first releases whose nodes know the setting.
# Sources: https://github.com/awslabs/ai-on-eks/issues/235 (2025-08-29); https://github.com/awslabs/amazon-eks-ami/pull/2352
_FIRST_PARALLEL: Final = {"nodeadm": "20250829", "bottlerocket": "1.44.0"}
# By default, Bottlerocket pulls 3 parts at a time, unpacks one, and keeps what it has unpacked.
# Source: https://github.com/aws-samples/karpenter-blueprints/tree/main/blueprints/soci-snapshotter
_SIDE_BY_SIDE: Final = """\
[settings.container-runtime-plugins.soci-snapshotter.parallel-pull-unpack]
max-concurrent-downloads-per-image = 20
concurrent-download-chunk-size = "16mb"
max-concurrent-unpacks-per-image = 12
discard-unpacked-layers = true
"""
_MIN_VCPU: Final = 8  # on smaller nodes nodeadm leaves the setting unused, by the same request


class Pulls(StrEnum):
    """How layers of an image are pulled: by containerd, or side by side with SOCI, which waits for no layer."""

    SERIAL = "serial"
    PARALLEL = "parallel"


class LocalDisks(StrEnum):
    """What becomes of disks inside the machine: nothing, or one array for images, logs and what pods write."""

    UNUSED = "unused"
    STRIPED = "striped"


@dataclass(frozen=True, slots=True)
class NodeSettings:
    """What a pool decides about the start of its nodes."""

    pulls: Pulls = Pulls.SERIAL
    local_disks: LocalDisks = LocalDisks.UNUSED


def user_data(image: MachineImage, settings: NodeSettings) -> str:
    """Text for the machine image's family; empty where there is nothing to say."""
    return _bottlerocket(image, settings) if image.is_bottlerocket else _nodeadm(settings)


def settings_problems(image: MachineImage, shape: GroupShape, settings: NodeSettings) -> Iterator[tuple[str, str]]:
    """Settings that the nodes would not obey, or not start with: reason and fix."""
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


def _nodeadm(settings: NodeSettings) -> str:
    """A MIME document, which EKS merges with its own part.

    Source: https://github.com/awslabs/amazon-eks-ami/blob/main/nodeadm/doc/api.md
    """
    spec = ""
    if settings.local_disks is LocalDisks.STRIPED:
        spec += "  instance:\n    localStorage:\n      strategy: RAID0\n"
    if settings.pulls is Pulls.PARALLEL:
        spec += "  featureGates:\n    FastImagePull: true\n"
    return _MIME.format(boundary=_BOUNDARY, spec=spec) if spec else ""


def _bottlerocket(image: MachineImage, settings: NodeSettings) -> str:
    """Source: https://bottlerocket.dev/en/os/1.60.x/api/settings/, and for the branch `machine_images`."""
    tables = []
    if image.branch_setting:
        tables.append(f'[settings.kernel.drivers.nvidia]\nbranch = "{image.branch_setting}"\n')
    if settings.pulls is Pulls.PARALLEL:
        tables += [
            '[settings.container-runtime]\nsnapshotter = "soci"\n',
            '[settings.container-runtime-plugins.soci-snapshotter]\npull-mode = "parallel-pull-unpack"\n',
            _SIDE_BY_SIDE,
        ]
    if settings.local_disks is LocalDisks.STRIPED:
        tables.append(
            "[settings.bootstrap-commands.local-disks]\n"
            "commands = [\n"
            '  ["apiclient", "ephemeral-storage", "init"],\n'
            '  ["apiclient", "ephemeral-storage", "bind", "--dirs", '
            '"/var/lib/containerd", "/var/lib/kubelet", "/var/log/pods"],\n'
            "]\n"
            'mode = "always"\n'
            "essential = true\n"
        )
    return "\n".join(tables)
