"""Device code of a shared library as NVIDIA's cuobjdump lists it: a reader that `inspect` does not use.

The program comes from PyPI. It does not say how code is compressed: that is read at the beginning of each entry's
content, which is a frame of zstd or not.
"""

from __future__ import annotations

import mmap
import re
import struct
import subprocess
import tempfile
import zipfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from imaging.inspection.index import Index
from tools.wheel_code import find_wheel
from tools.wheel_file import opened

PACKAGE: Final = "nvidia-cuda-cuobjdump"
VERSION: Final = "13.5.37"
_LISTED: Final = re.compile(r"^(ELF|PTX) file +\d+: (\S+\.sm_(\d+[af]?)\.(?:cubin|ptx))$", re.MULTILINE)
_LANGUAGE: Final = re.compile(rb"^\.version +(\d+\.\d+)", re.MULTILINE)
_RELEASE: Final = re.compile(rb"release (\d+\.\d+), V\d")
_FATBIN: Final = struct.pack("<I", 0xBA55ED50)
_CONTAINER: Final = struct.Struct("<IHHQ")  # magic, version, bytes of this header, bytes of all entries
_ENTRY: Final = struct.Struct(
    "<HHIQ8xHHI"
)  # kind, attributes, bytes of this header and of the content, …, architecture
_PTX, _CUBIN = 1, 2
_ZSTD: Final = b"\x28\xb5\x2f\xfd"
_ABI_BEFORE_13: Final = 7  # the version of a cubin's ELF is that of its toolkit: 124


class CuobjdumpError(Exception):
    """The program failed on a file; its words."""


@dataclass(frozen=True, slots=True)
class Dumped:
    """One library. Targets without their prefix (`90a`), with their number of entries."""

    path: str
    cubins: dict[str, int]
    ptx: dict[str, int]
    languages: dict[str, str]
    """Newest version of the PTX language of each target: `8.5`. Of its first and last entry."""
    toolkit: str
    """CUDA that made the newest cubin: `12.4`; empty without one."""
    by_zstd: dict[str, float]
    """Of each architecture, the share of entries whose content is a frame of zstd."""


def bring(index: Index, folder: Path) -> Path:
    """The program, in this folder; downloaded unless it is there."""
    program = folder / f"cuobjdump-{VERSION}"
    if not program.exists():
        with opened(find_wheel(index, PACKAGE, VERSION)) as file, zipfile.ZipFile(file) as archive:
            (member,) = (each for each in archive.namelist() if each.endswith("/bin/cuobjdump"))
            draft = program.with_suffix(".draft")
            draft.write_bytes(archive.read(member))
        draft.chmod(0o755)
        draft.rename(program)
    return program


def dump(program: Path, library: Path, path: str) -> Dumped | None:
    """Everything about a library, which is `path` in its wheel; None without device code. Raises CuobjdumpError."""
    with library.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        if content.find(_FATBIN) < 0:
            return None
        by_zstd = _compressed(content)
    names: dict[str, dict[str, list[str]]] = {"ELF": {}, "PTX": {}}
    for option in ("--list-elf", "--list-ptx"):
        for kind, name, target in _LISTED.findall(_run(program, [option, str(library)], library.parent)):
            names[kind].setdefault(target, []).append(name)
    if not names["ELF"] and not names["PTX"]:
        return None
    return Dumped(
        path,
        {target: len(found) for target, found in names["ELF"].items()},
        {target: len(found) for target, found in names["PTX"].items()},
        {target: _language(program, library, found) for target, found in names["PTX"].items()},
        _toolkit(program, library, names["ELF"]),
        by_zstd,
    )


def _run(program: Path, arguments: list[str], folder: Path) -> str:
    done = subprocess.run([program, *arguments], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode and "does not contain device code" not in done.stdout + done.stderr:
        raise CuobjdumpError((done.stderr or done.stdout).strip()[-300:])
    return done.stdout


def _extracted(program: Path, library: Path, option: str, name: str) -> bytes:
    """One entry of a library."""
    with tempfile.TemporaryDirectory() as folder:
        _run(program, [option, name, str(library)], Path(folder))
        files = sorted(Path(folder).iterdir())
        return files[0].read_bytes() if files else b""


def _language(program: Path, library: Path, names: list[str]) -> str:
    texts = (_extracted(program, library, "--extract-ptx", name) for name in dict.fromkeys((names[0], names[-1])))
    found = [match[1].decode() for text in texts if (match := _LANGUAGE.search(text))]
    return max(found, key=lambda each: tuple(map(int, each.split("."))), default="")


def _toolkit(program: Path, library: Path, names: dict[str, list[str]]) -> str:
    if not names:
        return ""
    newest = max(names, key=lambda target: int(target.rstrip("af")))
    cubin = _extracted(program, library, "--extract-elf", names[newest][0])
    if stated := _RELEASE.search(cubin):  # a note of the compiler, since CUDA 13
        return stated[1].decode()
    if len(cubin) > 24 and cubin[8] <= _ABI_BEFORE_13:
        (number,) = struct.unpack_from("<I", cubin, 20)
        return f"{number // 10}.{number % 10}"
    return ""


def _compressed(content: mmap.mmap) -> dict[str, float]:
    total, by_zstd = Counter[str](), Counter[str]()
    at = content.find(_FATBIN)
    while at >= 0:
        _, _, header, size = _CONTAINER.unpack_from(content, at)
        entry, end = at + header, min(at + header + size, len(content) - _ENTRY.size)
        while entry < end:
            kind, _, entry_header, entry_size, _, _, architecture = _ENTRY.unpack_from(content, entry)
            if not entry_header:
                break
            start = entry + entry_header
            if kind in {_PTX, _CUBIN}:
                total[str(architecture)] += 1
                by_zstd[str(architecture)] += content[start : start + len(_ZSTD)] == _ZSTD
            entry = start + entry_size
        at = content.find(_FATBIN, max(at + header, min(entry, end)))
    return {each: by_zstd[each] / count for each, count in total.items()}
