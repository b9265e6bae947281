"""Structured questions for the engine, made from its own tables: field values as programs and stack files give them.

Each is deterministic and holds no prose. They exist to show that a change of the engine changes no answer.
"""

# ruff: noqa: C901, E501, PLR0911 - lists of values read better in rows
from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import cycle
from pathlib import Path
from typing import Final

from compat import Case

DATA: Final = Path(__file__).resolve().parents[3] / "compat" / "data"
Row = dict[str, str]
Fields = dict[str, str]
_NEWEST: Final = "620.70.06"
_LINES: Final = ("8.0", "9.2", "10.0", "10.2", "11.0", "11.3", "11.8", "12.1", "12.4", "12.6", "12.8", "13.0", "13.2")
# A model that people have for each compute capability of the tables.
_GPU_OF: Final = {
    "3.0": "GeForce GTX 680", "3.5": "Tesla K40c", "3.7": "Tesla K80", "5.0": "GeForce GTX 750 Ti", "5.2": "Tesla M60",
    "6.0": "Tesla P100-PCIE-16GB", "6.1": "GeForce GTX 1080 Ti", "7.0": "Tesla V100-SXM2-16GB", "7.5": "Tesla T4",
    "8.0": "A100-SXM4-40GB", "8.6": "GeForce RTX 3090", "8.9": "L4", "9.0": "H100 PCIe", "10.0": "B200", "10.3": "B300",
    "12.0": "GeForce RTX 5090", "12.1": "GB10",
}  # fmt: skip
_LAST_BRANCH: Final = {"3": "470", "5": "580", "6": "580", "7.0": "580"}


