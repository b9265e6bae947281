"""What a case names in words, as the reference of an image: months of NVIDIA's registry, its builds, DeepStream."""

from __future__ import annotations

import re
from dataclasses import replace

from compat.evidence.case import Case
from compat.evidence.prose.denied import affirmed
from compat.evidence.prose.patterns import pattern
from compat.evidence.reading.builds import is_made_there
from compat.evidence.reading.distributions import ALIASES
from compat.evidence.reading.image_name import read_image
from compat.facts.rows import JETSON, TEGRA


def as_reference(case: Case, system: str) -> Case:
    """The case with the reference of the image that its words mean, if they mean one."""
    case = _of_nvidias_build(_of_deepstream(case, system), system)
    return _monthly(_of_server(_with_month(_with_reference(case))))


_MONTHLY = pattern(r"(?:ngc |nvidia )?((?:1[7-9]|[23]\d)\.(?:0[1-9]|1[0-2]))(?:-(?:tf\d-)?py\d)?")
_IMAGE_OF_MONTH = {
    "pytorch": "nvcr.io/nvidia/pytorch:{}-py3",
    "tensorflow": "nvcr.io/nvidia/tensorflow:{}-tf2-py3",
    "jax": "nvcr.io/nvidia/jax:{}-py3",
    "mxnet": "nvcr.io/nvidia/mxnet:{}-py3",
    "paddle": "nvcr.io/nvidia/paddlepaddle:{}-py3",
    "tensorrt": "nvcr.io/nvidia/tensorrt:{}-py3",
    "tritonserver": "nvcr.io/nvidia/tritonserver:{}-py3",
}
_NGC_IN_WORDS = pattern(r"(?:nvidia )?ngc[\s:/]+([a-z]+)[\s:]+(\d\d\.\d\d(?:-[\w.-]+)?)", re.IGNORECASE)
# Their copies without a registry, or a tag without the version of Python: `tritonserver:23.10`, `nvidia/pytorch:21.08`.
_SHORT_OF_MONTH = pattern(
    r"(?:nvidia/|nvcr\.io/nvidia/)?(pytorch|tensorflow|tritonserver|tensorrt|tensorrtserver|mxnet|paddlepaddle|jax)"
    r":(\d\d\.(?:0[1-9]|1[0-2]))(?:-py3)?"
)
# `NGC TensorFlow container 20.08`, `Triton Release 20.08 NGC container`, `NVIDIA Release 20.09 (build 16016295)`.
_MONTH_IN_WORDS = pattern(
    r"\b(?:(?:ngc|nvidia|nvcr\S{0,40})\b[^;]{0,30}?(?:container|image|release|ngc)"
    r"|(?:container|image|release)\b(?=[^;]*\b(?:ngc|nvcr)))"
    r"[^;\d]{0,20}(?<!ubuntu )(?<!ubuntu)(?<!docker )\b"
    r"(?P<month>(?:1[7-9]|2\d)\.(?:0[1-9]|1[0-2]))\b(?!\.\d| lts| of ubuntu)",
    re.IGNORECASE,
)
_TF1 = pattern(r"\btf[ -]?1\b|\btensorflow 1\b", re.IGNORECASE)
_FOR_JETSON = pattern(r"\bigpu\b", re.IGNORECASE)
_SERVER = pattern(r"tritonserver|tensorrtserver|trtis|trtserver|inference server|triton server")
_TF2_SINCE = "19.12"
_PYTHON_SINCE = "18.01"  # the version of Python is part of a tag from this month on
_FIRST_TRITON = "20.03"  # before, it was called TensorRT Inference Server
_REMARK = pattern(r"\s*\((?P<remark>[^()]{2,80})\)\s*$")


def without_remark(case: Case) -> Case:
    """`nvidia/cuda (latest, April 2018)`: text in brackets after a reference describes the build."""
    if (match := _REMARK.search(case.image)) is None:
        return case
    build = "; ".join(filter(None, (case.build, match["remark"])))
    return replace(case, image=case.image[: match.start()], build=build)


