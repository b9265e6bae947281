"""R-NVENC: hardware video encoding speaks an API that the driver brings, on GPUs that have an encoder."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache

from packaging.version import Version

from compat.evidence.prose.patterns import pattern
from compat.facts import tables
from compat.rules.rule import Rule, as_stated, note, refuse, unknown, warn
from compat.values.model import Fact, Finding, ImageFacts, Platform, PoolFacts, Severity
from compat.values.versions import ComputeCapability, DriverVersion, parse_release

ID = "R-NVENC"
LIBRARY = "nvenc"  # in framework_library.csv: the API that a release of a program is built with
_OF_RIGAYA = "nvencc"
_DATE = "2026-11-23"
_READ = "2026-11-27"
_HEADERS = "https://github.com/FFmpeg/nv-codec-headers"
_FFMPEG = "github:FFmpeg/FFmpeg libavcodec/nvenc.c"
_A100 = "https://github.com/insight-platform/Savant/issues/216"
_H100 = "https://github.com/livekit/rust-sdks/pull/1015"
_MATRIX = "https://developer.nvidia.com/video-encode-and-decode-gpu-support-matrix-new"
# Chips without an encoder: those of A100 and A30, and of H100 and H200.
_WITHOUT = {ComputeCapability(8, 0): _A100, ComputeCapability(9, 0): _H100}
_MODELS = "https://github.com/jellyfin/jellyfin.org/blob/master/docs/general/post-install/transcoding/hardware-acceleration/nvidia.md"
_CHIPS_WITHOUT = frozenset({"GM108", "GP108"})  # of laptops, and of GT 1010 and GT 1030
_NAMES_WITHOUT = pattern(r"\bMX[1-4]\d\d\b")
_AV1 = pattern(
    r"\bav1[-_ ]?nvenc\b|\bnvenc\b[^,;.]{0,12}\bav1\b|\bav1\b[^,;.]{0,12}\b(?:nvenc|encod\w+)\b"
    r"|\bencod\w+ (?:to |as )?av1\b",
    re.IGNORECASE,
)
_WITH_AV1 = ComputeCapability(8, 9)
_ENCODES = pattern(r"(?:\b|_)nvenc\b", re.IGNORECASE)
_API = pattern(
    r"(?:nv[-_ ]?enc(?:ode)?(?:[-_ ]?api)?|(?:nv-codec|ffnvcodec)(?:-headers)?|video codec sdk)"
    r"(?:[\s:=,;(]|\bversions?\b|\bapi\b|\brequired\b|\bv|-|n(?=\d)|\.)*(\d{1,2}\.\d)(?!\d)",
    re.IGNORECASE,
)


def check(image: ImageFacts, pool: PoolFacts) -> tuple[Finding, ...]:
    if pool.platform is Platform.JETSON:
        return ()
    api, fact = _wanted(image)
    if api is None and not image.uses_encoder and not _ENCODES.search(image.remarks):
        return ()
    if (source := _WITHOUT.get(pool.gpu.capability)) is not None:
        fact = Fact(f"GPUs of compute capability {pool.gpu.capability} have no encoder", source, _DATE)
        return (refuse(ID, f"{pool.gpu.name} has no hardware encoder (NVENC), only decoders", fact),)
    if (missing := _lacks(f"{image.name} {image.remarks}", pool)) is not None:
        return (missing,)
    if api is None and not image.uses_encoder:
        return ()
    if api is None:
        fact = Fact("a program asks the driver for the NVENC API that it is built with", _FFMPEG, _DATE)
        if (served := _serves_all(pool)) is not None:
            message = f"it is not known which NVENC API {image.name} is built with; {served.text}"
            return (warn(ID, message, served),)
        return (unknown(ID, f"it is not known which NVENC API {image.name} is built with", fact),)
    floor = _floor(api, pool.platform)
    if floor is None:
        unlisted = Fact(f"no table has NVENC API {api}", _HEADERS, "", verified=False)
        return (unknown(ID, f"it is not known which driver has NVENC API {api}", unlisted),)
    lowest, floor_fact = floor
    if pool.driver is None:
        return ()
    if pool.driver >= lowest:
        return (note(ID, f"drivers from {lowest} on have NVENC API {api}", floor_fact),)
    stated = as_stated(pool.driver)
    built = f" ({fact.text})" if fact is not None else ""
    message = f"NVENC API {api}{built} needs driver {lowest} or newer" + (f"; this one is {stated}" if stated else "")
    if fact is not None and not fact.verified:
        return (unknown(ID, message, replace(floor_fact, verified=False)),)
    return (refuse(ID, message, floor_fact, lowest),)


def _lacks(text: str, pool: PoolFacts) -> Finding | None:
    """GPUs whose chip has no encoder, or none for AV1."""
    name = pool.gpu.name
    chips = frozenset(_chips().get(name, ()))
    if (chips and chips <= _CHIPS_WITHOUT) or _NAMES_WITHOUT.search(name):
        fact = Fact(
            "GT 1030, MX450 and other low-end and mobile models have no encoder", f"{_MODELS} ; {_MATRIX}", _READ
        )
        return refuse(ID, f"{name} has no hardware encoder (NVENC)", fact)
    if _AV1.search(text) and pool.gpu.capability < _WITH_AV1:
        fact = Fact("NVENC encodes AV1 on Ada and newer; Ampere decodes it", f"{_MODELS} ; {_MATRIX}", _READ)
        return refuse(ID, f"{name} ({pool.gpu.capability}) cannot encode AV1: GPUs from Ada (8.9) on can", fact)
    return None


@cache
def _chips() -> dict[str, tuple[str, ...]]:
    return {model.name: model.chips for model in tables.gpu_models()}


def _serves_all(pool: PoolFacts) -> Fact | None:
    """Does the driver have every API except the newest, with which hardly any program is built yet?"""
    usual = sorted(row.api for row in tables.nvencs())[-2]
    floor = _floor(usual, pool.platform)
    if floor is None or pool.driver is None or pool.driver < floor[0]:
        return None
    return replace(floor[1], text=f"drivers from {floor[0]} on have every API up to {usual}")


def _wanted(image: ImageFacts) -> tuple[Version | None, Fact | None]:
    """The API that the case names, or else that of the program's release."""
    if (named := _API.search(f"{image.name} {image.remarks}")) is not None:
        return parse_release(named[1]), None
    program = image.framework
    if program == LIBRARY and image.framework_version is not None:
        api = Version(".".join(map(str, image.framework_version.release[:2])))
        if any(row.api == api for row in tables.nvencs()):
            return api, None
        program = _OF_RIGAYA  # NVEnc 7.49: no number of the API
    for row in sorted(tables.framework_libraries().get(program, ()), key=lambda each: not each.variant):
        if row.library == LIBRARY and image.framework_version is not None and row.is_for(image.framework_version):
            if row.variant and row.variant not in image.remarks.lower():
                continue
            shown = f"{row.framework} {row.version}{f' of {row.variant}' if row.variant else ''}"
            return parse_release(row.minimum), row.origin.fact(f"{shown} is built with it", "minimum")
    return None, None


