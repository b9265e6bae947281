"""MIG: slices of a GPU by the names that NVIDIA gives them, and from which driver on a GPU has them."""

from __future__ import annotations

import re
from functools import lru_cache

from components.compat.model import Fact
from components.compat.tables import GpuModel, by_key
from components.compat.versions import DriverVersion

SOURCE = "https://docs.nvidia.com/datacenter/tesla/mig-user-guide/620/deployment-considerations.html"
PROFILES = "https://docs.nvidia.com/datacenter/tesla/mig-user-guide/supported-mig-profiles.html"
DATE = "2026-11-21"

# `1c.3g.20gb` is a part of the slice 3g.20gb; +me, .me, -me and +gfx say which engines a slice has.
_PROFILE = re.compile(r"(?:\b\d+c\.)?(?<!\d)(\d+g\.\d+gb)(?:[+.-](?:me|gfx)(?:\.all)?)?", re.IGNORECASE)
_SLICE = re.compile(rf"(?:\b|(?<=_))mig\b|{_PROFILE.pattern}", re.IGNORECASE)
# Oldest driver by GPU. Where a name fits two, the first counts.
_FIRST_DRIVERS = (
    (re.compile(r"\bA100\b"), DriverVersion(450, 80, 2)),
    (re.compile(r"\bA30\b"), DriverVersion(460, 73, 1)),
    (re.compile(r"\bH100\b"), DriverVersion(525, 85, 12)),
    (re.compile(r"\bH20\b"), DriverVersion(535, 161, 7)),
    (re.compile(r"\bH200\b"), DriverVersion(550, 90, 7)),
    (re.compile(r"\bG?B200\b"), DriverVersion(570, 133, 20)),
    (re.compile(r"\bB300\b"), DriverVersion(580, 82, 7)),
    (re.compile(r"\bRTX PRO 6000\b"), DriverVersion(575, 51, 3)),
    (re.compile(r"\bRTX PRO 5000\b"), DriverVersion(575, 57, 8)),
    (re.compile(r"\bRTX PRO 4500\b"), DriverVersion(575, 64)),
)


def profile_in(text: str) -> str:
    """`1g.5gb` of `A100-SXM4-40GB-MIG-1g.5gb+me`; empty where the text names no profile."""
    match = _PROFILE.search(text)
    return match[1].lower() if match else ""


def is_slice(text: str) -> bool:
    """Does the text name a slice, with a profile (`3g.40gb`) or without (`A100 MIG`)?"""
    return _SLICE.search(text) is not None


def without_slice(text: str) -> str:
    """`A100-SXM4-40GB` of `A100-SXM4-40GB-MIG-1g.5gb`."""
    return _SLICE.sub(" ", text).strip(" -_.:")


@lru_cache(1024)
def profiles_of(model: GpuModel) -> tuple[str, ...]:
    """Profiles of a model, without what they say of engines; none where no source lists them."""
    (row,) = by_key("gpu_model", "model")[model.name]
    return tuple(dict.fromkeys(profile_in(each) for each in row["mig_profiles"].split("|") if each))


def knows_all_profiles_of(model: GpuModel) -> bool:
    """Is the list one that somebody has checked? Only then a profile that it lacks does not exist."""
    return bool(profiles_of(model)) and "mig_profiles" not in model.origin.unverified


def first_driver(name: str) -> tuple[DriverVersion, Fact] | None:
    """The oldest driver that cuts a GPU into slices; None for one that NVIDIA's list does not have."""
    for gpu, driver in _FIRST_DRIVERS:
        if gpu.search(name):
            return driver, Fact(f"MIG on {name} needs driver {driver} or newer", SOURCE, DATE)
    return None
