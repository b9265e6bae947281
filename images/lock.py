"""The command that locks the wheels of an image."""

from __future__ import annotations

from images.spec import ImageSpec


def lock_command(spec: ImageSpec) -> str:
    """Shell line that resolves the pins of an image anew. A child takes over what its parent has already."""
    if not spec.python:
        return f"echo '{spec.name} has no Python packages'"
    pins = " ".join(f"'{pin}'" for pin in spec.server_wheels)
    parent = f" --constraint images/{spec.base.image}/requirements.lock" if spec.base.image else ""
    # Debian 12 has Python 3.11; a Jupyter base has a later one. A universal lock serves both.
    return (
        f"printf '%s\\n' {pins} | uv pip compile - --universal --python-version 3.11 --generate-hashes"
        f" --only-binary :all: --no-annotate --no-header{parent} --output-file images/{spec.name}/{spec.python.lock}"
    )
