"""GPUs of the tables as rules need them: models with the same relevant facts are one GPU."""

import re
from collections.abc import Hashable
from dataclasses import replace
from functools import cache

from compat.evidence.names import mig
from compat.facts import tables
from compat.facts.rows import GpuModel
from compat.values.fact import AS_GIVEN, Fact, Present
from compat.values.hosts import Gpu, GpuDrivers
from compat.values.versions import ComputeCapability, DriverVersion

_ON_ARM = re.compile(r"\bGH200|\bGB[123]00|\bGB10\b|\bT4G\b")


def gpus_of(models: tuple[GpuModel, ...], name: str, kind: str = "", mig_profile: str = "") -> tuple[Gpu, ...]:
    """The rules' GPUs for the models of one name; `kind` is the class, if stated."""
    found: dict[Hashable, Gpu] = {}
    for model in models:
        product_class, forward = kind or model.product_class, _forward(model)
        text = f"{model.name} has compute capability {model.compute_capability}"
        fact = model.origin.fact(text, "compute_capability")
        shown = model.name if len(models) == 1 else name.strip()[:80]
        sliced_from, mig_fact = (mig_profile and mig.first_driver(model)) or (None, None)
        last, last_fact = _dropped_early(model)
        gpu = Gpu(
            name=shown,
            capability=model.compute_capability,
            architecture=model.family,
            product_class=product_class,
            forward_compat=forward,
            fact=fact,
            mig=mig_profile,
            mig_driver=sliced_from,
            mig_fact=mig_fact,
            supported_from=_supported_from(model),
            drivers=_drivers_of(model),
            last_branch=last,
            last_fact=last_fact,
        )
        key = (
            gpu.capability,
            product_class,
            forward,
            gpu.supported_from,
            model.not_in_drivers,
            model.chips,
            last,
            sliced_from,
        )
        found.setdefault(key, gpu)
    return tuple(found.values())


def _supported_from(model: GpuModel) -> DriverVersion | None:
    """The first driver of a board that came after the first of its architecture; None for the others."""
    since, first = model.first_mig_driver, _first_with_slices().get(model.compute_capability)
    return since if since is not None and first is not None and since.branch > first.branch else None


@cache
def _first_with_slices() -> dict[ComputeCapability, DriverVersion]:
    found: dict[ComputeCapability, DriverVersion] = {}
    for model in tables.gpu_models():
        if (first := model.first_mig_driver) is not None:
            found[model.compute_capability] = min(first, found.get(model.compute_capability, first))
    return found


def _dropped_early(model: GpuModel) -> tuple[int | None, Fact | None]:
    """The last branch of a board that drivers dropped before others of its architecture."""
    arch, last = tables.architectures().get(model.compute_capability), model.last_driver_branch
    if arch is None or last is None or last == arch.last_branch:
        return None, None
    return last, model.origin.fact(f"the last driver branch for {model.name} is {last}", "last_driver_branch")


def _drivers_of(model: GpuModel) -> GpuDrivers | None:
    """None if no source lists this model's first driver; then use its architecture's."""
    if not model.not_in_drivers:
        return None
    boards = _boards_by_chip()
    return replace(_named_by(model), boards=tuple(boards[chip] for chip in model.chips))


def _named_by(model: GpuModel) -> GpuDrivers:
    first, before = (" and ".join(map(str, each)) for each in (model.first_drivers, model.not_in_drivers))
    text = f"NVIDIA lists {model.name} from driver {first} on, but not in {before}"
    return GpuDrivers(model.first_drivers, model.not_in_drivers, model.origin.fact(text, "first_driver"))


@cache
def _boards_by_chip() -> dict[str, tuple[GpuDrivers, ...]]:
    """The first boards with each chip: drivers that list later boards list these too, so they know the chip.

    A board sold with several chips is no evidence for one of them.
    """
    found: dict[str, tuple[GpuDrivers, ...]] = {chip: () for model in tables.gpu_models() for chip in model.chips}
    for model in sorted(tables.gpu_models(), key=lambda each: (each.first_drivers, each.name)):
        if len(model.chips) != 1 or not model.not_in_drivers:
            continue
        before = found[model.chips[0]]
        if not any(all(not each.lack(first) for first in model.first_drivers) for each in before):
            found[model.chips[0]] = (*before, _named_by(model))
    return found


def _forward(model: GpuModel) -> Present:
    if model.product_class == "workstation" and "RTX" not in model.name:
        return Present.NO  # NVIDIA's selection is one of RTX cards
    word = model.forward_compat.split(" ")[0]
    return {"yes": Present.YES, "no": Present.NO}.get(word, Present.UNKNOWN)


def gpus_with(capability: ComputeCapability, name: str, product_class: str) -> tuple[Gpu, ...]:
    """GPUs of a compute capability, if no table has the model: one for each class with it."""
    shown = name.strip()[:80] or f"a GPU of compute capability {capability}"
    arch = tables.architectures().get(capability)
    family = arch.name.lower() if arch else ""
    found = {
        (model.product_class, _forward(model)): Gpu(
            shown, capability, family, model.product_class, _forward(model), AS_GIVEN
        )
        for model in tables.gpu_models()
        if model.compute_capability == capability and (not product_class or model.product_class == product_class)
    }
    if found:
        return tuple(found.values())
    forward = {"datacenter": Present.YES, "geforce": Present.NO}.get(product_class, Present.UNKNOWN)
    return (Gpu(shown, capability, family, product_class, forward, AS_GIVEN),)


def processor_beside(gpus: tuple[Gpu, ...]) -> str:
    """The CPU of machines with this GPU built in; empty if it may be any."""
    return "arm64" if gpus and _ON_ARM.search(gpus[0].name) else ""
