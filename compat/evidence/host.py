"""The typed entry: what a host is, put together from values. Text is read into the same `Host` by `pools.read_host`.

    from compat import Case, check_on, host_of
    host = host_of(model, DriverVersion.parse("418.88"), container_toolkit=parse_release("1.17.8"))
    check_on(Case(framework="torch", framework_version="2.6.0"), host)

`host_of` takes the values that settings hold (a GpuModel, a DriverVersion); nothing in a `Host` is read again.
`may_be` are the pools that it may be: one where all is known, more where a name is sold with several chips or a driver
is a bare branch. `shown` holds the host fields of a case for those who print them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from packaging.version import Version

from compat.evidence.case import Case
from compat.evidence.machine_images import drivers_of
from compat.evidence.problems import Axis
from compat.evidence.reading.gpus import gpus_of, is_jetson, processor_beside
from compat.evidence.reading.names import is_nameless, sold_as
from compat.facts.rows import GpuModel
from compat.values.model import Finding, Platform, PoolFacts, Setting
from compat.values.versions import DriverVersion

_NAMELESS = (
    "a driver shows this for a board that it has no name for; write the model, or compute_capability, which "
    "nvidia-smi --query-gpu=compute_cap shows"
)
_SHOWN = 4  # names of models in one message


@dataclass(frozen=True, slots=True)
class Host:
    """A host as far as it is known. Hosts with the same text are equal; 418.88 and 418.88.00 are not the same text."""

    may_be: tuple[PoolFacts, ...] = field(compare=False)
    shown: Case
    notes: tuple[Finding, ...] = field(default=(), compare=False)
    open: tuple[Axis, ...] = field(default=(), compare=False)


def host_of(
    model: GpuModel,
    driver: DriverVersion | None,
    *,
    container_toolkit: Version | None = None,
    host: str = "kubernetes",
    glibc: Version | None = None,
) -> Host:
    """A Linux host with a GPU of the tables. A name that is sold with several chips leaves open which one it is."""
    models = sold_as(model)
    gpus = gpus_of(models, model.name)
    processor = processor_beside(gpus)
    on_jetson = is_jetson(gpus)
    pools = tuple(
        PoolFacts(
            gpu,
            None if on_jetson or driver is None else driver.given_as(str(driver)),
            platform_of(jetson=on_jetson, windows=False, arm=processor == "arm64"),
            host=host,
            container_toolkit=container_toolkit,
            cpu_architecture=processor,
            glibc=glibc,
        )
        for gpu in gpus
    )
    shown = Case(
        gpu=model.name,
        driver=str(driver or ""),
        container_toolkit=str(container_toolkit or ""),
        host=host,
        host_glibc=str(glibc or ""),
    )
    which = (which_gpu(model.name, models),) if len(gpus) > 1 else ()
    which_driver = (Axis("driver", "the driver"),) if driver is None and not on_jetson else ()
    return Host(pools, shown, open=(*which, *which_driver))


def with_any_name(host: Host, name: str) -> Host:
    """The host with another name for its GPU in messages, such as `the GPU`: answers of different models compare."""
    return replace(host, may_be=tuple(replace(pool, gpu=replace(pool.gpu, name=name)) for pool in host.may_be))


def platform_of(*, jetson: bool, windows: bool, arm: bool) -> Platform:
    """The driver line that counts."""
    if jetson:
        return Platform.JETSON
    if windows:
        return Platform.WINDOWS
    return Platform.LINUX_ARM if arm else Platform.LINUX


def which_gpu(name: str, models: tuple[GpuModel, ...]) -> Axis:
    """The open field for a name that several GPUs share, and what to write instead."""
    if is_nameless(name):
        return Axis("gpu", f"which GPU it is ({_NAMELESS})")
    called = list(dict.fromkeys(model.name for model in models))
    shown = " or ".join(called[:_SHOWN]) + (" or …" if len(called) > _SHOWN else "")
    capabilities = sorted({model.compute_capability for model in models})
    measured = f"; compute_capability {' or '.join(map(str, capabilities))} tells" if len(capabilities) > 1 else ""
    return Axis("gpu", f"which {name} it is ({shown}{measured})")


def with_setting(pools: tuple[PoolFacts, ...], setting: Setting) -> tuple[PoolFacts, ...]:
    """The pools after one setting of the host is changed; those of the image leave them as they are."""
    if setting.field == "ami_release":
        return tuple(each for pool in pools for each in _on_machine_image(pool, str(setting.to)))
    if setting.field not in {"kernel_module", "container_toolkit", "host"}:
        return pools
    changes: dict[str, Any] = {setting.field: setting.to}
    return tuple(replace(pool, **changes) for pool in pools)


def _on_machine_image(pool: PoolFacts, release: str) -> Iterator[PoolFacts]:
    """A driver that came with the old machine image goes with it."""
    arm = pool.cpu_architecture == "arm64"
    own = pool.driver is None or pool.driver in drivers_of(pool.ami_release, arm=arm)
    drivers = drivers_of(release, arm=pool.platform is Platform.LINUX_ARM) if own else ()
    for driver in drivers or (pool.driver,):
        yield replace(pool, driver=driver, ami_release=release)
