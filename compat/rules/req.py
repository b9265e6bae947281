"""R-REQ: an image's NVIDIA_REQUIRE_*, and toolkits that still check it."""

import operator
import re
from collections.abc import Callable, Mapping
from functools import cache

from packaging.version import Version

from compat.evidence.drivers import UnknownFact, native_cuda
from compat.facts import tables
from compat.rules.rule import Rule
from compat.values.fact import Fact
from compat.values.findings import Finding, Setting, Variable, note, refuse, unknown, warn
from compat.values.hosts import Gpu, PoolFacts
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


ID = "R-REQ"
_SOURCE = (
    "github:NVIDIA/nvidia-container-toolkit internal/requirements, internal/modifier/csv.go, internal/info/auto.go"
)
_HOOK = "https://github.com/NVIDIA/nvidia-container-toolkit/pull/910"  # what --gpus does from 1.18 on
_ADVICE = "https://github.com/NVIDIA/nvidia-container-toolkit/issues/24"
_DATE = "2026-11-21"
_ASKS = frozenset({"docker", "kubernetes"})


def check(image: ImageFacts, pool: PoolFacts) -> tuple[Finding, ...]:
    wanted = clauses(image)
    if not wanted or (pool.host and pool.host not in _ASKS):
        return ()
    if dict(image.environment).get("NVIDIA_DISABLE_REQUIRE", "").lower() in {"true", "1"}:
        return ()
    return _check(wanted, pool)


@cache
def _first_without_check() -> Version:
    """From this release on, auto means jit-cdi, which checks nothing."""
    return next(each.version for each in tables.container_toolkits() if not each.checks_require)


def _check(wanted: tuple[str, ...], pool: PoolFacts) -> tuple[Finding, ...]:
    gpu, driver, host, toolkit = pool.gpu, pool.driver, pool.host, pool.container_toolkit
    if driver is None:
        return ()
    try:
        answers = [holds(clause, gpu, driver) for clause in wanted]
    except UnknownFact:
        answers = [None]
    row = tables.container_toolkit(toolkit) if toolkit is not None else None
    asks = row is not None and row.checks_require
    short = wanted[answers.index(False) if False in answers else 0].split(" ")[0]
    text = (
        f"{short} …: the image's NVIDIA_REQUIRE_*; the legacy mode of container toolkits before 1.18 asks for it, "
        "the CDI modes do not"
    )
    fact = row.origin.fact(text, "checks_require") if row is not None else Fact(text, _SOURCE, _DATE)
    if False not in answers:
        if None in answers and host and asks:
            return (
                unknown(
                    ID, f"it is not known whether {gpu.name} meets {short} …: gpu-commons probe shows its model", fact
                ),
            )
        return ()
    message = f"the image requires {short} or a driver branch of its list, which {driver} on {gpu.name} does not meet"
    if toolkit is None or not host:
        return (warn(ID, f"{message}: container toolkits before 1.18 do not start it", fact),)
    if asks:
        fixes = Variable("NVIDIA_DISABLE_REQUIRE", "true"), Setting("container_toolkit", _first_without_check())
        return (refuse(ID, f"{message}: container toolkit {toolkit} does not start it", fact, *fixes),)
    if host == "kubernetes":
        return (note(ID, f"{message}; container toolkit {toolkit} no longer checks it", fact),)
    hook = Fact("docker --gpus without CDI calls the hook, which stays in the legacy mode and asks", _HOOK, _DATE)
    text = f"{message}; container toolkit {toolkit} no longer checks it, but the hook that docker --gpus may call does"
    return (warn(ID, text, hook),)


RULE = Rule(
    ID,
    check,
    sources=(
        "github:NVIDIA/cloud-native-docs container-toolkit/docker-specialized.md",
        _SOURCE,
        _HOOK,
        _ADVICE,
    ),
)
