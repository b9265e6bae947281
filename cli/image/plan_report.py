"""The report of `image plan`: contents, pools it runs on, expected size; as text and as plain data."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from cli.answers import body_data
from cli.matrix.grid import what
from cli.words import SIGNS, Paint, counted, folded, plain
from compat import Answer, Finding, Host, Severity
from compat.evidence.drivers import major_floor, native_floor
from compat.values.hosts import Platform
from compat.values.versions import CudaVersion
from compat.verdict.newest_supported import NewestSupported
from fleet.machines import Machine
from imaging.build.labels import facts
from imaging.references import known_image
from imaging.size.estimate import amount, cold_start, disk_use, room
from imaging.size.expected import Expected
from imaging.spec.compat_cases import Use
from imaging.spec.parts import CudaSource
from imaging.spec.plan import Plan, kernel_pins
from imaging.spec.runtime import Runtime, engines, runtime_words

_NUMBERS: Final = {2: "both pools", 3: "all three pools"}
_LABEL: Final = 10
_ENGINE: Final = 12
_SOURCES: Final = {CudaSource.BASE: "the base", CudaSource.CONDA: "conda-forge", CudaSource.WHEELS: "wheels"}
# Rules that explain why a CUDA line runs: natively, by minor version, by a compat package; else by its device code.
_DECISIVE: Final = ("R-BACK", "R-MINOR", "R-FWD", "R-APPT", "R-PTX", "R-ARCH")


@dataclass(frozen=True, slots=True)
class Place:
    """A pool, what uses its GPUs, and what its nodes can hold."""

    name: str
    host: Host
    machine: Machine


@dataclass(frozen=True, slots=True)
class Fit:
    """One GPU user of the image, on one pool."""

    use: Use
    pool: str
    gpu: str
    answer: Answer
    of_any: Answer  # the same for a GPU without a name, for pools with several models
    newest: NewestSupported

    @property
    def shared(self) -> Answer:
        """The answer that several models can share; the model's own answer if a rule depends on its name."""
        own, any_ = ([each.rule for each in deciding(found)] for found in (self.answer, self.of_any))
        return self.of_any if own == any_ and self.answer.verdict is self.of_any.verdict else self.answer


@dataclass(frozen=True, slots=True)
class PlanReport:
    """The whole report. Without a stack there are no pools, and `remark` says why."""

    plan: Plan
    expected: Expected
    uses: tuple[Use, ...] = ()
    stack: str = ""
    places: tuple[Place, ...] = ()
    fits: tuple[Fit, ...] = ()
    remark: str = ""

    @property
    def is_fine(self) -> bool:
        """Everything runs on every pool."""
        return all(fit.answer.verdict.runs for fit in self.fits)


def plan_text(report: PlanReport, *, width: int | None = None, paint: Paint = plain) -> str:
    """For people. Lines are folded at `width`; None leaves them whole."""
    lines = [
        *_contents(report.plan, width),
        *_runtime(report.plan.spec.runtime, width),
        "",
        *_cuda(report, width, paint),
        "",
        *_size(report, width),
    ]
    return "\n".join(lines) + "\n"


def plan_data(report: PlanReport) -> dict[str, Any]:
    """The same and more, as JSON."""
    return {
        **facts(report.plan),
        "targets": [kind.value for kind in report.plan.spec.targets],
        "runtime": _runtime_data(report.plan.spec.runtime),
        "base": report.plan.root,
        "brings": brings(report.plan.spec.base.reference or ""),
        "stack": report.stack,
        "remark": report.remark,
        "pools": [
            {"name": place.name, "gpu": place.host.shown.gpu, "driver": place.host.shown.driver}
            for place in report.places
        ],
        "uses": [_use_data(use, [fit for fit in report.fits if fit.use is use]) for use in report.uses],
        "size": _size_data(report),
    }


# --- what goes in


def _contents(plan: Plan, width: int | None) -> Iterator[str]:
    spec = plan.spec
    yield from folded(f"{spec.full_name} {spec.version}: {spec.title}", "", "  ", width)
    rows = [("base", plan.root), ("layout", plan.layout.value)]
    if content := brings(spec.base.reference or ""):
        rows.append(("brings", content))
    if spec.base.image:
        rows.append(("parent", f"{spec.base.image}, an image of this project"))
    rows += [("package", package.pypi) for package in plan.packages]
    rows += [("wheel", wheel) for wheel in plan.cuda_wheels]
    rows += [("kernel", f"{kernel.name}: {', '.join(kernel_pins(kernel))}") for kernel in plan.kernels]
    if spec.modules:
        rows.append(("driver", f"{spec.modules.driver}, modules for kernel {spec.modules.kernel} of {spec.modules.os}"))
    if spec.targets:
        rows.append(("targets", f"{', '.join(kind.value for kind in spec.targets)}: --target shows one"))
    for label, text in rows:
        yield from _row(label, text, 2, width)


