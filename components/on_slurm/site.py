"""How a site is reached, as it passes the engine of Pulumi: a plain mapping, in which numbers are floats."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from platforms.slurm.site_model import SlurmAccess
from workloads.arguments import plain, read


def site_of(given: Mapping[str, Any]) -> SlurmAccess:
    """The site of a mapping that `model_dump` made. Raises SettingsError."""
    return read(SlurmAccess, "Slurm site", "site", plain(given), ())
