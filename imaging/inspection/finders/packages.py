"""Finds packages of the GPU stack in the records of pip, conda and dpkg. Ignores all other packages.

It does not read RPM's database: `libraries.py` finds its libraries by name.
"""

import re
from collections.abc import Iterator
from email.parser import BytesHeaderParser
from typing import Final

from packaging.utils import canonicalize_name

from compat.evidence.names.distributions import framework_of
from imaging.inspection import limits
from imaging.inspection.facts import Package, Statement
from imaging.inspection.finders.finder import MOST, THIS_LAYER, Sink, Text
from imaging.inspection.layers import Entry

_WHEEL: Final = re.compile(r"(?:^|/)([^/]+?)-(\d[^/-]*)(?:-py[\d.]+)?\.(?:dist-info/METADATA|egg-info/PKG-INFO)$")
_CONDA: Final = re.compile(r"(?:^|/)conda-meta/([^/]+)-([^/-]+)-([^/-]+)\.json$")
_DPKG: Final = re.compile(r"^var/lib/dpkg/status(?:\.d/[^/]+)?$")
# Packages of the GPU stack other than frameworks, by the start of their names.
_STACK: Final = re.compile(
    r"^(?:nvidia-|cuda|cudnn|nccl|libcublas|libcudnn|libnccl|libcufft|libcusparse|libcusolver|libcurand|libnvrtc"
    r"|libnvjitlink|libnvidia-(?!container)|torch|pytorch|triton|jax|tensorflow|tf-|cupy|rmm|flashinfer|numba-cuda"
    r"|deepspeed|apex|transformer-engine|dgl|lightgbm|xgboost)|-cu(?:da)?\d+"
)
_MAJOR_IN_NAME: Final = re.compile(r"(?:-cu|-cuda-?|cuda)(\d{2})x?(?:$|-)")
_COMPACT_IN_NAME: Final = re.compile(r"-cu(?:da)?(\d{3})$|-cuda(\d{2,3})$")
_LOCAL: Final = re.compile(r"\+(?:.*\.)?cu(?:da)?(\d{2,3})")
_CONDA_BUILD: Final = re.compile(r"cuda_?(\d{1,2})\.?(\d)")
_CONDA_CPU: Final = re.compile(r"(?:^|_)cpu(?:_|$)")  # cpu_mkl_py312_h60c10ca_0, py3.8_cpu_0
_FOLLOWS_CUDA: Final = re.compile(
    r"^(?:nvidia-cuda-(?:runtime|nvrtc|cupti|nvcc)(?:-cu\d+)?|cuda-cudart(?:-\d+-\d+)?|cudatoolkit|cuda-version)$"
)
_DEB_LINE: Final = re.compile(r"-(\d{1,2})-(\d)$")
_GPU_REQUIREMENT: Final = re.compile(r"^(?:nvidia-|cuda|triton|torch|jax|pytorch-triton)")


class PackageFinder:
    """`found`: packages of the GPU stack; `glibc`: dpkg's record of it; `stated`: conda builds for the CPU alone."""

    def __init__(self) -> None:
        self.found: list[Package] = []
        self.glibc: list[Statement] = []
        self.stated: list[Statement] = []

    def open(self, entry: Entry) -> Sink | None:
        if len(self.found) + len(self.glibc) > MOST:
            return None
        path = entry.path
        if match := _WHEEL.search(path):
            name, version = str(canonicalize_name(match[1])), match[2]
            if is_of_gpu_stack(name) or "+cu" in version:
                return Text(limits.TEXT_BYTES, lambda text: self._wheel(name, version, path, text))
        elif match := _CONDA.search(path):
            if is_of_gpu_stack(match[1]):
                line = cuda_of(match[1], match[2]) or _conda_line(match[3])
                self.found.append(Package(match[1], match[2], "conda", path, THIS_LAYER, line))
                if _CONDA_CPU.search(match[3]):
                    self.stated.append(Statement("without_cuda", match[3], match[1], path, THIS_LAYER))
        elif _DPKG.match(path):
            return Text(limits.PACKAGES_BYTES, lambda text: self._dpkg(path, text))
        return None

    def _wheel(self, name: str, version: str, path: str, metadata: bytes) -> None:
        headers = BytesHeaderParser().parsebytes(metadata.partition(b"\n\n")[0] + b"\n\n")
        lines = (str(line)[:200] for line in headers.get_all("Requires-Dist", []))
        requires = tuple(line for line in lines if _GPU_REQUIREMENT.match(line))[:60]
        self.found.append(Package(name, version, "wheel", path, THIS_LAYER, cuda_of(name, version), requires))

    def _dpkg(self, path: str, status: bytes) -> None:
        for name, version in _installed(status):
            if name == "libc6":
                self.glibc.append(Statement("glibc", version.partition("-")[0], "dpkg", path, THIS_LAYER))
            elif is_of_gpu_stack(name) and len(self.found) < MOST:
                self.found.append(Package(name, version, "deb", path, THIS_LAYER, cuda_of(name, version)))


def is_of_gpu_stack(name: str) -> bool:
    """A framework, or a package that programs load to use a GPU."""
    return bool(framework_of(name) or _STACK.search(name))


def cuda_of(name: str, version: str) -> str:
    """CUDA that a package states: `12.4`, or `12` if that is all; empty if it states none."""
    release = version.partition("+")[0]
    if _FOLLOWS_CUDA.match(name) and (match := re.match(r"(\d+)\.(\d+)", release)):
        return f"{match[1]}.{match[2]}"
    if match := _LOCAL.search(version):
        return _dotted(match[1])
    if match := _DEB_LINE.search(name):
        return f"{match[1]}.{match[2]}"
    if match := _COMPACT_IN_NAME.search(name):
        return _dotted(match[1] or match[2])
    if match := _MAJOR_IN_NAME.search(name):
        return match[1]
    return ""


def _dotted(compact: str) -> str:
    """118 → 11.8, 92 → 9.2, 12 → 12."""
    if len(compact) == 3:
        return f"{compact[:2]}.{compact[2]}"
    return compact if int(compact) in range(10, 20) else f"{compact[0]}.{compact[1]}"


def _conda_line(build: str) -> str:
    match = _CONDA_BUILD.search(build)
    return f"{match[1]}.{match[2]}" if match else ""


def _installed(status: bytes) -> Iterator[tuple[str, str]]:
    for paragraph in status.decode("utf-8", "replace").split("\n\n"):
        fields = dict(re.findall(r"^(Package|Status|Version): (.*)$", paragraph, re.MULTILINE))
        if "Package" in fields and fields.get("Status", "install ok installed").endswith(" installed"):
            yield fields["Package"], fields.get("Version", "").rpartition(":")[2]
