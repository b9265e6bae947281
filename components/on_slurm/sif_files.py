"""SifFile: an image file in the store of a Slurm site. Like an image in a registry, it outlives its resource.

Pulumi stores a provider in the state as a pickle that contains only its class name: never rename this module or
`KeepsFile`.
"""

from typing import Any, Final

import pulumi
from pulumi import dynamic

from components.on_slurm.site import site_of
from platforms.slurm.controllers.files import build_sif, size_of

_WHOSE: Final = ("ref", "path")
_INPUTS: Final = (*_WHOSE, "image_name", "site")


class KeepsFile(dynamic.ResourceProvider):
    """Called by Pulumi's dynamic resource plugin."""

    serialize_as_secret_always = False  # holds no secret, and the state should stay readable

    def create(self, props: dict[str, Any]) -> dynamic.CreateResult:
        """Create the file unless a complete one exists. Raises SlurmError."""
        return dynamic.CreateResult(str(props["path"]), _made(props))

    def diff(self, _id: str, _olds: dict[str, Any], _news: dict[str, Any]) -> dynamic.DiffResult:
        """Also detects a missing or truncated file, without a change in the stack. Raises SlurmError."""
        changed = [key for key in _INPUTS if _olds.get(key) != _news.get(key)]
        if not changed and size_of(site_of(_news["site"]), str(_news["path"])) != _olds.get("size_bytes"):
            return dynamic.DiffResult(changes=True)
        return dynamic.DiffResult(changes=bool(changed), replaces=[key for key in changed if key in _WHOSE])

    def update(self, _id: str, _olds: dict[str, Any], _news: dict[str, Any]) -> dynamic.UpdateResult:
        """Recreate an incomplete file. Raises SlurmError."""
        return dynamic.UpdateResult(_made(_news))

    def delete(self, _id: str, _props: dict[str, Any]) -> None:
        """Keep the file: other stacks and people use it."""


class SifFile(dynamic.Resource, module="gpu-commons", name="SifFile"):
    """One file."""

    path: pulumi.Output[str]
    """Path on login and compute nodes alike."""
    sha256: pulumi.Output[str]
    """Of the whole file."""
    size_bytes: pulumi.Output[int]
    """Its size."""

    def __init__(self, name: str, args: dict[str, Any], opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(KeepsFile(), name, {"sha256": None, "size_bytes": None, **args}, opts)


def _made(props: dict[str, Any]) -> dict[str, Any]:
    known = {key: props[key] for key in _INPUTS}
    made = build_sif(site_of(props["site"]), str(props["ref"]), str(props["path"]), name=str(props["image_name"]))
    return {**known, "sha256": made.sha256, "size_bytes": made.size_bytes}
