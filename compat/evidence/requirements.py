"""NVIDIA_REQUIRE_* of an image: reads its clauses, and checks GPU and driver."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping

from packaging.version import Version

from compat.evidence.drivers import native_cuda
from compat.values.hosts import Gpu
from compat.values.images import ImageFacts
from compat.values.versions import ComputeCapability, DriverVersion, parse_release

_BRANDS = {
    "datacenter": frozenset({"tesla", "nvidia"}),
    "workstation": frozenset({"quadro", "quadrortx", "nvidiartx", "nvidia"}),
    "geforce": frozenset({"geforce", "geforcertx"}),
}
_TITAN = frozenset({"titan"})
# NVML reports the brand NVIDIA since the drivers of A100; whether such a card is also a tesla depends on its driver.
_FIRST_OF_BRAND_NVIDIA = ComputeCapability(8, 0)
_COMPARE: Mapping[str, Callable[[Version, Version], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
    "=": operator.eq,
    "==": operator.eq,
    "!=": operator.ne,
}


def holds(clause: str, gpu: Gpu, driver: DriverVersion) -> bool | None:
    """One variable's value: a blank means or, a comma and. None if it requires something unknown here."""
    answer: bool | None = False if _parts(clause) else None
    for parts in _parts(clause):
        found = _all_of(parts, gpu, driver)
        if found:
            return True
        if found is None:
            answer = None
    return answer


def _parts(clause: str) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(part for part in text.split(",") if part) for text in clause.split())


def _all_of(parts: tuple[str, ...], gpu: Gpu, driver: DriverVersion) -> bool | None:
    answer: bool | None = True
    for part in parts:
        found = _one(part, gpu, driver)
        if found is False:
            return False
        if found is None:
            answer = None
    return answer


def _one(text: str, gpu: Gpu, driver: DriverVersion) -> bool | None:
    match = re.fullmatch(r"(cuda|driver|arch|brand)(>=|<=|==|!=|=|<|>)([\w.]+)", text)
    if match is None:
        return None
    what, compare, value = match.groups()
    if what == "brand":
        is_brand = _is_brand(value, gpu)
        return None if is_brand is None else is_brand == (compare != "!=")
    try:
        wanted = parse_release(value)
    except ValueError:
        return None
    have = native_cuda(driver) if what == "cuda" else driver if what == "driver" else gpu.capability
    return _COMPARE[compare](parse_release(str(have)), wanted)


def _is_brand(value: str, gpu: Gpu) -> bool | None:
    if gpu.product_class == "geforce" and "titan" in gpu.name.lower():
        return value in _TITAN
    if value == "tesla" and gpu.product_class == "datacenter" and gpu.capability >= _FIRST_OF_BRAND_NVIDIA:
        return None
    brands = _BRANDS.get(gpu.product_class)
    return None if brands is None else value in brands


def clauses(image: ImageFacts) -> tuple[str, ...]:
    """Values of NVIDIA_REQUIRE_*, which must all hold: the container's environment overrides the image's."""
    variables = dict(image.environment)
    own = tuple(value for key, value in variables.items() if key.startswith("NVIDIA_REQUIRE_") and value)
    if own:
        return own
    if not image.requires and re.fullmatch(r"\d+\.\d+.*", variables.get("CUDA_VERSION", "")):
        return (f"cuda>={'.'.join(variables['CUDA_VERSION'].split('.')[:2])}",)  # a legacy image: implied
    return image.requires
