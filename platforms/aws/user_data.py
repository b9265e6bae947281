"""User data of a managed group's node: nodeadm's NodeConfig or Bottlerocket's TOML.

EKS adds its own part: the cluster's address, and the group's labels and taints.
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
# First releases that support the setting.
# Sources: https://github.com/awslabs/ai-on-eks/issues/235 (2025-08-29); https://github.com/awslabs/amazon-eks-ami/pull/2352
_FIRST_PARALLEL: Final = {"nodeadm": "20250829", "bottlerocket": "1.44.0"}
# By default, Bottlerocket pulls 3 parts at a time, unpacks one, and keeps unpacked data.
# Source: https://github.com/aws-samples/karpenter-blueprints/tree/main/blueprints/soci-snapshotter
_SIDE_BY_SIDE: Final = """\
[settings.container-runtime-plugins.soci-snapshotter.parallel-pull-unpack]
max-concurrent-downloads-per-image = 20
concurrent-download-chunk-size = "16mb"
max-concurrent-unpacks-per-image = 12
discard-unpacked-layers = true
"""
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
    return _bottlerocket(image, settings) if image.is_bottlerocket else _nodeadm(settings)


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


def _nodeadm(settings: NodeSettings) -> str:
    """A MIME document, merged by EKS with its own part.

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
