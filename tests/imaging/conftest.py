"""A small image on disk that tests can break."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

DIGEST = "sha256:" + "a" * 64
SPEC = {
    "name": "tiny",
    "title": "Tiny",
    "description": "A server for tests",
    "version": "1.0",
    "released": "2026-11-21",
    "base": {"reference": "docker.io/library/debian:bookworm-1", "digest": DIGEST, "layout": "debian"},
    "python": {"packages": ["jupyterhub==5.5.4"]},
    "user": {"name": "jovyan", "uid": 1000, "gid": 100, "home": "/home/jovyan"},
    "command": ["jupyterhub"],
}


@pytest.fixture
def tiny(tmp_path: Path) -> Callable[..., Path]:
    """`tiny(key=value, …)` writes a correct image with these keys of its spec changed and returns its folder.

    A value of None takes a key away; `name` also names the folder.
    """

    def write(**changes: object) -> Path:
        merged = {**SPEC, **changes}
        folder = tmp_path / str(merged["name"])
        folder.mkdir(exist_ok=True)
        spec = {key: value for key, value in merged.items() if value is not None}
        (folder / "image.yaml").write_text(yaml.safe_dump(spec, sort_keys=False))
        (folder / "requirements.lock").write_text("jupyterhub==5.5.4 \\\n    --hash=sha256:00\n")
        (folder / "verify.py").write_text("")
        (folder / ".dockerignore").write_text("*\n!requirements.lock\n!verify.py\n")
        return folder

    return write
