"""Makes a new image's files: the minimum to plan, lock, build and pass the check. Pure.

Bases and versions are those of this project's images, so that they share layers, locks and test results.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final

DEBIAN: Final = "debian"
_LOCK: Final = "requirements.lock"
# CUDA lines whose runtime and run-time compiler are on PyPI, as CuPy 14 needs them: their last releases.
CUDA_WHEELS: Final = MappingProxyType(
    {
        "12.0": ("12.0.146", "12.0.140"),
        "12.1": ("12.1.105", "12.1.105"),
        "12.2": ("12.2.140", "12.2.140"),
        "12.3": ("12.3.101", "12.3.107"),
        "12.4": ("12.4.127", "12.4.127"),
        "12.5": ("12.5.82", "12.5.82"),
        "12.6": ("12.6.77", "12.6.85"),
        "12.8": ("12.8.90", "12.8.93"),
        "12.9": ("12.9.79", "12.9.86"),
    }
)
_CUPY: Final = "cupy-cuda12x==14.2.0"
_NUMPY: Final = "numpy==2.4.6"
_SERVER: Final = ("jupyterlab==4.6.6", "jupyterhub==5.5.4", "ipykernel==7.4.0")
_BASE: Final = """\
base:
  reference: docker.io/library/debian:bookworm-20260824-slim
  digest: sha256:88200866dfff7ea7f5cbcb6ec7c8a701889efe6fe859fe64d6990e4b07ea4171
  digest_note: of the index, as two public projects pin this tag; ask the registry before a new tag goes in
  layout: debian
os_packages: [ca-certificates, tini]
"""
_ENVIRONMENT: Final = "env:\n  LANG: C.UTF-8\n  SHELL: /bin/bash\n"


class ImageKind(StrEnum):
    """Use of an image."""

    NOTEBOOK = "notebook"  # a JupyterLab server that a hub starts
    BATCH = "batch"  # programs for jobs


@dataclass(frozen=True, slots=True)
class Wanted:
    """The requested image. `base` is DEBIAN, or an image of ours, which brings its server."""

    name: str
    kind: ImageKind
    base: str
    cuda: str | None
    packages: tuple[str, ...]  # exact pins on PyPI
    user: tuple[str, int, int, str]  # name, UID, GID, home
    today: dt.date

    @property
    def has_server(self) -> bool:
        """Does it bring JupyterLab?"""
        return self.kind is ImageKind.NOTEBOOK and self.base == DEBIAN

    @property
    def pins(self) -> tuple[str, ...]:
        """Its packages. An image needs at least one."""
        own = (_NUMPY, _CUPY) if self.cuda else self.packages or (() if self.has_server else (_NUMPY,))
        every = {pin.partition("==")[0]: pin for pin in ((*_SERVER,) if self.has_server else ()) + own}
        return tuple({**every, **{pin.partition("==")[0]: pin for pin in self.packages}}.values())


def files_of(wanted: Wanted) -> dict[str, str]:
    """Text by file name, except the lock: PyPI resolves it."""
    return {
        "image.yaml": "".join(_spec(wanted)),
        "verify.py": "".join(_check(wanted)),
        ".dockerignore": f"*\n!{_LOCK}\n!verify.py\n",
    }


def _spec(wanted: Wanted) -> Iterator[str]:
    title = wanted.name.replace("-", " ").capitalize()
    what = "Notebook server" if wanted.kind is ImageKind.NOTEBOOK else "Programs of jobs"
    yield f"name: {wanted.name}\n"
    yield f"title: {title}  # one line for people\n"
    yield f"description: {what}{f' with CuPy for CUDA {wanted.cuda}' if wanted.cuda else ''}  # what it is for\n"
    yield f'version: "0.1.0"\nreleased: {wanted.today}  # a new day also takes new OS updates\n'
    yield _BASE if wanted.base == DEBIAN else f"base:\n  image: {wanted.base}  # brings its packages along\n"
    yield "python:\n  packages:  # exact pins; after a change: gpu-commons image lock " + wanted.name + " | sh -e\n"
    yield from (f"    - {_package(pin, wanted)}\n" for pin in wanted.pins)
    if wanted.cuda:
        runtime, compiler = CUDA_WHEELS[wanted.cuda]
        yield f'cuda:\n  line: "{wanted.cuda}"\n  source: wheels\n  packages:\n'
        yield f"    - nvidia-cuda-runtime-cu12=={runtime}\n    - nvidia-cuda-nvrtc-cu12=={compiler}\n"
    name, uid, gid, home = wanted.user
    yield f"user: {{name: {name}, uid: {uid}, gid: {gid}, home: {home}}}\n"
    if wanted.has_server:
        yield f"ports: [8888]\n{_ENVIRONMENT}entry_point: [tini, -g, --]\ncommand: [jupyterhub-singleuser]\n"
    elif wanted.base == DEBIAN:
        yield f"{_ENVIRONMENT}entry_point: [tini, -g, --]\ncommand: [python, -]  # a program on standard input\n"


def _package(pin: str, wanted: Wanted) -> str:
    """A Jupyter base installs from conda-forge; CUDA builds come from PyPI on every base."""
    return f"{{pypi: {pin}, conda: none}}" if pin == _CUPY and wanted.base != DEBIAN else pin


_HEAD: Final = '''\
"""Runs inside the built image, without network and without a GPU: is the image what its spec says?"""

from collections.abc import Iterator

import verifying


def problems() -> Iterator[str]:
    """What is not as it should be. Add a line for whatever your course counts on."""
'''
_CUDA_CHECK: Final = """\
    yield from cuda_problems()


def cuda_problems() -> Iterator[str]:
    \"\"\"CuPy and its run-time compiler load, for the CUDA of the spec; computing needs a GPU.\"\"\"
    import cupy  # noqa: PLC0415 - loads CUDA
    from cupy.cuda import nvrtc  # noqa: PLC0415

    if (found := nvrtc.getVersion()) != EXPECTED:
        yield f"the run-time compiler is of CUDA {found}, the spec says {EXPECTED}"
    if not cupy.cuda.is_available():
        verifying.skipped("computing on a GPU", "there is none here")
    elif int(cupy.arange(10).sum()) != 45:
        yield "the GPU adds wrongly"
"""
_TAIL: Final = """

if __name__ == "__main__":
    verifying.check(problems(), {works})
"""


def _check(wanted: Wanted) -> Iterator[str]:
    if wanted.cuda:
        major, minor = wanted.cuda.split(".")
        yield _HEAD.replace("import verifying\n", f"import verifying\n\nEXPECTED = ({major}, {minor})\n")
    else:
        yield _HEAD
    if wanted.kind is ImageKind.NOTEBOOK:
        yield "    yield from verifying.single_user_problems()\n"
        yield '    yield from verifying.lab_problems({"/api/status": "kernels"})\n'
        yield "    yield from verifying.kernel_problems()\n"
    else:
        yield '    yield from verifying.run_problems(["python", "-c", "print(6 * 7)"], "42")\n'
    if wanted.cuda:
        yield _CUDA_CHECK
    yield _TAIL.format(works=json.dumps(_works(wanted)))


def _works(wanted: Wanted) -> str:
    starts = "server and kernel start" if wanted.kind is ImageKind.NOTEBOOK else "programs run"
    return f"{starts}, CuPy loads CUDA {wanted.cuda}" if wanted.cuda else starts
