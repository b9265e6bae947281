"""A lab of its own for a stack of kind `eks`, with the real node, in a folder that is gone afterwards."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3

from lab import engine, processes
from lab.instance import Instance, find_instance
from lab.servers import moto
from lab.toolchain import Toolchain

PROJECT = Path(__file__).parents[2]
NAME = "eks"
LAB = [sys.executable, "-m", "lab", "--instance", NAME]


@dataclass(frozen=True)
class AwsLab:
    """A stack in it. `said` is what its first `up` said."""

    stack: str
    said: str

    @property
    def instance(self) -> Instance:
        return find_instance(NAME)

    def up(self) -> str:
        return up(self.stack)

    def shell(self) -> dict[str, str]:
        """The environment of a shell after `make env`."""
        return {**os.environ, **engine.environment(self.instance, Toolchain())}

    def pulumi(self, *words: str, shell: dict[str, str] | None = None) -> str:
        """A bare `pulumi` in such a shell; LabError with what it said where it fails."""
        command = [engine.program(self.instance, Toolchain()), *words, "--stack", self.stack, "--non-interactive"]
        return processes.run(command, cwd=PROJECT, env=shell or self.shell(), timeout_s=600)

    def aws(self, service: str) -> Any:
        """A client of the lab's AWS."""
        words = moto.environment(self.instance)
        return boto3.client(
            service,
            endpoint_url=words["AWS_ENDPOINT_URL"],
            region_name=words["AWS_REGION"],
            aws_access_key_id=words["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=words["AWS_SECRET_ACCESS_KEY"],
        )

    def assert_empty(self) -> None:
        """Nothing of the stack is left in AWS."""
        assert self.aws("eks").list_clusters()["clusters"] == []
        assert self.aws("iam").list_roles()["Roles"] == []
        assert self.aws("iam").list_instance_profiles()["InstanceProfiles"] == []
        ec2 = self.aws("ec2")
        assert ec2.describe_launch_templates()["LaunchTemplates"] == []
        assert [vpc for vpc in ec2.describe_vpcs()["Vpcs"] if not vpc["IsDefault"]] == []
        assert self.aws("autoscaling").describe_auto_scaling_groups()["AutoScalingGroups"] == []


def up(stack: str) -> str:
    """`make up` of that stack, and what it said."""
    return processes.run([*LAB, "up", "--stack", stack], cwd=PROJECT, timeout_s=1200)


def changes(said: str) -> bool:
    """Whether an `up` changed anything."""
    assert re.search(r"^ +.*\d+ unchanged in", said, re.MULTILINE), said[-2000:]
    return bool(re.search(r"\d+ (created|updated|replaced|deleted)", said))


@contextmanager
def aws_lab(stack: str) -> Iterator[AwsLab]:
    """That stack, up. The folder's path is short, because the builder's socket lies below it."""
    before = os.environ.get("XDG_STATE_HOME")
    with tempfile.TemporaryDirectory(prefix="gc-") as folder:
        os.environ["XDG_STATE_HOME"] = folder
        try:
            yield AwsLab(stack, up(stack))
        finally:
            processes.run([*LAB, "clean"], cwd=PROJECT)
            os.environ.pop("XDG_STATE_HOME")
            if before is not None:
                os.environ["XDG_STATE_HOME"] = before
