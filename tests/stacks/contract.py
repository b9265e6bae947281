"""What a contract of a stack says beyond the steps that all share: test_contracts.py has those."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from own_lab import PROJECT, OwnLab, own_lab
from playwright.sync_api import Page

# What of a machine a stack needs alone: stacks that name the same come up one after the other.
REAL_NODE = "the real node"
ALONE = {"eks-g6": REAL_NODE, "flatcar-ec2": REAL_NODE, "dcsg": "port 8000", "quest": "port 8000"}
Window = Callable[[], Page]  # opens one more, of somebody without cookies


@dataclass(frozen=True)
class Contract:
    """One stack: what its `up` prints, its main job, a driver that is refused, and what `destroy` leaves."""

    stack: str
    printed: tuple[str, ...]
    use: Callable[[Any, Window], None]
    other_driver: str
    refusal: str  # as a regular expression, over lines that are one
    left: Callable[[Any], None]
    new_lab: Callable[[str], AbstractContextManager[OwnLab]] = own_lab

    def __str__(self) -> str:
        return self.stack

    def with_another_driver(self, folder: Path) -> Path:
        """The stack file as it is, but for the driver of every pool that has one."""
        file = PROJECT / "stacks" / f"Pulumi.{self.stack}.yaml"
        stack = yaml.safe_load(file.read_text())
        for pool in stack["config"]["gpu-commons:fleet"]["pools"]:
            if "driver" in pool:
                pool["driver"] = self.other_driver
        changed = folder / file.name
        changed.write_text(yaml.safe_dump(stack, sort_keys=False))
        return changed
