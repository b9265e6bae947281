"""Makes rows of compat/facts/data/framework.csv from facts read in wheels. Pure.

A release that pins another framework has that one's CUDA (`vllm` and its `torch==2.11.0`); a release with its own code
has its targets, and the CUDA that the wheel states. What the wheel does not state stays empty, or is listed in
`unverified_cells` with a note on how it was inferred.
"""

from __future__ import annotations

import datetime as dt
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from packaging.requirements import InvalidRequirement, Requirement

from compat.facts import tables
from compat.values.versions import CUDA_OF_PTX, CudaVersion, Target, parse_release
from imaging.inspection.conclusions import ENOUGH, serving_most
from imaging.inspection.facts import Code
from tools.tables import TABLES
from tools.wheel_code import Library, Wheel

Row = dict[str, str]
_Span = tuple[str, str, Wheel]  # variant and CUDA, if each library of a wheel is for another CUDA
FIRST_WITH_MODES: Final = CudaVersion(12, 8)
"""nvcc before it compresses nothing by zstd."""
OBSERVED: Final = "observed in binary"
_TABLE: Final = next(table for table in TABLES if table.name == "framework")
_OF_SEVERAL: Final = {"8.5": "12.6"}  # the compiler of CUDA 12.6 writes the ISA of 12.5


@dataclass(frozen=True, slots=True)
class Product:
    """A package of the index, and the name of its releases in the table."""

    framework: str
    package: str
    pins: str = ""
    """The distribution that its metadata fixes, and whose code it runs: `torch`."""
    variant: str = ""
    """Empty: `cu` with the major that it loads, or with the CUDA that it was built by."""


PRODUCTS: Final = (
    Product("vllm", "vllm", "torch"),
    Product("xformers", "xformers", "torch"),
    Product("sglang", "sglang", "torch"),
    Product("torchvision", "torchvision", "torch"),
    Product("torchaudio", "torchaudio", "torch"),
    Product("bitsandbytes", "bitsandbytes"),
    Product("catboost", "catboost"),
    Product("ctranslate2", "ctranslate2"),
    Product("faiss", "faiss-gpu"),
    Product("faiss", "faiss-gpu-cu11", variant="cu11"),
    Product("faiss", "faiss-gpu-cu12", variant="cu12"),
    Product("lmdeploy", "lmdeploy"),
    Product("onnxruntime", "onnxruntime-gpu"),
    Product("paddle", "paddlepaddle-gpu"),
    Product("qiskit-aer", "qiskit-aer-gpu"),
    Product("qiskit-aer", "qiskit-aer-gpu-cu11", variant="cu11"),
    Product("spconv", "spconv-cu113", variant="cu113"),
    Product("spconv", "spconv-cu118", variant="cu118"),
    Product("spconv", "spconv-cu120", variant="cu120"),
    Product("spconv", "spconv-cu126", variant="cu126"),
    Product("warp", "warp-lang"),
    Product("xgboost", "xgboost"),
)
KERNELS: Final = {"sglang": ("sglang-kernel", "sgl-kernel")}
"""Packages without device code, and those that they pin for it."""


def pinned_row(product: Product, version: str, filename: str, requires: Iterable[str], today: dt.date) -> Row | None:
    """A release that pins its framework; None if it does not, or if the table lacks that framework."""
    release = fixed(requires, product.pins)
    framework = {"torch": "pytorch"}.get(product.pins, product.pins)
    beneath = [each for each in tables.builds(framework) if each.version == release and each.is_default]
    if not release or not beneath or beneath[0].cuda is None:
        return None
    build = beneath[0]
    note = f"Pins {product.pins}=={release}, whose PyPI wheel is {build.variant}: the driver and the code targets are "
    return _row(
        framework=product.framework,
        version=version,
        distribution=f"pip {product.package}",
        variant=f"{product.pins}-{build.variant}",
        cuda=str(build.cuda),
        pins=f"{framework} {release}",
        notes=f"{note}those of that {product.pins}.",
        source=f"PyPI {filename} (METADATA read by range requests, {today})",
        collected=today.isoformat(),
    )


def fixed(requires: Iterable[str], name: str) -> str:
    """`2.6.0` of `torch==2.6.0; extra == "srt"`; empty if no single release is required."""
    for each in requires:
        try:
            wanted = Requirement(each)
        except InvalidRequirement:
            continue
        if wanted.name.lower() == name and len(wanted.specifier) == 1:
            (only,) = wanted.specifier
            if only.operator == "==" and not only.version.endswith("*"):
                return only.version.partition("+")[0]
    return ""


