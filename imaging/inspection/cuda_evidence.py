"""Collects an image's statements on its CUDA: framework builds, runtimes, toolkit, environment, labels. Pure."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from compat.evidence.names.distributions import framework_of
from imaging.inspection.facts import Code, Contents, ImageContents, Package

_LABEL: Final = re.compile(r"(?:^|[._-])cuda(?:[._-]?version)?$|cuda[._-]version", re.IGNORECASE)
_LINE: Final = re.compile(r"(\d{1,2})(?:\.(\d{1,2}))?")

# Majors of the PTX language that one CUDA major has to itself: its compilers write no other.
_CUDA_OF_LANGUAGE: Final = MappingProxyType({"7": 11, "8": 12, "9": 13})
_BUILT_FOR: Final = "because the program was built for it"
_LIES_THERE: Final = "because it is what the program loads"
_IN_TOOLKIT: Final = "because that toolkit is in the image"
_SAID: Final = "because nothing that was read counts more"


@dataclass(frozen=True, slots=True)
class Evidence:
    """One statement about CUDA: `value` is 12.4 or 12, `what` is its wording, `where` its place in the image.

    `weight` is its reason to outrank others.
    """

    value: str
    what: str
    where: str
    weight: str

    def agrees(self, other: str) -> bool:
        """As far as both state: 12 and 12.4 agree, 12.1 and 12.4 not."""
        mine, its = self.value.split("."), other.split(".")
        shared = min(len(mine), len(its), 2)
        return mine[:shared] == its[:shared]


def of_framework(name: str, package: Package, deep: Contents) -> Iterator[Evidence]:
    for statement in deep.statements:
        if framework_of(statement.of) == name and statement.what == "cuda":
            what = f"{statement.of} says that it was built for CUDA {statement.value}"
            yield Evidence(_line(statement.value), what, statement.path, _BUILT_FOR)
    if package.cuda:
        yield Evidence(package.cuda, f"the package {package.name} {package.version}", package.path, _BUILT_FOR)
    for each in deep.packages:
        if name == "jax" and each.cuda and each.name.startswith("jax-cuda"):
            yield Evidence(each.cuda, f"the wheel {each.name} {each.version}", each.path, _BUILT_FOR)


def runtimes(deep: Contents) -> Iterator[Evidence]:
    """CUDA runtimes in the image: wheels before conda before the distribution's before bare libraries."""
    kinds = {"wheel": 0, "conda": 1, "deb": 2}
    form = re.compile(r"nvidia-cuda-runtime(-cu\d+)?|cuda-cudart(-\d+-\d+)?|cudatoolkit")
    packages = sorted((p for p in deep.packages if form.fullmatch(p.name)), key=lambda p: kinds[p.kind])
    for package in packages:
        kind = {"deb": "package"}.get(package.kind, package.kind)
        yield Evidence(package.cuda, f"the {kind} {package.name} {package.version}", package.path, _LIES_THERE)
    for library in deep.libraries:
        if library.name == "cudart" and library.version and not any(p.version == library.version for p in packages):
            what = f"the runtime library {library.path}"
            yield Evidence(_cudart_line(library.version), what, library.path, _LIES_THERE)
    # A program may have the runtime inside, and load the rest: the major of cuBLAS is CUDA's.
    has_runtime = bool(packages) or any(each.name == "cudart" for each in deep.libraries)
    for library in () if has_runtime else deep.libraries:
        if library.name == "cublas" and library.version:
            what = f"the library {library.path}"
            yield Evidence(library.version.partition(".")[0], what, library.path, _LIES_THERE)
    for statement in deep.statements:
        if statement.of == "toolkit" and statement.what == "cuda":
            what = f"the toolkit's own note of {statement.value}"
            yield Evidence(_line(statement.value), what, statement.path, _IN_TOOLKIT)


def loaded(codes: Iterable[Code]) -> Iterator[Evidence]:
    """What files with device code load: the runtime, or cuBLAS or NVRTC, which have CUDA's major; each once."""
    shown = set()
    for code in codes:
        names = dict(each.split(" ") for each in code.loads)
        if name := next((each for each in ("cudart", "cublas", "cublasLt", "nvrtc") if each in names), ""):
            value = _cudart_line(names[name]) if name == "cudart" else names[name].partition(".")[0]
            if value in shown:
                continue
            shown.add(value)
            yield Evidence(value, f"lib{name}.so.{names[name]}, which {code.path} loads,", code.path, _LIES_THERE)


def compilers(codes: Iterable[Code]) -> Iterator[Evidence]:
    """The CUDA that made files with PTX, which may have its runtime inside, by the language; the newest first."""
    by_major: dict[int, tuple[str, str]] = {}
    for code in codes:
        for _, language in code.languages:
            if (major := _CUDA_OF_LANGUAGE.get(language.partition(".")[0])) is not None:
                by_major.setdefault(major, (language, code.path))
    for major, (language, path) in sorted(by_major.items(), reverse=True):
        yield Evidence(str(major), f"PTX {language} in {path}", path, _BUILT_FOR)


def _cudart_line(version: str) -> str:
    """`libcudart.so.11.0` means any 11.x; the second number is a minor version only if there is a third."""
    steps = version.split(".")
    return ".".join(steps[:2]) if len(steps) > 2 or int(steps[0]) <= 10 else steps[0]


def written(contents: ImageContents) -> Iterator[Evidence]:
    """Environment, then labels: what people wrote about the image."""
    env = dict(contents.settings.env)
    for name in ("CUDA_VERSION", "NVIDIA_CUDA_VERSION", "CUDA_PKG_VERSION"):
        if match := _LINE.search(env.get(name, "")):
            yield Evidence(_joined(match), f"{name}={env[name]} in the environment", "config", _SAID)
    for key, value in contents.settings.labels:
        if _LABEL.search(key) and (match := _LINE.match(value.strip().lower().removeprefix("cuda").strip())):
            yield Evidence(_joined(match), f"the label {key}={value}", "config", _SAID)


def _line(version: str) -> str:
    match = _LINE.match(version)
    return _joined(match) if match else version


def _joined(match: re.Match[str]) -> str:
    return f"{match[1]}.{match[2]}" if match[2] else match[1]
