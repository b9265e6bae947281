"""Setting keys and values in plain words: `start_timeout_s: 600` is `start time-out: 10 min`."""

from __future__ import annotations

from typing import Final

from cli.review.values import Loc, place

# Keys that need other words. The rest lose their unit and underscores.
_KEYS: Final = {
    "allow_all": "everybody may log in",
    "allowed_users": "who may log in",
    "authorize_url": "authorization address",
    "borrowable_gpus": "GPUs to borrow",
    "compressed_gb": "compressed size",
    "container_toolkit": "container toolkit",
    "core_pool": "pool of hub and proxy",
    "cpu": "CPU cores",
    "cpu_guarantee": "guaranteed CPU cores",
    "database_gib": "the hub's own volume",
    "deadline_s": "ended after",
    "disk_mb_per_s": "disk speed",
    "every_s": "time between checks for idle servers",
    "gpu": "GPU",
    "gpu_memory_gb": "GPU memory",
    "gpus": "GPUs",
    "gpus_per_node": "GPUs per node",
    "guaranteed_gpus": "guaranteed GPUs",
    "http_timeout_s": "time for a started server to answer",
    "idle_s": "idle servers end after",
    "image_name": "image",
    "images_are_pre_pulled": "images are pulled ahead of time",
    "is_default": "chosen by default",
    "kernel_idle_s": "idle kernels end after",
    "kernels_per_user": "kernels that one user may have at a time",
    "lab": "is the lab",
    "managed_by": "who manages the fleet",
    "max_age_s": "servers end at the latest after",
    "memory_gib": "memory",
    "memory_guarantee_gib": "guaranteed memory",
    "node_names": "nodes",
    "peak_share": "share of the seats at the busiest time",
    "pull_mb_per_s": "pull speed",
    "refuse_compressed_gb": "images are refused above",
    "refuse_unsupported_base": "images without security fixes are refused",
    "root_disk_gib": "disk of a node",
    "shm_gib": "shared memory",
    "start_timeout_s": "start time-out",
    "unpacked_disk_share": "share of a disk that an image may take",
    "unproved": "what could not be proved",
    "until": "last day",
    "volume_gib": "size of a home",
    "warn_compressed_gb": "images are warned about above",
}
_ABSENT: Final = {"borrowable_gpus": "any"}
_ZERO: Final = {"max_age_s": "never"}
_UNITS: Final = {"_mb_per_s": " MB/s", "_gib": " GiB", "_gb": " GB", "_mb": " MB"}
# Sections whose keys need no context.
_TRANSPARENT: Final = frozenset({"cull", "image_limits", "policies", "site", "fleet", "facts"})
_SINGULAR: Final = {
    "kernels": "kernel",
    "profiles": "profile",
    "levels": "level of",
    "waivers": "waiver",
    "substitutes": "substitute",
}


def label(loc: Loc) -> str:
    """`profile ml, memory` of `profiles.ml.memory_gib`."""
    steps = [step for step in loc if step not in _TRANSPARENT] or list(loc)
    parts: list[str] = []
    while steps:
        step, *steps = steps
        if step in _SINGULAR and steps:
            name, *steps = steps
            parts.append(f"{_SINGULAR[str(step)]} {name if isinstance(name, str) else name + 1}")
        else:
            parts.append(_key(step) if isinstance(step, str) else place((step,)))
    return ", ".join(parts)


def _key(key: str) -> str:
    if key in _KEYS:
        return _KEYS[key]
    if not key.replace("_", "").isalnum():
        return key
    unit = next((unit for unit in (*_UNITS, "_s") if key.endswith(unit)), "")
    return key.removesuffix(unit).replace("_", " ")


def value(raw: object, loc: Loc) -> str | None:
    """A number with its unit, a claim as yes or no, a missing value by its meaning; None: the value as it is."""
    key = next((step for step in reversed(loc) if isinstance(step, str)), "")
    if isinstance(raw, bool):
        return "yes" if raw else "no"
    if not isinstance(raw, int | float) or raw != raw or abs(raw) > 2**53:  # noqa: PLR0124 - not a number
        return None
    if raw == 0 and key in _ZERO:
        return _ZERO[key]
    if key.endswith("_share"):
        return f"{round(raw * 100, 2):g}%"
    for end, unit in _UNITS.items():
        if key.endswith(end):
            return f"{raw:,g}{unit}"
    return duration(raw) if key.endswith("_s") else None


def absent(loc: Loc) -> str:
    """The meaning of a missing value, if that is a decision too."""
    return _ABSENT.get(str(loc[-1]), "") if loc else ""


def duration(seconds: float) -> str:
    """`10 min`, `1 h 30 min`, `90 s`."""
    if seconds < 60 or seconds % 60:
        return f"{seconds:g} s"
    hours, minutes = divmod(int(seconds) // 60, 60)
    return " ".join(filter(None, (f"{hours} h" if hours else "", f"{minutes} min" if minutes else "")))