def code_rows(product: Product, version: str, wheel: Wheel, today: dt.date) -> list[Row]:
    """A release with its own code: one row, or one for each span of CUDA that a wheel has a library for."""
    spans = list(_spans(wheel)) or ([("", "", wheel)] if wheel.libraries else [])
    return [_code_row(product, version, each, today) for each in spans]


def _spans(wheel: Wheel) -> Iterator[_Span]:
    """For a wheel with a library per CUDA: groups neighbours with the same targets."""
    by_cuda: dict[int, list[Library]] = {}
    for each in wheel.libraries:
        if found := re.search(r"_cuda(\d+)(?:_\w+)?\.so$", each.path):
            by_cuda.setdefault(int(found[1]), []).append(each)
    groups: list[tuple[list[int], Wheel]] = []
    for number, libraries in sorted(by_cuda.items()):
        own = replace(wheel, libraries=tuple(libraries))
        if groups and _alike(groups[-1][1], own):
            groups[-1][0].append(number)
        else:
            groups.append(([number], own))
    for numbers, own in groups:
        last = f"-cu{numbers[-1]}" if len(numbers) > 1 else ""
        first = str(numbers[0])
        yield f"cu{first}{last}", f"{first[:-1]}.{first[-1]}", own


def _alike(one: Wheel, other: Wheel) -> bool:
    return (targets(one, "cubins"), targets(one, "ptx"), one.compressed) == (
        targets(other, "cubins"),
        targets(other, "ptx"),
        other.compressed,
    )


def _code_row(product: Product, version: str, span: _Span, today: dt.date) -> Row:
    variant, cuda, wheel = span
    built_for, why = (cuda, "") if cuda else _cuda(product, wheel)
    ptx = targets(wheel, "ptx")
    known_by = str(CUDA_OF_PTX.get(newest_isa(wheel), "")) if ptx != "none" else ""
    cudnn = next((each.removeprefix("cudnn ") for each in sorted(wheel.loads) if each.startswith("cudnn ")), "")
    return _row(
        framework=product.framework,
        version=version,
        distribution=f"pip {product.package} linux x86_64",
        variant=variant or product.variant or _variant(wheel, built_for),
        cuda=built_for,
        is_pypi_default="" if variant else "yes",
        sm_list=targets(wheel, "cubins"),
        ptx=ptx,
        ptx_cuda=known_by if known_by != built_for else "",
        sm_list_basis=OBSERVED,
        compressed=wheel.compressed if built_for and CudaVersion.parse(built_for) >= FIRST_WITH_MODES else "",
        unverified_cells="cuda" if "only" in why else "",
        notes=" ".join(filter(None, (why, cudnn and f"Loads cuDNN {cudnn}."))),
        source=f"PyPI {wheel.filename} (read to the end with tools/wheel_code.py, {today})",
        collected=today.isoformat(),
    )


def _variant(wheel: Wheel, cuda: str) -> str:
    """`cu12` if it loads CUDA 12 from outside, `cu118` if the runtime of 11.8 is linked into it."""
    if not cuda:
        return ""
    loads_it = any(each.startswith("cudart ") for each in wheel.loads)
    return "cu" + (cuda.partition(".")[0] if loads_it else cuda.replace(".", ""))


def targets(wheel: Wheel, kind: str) -> str:
    """`7.0;8.0;9.0a`: targets with a good share of the containers of the libraries that serve most of them.

    `none` without such code. As in an image: `imaging.inspection.conclusions.serving_most`.
    """
    codes = [Code(each.path, 0, tuple(each.cubins.items()), tuple(each.ptx.items())) for each in wheel.libraries]
    alike = {code.path for code in serving_most(codes)[0]}
    cubins, ptx = Counter[str](), Counter[str]()
    for library in (each for each in wheel.libraries if each.path in alike):
        cubins.update(library.cubins)
        ptx.update(library.ptx)
    enough = ENOUGH * max([*cubins.values(), *ptx.values()], default=0)
    counts = cubins if kind == "cubins" else ptx
    kept = sorted(Target.parse(each) for each, count in counts.items() if count >= enough)
    return ";".join(map(str, kept)) or "none"


def newest_isa(wheel: Wheel) -> str:
    found = {isa for library in wheel.libraries for isa in library.isas}
    return max(found, key=lambda isa: tuple(map(int, isa.split("."))), default="")