@cache
def table(name: str) -> tuple[Row, ...]:
    with (DATA / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return tuple(csv.DictReader(file))


def questions() -> Iterator[Case]:
    """All questions, each once, always in the same order."""
    seen: set[tuple[tuple[str, str], ...]] = set()
    for name, part in PARTS.items():
        count = 0
        for fields in part():
            given = {field: value for field, value in fields.items() if value}
            key = tuple(sorted(given.items()))
            if key not in seen:
                seen.add(key)
                count += 1
                yield Case(id=f"{name}-{count}", **given)


# Drivers


@cache
def _releases() -> dict[int, tuple[str, ...]]:
    """Branch → its releases that the tables name, oldest first."""
    texts: set[str] = set()
    for row in table("driver_branch"):
        texts.add(row["first_release"])
    for row in table("cuda_driver"):
        texts |= {row["min_linux_x86_64_driver"], row["min_linux_aarch64_driver"], row["minor_compat_min_driver"]}
    texts |= {part for row in table("eks_ami") for part in row["nvidia_driver"].split("|")}
    texts |= {row["default_driver"] for row in table("gpu_operator")}
    texts |= {"384.183", "390.157", "418.226.00", "450.248.02", "470.256.02", "510.108.03", "515.105.01", "525.147.05"}
    texts |= {"535.274.02", "545.29.06", "550.163.01", "570.195.03", "575.64.05", "580.105.08", "590.48.01", _NEWEST}
    found: dict[int, list[str]] = {}
    for text in sorted(filter(re.compile(r"\d{3}\.\d{2,3}(?:\.\d\d)?").fullmatch, texts), key=order):
        found.setdefault(int(text[:3]), []).append(text)
    return {branch: tuple(each) for branch, each in sorted(found.items())}


def order(text: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", text)))


def _last_of(branch: int) -> str:
    """The newest release of a branch that the tables name, or of the branch before it."""
    return _releases()[max(each for each in _releases() if each <= branch)][-1]


def _before(branch: int) -> str:
    older = [each for each in _releases() if each < branch]
    return _releases()[older[-1]][-1] if older else "340.108"


def below(driver: str) -> str:
    """The number just below a driver's."""
    if "." not in driver:
        return _before(int(driver))
    parts = driver.split(".")
    if len(parts) == 3 and int(parts[2]) > 1:
        return f"{parts[0]}.{parts[1]}.{int(parts[2]) - 1:02d}"
    if int(parts[1]) > 10:
        return f"{parts[0]}.{int(parts[1]) - 1:02d}" + (".01" if len(parts) == 3 else "")
    return _before(int(parts[0]))


def above(driver: str) -> str:
    if "." not in driver:
        return f"{driver}.50.02"
    parts = driver.split(".")
    return f"{parts[0]}.{int(parts[1]) + 1:02d}" + (f".{parts[2]}" if len(parts) == 3 else "")


def newest_for(capability: str) -> str:
    """The newest driver that still serves a GPU."""
    last = _LAST_BRANCH.get(capability, _LAST_BRANCH.get(capability.partition(".")[0], ""))
    if capability == "7.5":
        last = ""
    return _last_of(int(last)) if last else "595.71.05"


def floor_of(line: str, *, arm: bool = False) -> str:
    """The floor of the first release of a CUDA line; empty where none is known."""
    column = "min_linux_aarch64_driver" if arm else "min_linux_x86_64_driver"
    for row in table("cuda_driver"):
        if order(row["cuda_version"])[:2] == order(line)[:2] and row[column]:
            return row[column]
    return ""


def minor_floor_of(line: str) -> str:
    for row in table("cuda_driver"):
        if order(row["cuda_version"])[:2] == order(line)[:2] and row["minor_compat_min_driver"]:
            return row["minor_compat_min_driver"]
    return ""


# GPUs


def _architectures() -> dict[str, Row]:
    return {row["compute_capability"]: row for row in table("gpu_arch")}


@cache
def _of_jetsons() -> frozenset[str]:
    """Compute capabilities that only a Jetson has."""
    models = table("gpu_model")
    others = {row["compute_capability"] for row in models if row["product_class"] != "jetson"}
    return frozenset({row["compute_capability"] for row in models} - others) | {"10.1"}


def _models() -> Iterator[Row]:
    for row in table("gpu_model"):
        if row["product_class"] != "jetson" and order(row["compute_capability"]) >= (3, 0):
            yield row


def _gpus() -> Iterator[Fields]:
    lines = cycle(_LINES)
    for number, row in enumerate(_models()):
        arch = _architectures()[row["compute_capability"]]
        first = int(arch["first_driver_branch"] or 570)
        last = row["last_driver_branch"] or arch["last_driver_branch"]
        at_last = _last_of(int(last)) if last else "580.95.05"
        after = "595.71.05" if number % 2 else _NEWEST
        own = (row["first_driver"].split(";")[0] if row["first_driver"] else "") or _releases().get(first, ("",))[0]
        sm, name = row["compute_capability"], row["model"]
        drivers = [_before(first) if number % 2 else "", own or f"{first}.10.01", at_last, after if number % 3 else ""]
        drivers += [row["not_in_driver"].split(";")[-1]] if row["not_in_driver"] else []
        for index, driver in enumerate(drivers):
            line = next(lines)
            if not driver:
                continue
            if index == 2:
                line = arch["last_cuda"] if arch["last_cuda"] and number % 3 else line
                yield {"gpu": name, "driver": driver, "cuda": line, "sm_list": sm, "ptx": "none"}
            else:
                yield {"gpu": name, "driver": driver, "cuda": line}
        if number % 6 == 0:
            line = next(lines)
            yield {"gpu": name, "driver": at_last, "cuda": line, "sm_list": "5.0;6.0;7.0;8.0", "ptx": "8.0"}
            yield {"gpu": name, "cuda": line}
            yield {"gpu": name, "driver": at_last}
        fitting = next(each for each in _LINES[::-1] if order(each) <= order(arch["last_cuda"] or "13.0"))
        yield {"gpu": name, "driver": floor_of(fitting) or at_last, "cuda": fitting, "sm_list": sm}


def _names() -> Iterator[Fields]:
    """GPU names as nvidia-smi, lspci, GPU feature discovery and shops write them."""
    lines = cycle(("10.2", "11.8", "12.4", "12.8", "13.0"))
    for number, row in enumerate(_models()):
        name, driver = row["model"], newest_for(row["compute_capability"])
        plain = re.sub(r"^(?:NVIDIA |GeForce |Tesla |Quadro )+", "", name)
        chip = row["chip"].split(";")[0]
        forms = [f"NVIDIA {name}", plain.lower().replace(" ", ""), f"GPU 0: NVIDIA {name} (UUID: GPU-0)", f"2x {name}"]
        if chip:
            forms.append(f"NVIDIA Corporation {chip} [{name}] (rev a1)")
        wanted = [forms[number % len(forms)], *filter(None, row["also_called"].split("|")[:1])]
        if row["gfd_product_label"]:
            wanted += [row["gfd_product_label"], f"{row['gfd_product_label']}-SHARED"][: 1 + number % 2]
        for form in wanted:
            yield {"gpu": form.strip(), "driver": driver, "cuda": next(lines)}
    for name in ("A100", "V100", "H100", "RTX 6000", "RTX 4000", "1080 Ti", "gtx1080ti", "Titan X", "K80", "P100"):
        for line in ("11.8", "12.8"):
            yield {"gpu": name, "driver": "535.183.01", "cuda": line}
            yield {"gpu": name, "driver": "470.256.02", "cuda": line, "sm_list": "6.0;7.0;8.0", "ptx": "none"}
    for name in (
        "GRID T4-16Q",
        "GRID A100D-4C",
        "NVIDIA A40-48Q",
        "GRID V100-8Q",
        "NVIDIA Graphics Device",
        "RTX 2080 Tea",
    ):
        yield {"gpu": name, "driver": "550.163.01", "cuda": "12.4"}
    for capability, row in _architectures().items():
        if order(capability) < (3, 0) or capability in _of_jetsons():
            continue
        for kind in ("", "datacenter", "geforce", "workstation"):
            for form in (capability, f"sm_{capability.replace('.', '')}"):
                driver = newest_for(capability) if kind else _last_of(int(row["last_driver_branch"] or 580))
                yield {"compute_capability": form, "gpu_class": kind, "driver": driver, "cuda": "12.8"}
                yield {"compute_capability": form, "gpu_class": kind, "driver": "535.183.01", "cuda": "11.8"}
    yield {"gpu": "Tesla T4", "compute_capability": "7.5", "driver": "535.183.01", "cuda": "12.2"}
    yield {"gpu": "Tesla T4", "compute_capability": "8.0", "driver": "535.183.01", "cuda": "12.2"}
    for capability in ("13.0", "99.0"):
        yield {"compute_capability": capability, "driver": "580.95.05", "cuda": "12.4"}
        yield {"compute_capability": capability, "driver": "580.95.05", "cuda": "13.0", "kernel_module": "open"}


def _mig() -> Iterator[Fields]:
    for row in _models():
        profiles = list(dict.fromkeys(filter(None, row["mig_profiles"].split("|"))))
        if not profiles and row["mig_capable"] != "yes":
            continue
        name, first = row["model"], row["first_mig_driver"]
        drivers = [below(first), first, newest_for(row["compute_capability"])] if first else ["535.183.01", "580.95.05"]
        for index, driver in enumerate(drivers):
            profile = profiles[index % len(profiles)] if profiles else "1g.10gb"
            yield {"gpu": f"{name} MIG {profile}", "driver": driver, "cuda": "12.4"}
        for profile in profiles[:4]:
            yield {"gpu": f"{name}-MIG-{profile}", "driver": drivers[-1], "cuda": "12.4", "host": "kubernetes"}
        uuid = "CUDA_VISIBLE_DEVICES=MIG-4bd078e2"
        yield {"gpu": f"{name} MIG", "driver": drivers[-1], "cuda": "12.4", "env": uuid}
        yield {"gpu": name, "driver": drivers[-1], "cuda": "12.4", "env": "NVIDIA_VISIBLE_DEVICES=MIG-4bd078e2"}
    for name in ("nvidia.com/mig-1g.5gb", "nvidia.com/mig-3g.40gb", "T4 MIG 1g.5gb", "A100 MIG 9g.99gb"):
        yield {"gpu": name, "driver": "580.95.05", "cuda": "12.4", "host": "kubernetes"}


# Drivers and CUDA


def _gpu_for(line: str, *, arm: bool = False) -> tuple[str, ...]:
    """Models whose machine code this CUDA makes: for data centres, and for players."""
    if arm:
        return ("GH200 480GB",) if order(line) >= (11, 8) else ("Tesla T4",)
    major = order(line)[0]
    if major < 8:
        return ("Tesla K80", "GeForce GTX 980")
    if major < 10:
        return ("Tesla P100-PCIE-16GB", "GeForce GTX 1080 Ti")
    if major < 11:
        return ("Tesla V100-SXM2-16GB", "GeForce RTX 2080 Ti")
    return ("A100-SXM4-40GB", "GeForce RTX 3090") if order(line) < (12, 8) else ("H100 PCIe", "GeForce RTX 4090")


def _cuda_releases() -> Iterator[Fields]:
    for number, row in enumerate(table("cuda_driver")):
        release = row["cuda_version"]
        for arm in (False, True):
            floor = row["min_linux_aarch64_driver" if arm else "min_linux_x86_64_driver"]
            floor = floor or ("" if arm else "615")
            gpus = _gpu_for(release, arm=arm)
            gpu = gpus[number % len(gpus)]
            cpu = "arm64" if arm else ""
            if floor:
                for driver in (below(floor), floor, above(floor)):
                    yield {"gpu": gpu, "driver": driver, "cuda": release, "cpu_arch": cpu}
            line = ".".join(release.split(".")[:2])
            minor = row["minor_compat_min_driver"]
            if minor and not arm:
                sm = {"A100-SXM4-40GB": "8.0", "H100 PCIe": "9.0", "GeForce RTX 3090": "8.6"}.get(gpu, "8.9")
                for driver in (below(minor), minor, above(minor)):
                    yield {"gpu": gpus[-1], "driver": driver, "cuda": line}
                    yield {"gpu": gpu, "driver": driver, "cuda": release, "sm_list": sm, "ptx": "none"}
            elif arm and minor:
                yield {"gpu": gpu, "driver": minor, "cuda": release, "cpu_arch": cpu, "sm_list": "9.0", "ptx": "none"}
        yield {"gpu": _gpu_for(release)[0], "cuda": release}
        yield {"gpu": _gpu_for(release)[0], "driver": "R580", "cuda": release}


def _branches() -> Iterator[Fields]:
    for number, row in enumerate(table("driver_branch")):
        branch, native = row["branch"], row["native_cuda"]
        forms = [branch, f"R{branch}", row["first_release"], _last_of(int(branch))]
        for line in dict.fromkeys((native, "10.2", "11.4", "12.4", "13.0")):
            for gpu in ("Tesla T4", "GeForce GTX 1080 Ti", "H100 PCIe") if line == native else ("Tesla T4",):
                for index, form in enumerate(filter(None, forms)):
                    if line == native or index == number % 4:
                        yield {"gpu": gpu, "driver": form, "cuda": line, "cpu_arch": "arm64" * (number % 7 == 3)}


def _typed() -> Iterator[Fields]:
    """What people type into single fields."""
    drivers: tuple[str, ...] = (
        "R535",
        "535",
        "535.x",
        "535.183.01",
        "v535",
        "535.183",
        "nvidia-driver-535-server",
        "418.88",
        "418.88.00",
    )
    drivers += ("390xx", "1:535.183.01-1", "550.54.15-0ubuntu1", "R470", "580", "595", "999.99", ">=535", "535.054.03")
    cudas: tuple[str, ...] = (
        "12.4",
        "12.4.1",
        "v12.4",
        "cu124",
        "cuda12.4",
        "12",
        "cuda12",
        "12.x",
        "12-4",
        "11.8",
        "cu118",
        "10",
        "10.x",
    )
    cudas += ("10.1.243", "12.4 Update 1", "13", "cu130", "12.7", "99.0", ">=12.4", "8.0.61", "cu92", "cu80", "7.5")
    for gpu in ("Tesla T4", "A100-SXM4-80GB", "GeForce GTX 1080 Ti", "GeForce RTX 5090"):
        for driver in drivers:
            for cuda in ("11.8", "12.4", "13.0"):
                yield {"gpu": gpu, "driver": driver, "cuda": cuda}
        for cuda in cudas:
            for driver in ("470.256.02", "535.183.01", "580.95.05"):
                yield {"gpu": gpu, "driver": driver, "cuda": cuda}
    builds = (
        "cu118", "cu121", "cu124", "cu128", "cu130", "cuda11", "cuda12", "cuda12x", "cuda13", "cu12", "cu11",
        "torch==2.6.0+cu124", "torch==2.7.1+cu118", "torch==2.8.0", "torch==1.13.1+cu117", "torch==2.9.1+cpu",
        "cupy-cuda12x", "cupy-cuda11x", "cupy-cuda102", "cupy-cuda13x", "cupy-cuda12x==13.3.0", "jax[cuda12]",
        "jax[cuda13]", "jax[cuda12]==0.4.30", "tensorflow[and-cuda]", "tensorflow[and-cuda]==2.16.1", "vllm==0.6.3",
        "tensorflow==2.15.0", "tensorflow-gpu==1.15.0", "mxnet-cu112==1.9.1", "onnxruntime-gpu==1.18.0", "vllm==0.10.0",
        "faiss-gpu-cu12", "paddlepaddle-gpu==2.6.0", "xformers==0.0.28", "flash-attn==2.6.3", "bitsandbytes==0.45.0",
        "sm_70", "sm_75", "sm_70;sm_80", "7.0;8.0", "7.5;8.0;8.6;9.0", "sm_70;8.0+PTX", "8.0+PTX", "9.0+PTX", "sm_90a",
        "sm_50;sm_60;sm_70;7.0+PTX", "10.0;12.0", "sm_100;sm_120;12.0+PTX", "ptx only", "nvcc 11.8", "nvcc 12.4",
        "nvcc 12.8", "nvcc 13.0", "nvcc 10.2", "cudatoolkit=11.3", "cudatoolkit=10.2", "cudatoolkit=11.8",
        "cudatoolkit=9.0",
    )  # fmt: skip
    pools = (
        ("Tesla T4", "535.183.01"), ("GeForce RTX 3090", "470.256.02"), ("GeForce RTX 5090", "580.95.05"),
        ("GeForce GTX 1080 Ti", "580.95.05"), ("H100 PCIe", "525.147.05"), ("Tesla K80", "470.256.02"),
    )  # fmt: skip
    for index, build in enumerate(builds):
        for at, (gpu, driver) in enumerate(pools):
            yield {"gpu": gpu, "driver": driver, "build": build}
            if re.match(r"sm_|\d|ptx|nvcc|cudatoolkit", build):
                yield {"gpu": gpu, "driver": driver, "build": build, "cuda": ("11.8", "12.4", "12.8")[(index + at) % 3]}
        yield {"gpu": "Tesla T4", "build": build}
        yield {"driver": "535.183.01", "compute_capability": "8.0", "build": build}
    for name, version, build in (
        ("torch", "2.6.0", "cu124"), ("pytorch", "2.6.0+cu118", ""), ("torch", "2.6.0", "torch==2.6.0+cu124"),
        ("cupy", "13.3.0", "cupy-cuda12x"), ("cupy-cuda12x", "13.3.0", ""), ("jax", "0.4.30", "jax[cuda12]"),
        ("jax[cuda12]", "0.4.30", ""), ("tensorflow", "2.16.1", "tensorflow[and-cuda]"), ("tf", "2.10.0", ""),
        ("torch", "2.4.0", "cu121"), ("vllm", "0.6.3", "cu121"), ("torch", "2.1", ""), ("torch", "v2.1.0", ""),
        ("a-framework-nobody-knows", "1.0", ""), ("torch", "", "cu118"), ("torch", "9.9.9", ""),
        ("pytorch", "2.5.1", "cudatoolkit=11.8"), ("pytorch", "1.10.0", "cudatoolkit=11.3"),
    ):  # fmt: skip
        for gpu, driver in pools:
            yield {"gpu": gpu, "driver": driver, "framework": name, "framework_version": version, "build": build}
            yield {"gpu": gpu, "driver": driver, "framework": name, "framework_version": version, "build": build,
                   "cuda": "12.4"}  # fmt: skip
            yield {"gpu": gpu, "framework": name, "framework_version": version, "build": build}


# Device code


def _code() -> Iterator[Fields]:
    lists = (
        ("8.0", "none"), ("7.0;7.5;8.0;8.6", "8.6"), ("none", "7.0"), ("5.0;6.0;7.0", "7.0"), ("9.0a", "none"),
        ("8.0;9.0", ""), ("8.0;9.0", "unknown"), ("", "8.0"), ("10.0f;12.0f", "none"), ("10.0a;12.0a", "10.0a"),
        ("3.5;5.0", "5.0"), ("sm_80;sm_90", "compute_90"), ("8.0;9.0;12.0", "12.0"), ("none", "none"), ("7.5", "none"),
        ("sm_70;8.0+PTX", ""), ("8.9", "9.0"), ("unknown", ""), ("6.1;8.6", "none"),
    )  # fmt: skip
    for gpu_at, (capability, gpu) in enumerate(_GPU_OF.items()):
        newest = newest_for(capability)
        for at, (cubins, ptx) in enumerate(lists):
            line = ("11.4", "11.8", "12.1", "12.4", "12.8", "13.0")[(at + gpu_at) % 6]
            drivers = (newest, floor_of(line), minor_floor_of(line))
            yield {"gpu": gpu, "driver": newest, "cuda": line, "sm_list": cubins, "ptx": ptx}
            driver = drivers[1 + (at + gpu_at) % 2] or newest
            yield {"gpu": gpu, "driver": driver, "cuda": line, "sm_list": cubins, "ptx": ptx}
    for gpu, driver in (("H100 PCIe", "525.105.17"), ("H100 PCIe", "535.129.03"), ("A100-SXM4-40GB", "450.80.02")):
        for line in ("11.0", "11.4", "11.8", "12.0", "12.2", "12.3", "12.6", "12.8", "13.0"):
            for ptx in ("8.0", "none", "unknown", ""):
                yield {"gpu": gpu, "driver": driver, "cuda": line, "sm_list": "7.0", "ptx": ptx}
    for gpu, driver in (
        ("A100-SXM4-40GB", "535.183.01"), ("A100-SXM4-40GB", "550.54.14"), ("A100-SXM4-40GB", "570.124.06"),
        ("A100-SXM4-40GB", ""), ("Tesla T4", "525.147.05"), ("H100 PCIe", "545.23.08"), ("GeForce RTX 5090", "580.95.05"),
    ):  # fmt: skip
        for line in ("12.6", "12.8", "12.9", "13.0"):
            for packed in (
                "none",
                "sm_80",
                "sm_75;sm_80;sm_90",
                "compute_90",
                "compute_80;sm_80",
                "unknown",
                "zstd",
                "",
            ):
                yield {"gpu": gpu, "driver": driver, "cuda": line, "sm_list": "7.5;8.0;9.0", "ptx": "9.0",
                       "compressed": packed}  # fmt: skip


# Frameworks


def _builds() -> Iterator[Fields]:
    for number, row in enumerate(table("framework")):
        where, version, variant = row["distribution"], row["version"], row["variant"]
        if "windows" in where or not re.fullmatch(r"\d[\w.]*", version):
            continue
        line = ".".join(row["cuda"].split(".")[:2])
        targets = re.findall(r"\d+\.\d(?![af\d])", row["sm_list"]) or ["7.0", "9.0"]
        low, high = targets[0], targets[-1]
        wanted: list[tuple[str, str]] = []
        known = [each for each in _GPU_OF if order(each) >= order(low)]
        older = [each for each in _GPU_OF if order(each) < order(low)]
        newer = [each for each in _GPU_OF if order(each) > order(high)]
        floor = row["requires_driver"] or floor_of(line) or "450.80.02"
        minor = minor_floor_of(line) or floor
        first = known[0] if known else "9.0"
        wanted.append((first, newest_for(first)))
        if number % 2 and newer:
            wanted.append((newer[0], newest_for(newer[0])))
        elif older:
            wanted.append((older[-1], newest_for(older[-1])))
        middle = high if high in _GPU_OF else first
        wanted.append((middle, (below(floor), floor, below(minor), minor)[number % 4]))
        arm = "aarch64" in where
        for at, (capability, driver) in enumerate(wanted):
            gpu = _GPU_OF[capability]
            pool = {"gpu": gpu, "driver": driver, "cpu_arch": "arm64" if arm else ""}
            yield {**pool, **_asked_for(row, version, variant, where, number + at)}


def _asked_for(row: Row, version: str, variant: str, where: str, number: int) -> Fields:
    """A build in one of the ways in which it is asked for."""
    framework = row["framework"]
    if where.startswith("container"):
        reference = where.removeprefix("container ")
        return {"image": reference} if number % 2 else {"framework": framework, "framework_version": version}
    plain = {"framework": framework, "framework_version": version}
    tag = re.fullmatch(r"(?:torch-)?((?:cu|cuda)[\d.]+x?)(?:-.*)?", variant)
    named = tag[1] if tag else ""
    if package := re.search(r"\b(cupy-cuda\w+|mxnet-cu\w+|faiss-gpu(?:-cu\d+)?|jax\[\w+\]|mlx\[\w+\])", where):
        forms = ({**plain, "build": package[1]}, {"build": f"{package[1]}=={version}"})
        return forms[number % 2] if not row["sm_list"] or number % 3 else {**plain, "build": package[1]}
    if framework == "pytorch" and named.startswith("cu") and not named.startswith("cuda"):
        of_torch = (
            {**plain, "build": named},
            {"framework": "torch", "framework_version": f"{version}+{named}"},
            {"build": f"torch=={version}+{named}"},
        )
        return of_torch[number % 3]
    if "conda" in where and (dotted := re.fullmatch(r"cuda(\d+\.\d+)(?:\.\d+)?", variant)):
        return {**plain, "build": f"cudatoolkit={dotted[1]}"} if number % 2 else {**plain, "cuda": dotted[1]}
    if number % 5 == 4:
        return plain
    if number % 5 == 3 and row["cuda"]:
        return {**plain, "cuda": row["cuda"]}
    return {**plain, "build": named}


def _floors() -> Iterator[Fields]:
    """Lowest GPUs that projects state, for each span of releases."""
    for row in table("framework_floor"):
        name, build = row["framework"], ""
        if match := re.fullmatch(r"([\w.-]+)\[(cu\w*\d+)\]|(cupy)-(cuda13x)", name):
            name, build = match[1] or match[3], match[2] or "cupy-cuda13x"
        if "[" in name or name.startswith("ngc"):
            continue
        lowest, highest = row["cc_min"] or "1.0", row["cc_max"]
        older = [each for each in _GPU_OF if order(each) < order(lowest)]
        able = [each for each in _GPU_OF if order(each) >= order(lowest)]
        capabilities = [
            *older[-1:],
            *able[:1],
            *[each for each in _GPU_OF if highest and order(each) > order(highest)][:1],
        ]
        versions = [row["from_version"] if row["from_version"] not in {"", "0"} else "", row["to_version"]]
        for capability in capabilities:
            for version in dict.fromkeys(versions):
                for driver in (newest_for(capability), "535.183.01"):
                    yield {"gpu": _GPU_OF[capability], "driver": driver, "framework": name, "framework_version": version,
                           "build": build}  # fmt: skip


def _libraries() -> Iterator[Fields]:
    """Libraries that wheels ask for: cuDNN, the C library."""
    for number, row in enumerate(table("framework_library")):
        library, minimum = row["library"], re.match(r"\d+(?:\.\d+)*", row["minimum"])
        if library not in {"cudnn", "glibc", "cuda"} or minimum is None:
            continue
        framework = re.sub(r"\[.*", "", row["framework"])
        extra = re.search(r"\[(cuda\d+)\]", row["framework"])
        version = re.sub(r"\.\*$", ".0", re.split(r"[,<>= ]+", row["version"].strip("<>= "))[0])
        build = extra[0] if extra else row["variant"] if re.fullmatch(r"cu(?:da)?\d+", row["variant"]) else ""
        build = f"{framework}{build}" if build.startswith("[") else build
        common = {"gpu": "A100-SXM4-40GB", "driver": "580.95.05", "framework": framework, "framework_version": version,
                  "build": build, "cpu_arch": "arm64" if row["variant"] == "aarch64" else ""}  # fmt: skip
        parts = minimum[0].split(".")
        if library == "cudnn":
            less = f"{parts[0]}.{max(0, int([*parts, '1'][1]) - 1)}.0"
            yield {**common, "cudnn": (minimum[0], less, f"{int(parts[0]) - 1}.9.0")[number % 3]}
        elif library == "glibc":
            have = minimum[0] if number % 2 else f"{parts[0]}.{int(parts[1]) - 1}"
            field = "host_glibc" if number % 5 == 0 else "image_glibc"
            yield {**common, field: have, "host": "bare" if field == "host_glibc" else ""}
        else:
            yield {**common, "cuda": minimum[0] if number % 2 else "11.8"}


# Images

_TAGS: Final = (
    (r"dkr\.ecr.*(?:mxnet|pytorch|tensorflow)", ("2.1.0-gpu-py310-cu121-ubuntu20.04-ec2", "1.9.0-cpu-py38-ubuntu20.04")),
    (r"sagemaker-tritonserver", ("23.08-py3", "24.03-py3-cpu")),
    (r"chainer/|cupy/cupy", ("v7.8.0", "v13.3.0", "v9.6.0-rocm", "latest")),
    (r"cnstark|spxiong", ("2.0.1-py3.9.17-cuda11.8.0-devel-ubuntu20.04", "2.3.0-py3.10.15-ubuntu22.04")),
    (r"deeplearning-platform-release", ("latest", "m100")),
    (r"llama\.cpp", ("full-cuda", "server-cuda-b4719", "light-cuda", "server-cuda12", "server-cuda13-b6000", "server")),
    (r"ik-llama", ("cu12-full", "cu13-server-4321")),
    (r"text-embeddings", ("1.5", "turing-1.5", "86-1.5", "89-1.6", "hopper-1.5", "100-1.8", "cuda-1.7", "latest", "cpu-1.5")),
    (r"text-generation", ("2.4.0", "1.1.0", "3.0.1", "2.4.0-rocm", "latest")),
    (r"pytorch/pytorch", ("2.6.0-cuda12.4-cudnn9-runtime", "1.13.1-cuda11.6-cudnn8-devel", "0.4.1-cuda9-cudnn7-devel",
                          "1.3-cuda10.1-cudnn7-runtime", "2.9.0-cuda13.0-cudnn9-runtime", "latest")),
    (r"scipy-ml", ("2023.4-stable", "2021.3-42158c8", "stable")),
    (r"transformers-pytorch", ("4.41.2", "latest")),
    (r"jupyter/(?:pytorch|tensorflow)-", ("cuda12-python-3.11.8", "cuda-latest", "cuda11-pytorch-2.4.1", "latest",
                                          "cuda12-2025-03-01", "python-3.11")),
    (r"azureml", ("latest", "20220314.v1")),
    (r"mxnet/python", ("1.3.0_gpu_cu92_mkl_py3", "1.9.1_gpu_cu112_py3", "1.3.0_cpu_py3")),
    (r"nim/", ("1.8.5", "latest")),
    (r"cuda-dl-base", ("24.10-cuda12.6-devel-ubuntu22.04", "25.06-cuda12.9-runtime-ubuntu24.04")),
    (r"nvidia/cuda$", ("12.4.1-base-ubuntu22.04", "11.8.0-cudnn8-devel-centos7", "10.2-runtime-ubuntu18.04", "8.0-devel",
                       "13.0.2-cudnn-devel-ubuntu24.04", "12.8.1-runtime-rockylinux9", "12.4.1", "11.0-base", "latest")),
    (r"merlin", ("23.06", "22.12")),
    (r"nvcr\.io/nvidia/rapidsai|rapidsai/(?:base|notebooks)", ("24.12-cuda12.5-py3.12", "25.12-cuda13-py3.13", "23.10-cuda11.8-py3.10")),
    (r"rapidsai/", ("22.04-cuda11.5-runtime-ubuntu20.04-py3.9", "cuda10.2-base-ubuntu18.04-py3.7")),
    (r"nvcr\.io/nvidia/(?:caffe|cntk|mxnet|tensorrtserver)", ("18.11-py3", "19.06-py3", "20.03-py3")),
    (r"nvcr\.io/nvidia/", ("19.06-py3", "20.12-py3", "22.04-py3", "23.09-py3", "24.05-py3", "25.03-py3", "26.01-py3")),
    (r"ollama", ("0.3.12", "0.12.0", "0.1.30", "0.5.7-rocm", "latest")),
    (r"tensorflow/serving", ("2.14.1-gpu", "2.5.1", "latest-gpu")),
    (r"tensorflow/tensorflow", ("2.15.0-gpu", "1.15.5-gpu-py3", "2.9.1", "2.11.0-gpu-jupyter", "latest-gpu", "nightly-gpu")),
)  # fmt: skip
_POOLS: Final = (
    ("Tesla T4", "535.183.01", "kubernetes"), ("A100-SXM4-80GB", "450.80.02", "docker"), ("GeForce RTX 3090", "470.256.02", ""),
    ("GeForce RTX 5090", "580.95.05", "docker"), ("GeForce GTX 1080 Ti", "418.88", "kubernetes"),
    ("H100 PCIe", "525.147.05", "docker"), ("Tesla V100-SXM2-16GB", "595.71.05", "kubernetes"), ("L4", "550.90.07", "bare"),
    ("Tesla K80", "470.256.02", "apptainer"), ("B200", "570.124.06", "kubernetes"),
)  # fmt: skip
_DIGEST: Final = "@sha256:" + "0123456789abcdef" * 4


def _pool(number: int) -> Fields:
    gpu, driver, host = _POOLS[number % len(_POOLS)]
    return {"gpu": gpu, "driver": driver, "host": host}


def references() -> Iterator[str]:
    for row in table("image_tag"):
        tag = row["tag"]
        if tag.endswith("-*"):
            tag = f"{tag[:-1]}{'1.8' if 'embeddings' in row['repository'] else 'py3.12'}"
        tag = f"{tag[:-1]}0" if tag.endswith(".*") else tag.rstrip("*") or "latest"
        yield f"{row['repository']}:{tag}"
    for row in table("image_repository"):
        repository = row["repository"]
        if row["kind"] == "jetson" or "l4t" in repository or repository == "*":
            continue
        for concrete in _concrete(repository):
            tags = next((tags for found, tags in _TAGS if re.search(found, concrete)), ("latest", "22.04", "3.11"))
            yield from (f"{concrete}:{tag}" for tag in tags)
    for row in table("image_example"):
        if "l4t" not in row["reference"]:
            yield row["reference"]
    for release in (row["cuda_version"] for row in table("require")):
        yield f"nvidia/cuda:{release}-base-ubuntu{'18.04' if order(release) < (11, 0) else '22.04'}"
    for tag in ("cuda12.1-py311", "main-cu118", "cu128", "1.0", "latest", "v2-cuda11", "sm_90", "server-sm120"):
        yield f"ghcr.io/example/tool:{tag}"


def _concrete(repository: str) -> tuple[str, ...]:
    if repository.startswith("*.dkr"):
        return (repository.replace("*.dkr", "763104351884.dkr").replace("ecr.*", "ecr.us-east-1"),)
    if repository.startswith("gcr.io/deep"):
        names: tuple[str, ...] = (
            "pytorch-gpu.1-13",
            "tf2-gpu.2-11",
            "base-cu113",
            "common-cpu",
            "pytorch-cu121.2-2.py310",
        )
        return tuple(repository.replace("*", name) for name in names)
    if repository.startswith("mcr.microsoft"):
        names = ("openmpi4.1.0-cuda11.8-cudnn8-ubuntu22.04", "intelmpi2018.3-cuda9.0-cudnn7-ubuntu16.04")
        return tuple(repository.replace("*", name) for name in names)
    special = {
        "nvcr.io/nim/*": "nvcr.io/nim/meta/llama-3.1-8b-instruct",
        "nvcr.io/nvidia/merlin/*": "nvcr.io/nvidia/merlin/merlin-hugectr",
    }
    return (special.get(repository, repository.replace("*", "k8s-hub")),)


def _images() -> Iterator[Fields]:
    for number, reference in enumerate(dict.fromkeys(references())):
        yield {**_pool(number), "image": reference}
        yield {**_pool(number * 3 + 1), "image": reference}
        if number % 4 == 0:
            yield {**_pool(number + 2), "image": reference + _DIGEST}
        if number % 4 == 1 and "." not in reference.partition("/")[0]:
            yield {**_pool(number + 5), "image": f"docker.io/{reference}"}
        if number % 8 == 2:
            yield {"gpu": _POOLS[number % 10][0], "image": reference}
        if number % 8 == 3:
            yield {"gpu": "GH200 480GB", "driver": "580.95.05", "cpu_arch": "arm64", "image": reference}
        if number % 8 == 5:
            yield {**_pool(number + 4), "image": reference, "cuda_compat": ("yes", "no")[number % 2],
                   "container_toolkit": ("1.17.3", "1.17.4", "1.18.0")[number % 3]}  # fmt: skip


# Hosts


def _forward() -> Iterator[Fields]:
    for number, row in enumerate(table("forward_compat")):
        line, branch = row["compat_line"].replace("-", "."), int(row["host_branch"])
        driver = _last_of(branch) if branch in _releases() else f"{branch}.50"
        gpu = "Tesla V100-SXM2-16GB" if branch < 450 else "A100-SXM4-80GB" if number % 2 else "Tesla T4"
        common = {"driver": driver, "cuda": line}
        yield {"gpu": gpu, **common, "cuda_compat": "yes"}
        yield {"gpu": gpu, **common, "cuda_compat": ("no", "unknown", "")[number % 3]}
        other = ("GeForce RTX 3090", "Quadro RTX 6000", "RTX A6000", "L4")[number % 4]
        yield {"gpu": other, **common, "cuda_compat": "yes"}
        toolkit = ("1.17.3", "1.17.4", "1.17.8", "1.18.1", "1.20.0")[number % 5]
        host = ("docker", "kubernetes", "apptainer", "bare")[number % 4]
        yield {"gpu": gpu, **common, "cuda_compat": "yes", "container_toolkit": toolkit, "host": host}
    for branch in (396, 410, 440, 455, 460, 465, 495, 510, 545, 555, 560, 565, 575, 590):
        for line in ("10.0", "11.0", "11.8", "12.4", "13.0", "13.2"):
            yield {"gpu": "A100-SXM4-80GB" if branch > 440 else "Tesla T4", "driver": _last_of(branch), "cuda": line,
                   "cuda_compat": "yes"}  # fmt: skip


def _toolkits() -> Iterator[Fields]:
    releases = [row["version"] for row in table("container_toolkit")]
    releases += ["v1.17.8-1", "1.16.2", "1.21.0", ""]
    for release in releases:
        for host in ("docker", "kubernetes", "bare", "apptainer", ""):
            common = {"container_toolkit": release, "host": host}
            for gpu, driver, line in (("L4", "535.230.02", "12.4"), ("L4", "550.90.07", "12.2"), ("L4", "535.230.02", "13.2"),
                                      ("GeForce RTX 4090", "535.183.01", "12.8")):  # fmt: skip
                yield {**common, "gpu": gpu, "driver": driver, "cuda": line, "cuda_compat": "yes"}
            yield {**common, "gpu": "GeForce RTX 4090", "driver": "565.77", "cuda": "12.8", "sm_list": "8.9",
                   "ptx": "none", "env": "NVIDIA_REQUIRE_CUDA=cuda>=12.8"}  # fmt: skip
            yield {**common, "gpu": "L4", "driver": "535.183.01", "image": "nvidia/cuda:12.8.1-base-ubuntu22.04"}
            yield {**common, "gpu": "Tesla T4", "driver": "470.256.02", "image": "nvcr.io/nvidia/pytorch:24.05-py3"}


def _requirements() -> Iterator[Fields]:
    for row in table("require"):
        line = ".".join(row["cuda_version"].split(".")[:2])
        floor = floor_of(line)
        for gpu in ("Tesla T4", "GeForce RTX 4090", "RTX A6000"):
            for driver in dict.fromkeys((below(floor), floor, "535.183.01", "470.256.02")):
                toolkit = "1.17.4" if driver != floor else "1.18.1"
                yield {"gpu": gpu, "driver": driver, "cuda": line, "host": "docker", "container_toolkit": toolkit,
                       "env": f"NVIDIA_REQUIRE_CUDA={row['clause']}"}  # fmt: skip
    for clause in ("cuda>=12.4", "driver>=535", "driver>=550,driver<551", "brand=tesla", "brand=geforce", "arch>=8.0", "cuda<12",
                   "arch<7.5", "cuda>=11.8 brand=tesla,driver>=470,driver<471", "nonsense", "cuda!=12.2", ""):  # fmt: skip
        for gpu, driver in (("Tesla T4", "535.183.01"), ("GeForce RTX 3090", "550.163.01"), ("H100 PCIe", "")):
            for name in ("NVIDIA_REQUIRE_CUDA", "NVIDIA_REQUIRE_DRIVER"):
                yield {"gpu": gpu, "driver": driver, "cuda": "12.2", "host": "docker", "container_toolkit": "1.17.4",
                       "env": f"{name}={clause}"}  # fmt: skip
        yield {"compute_capability": "13.0", "driver": "565.77", "cuda": "12.8", "host": "docker",
               "container_toolkit": "1.17.4", "env": f"NVIDIA_REQUIRE_CUDA={clause}"}  # fmt: skip
    off = "NVIDIA_DISABLE_REQUIRE=1;NVIDIA_REQUIRE_CUDA=cuda>=12.8"
    yield {
        "gpu": "L4",
        "driver": "535.183.01",
        "cuda": "12.2",
        "host": "docker",
        "container_toolkit": "1.17.4",
        "env": off,
    }


def _environments() -> Iterator[Fields]:
    values = {
        "NVIDIA_VISIBLE_DEVICES": ("all", "none", "void", "", "0", "0,1", "GPU-4bd078e2", "MIG-4bd078e2"),
        "NVIDIA_DRIVER_CAPABILITIES": ("all", "compute,utility", "utility", "graphics", "compute", "video,compute,utility", ""),
        "CUDA_VISIBLE_DEVICES": ("0", "1", "0,1", "-1", "-1,0", "", "all", "NoDevFiles", "GPU-4bd078e2", "MIG-4bd078e2",
                                 "MIG-4bd078e2,MIG-5cd078e2", "$SLURM_GPU", "0,x", "none"),
        "LD_LIBRARY_PATH": ("/usr/local/cuda/compat", "/usr/local/cuda/lib64", "/usr/local/nvidia/lib64:/usr/local/cuda/compat"),
        "NVIDIA_DISABLE_REQUIRE": ("1", "true"),
        "VLLM_USE_V2_MODEL_RUNNER": ("0",),
    }  # fmt: skip
    for name, texts in values.items():
        for text in texts:
            for host in ("docker", "kubernetes", "bare", "apptainer", ""):
                yield {"gpu": "L4", "driver": "550.90.07", "cuda": "12.4", "host": host, "env": f"{name}={text}"}
            yield {
                "gpu": "GeForce GTX 1080 Ti",
                "driver": "535.183.01",
                "cuda": "11.8",
                "host": "docker",
                "env": f"{name}={text}",
            }
            yield {"gpu": "A100-SXM4-80GB", "driver": "535.183.01", "cuda": "12.8", "host": "docker", "cuda_compat": "yes",
                   "env": f"{name}={text}", "container_toolkit": "1.17.4"}  # fmt: skip
            yield {"gpu": "L4", "driver": "550.90.07", "framework": "torch", "framework_version": "2.6.0", "host": "docker",
                   "env": f"{name}={text}"}  # fmt: skip
    for number, row in enumerate(_models()):
        label = row["gfd_product_label"]
        if not label or number % 3:
            continue
        own = {"gpu": row["model"], "cuda": "11.0", "host": "kubernetes", "env": f"NODE_SELECTOR_GPU_PRODUCT={label}"}
        yield {**own, "driver": newest_for(row["compute_capability"])}
        yield {**own, "driver": "450.80.02"}
    for label in (
        "NVIDIA-Q9000",
        "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb",
        "Tesla-T4",
        "NVIDIA-GeForce-GTX-1080-Ti-SHARED",
        "A100-SXM4-40GB",
    ):
        for gpu in ("A100-SXM4-40GB", "Tesla T4", "GeForce GTX 1080 Ti", "A100-SXM4-40GB MIG 1g.5gb"):
            for driver in ("535.129.03", "450.80.02"):
                yield {"gpu": gpu, "driver": driver, "cuda": "11.0", "host": "kubernetes",
                       "env": f"NODE_SELECTOR_GPU_PRODUCT={label}"}  # fmt: skip


def _aws() -> Iterator[Fields]:
    arm = ("g5g.xlarge",)
    types = (
        "g4dn.xlarge",
        "p3.2xlarge",
        "g5.xlarge",
        "g6.xlarge",
        "p4d.24xlarge",
        "p5.48xlarge",
        "g7.2xlarge",
        "g6f.large",
        "p2.xlarge",
    )
    for number, row in enumerate(table("eks_ami")):
        kind, release = row["ami_type"], row["release"]
        name = f"{kind} {release}".strip()
        own = arm if "ARM" in kind else types
        line = ("11.8", "12.4", "12.8", "13.0")[number % 4]
        yield {"instance_type": own[number % len(own)], "ami_release": name, "cuda": line, "host": "kubernetes"}
        yield {"instance_type": types[(number + 3) % len(types)], "ami_release": name, "cuda": line}
        if number % 3 == 0:
            yield {"gpu": "Tesla T4", "ami_release": release or kind, "cuda": line, "host": "kubernetes"}
            version = row["k8s_versions"].split("|")[0]
            if re.fullmatch(r"1\.\d+", version) and release.isdigit():
                yield {"instance_type": own[0], "ami_release": f"{version}-{release}", "cuda": line}
                yield {"instance_type": own[0], "ami_release": f"{kind} {version}-{release}", "cuda": line}
        if number % 4 == 0:
            yield {
                "instance_type": own[0],
                "ami_release": name,
                "image": "nvcr.io/nvidia/pytorch:25.03-py3",
                "host": "kubernetes",
            }
            yield {"instance_type": own[0], "ami_release": name, "driver": "580.95.05", "cuda": line}
    for number, row in enumerate(table("ec2_gpu_instances")):
        name = row["instance_type"]
        lowest, last = row["min_driver"], row["max_driver_branch"]
        drivers = [lowest, below(lowest)] if lowest else ["535.183.01"]
        drivers += [_last_of(int(last)), "595.71.05"] if last else ["580.95.05"]
        for driver in drivers:
            yield {
                "instance_type": name,
                "driver": driver,
                "cuda": ("11.8", "12.4", "12.8")[number % 3],
                "host": "kubernetes",
            }
        yield {"instance_type": name, "cuda": "12.4"}
        yield {"gpu": name, "driver": "580.95.05", "framework": "torch", "framework_version": "2.6.0"}
    yield {"gpu": "Tesla T4", "instance_type": "g99.xlarge", "driver": "580.95.05", "cuda": "12.4"}
    yield {"gpu": "Tesla T4", "instance_type": "Standard_NC4as_T4_v3", "driver": "580.95.05", "cuda": "12.4"}
    yield {"instance_type": "g99.xlarge", "driver": "580.95.05", "cuda": "12.4"}


def _operators() -> Iterator[Fields]:
    for number, row in enumerate(table("gpu_operator")):
        release = row["operator_version"]
        line = ("10.2", "11.4", "12.2", "12.8", "13.0")[number % 5]
        for gpu in ("Tesla T4", "Tesla V100-SXM2-16GB", "H100 PCIe"):
            yield {"gpu": gpu, "cuda": line, "operator": release, "host": "kubernetes"}
        yield {
            "gpu": "Tesla V100-SXM2-16GB",
            "cuda": line,
            "operator": release,
            "driver": "535.183.01",
            "host": "kubernetes",
        }
        yield {
            "gpu": "GeForce GTX 1080 Ti",
            "image": "nvcr.io/nvidia/pytorch:24.05-py3",
            "operator": f"gpu-operator-{release}",
        }
    for release in ("v77.7.0", "v99.1.0", "v24.9"):
        for driver in ("", "580.95.05"):
            yield {"gpu": "Tesla T4", "cuda": "12.4", "operator": release, "driver": driver, "host": "kubernetes"}


def _modules() -> Iterator[Fields]:
    for capability, gpu in {
        **_GPU_OF,
        "9.0g": "GH200 480GB",
        "8.6w": "RTX A6000",
        "7.5g": "GeForce RTX 2080 Ti",
    }.items():
        for driver in ("510.47.03", "515.48.07", "535.183.01", "545.23.08", "560.35.03", "580.95.05", ""):
            for module in ("open", "proprietary"):
                line = "11.8" if order(capability) < (10, 0) else "12.8"
                yield {"gpu": gpu, "driver": driver, "cuda": line, "kernel_module": module}
    yield {"gpu": "Tesla T4", "driver": "580.95.05", "cuda": "12.4", "kernel_module": "nouveau"}


def _c_libraries() -> Iterator[Fields]:
    hosts = ("2.17", "2.28", "2.31", "2.35", "2.39")
    for number, row in enumerate(table("glibc")):
        system, own = row["os"], row["glibc"]
        host = hosts[number % 5]
        common = {"gpu": "GeForce RTX 3090", "driver": "535.183.01", "cuda": "12.2"}
        if own != "musl":
            yield {**common, "host": "apptainer", "image_glibc": own, "host_glibc": host}
            yield {
                **common,
                "host": "bare",
                "host_glibc": own,
                "framework": "torch",
                "framework_version": "2.6.0",
                "cuda": "",
            }
            yield {
                **common,
                "host": "docker",
                "image_glibc": own,
                "framework": "torch",
                "framework_version": "2.7.0",
                "cuda": "",
            }
        yield {**common, "host": "apptainer", "image": f"ghcr.io/example/tool:cuda12.1-{system}", "host_glibc": host}
        yield {**common, "os": system, "host": "bare"}
    yield {"gpu": "L4", "driver": "550.90.07", "cuda": "12.4", "host": "apptainer", "image_glibc": "2.31"}
    yield {"gpu": "L4", "driver": "550.90.07", "cuda": "12.4", "host": "apptainer", "host_glibc": "2.31"}


def _dnn() -> Iterator[Fields]:
    for number, row in enumerate(table("cudnn")):
        version = row["cudnn_version"].partition(" ")[0]
        spans = re.findall(r"\d+\.\d+", row["cuda_versions"])
        low, high = row["cc_min"], row["cc_max"]
        older = [each for each in _GPU_OF if order(each) < order(low)][-1:]
        newer = [each for each in _GPU_OF if order(each) > order(high)][:1]
        inside = [each for each in _GPU_OF if order(low) <= order(each) <= order(high)][-1:] or ["9.0"]
        for at, capability in enumerate([*inside, *older, *newer]):
            yield {"gpu": _GPU_OF[capability], "driver": newest_for(capability), "cuda": spans[-(number + at) % len(spans)],
                   "cudnn": version}  # fmt: skip
        other = "13.0" if spans[-1] < "13" else "11.8"
        yield {"gpu": _GPU_OF[inside[0]], "driver": newest_for(inside[0]), "cuda": other, "cudnn": version}
    for version in ("42.0", "8", "8.9.7.29", "7600", "cuDNN 8.9", "9"):
        yield {"gpu": "Tesla V100-SXM2-16GB", "driver": "580.95.05", "cuda": "12.6", "cudnn": version}


def _math() -> Iterator[Fields]:
    """Math libraries of a CUDA older than the GPU, and collectives without code for it."""
    for framework in (
        "tensorflow",
        "mxnet",
        "darknet",
        "caffe",
        "pytorch",
        "chainer",
        "paddle",
        "tensorrt",
        "cupy",
        "",
    ):
        for gpu, driver in (("GeForce GTX 1080 Ti", "470.256.02"), ("Tesla V100-SXM2-16GB", "470.256.02"), ("GeForce RTX 2080 Ti", "470.256.02"),
                            ("GeForce RTX 3090", "470.256.02"), ("A100-SXM4-40GB", "470.256.02"), ("L4", "535.183.01"),
                            ("H100 PCIe", "535.183.01"), ("GeForce RTX 5090", "580.95.05")):  # fmt: skip
            lines = ("7.5", "8.0", "9.0", "9.2", "10.0", "10.2", "11.0", "11.8", "12.4", "")
            for line in (
                lines[len(framework) % 2 :: 2] if framework in {"caffe", "chainer", "paddle", "cupy"} else lines
            ):
                if framework or line:
                    yield {"gpu": gpu, "driver": driver, "framework": framework, "cuda": line}
            yield {"gpu": gpu, "driver": driver, "framework": framework, "cuda": "10.0", "cudnn": "7.4.1"}
    for number, reference in enumerate(references()):
        if "nvcr.io/nvidia/" in reference and number % 5 == 0:
            for gpu in ("B200", "GeForce RTX 5090", "H100 PCIe", "Tesla V100-SXM2-16GB"):
                yield {"gpu": gpu, "driver": "580.95.05", "image": reference, "sm_list": "9.0", "ptx": "9.0"}


def _inspected() -> Iterator[Fields]:
    """All fields that an inspected image states at once."""
    lists = (("7.0;7.5;8.0;8.6;9.0", "9.0"), ("5.0;6.0;7.0;7.5;8.0;8.6;9.0", "none"), ("7.5;8.0;9.0;10.0;12.0", "12.0"))
    programs = (
        ("pytorch", "2.6.0", "12.4", "9.1.0"), ("pytorch", "2.8.0", "12.8", "9.10.2"), ("pytorch", "1.13.1", "11.7", "8.5.0"),
        ("tensorflow", "2.15.0", "12.2", "8.9.4"), ("cupy", "13.3.0", "12.4", ""), ("", "", "11.8", ""), ("jax", "0.4.30", "12.3", "8.9.7"),
        ("vllm", "0.10.0", "12.8", ""), ("onnxruntime", "1.20.0", "12.4", "9.1.0"), ("pytorch", "2.9.1", "13.0", "9.13.0"),
    )  # fmt: skip
    for at, (framework, version, line, cudnn) in enumerate(programs):
        for number in range(len(_POOLS)):
            cubins, ptx = lists[(at + number) % 3]
            yield {**_pool(number), "framework": framework, "framework_version": version, "cuda": line, "sm_list": cubins,
                   "ptx": ptx, "cudnn": cudnn, "compressed": ("none", "", "sm_80;sm_90")[number % 3],
                   "cuda_compat": ("no", "yes")[(at + number) % 2], "image_glibc": ("2.28", "2.35")[number % 2],
                   "env": "NVIDIA_VISIBLE_DEVICES=all;NVIDIA_DRIVER_CAPABILITIES=compute,utility",
                   "container_toolkit": ("1.17.4", "1.18.1", "")[number % 3], "cpu_arch": "amd64"}  # fmt: skip


def _left_out() -> Iterator[Fields]:
    """Other parts' questions with one field missing, to record what stays unknown."""
    dropped = cycle(
        ("driver", "cuda", "framework_version", "host", "build", "container_toolkit", "sm_list", "ptx", "image")
    )
    for name, part in PARTS.items():
        if name == "left-out":
            continue
        for number, fields in enumerate(part()):
            if number % 11 == 4:
                field = next(
                    each for each in (next(dropped) for _ in range(18)) if fields.get(each) or each == "driver"
                )
                yield {**fields, field: ""}
            if number % 199 == 4:
                yield {**fields, "gpu": ""}


def _processors() -> Iterator[Fields]:
    """arm64 hosts: wheels of the project's own index, of PyPI, and images for one processor."""
    for gpu in ("GH200 480GB", "GB200", "GB10", "Tesla T4"):
        for framework, versions in (("torch", ("2.5.1", "2.6.0", "2.7.1", "2.9.1", "2.11.0", "")), ("tensorflow", ("2.15.0", "")),
                                    ("bitsandbytes", ("0.45.0", "0.46.0", "")), ("cupy", ("13.3.0", "")), ("jax", ("0.4.30", "0.6.0")),
                                    ("onnxruntime", ("1.20.0", "")), ("vllm", ("0.10.0",)), ("mxnet", ("",))):  # fmt: skip
            for version in versions:
                common = {"gpu": gpu, "driver": "580.95.05", "framework": framework, "framework_version": version}
                yield {**common, "cpu_arch": "arm64"}
                yield {**common, "cpu_arch": "aarch64", "cuda": "12.8"}
                yield {**common, "cpu_arch": "arm64", "build": "cu128"}
        for cpu in ("amd64", "x86_64", "arm64", "sbsa", "ppc64le", "riscv64"):
            for image in ("nvcr.io/nvidia/pytorch:25.03-py3", "pytorch/pytorch:2.6.0-cuda12.4-cudnn9-runtime", "vllm/vllm-openai:v0.21.0",
                          "tensorflow/tensorflow:2.15.0-gpu", "nvidia/cuda:12.8.1-base-ubuntu22.04", "nvidia/cuda:10.2-base"):  # fmt: skip
                yield {"gpu": gpu, "driver": "580.95.05", "cpu_arch": cpu, "image": image}
    for gpu in (
        "RTX A6000",
        "Quadro RTX 8000",
        "RTX 6000 Ada Generation",
        "RTX PRO 6000 Blackwell Workstation Edition",
    ):
        for toolkit in ("1.17.3", "1.17.4", "1.17.8", "1.18.1"):
            for driver in ("535.230.02", "570.124.06"):
                for line in ("12.4", "12.8", "13.0"):
                    yield {"gpu": gpu, "driver": driver, "cuda": line, "cuda_compat": "yes", "host": "docker",
                           "container_toolkit": toolkit}  # fmt: skip


PARTS: Final = {
    "gpu": _gpus,
    "name": _names,
    "mig": _mig,
    "cuda": _cuda_releases,
    "branch": _branches,
    "typed": _typed,
    "code": _code,
    "build": _builds,
    "floor": _floors,
    "library": _libraries,
    "image": _images,
    "forward": _forward,
    "toolkit": _toolkits,
    "require": _requirements,
    "env": _environments,
    "aws": _aws,
    "operator": _operators,
    "module": _modules,
    "glibc": _c_libraries,
    "cudnn": _dnn,
    "math": _math,
    "processor": _processors,
    "inspected": _inspected,
    "left-out": _left_out,
}


def fields_of(cases: Iterable[Case]) -> Iterator[Fields]:
    """Non-empty fields of cases, as they are kept."""
    names = Case.__dataclass_fields__
    for case in cases:
        yield {name: value for name in names if (value := getattr(case, name))}
