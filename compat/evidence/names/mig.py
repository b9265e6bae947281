"""MIG: NVIDIA's names of GPU slices, and the first driver that supports them."""

import re

from compat.facts.rows import GpuModel
from compat.facts.tables import by_key
from compat.values.fact import Fact
from compat.values.versions import DriverVersion

SOURCE = "https://docs.nvidia.com/datacenter/tesla/mig-user-guide/620/deployment-considerations.html"
PROFILES = "https://docs.nvidia.com/datacenter/tesla/mig-user-guide/supported-mig-profiles.html"
DATE = "2026-11-21"

# `1c.3g.20gb` is a part of the slice 3g.20gb; +me, .me, -me and +gfx say which engines a slice has, :7 how many fit.
_PROFILE = re.compile(r"(?:\b\d+c\.)?(?<!\d)(\d+g\.\d+gb)(?:[+.-](?:me|gfx)(?:\.all)?)?(?::\d)?", re.IGNORECASE)
_SLICE = re.compile(rf"(?:\b|(?<=_))mig\b|{_PROFILE.pattern}", re.IGNORECASE)


def profile_in(text: str) -> str:
    """`1g.5gb` of `A100-SXM4-40GB-MIG-1g.5gb+me`; empty if the text names no profile."""
    match = _PROFILE.search(text)
    return match[1].lower() if match else ""


def is_slice(text: str) -> bool:
    """Does the text name a slice, with a profile (`3g.40gb`) or without (`A100 MIG`)?"""
    return _SLICE.search(text) is not None


def without_slice(text: str) -> str:
    """`A100-SXM4-40GB` of `A100-SXM4-40GB-MIG-1g.5gb`."""
    return _SLICE.sub(" ", text).strip(" -_.:")


def profiles_of(model: GpuModel) -> tuple[str, ...]:
    """Profiles of a model, without their suffixes for engines; none if no source lists them."""
    (row,) = by_key("gpu_model", "model")[model.name]
    return tuple(dict.fromkeys(profile_in(each) for each in row["mig_profiles"].split("|") if each))


def knows_all_profiles_of(model: GpuModel) -> bool:
    """Is the list verified? If not, a profile that it lacks may exist."""
    return bool(profiles_of(model)) and "mig_profiles" not in model.origin.unverified


def first_driver(model: GpuModel) -> tuple[DriverVersion, Fact] | None:
    """The oldest driver that slices a GPU; None for a GPU that NVIDIA's list lacks."""
    driver = model.first_mig_driver
    if driver is None:
        return None
    return driver, model.origin.fact(f"MIG on {model.name} needs driver {driver} or newer", "first_mig_driver")
