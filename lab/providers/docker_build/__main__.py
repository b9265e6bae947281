"""`pulumi-resource-docker-build`, where the official plugin cannot be had."""

from __future__ import annotations

import shutil
from pathlib import Path

from lab.providers.docker_build.image import DockerBuild
from lab.providers.plugin import serve
from lab.toolchain import Toolchain

VERSION = "0.0.22"  # of the plugin it stands for


def buildctl() -> Path:
    found = shutil.which("buildctl")
    return Path(found) if found else Toolchain().path("buildctl")


serve(VERSION, lambda engine: DockerBuild(engine, buildctl))
