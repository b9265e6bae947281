"""Site access as Pulumi's engine passes it: a plain mapping in which numbers are floats."""

from collections.abc import Mapping
from typing import Any

from platforms.slurm.site_model import SlurmAccess
from workloads.arguments import plain, read


def site_of(given: Mapping[str, Any]) -> SlurmAccess:
    """The site from a `model_dump` mapping. Raises SettingsError."""
    return read(SlurmAccess, "Slurm site", "site", plain(given))