def brings(reference: str) -> str:
    """What a third-party base image contains, by its name; empty if the tables know neither framework nor CUDA.

    `tensorflow 1.12.0, CUDA 10.0.130 for drivers from 410.48 on`
    """
    named = known_image(reference)
    if named is None or named.gpu_free:
        return ""
    framework = f"{named.framework} {named.framework_version}".strip()
    return ", ".join([*filter(None, [framework]), *map(_cuda_of_base, named.cudas)])


def _cuda_of_base(cuda: CudaVersion) -> str:
    native, lowest = native_floor(cuda, Platform.LINUX), major_floor(cuda)
    if native is None:
        return f"CUDA {cuda}"
    below = f"; by minor versions from {lowest[0]} on" if lowest and lowest[0] < native[0] else ""
    return f"CUDA {cuda} for drivers from {native[0]} on{below}"


# --- how it is run


def _runtime(runtime: Runtime | None, width: int | None) -> Iterator[str]:
    if runtime is None:
        return
    yield ""
    yield "How it is run"
    for engine in engines(runtime):
        shown = [" ".join(engine.says)] if engine.name == "docker" else [*engine.says]
        for number, text in enumerate([*shown, *(f"cannot express {each}" for each in engine.cannot)]):
            yield from folded(text, f"  {'' if number else engine.name:<{_ENGINE}}", " " * (_ENGINE + 4), width)


def _runtime_data(runtime: Runtime | None) -> dict[str, Any]:
    if runtime is None:
        return {}
    return {
        "spec": runtime_words(runtime),
        **{each.name: {"says": list(each.says), "cannot": list(each.cannot)} for each in engines(runtime)},
    }


# --- on which pools


def _cuda(report: PlanReport, width: int | None, paint: Paint) -> Iterator[str]:
    if modules := report.plan.spec.modules:
        text = f"GPU: it brings the driver {modules.driver}, on nodes with kernel {modules.kernel} only"
        yield from folded(text, "", "  ", width)
    elif not report.uses:
        yield from folded("GPU: not used; it runs on any pool", "", "  ", width)
    elif report.places:
        yield f"CUDA on the pools of {report.stack}"
    else:
        yield "CUDA"
    if report.remark:
        yield from folded(report.remark, "  ", "  ", width)
    for use in report.uses:
        yield from folded(f"{use.where}: {_described(use)}", "  ", "    ", width)
        for fits in _groups(fit for fit in report.fits if fit.use is use):
            yield from _group(fits, report.places, width, paint)


def _described(use: Use) -> str:
    if use.cuda is None:
        return what(use.case)
    return f"{what(use.case)} from {_SOURCES[use.cuda.source]}"


def _groups(fits: Iterable[Fit]) -> list[list[Fit]]:
    """Fits that differ only in the name of the GPU."""
    groups: dict[object, list[Fit]] = {}
    for fit in fits:
        messages = tuple((each.rule, each.message) for each in deciding(fit.shared))
        remedy = fit.shared.remedy.text if fit.shared.remedy else ""
        groups.setdefault((fit.shared.verdict, fit.newest, messages, remedy), []).append(fit)
    return list(groups.values())


def deciding(answer: Answer) -> tuple[Finding, ...]:
    """What decided the verdict: every failed requirement, or else the finding that lets the CUDA line run."""
    if bad := tuple(each for each in answer.findings if each.severity is not Severity.NOTE):
        return bad
    ranked = sorted((each for each in answer.findings if each.rule in _DECISIVE), key=lambda f: _DECISIVE.index(f.rule))
    return tuple(ranked[:1])


def _group(fits: Sequence[Fit], places: Sequence[Place], width: int | None, paint: Paint) -> Iterator[str]:
    names = [fit.pool for fit in fits]
    answer = fits[0].answer if len({fit.gpu for fit in fits}) == 1 else fits[0].shared
    sign = str(SIGNS[answer.verdict])
    first, *more = folded(f"{sign}: {_pools(names, places)}", "    ", "      ", width)
    yield first.replace(sign, paint(sign, SIGNS[answer.verdict].tone), 1)
    yield from more
    for finding in deciding(answer):
        yield from _row("why", f"{finding.rule}: {finding.message}", 6, width)
    yield from _row("ceiling", _newest(fits[0].newest, names, places), 6, width)
    if answer.remedy:
        yield from _row("change", answer.remedy.text, 6, width)


