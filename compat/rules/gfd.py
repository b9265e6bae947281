"""R-GFD: the product label of a GPU changes with the driver."""

from compat.evidence.names.gpu_names import FIRST_BRANCH_WITH_MAKER, UnknownGpu, find_gpus, mig_profile
from compat.facts.rows import GpuModel
from compat.rules.rule import Rule
from compat.values.fact import Fact
from compat.values.findings import Finding, Variable, note, refuse, unknown
from compat.values.hosts import PoolFacts
from compat.values.images import ImageFacts

ID = "R-GFD"
_SOURCE = "github:NVIDIA/k8s-device-plugin internal/lm/resource.go, README.md"
_DATE = "2026-11-20"
_LABEL = "NODE_SELECTOR_GPU_PRODUCT"


def check(image: ImageFacts, pool: PoolFacts) -> tuple[Finding, ...]:
    label = dict(image.environment).get(_LABEL)
    if not label or pool.host != "kubernetes":
        return ()
    fact = Fact(
        "nvidia.com/gpu.product is the driver's name of the GPU with dashes; drivers from 465 on put NVIDIA in front",
        _SOURCE,
        _DATE,
    )
    try:
        models = find_gpus(label)
    except UnknownGpu:
        return (unknown(ID, f"no GPU in the tables has the product label {label[:60]}", fact),)
    if all(model.compute_capability != pool.gpu.capability for model in models):
        return (refuse(ID, f"a selector for {label} does not match {pool.gpu.name}", fact),)
    if pool.gpu.mig and (profile := mig_profile(label)) and profile != pool.gpu.mig:
        return (refuse(ID, f"a selector for {label} does not match a slice {pool.gpu.mig}", fact),)
    if pool.driver is not None and (meant := _as_labelled(label, models, pool.driver.branch)) != label:
        return (refuse(ID, f"driver {pool.driver} labels it {meant}, not {label}", fact, Variable(_LABEL, meant)),)
    return (note(ID, f"{label} is a label that {pool.gpu.name} may have", fact),)


def _as_labelled(label: str, models: tuple[GpuModel, ...], branch: int) -> str:
    """The label as a driver of this branch has it. `Tesla-T4` has never had `NVIDIA` in front."""
    if branch < FIRST_BRANCH_WITH_MAKER:
        return label.removeprefix("NVIDIA-")
    product = label.removesuffix("-SHARED").partition("-MIG-")[0]
    has_now = any(model.gfd_product == f"NVIDIA-{product}" for model in models)
    return f"NVIDIA-{label}" if has_now else label


RULE = Rule(ID, check, sources=(_SOURCE,))
