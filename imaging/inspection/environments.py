"""The Python or conda environment of a file: a program loads from its own environment and the system. Pure.

Two kernels in separate environments may each have a CUDA; one environment on a base with CUDA has it twice.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Final

from imaging.inspection.facts import Contents, Package

SYSTEM: Final = ""
_PYTHON: Final = re.compile(r"^(.*?)/?lib(?:64)?/python\d[^/]*/(?:site|dist)-packages/")
_CONDA: Final = re.compile(r"^(.*?)/conda-meta/")


def conda_roots(packages: Iterable[Package]) -> frozenset[str]:
    """Folders of conda environments, from their package records."""
    return frozenset(match[1] for each in packages if each.kind == "conda" and (match := _CONDA.match(each.path)))


def environment_of(path: str, conda: frozenset[str]) -> str:
    """A file's Python or conda environment by folder, else SYSTEM; `conda` has the conda folders."""
    if match := _PYTHON.match(path):
        return match[1]
    return max((root for root in conda if path.startswith(f"{root}/")), key=len, default=SYSTEM)


def majors(deep: Contents) -> Mapping[str, Mapping[int, str]]:
    """Environments with packages and runtimes for several CUDA majors: the evidence, by major.

    Not the system: toolkits may be installed side by side, and nothing loads both.
    """
    roots = conda_roots(deep.packages)
    sources = [
        *((each.path, each.cuda, f"{each.name} {each.version}") for each in deep.packages if each.cuda),
        *((each.path, each.value, f"{each.of}'s own build") for each in deep.statements if each.what == "cuda"),
        *((each.path, each.version, f"/{each.path}") for each in deep.libraries if each.name == "cudart"),
    ]
    found: dict[str, dict[int, str]] = {}
    for path, version, what in sources:
        major = version.partition(".")[0]
        if major.isdigit() and (environment := environment_of(path, roots)) != SYSTEM:
            found.setdefault(environment, {}).setdefault(int(major), what)
    return {environment: by_major for environment, by_major in found.items() if len(by_major) > 1}