def _with_reference(case: Case) -> Case:
    """`NGC caffe 18.07-py2` and `tritonserver:23.10` as the reference of that image."""
    if (short := _SHORT_OF_MONTH.fullmatch(case.image.strip().lower())) is not None:
        variant = "-tf2-py3" if short[1] == "tensorflow" and short[2] >= _TF2_SINCE else "-py3"
        variant = variant if short[2] >= _PYTHON_SINCE else ""
        return replace(case, image=f"nvcr.io/nvidia/{short[1]}:{short[2]}{variant}")
    words_of = _NGC_IN_WORDS.fullmatch(case.image.strip())
    return case if words_of is None else replace(case, image=f"nvcr.io/nvidia/{words_of[1].lower()}:{words_of[2]}")


_NVIDIAS = pattern(r"\d(?:\.\d{1,3}){1,3}(?:a0)?\+(?:[0-9a-f]+\.)?nv(?P<month>\d\d\.\d\d)", re.IGNORECASE)


def _of_nvidias_build(case: Case, system: str) -> Case:
    """`2.4.0a0+f70bd71a48.nv24.06` is in NVIDIA's image of that month, and on a Jetson a wheel for it."""
    if system in {TEGRA, JETSON} or case.image or (found := _NVIDIAS.fullmatch(case.framework_version.strip())) is None:
        return case
    return replace(case, framework_version=found["month"])


def _of_deepstream(case: Case, system: str) -> Case:
    """DeepStream on a Jetson is of one JetPack, as NVIDIA's image of that release is."""
    is_deepstream = case.framework.strip().lower() == "deepstream" and not case.image
    number = re.match(r"\d+\.\d+(?:\.\d+)?", case.framework_version.strip())
    if system not in {TEGRA, JETSON} or not is_deepstream or number is None or is_made_there(case.build):
        return case
    release = re.sub(r"(?<=\.\d)\.0$", "", number[0])  # 7.1.0 has the tag 7.1
    image = f"nvcr.io/nvidia/deepstream-l4t:{release}"
    if (of_release := read_image(image)) is None or of_release.l4t is None:
        return case
    return replace(case, image=image, framework="", framework_version="")


def _with_month(case: Case) -> Case:
    """The month of an image of NGC that the words of the build name, in place of the framework's own version."""
    has_images = case.framework.strip().lower() == "triton" or _image_of_month(case.framework) is not None
    if case.image or not has_images or "+cu" in case.framework_version:
        return case
    first = affirmed(case.build, _MONTH_IN_WORDS)
    found = {match["month"] for match in _MONTH_IN_WORDS.finditer(case.build)}
    return replace(case, framework_version=found.pop()) if first is not None and len(found) == 1 else case


def _image_of_month(framework: str) -> str | None:
    return _IMAGE_OF_MONTH.get(ALIASES.get(re.sub(r"[^a-z0-9]", "", framework.lower()), ""))


def _monthly(case: Case) -> Case:
    """PyTorch 24.05 is no release of PyTorch but NVIDIA's image of that month, whatever its copy is called here."""
    month = _MONTHLY.fullmatch(case.framework_version.strip().lower())
    if month is not None and _is_copy_of_month(case.image, month[1]):
        case = replace(case, image="")
    image = _image_of_month(case.framework)
    if month is None or case.image or image is None:
        return case
    if "-tf2-" in image and (month[1] < _TF2_SINCE or _TF1.search(case.build)):
        image = image.replace("-tf2-py3", "-py3" if month[1] < _TF2_SINCE else "-tf1-py3")
    if "tritonserver" in image and month[1] < _FIRST_TRITON:
        image = image.replace("tritonserver", "tensorrtserver")
    if _FOR_JETSON.search(case.build):
        image = f"{image}-igpu"
    return replace(case, image=image.format(month[1]), framework="", framework_version="")


def _is_copy_of_month(image: str, month: str) -> bool:
    """`trtis19_09`: a local name, without a registry, for an image of that month."""
    digits = re.sub(r"[^\d]", "", month)
    return bool(image) and "/" not in image and digits in re.sub(r"[^\da-z]", "", image.lower())


def _of_server(case: Case) -> Case:
    """`triton` beside an image of the server, or with the number of a month, is not the compiler of that name."""
    if case.framework.strip().lower() != "triton":
        return case
    text = f"{case.image} {case.build}".lower()
    is_month = _MONTHLY.fullmatch(case.framework_version.strip().lower()) is not None
    return replace(case, framework="tritonserver") if is_month or _SERVER.search(text) else case
