"""A stack's hubs and images once the names in its file are resolved: what components get beside the keys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from workloads.hub import CourseKeys, HubKeys, Titled


@dataclass(frozen=True, slots=True)
class UsedImage:
    """An image of the stack, and what its programs need."""

    name: str
    runtime: Mapping[str, Any]  # of the engine, by component argument: shm_gib, memlock
    user: int | None = None  # its own user's ID, unless it is the default of all workloads


@dataclass(frozen=True, slots=True)
class Choice:
    """A profile or kernel that users of a hub can choose."""

    keys: Titled
    image: UsedImage
    pools: tuple[str, ...]  # those it names
    shown: Mapping[str, Any]  # known facts for the page, by component argument: gpu, contents
    kernels: tuple[Choice, ...] = ()


@dataclass(frozen=True, slots=True)
class ResolvedHub:
    """A hub with its images, login and courses."""

    keys: HubKeys
    images: Mapping[str, str]  # image name by part: hub, proxy, filter, gateway
    choices: tuple[Choice, ...]
    authenticator: BaseModel
    courses: tuple[CourseKeys, ...]
    site_name: str | None
    is_pre_pulled: bool = False  # its images are on the nodes of their pools before anybody starts a server