def _floor(api: Version, platform: Platform) -> tuple[DriverVersion, Fact] | None:
    """The lowest driver with an API of that version, and the source."""
    row = next((row for row in tables.nvencs() if row.api == api), None)
    if row is None:
        return None
    windows = platform is Platform.WINDOWS
    floor = row.windows_floor if windows else row.linux_floor
    column = "min_windows_driver" if windows else "min_linux_driver"
    system = "Windows" if windows else "Linux"
    return floor, row.origin.fact(f"the lowest driver of NVENC API {api} on {system} is {floor}", column)


RULE = Rule(
    id=ID,
    title="Video encoder",
    says=(
        "A program that encodes on the GPU asks the driver for the version of the NVENC API that it was built with, "
        "and gets none from an older driver; neither CUDA nor compat packages count. GPUs of compute capability 8.0 "
        "and 9.0, and some low-end and mobile ones, have no encoder; AV1 is encoded by Ada and newer."
    ),
    sources=(_HEADERS, _FFMPEG, _MATRIX, _MODELS, _A100, _H100),
    severity=Severity.REFUSE,
    check=check,
    of_pool=("gpu", "driver", "platform"),
    passing={"gpu": "T4", "driver": "535.104.05", "framework": "ffmpeg", "build": "nvenc 12.1"},
    failing={"gpu": "T4", "driver": "525.147.05", "framework": "ffmpeg", "build": "nvenc 12.1"},
    undecided={"gpu": "T4", "driver": "525.147.05", "framework": "ffmpeg", "framework_version": "5.0"},
)