def _cuda(product: Product, wheel: Wheel) -> tuple[str, str]:
    """The CUDA that built a wheel, and how it was inferred if the wheel does not state it."""
    if stated := _stated_cuda(product, wheel):
        return stated, ""
    if compilers := {each for library in wheel.libraries for each in library.compilers}:
        return str(max(map(CudaVersion.parse, compilers))), "CUDA by the compiler that its code names."
    isa = newest_isa(wheel)
    if isa in CUDA_OF_PTX:
        also = f" ({_OF_SEVERAL[isa]} writes it too)" if isa in _OF_SEVERAL else ""
        return str(CUDA_OF_PTX[isa]), f"CUDA by the language of its PTX, {isa}{also}."
    majors = [int(each.split()[1].partition(".")[0]) for each in wheel.loads if re.match(r"(?:cudart|cublas) ", each)]
    major, first = max(majors, default=0), _first_cuda(wheel)
    if major and (first is None or first.major < major):
        return f"{major}.0", f"Of its CUDA only the major is known, by the libraries that it loads: {major}."
    if first is None:
        return "", ""
    return str(first.line), "Of its CUDA only this is known: the first that makes code for the newest target."


_STATES = re.compile(
    r"(?:cudart |nvidia[-_]cuda[-_]runtime(?:[-_]cu\d+)?\s*\(?==|cuda-toolkit\S*==)(\d+\.\d+)\.\d+", re.IGNORECASE
)


def _stated_cuda(product: Product, wheel: Wheel) -> str:
    """By the runtime it contains or requires, or by the package's name: `spconv-cu120`."""
    for each in (*sorted(wheel.brings), *wheel.requires):
        stated = _STATES.match(each)
        if stated and stated[1] != "11.0":  # libcudart.so.11.0 is the name for all of CUDA 11
            return stated[1]
    named = re.fullmatch(r"cu(\d{2})(\d)", product.variant)
    return f"{named[1]}.{named[2]}" if named else ""


def _first_cuda(wheel: Wheel) -> CudaVersion | None:
    known = tables.architectures()
    found = targets(wheel, "cubins")
    if found == "none":
        return None
    first = [
        known[each.capability].first_cuda
        for each in map(Target.parse, found.split(";"))
        if each.capability in known and known[each.capability].first_cuda
    ]
    return max((each for each in first if each is not None), default=None)


def _row(**cells: str) -> Row:
    return {column: cells.get(column, "") for column in _TABLE.columns}


_OF_CODE: Final = ("sm_list", "ptx", "sm_list_basis", "compressed")


def with_rows(rows: Sequence[Row], new: Iterable[Row]) -> tuple[list[Row], list[str]]:
    """The table with more rows, in its order, and a line for each that is new or has more facts.

    An existing build keeps its row; targets that were read fill in missing ones.
    """
    table, lines = [*rows], list[str]()
    for row in new:
        name = f"{row['framework']} {row['version']} {row['variant']}"
        same = [number for number, each in enumerate(table) if _is_same_build(each, row)]
        if not same:
            table.append(row)
            lines.append(f"{name}: added: CUDA {row['cuda'] or 'unknown'}, {row['sm_list'] or row['pins']}")
            continue
        empty = [number for number in same if row["sm_list"] and not table[number]["sm_list"]]
        if len(same) == 1 and empty:
            table[same[0]] = _filled(table[same[0]], row)
            lines.append(f"{name}: empty -> {row['sm_list']}, PTX {row['ptx']}")
    return sorted(table, key=_TABLE.order_of), lines


def _is_same_build(one: Row, other: Row) -> bool:
    """Same package, release and CUDA major; for a library per CUDA, the same span too."""
    if one["framework"] != other["framework"] or not one["version"][:1].isdigit():
        return False
    packages = {re.sub(r" linux x86_64$", "", each["distribution"]) for each in (one, other)}
    if len(packages) > 1 or parse_release(one["version"]) != parse_release(other["version"]):
        return False
    if one["pins"] or other["pins"] or "-" in one["variant"]:
        return one["pins"] == other["pins"] and (one["variant"] == other["variant"] or bool(one["pins"]))
    majors = {each["cuda"].partition(".")[0] for each in (one, other)}
    is_whole = other["is_pypi_default"] == "yes"  # and not for one CUDA of several
    return len(majors) == 1 and (one["variant"] == other["variant"] or is_whole)


def _filled(row: Row, found: Row) -> Row:
    filled = {**row, **{column: found[column] for column in _OF_CODE if found[column]}}
    if found["ptx"] not in {"", "none"}:
        known_by = found["ptx_cuda"] or found["cuda"]
        filled["ptx_cuda"] = known_by if known_by != row["cuda"] else ""
    source = f"{row['source']} ; {found['source']}"
    return {**filled, "source": source, "collected": found["collected"]}
