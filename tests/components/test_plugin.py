"""The component plug-in's own requirements, for folders that were copied elsewhere."""

from __future__ import annotations

import tomllib
from pathlib import Path

PROJECT = Path(__file__).parents[2]


def requirements(folder: Path) -> list[str]:
    return list(tomllib.loads((folder / "pyproject.toml").read_text())["project"]["dependencies"])


def test_the_plugin_asks_for_the_versions_that_the_project_is_tested_with() -> None:
    asked = requirements(PROJECT / "components")
    assert {"pulumi==3.259.0", "pulumi-kubernetes==4.34.2", "pulumi-docker-build==0.0.22"} <= set(asked)
    assert set(asked) <= set(requirements(PROJECT))