def _newest(found: NewestSupported, names: Sequence[str], places: Sequence[Place]) -> str:
    drivers = dict.fromkeys(place.host.shown.driver for place in places if place.name in names)
    newest = [f"CUDA {found.cuda}" if found.cuda else "no CUDA line", *filter(None, [found.build])]
    return f"{', '.join(newest)}: the newest in the tables that runs here with driver {', '.join(drivers)}"


def _pools(names: Sequence[str], places: Sequence[Place]) -> str:
    listed = ", ".join(names)
    if len(names) < len(places) or len(places) < 2:
        return listed
    return f"{_NUMBERS.get(len(names), f'all {len(names)} pools')} ({listed})"


def _use_data(use: Use, fits: Sequence[Fit]) -> dict[str, Any]:
    return {
        "where": use.where,
        "what": what(use.case),
        "cuda": {"line": use.cuda.line, "source": use.cuda.source.value} if use.cuda else None,
        "answers": [
            {
                "pool": fit.pool,
                **body_data(fit.answer),
                "deciding": [each.rule for each in deciding(fit.answer)],
                "ceiling": asdict(fit.newest),
            }
            for fit in fits
        ],
    }


# --- how big


def _size(report: PlanReport, width: int | None) -> Iterator[str]:
    expected = report.expected
    if expected.counted:
        size = f"{amount(expected.size.compressed)} compressed, {amount(expected.size.unpacked)} unpacked"
        parts = " and ".join(f"{counted(each.wheels, 'wheel')} of {each.image}" for each in expected.counted)
        total = amount(sum(each.wheel_bytes for each in expected.counted))
        yield from folded(f"Size: at least {size}", "", "  ", width)
        yield from _row("counted", f"{parts}, {total} as files", 2, width)
    else:
        yield "Size: unknown until it is built"
    for remark in expected.remarks:
        yield from _row("", remark, 2, width)
    for number, part in enumerate(expected.not_counted):
        yield from _row("" if number else "without", str(part), 2, width, hang=2)
    for places in _alike(report.places) if expected.counted else ():
        yield from folded(_pools([place.name for place in places], report.places), "  ", "    ", width)
        yield from _row("start", _start(report.expected, places[0].machine), 4, width)
        yield from _row("disk", _disk(report.expected, places[0].machine), 4, width)


def _alike(places: Iterable[Place]) -> list[list[Place]]:
    """Pools whose nodes have the same capacity and speed."""
    groups: dict[Machine, list[Place]] = {}
    for place in places:
        groups.setdefault(place.machine, []).append(place)
    return list(groups.values())


def _start(expected: Expected, machine: Machine) -> str:
    start = cold_start(expected.size, machine.rates)
    planned = "; the rates are planning figures" if machine.are_rates_planned else ""
    return f"the first start on a node takes at least {start.total_s:.0f} s ({start.reason}{planned})"


def _disk(expected: Expected, machine: Machine) -> str:
    assumed = " (assumed by the stack file)" if machine.is_disk_assumed else ""
    use = amount(disk_use([expected.size]).total)
    return (
        f"at least {use} compressed plus unpacked; of {machine.disk_gib:g} GiB{assumed} the kubelet leaves "
        f"{amount(room(machine.disk_gib))} for images"
    )


def _size_data(report: PlanReport) -> dict[str, Any]:
    expected = report.expected
    size = expected.size if expected.counted else None
    return {
        "is_lower_bound": True,
        "origin": expected.size.origin.value,
        "compressed": size.compressed if size else None,
        "unpacked": size.unpacked if size else None,
        "compression": expected.size.compression,
        "counted": [asdict(each) for each in expected.counted],
        "not_counted": [str(part) for part in expected.not_counted],
        "remarks": list(expected.remarks),
        "pools": [_machine_data(place, expected) for place in report.places] if size else [],
    }


def _machine_data(place: Place, expected: Expected) -> dict[str, Any]:
    machine, start = place.machine, cold_start(expected.size, place.machine.rates)
    return {
        "name": place.name,
        "start_s": {"pull": start.pull_s, "unpack": start.unpack_s, "start": start.start_s, "total": start.total_s},
        "rates": {"pull_mb_per_s": machine.rates.pull_mb_per_s, "disk_mb_per_s": machine.rates.disk_mb_per_s},
        "are_rates_planned": machine.are_rates_planned,
        "disk_bytes": disk_use([expected.size]).total,
        "room_bytes": room(machine.disk_gib),
        "is_disk_assumed": machine.is_disk_assumed,
    }


# --- lines


def _row(label: str, text: str, indent: int, width: int | None, *, hang: int = 0) -> list[str]:
    start = " " * indent
    return folded(text, f"{start}{label:<{_LABEL}}", start + " " * (_LABEL + hang), width)
