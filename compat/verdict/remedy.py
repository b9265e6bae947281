"""Finds changes that make a case run. A way is offered only if the rules, applied again, accept its changes.

A case can change in three places: settings (a variable, kernel modules, a package), the image's content (another
build, another tag, another CUDA line), and the driver. Each place is tried alone, then image and driver together.
Within a place the nearest change comes first: users of torch 2.6 prefer another build of 2.6 to another version.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice

from compat.evidence import alternatives
from compat.evidence.alternatives import Option
from compat.evidence.case import POOL_FIELDS, Case
from compat.evidence.compat_package import package_of
from compat.evidence.drivers import last_branch, last_driver, newest_branch, turning_drivers
from compat.evidence.host import lowest_driver, with_setting
from compat.evidence.image import read_images, read_variables
from compat.facts import tables
from compat.rules.solve import Findings, runs
from compat.values.fact import Present
from compat.values.findings import Alternative, Change, Finding, GpuSpan, Remedy, Setting, Severity, Variable
from compat.values.hosts import Gpu, PoolFacts
from compat.values.images import ImageFacts
from compat.values.versions import DriverVersion

_NEAR, _NEW = 6, 3  # candidates that are checked by all rules: the nearest ones, the newest ones


@dataclass(frozen=True, slots=True)
class FailingCase:
    """A case that does not run, as read: its possible meanings, and the image and pool that represent it."""

    case: Case  # as written, for the image
    shown: Case  # as written, for the host
    image: ImageFacts
    pool: PoolFacts
    images: tuple[ImageFacts, ...]
    pools: tuple[PoolFacts, ...]

    @property
    def lowest(self) -> DriverVersion | None:
        return lowest_driver(self.pools)


def find(failing: FailingCase, findings: Findings) -> Remedy:
    """The solutions, cheapest first; if there is none, the remedy says so."""
    refusals = [each for each in findings if each.severity is Severity.REFUSE]
    fixes = [each.fixes[0] for each in refusals if each.fixes]
    settings = [fix for fix in fixes if isinstance(fix, Setting | Variable)]
    if not settings:
        ways = list(_ways(failing, refusals))
        return _remedy(ways) if ways else _nothing(failing, refusals)
    words = " and ".join(dict.fromkeys(map(_words, settings)))
    after, changes = _after(failing, settings)
    if all_run(after.images, after.pools):
        return _remedy([Alternative(words, changes)])
    ways = [Alternative(way.text, (*changes, *way.changes)) for way in _ways(after, refusals)]
    return _remedy(ways, f"{words} and ") if ways else Remedy(f"{words[0].upper()}{words[1:]}.")


def _after(failing: FailingCase, settings: list[Setting | Variable]) -> tuple[FailingCase, tuple[Change, ...]]:
    """The case with these settings, and their changes to it."""
    pools, env, to = failing.pools, dict(read_variables(failing.case.env)), {}
    for each in settings:
        if isinstance(each, Setting):
            pools = with_setting(pools, each)
            to[each.field] = str(each.to)
        else:
            env[each.name] = each.value
            to["env"] = ";".join(f"{name}={value}" for name, value in env.items() if value or name != each.name)
    changes = tuple(change(failing, field, value) for field, value in to.items())
    case = failing.case.with_changes(changes)
    # If only a variable could be read, nothing is left that states what runs.
    images = read_images(case, pools[0].wheels_for).values or failing.images
    return replace(failing, case=case, image=images[0], pool=pools[0], images=images, pools=pools), changes


def _words(fix: Setting | Variable) -> str:
    """The instruction for a person."""
    if isinstance(fix, Variable):
        if fix.name == "LD_LIBRARY_PATH":
            return "take the compat folder out of LD_LIBRARY_PATH"
        return f"set {fix.name}={fix.value} in the container" if fix.value else f"unset {fix.name}"
    to = fix.to
    return {
        "cuda_compat": "take the cuda-compat package out of the image"
        if to == "no"
        else "install the cuda-compat package in the image",
        "kernel_module": f"load the {to} kernel modules",
        "container_toolkit": f"update the NVIDIA container toolkit to {to}",
        "image_glibc": f"use an image with glibc {to} or newer",
        "host": f"run it under {to}",
        "ami_release": f"use the machine image {to}",
    }[fix.field]


def _remedy(ways: list[Alternative], first: str = "") -> Remedy:
    """All ways in a sentence; `first` is needed in any case."""
    text = first + ", or ".join(way.text for way in ways)
    otherwise = tuple(Alternative(f"{first}{way.text}", way.changes) for way in ways[1:])
    return Remedy(f"{text[0].upper()}{text[1:]}.", ways[0].changes, otherwise)


def _ways(failing: FailingCase, refusals: list[Finding]) -> Iterator[Alternative]:
    """Image alone, driver alone, a compat package alone; if none suffices, image and driver together."""
    found: list[Alternative] = []
    if failing.lowest is None:
        found += _image_ways(failing)
    else:
        if is_driven(failing.pool):
            found += _image_ways(failing)
        found += _driver_way(failing, refusals)
        found += _compat_way(failing)
        if not found:  # the driver is open again
            found += _image_ways(replace(failing, pools=on_drivers(failing, None)))[:1]
    if any(not way.changes or {each.field for each in way.changes} <= set(POOL_FIELDS) for way in found):
        is_open = not changed_images(failing.case, (), failing.pool)
        found = [_as_far_as_known(way) if is_open else way for way in found]
    yield from found


def _as_far_as_known(way: Alternative) -> Alternative:
    """A change of the host may not suffice if the image's content is unknown."""
    if not {each.field for each in way.changes} <= set(POOL_FIELDS):
        return way
    return Alternative(f"{way.text} (whether that is all cannot be told: what the image holds is not known)", ())


# --- in the image ---


def _image_ways(failing: FailingCase) -> list[Alternative]:
    """The nearest option that runs here, and the newest if it is another."""
    case, image, driver = failing.case, failing.image, failing.lowest
    near = next(filter(None, (_first(failing, options, _NEAR) for options in _kinds(failing))), None)
    if near is None:
        return []
    ways = [_way(near)]
    if _has_builds(failing):
        new = _first(failing, alternatives.newest_builds(case, image, failing.pool, driver), _NEW)
        own = str(image.framework_version or "")
        if new is not None and _version(new.option) not in {_version(near.option), own}:
            ways.append(Alternative(f"{new.option.text}, the newest that runs here", new.changes))
    return ways


@dataclass(frozen=True, slots=True)
class _Running:
    """An option that runs, on any driver of the case or on the named one."""

    option: Option
    driver: str  # in words; empty: the case's driver
    changes: tuple[Change, ...]


def _way(found: _Running) -> Alternative:
    how = f" ({found.option.how})" if found.option.how else ""
    return Alternative(f"{found.option.text}{how}{found.driver}", found.changes)


def _kinds(failing: FailingCase) -> Iterator[Iterator[Option]]:
    """Possible replacements, kind by kind."""
    case, image, pool, driver = failing.case, failing.image, failing.pool, failing.lowest
    named = bool(image.framework) and not case.framework and bool(case.image)
    if named or (case.image and not image.framework and image.cuda is None):
        yield alternatives.tags(case, pool, driver)
    if _has_builds(failing):
        yield alternatives.builds(case, image, pool, driver)
    elif image.cuda is not None and image.code is None:
        yield (alternatives.of_line(case, line) for line in alternatives.lines(image, pool, driver))
    if image.compressed is not None and not _has_builds(failing):
        yield iter([alternatives.compiled_plainly(case)])
    if image.code is not None and (case.sm_list or case.ptx or not image.framework):
        yield alternatives.target(case, image, pool, driver)


def _has_builds(failing: FailingCase) -> bool:
    return bool(failing.image.framework) and not (failing.image.gpu_free and not failing.case.framework)


def _version(option: Option) -> str:
    return next((change.to for change in option.changes if change.field == "framework_version"), "")


def _first(failing: FailingCase, options: Iterator[Option], most: int) -> _Running | None:
    """The first option that runs on all pools."""
    for option in islice(options, most):
        images = changed_images(failing.case, option.changes, failing.pool)
        if not images:
            continue
        if failing.lowest is not None:
            if all_run(images, failing.pools):
                return _Running(option, "", option.changes)
        elif (found := _on_some_driver(failing, option, images)) is not None:
            return found
    return None


def _on_some_driver(failing: FailingCase, option: Option, images: tuple[ImageFacts, ...]) -> _Running | None:
    """With the driver open: a dropped GPU's last branch, else the lowest that runs it."""
    gpu, driver = failing.pool.gpu, next(running_drivers(images, failing), None)
    last = last_driver(gpu)
    if driver is None:
        return None
    words = f" on driver {_shown(driver)} or newer" + (f" up to branch {last}" if last is not None else "")
    is_dropped = last is not None and failing.pool.driver is not None and failing.pool.driver > last
    if last is not None and is_dropped and all_run(images, on_drivers(failing, _first_of(gpu), last)):
        driver, words = last, f" on driver {last}.x, the last branch for {gpu.name}"
    return _Running(option, words, (*option.changes, _to(failing, driver)))


# --- the driver ---


def _driver_way(failing: FailingCase, refusals: list[Finding]) -> Iterator[Alternative]:
    """A driver that runs all images: the lowest newer one, or the nearest older one for a dropped GPU."""
    gpu, image, last = failing.pool.gpu, failing.image, last_driver(failing.pool.gpu)
    now = max(pool.driver for pool in failing.pools if pool.driver is not None)
    top = last or _newest()
    does_top = all_run(failing.images, on_drivers(failing, top))
    if not does_top and image.compat_package is Present.NO and not image.requires:
        return  # if the newest driver of a GPU does not run the images, no driver does
    if last is not None and now > last and does_top and all_run(failing.images, on_drivers(failing, _first_of(gpu))):
        yield Alternative(f"use driver {last}.x, the last branch for {gpu.name}", (_to(failing, top),))
        return
    wanted = [fix for each in refusals for fix in each.fixes if isinstance(fix, DriverVersion)]
    known = {
        *running_drivers(failing.images, failing),
        *(each for each in wanted if serves(failing.images, failing, each)),
    }
    allowed = [driver for driver in known if driver != now and (last is None or driver <= last)]
    newer, older = [each for each in allowed if each > now], [each for each in allowed if each < now]
    if driver := min(newer, default=None) or max(older, default=None):
        name = gpu.name.removeprefix("the ")
        until = f" (branch {last} is the last that supports the {name})" if last is not None else ""
        words = f" or newer{until}" if does_top and driver > now else ""
        yield Alternative(f"use driver {_shown(driver)}{words}", (_to(failing, driver),))


def _to(failing: FailingCase, driver: DriverVersion) -> Change:
    return change(failing, "driver", str(driver))


@cache
def _newest() -> DriverVersion:
    """A stand-in for the newest driver of the tables."""
    return DriverVersion.end_of(newest_branch())


def _first_of(gpu: Gpu) -> DriverVersion:
    """The first driver of a dropped GPU's last branch."""
    return tables.first_release(last_branch(gpu) or 0)


def _shown(driver: DriverVersion) -> str:
    """The bare branch, if the tables have no release of it."""
    return f"{driver}.x" if str(driver).isdigit() else str(driver)


# --- packages and JetPacks ---


def _compat_way(failing: FailingCase) -> Iterator[Alternative]:
    """A compat package, if the rules accept it for the GPU on the host's branch."""
    cuda, gpu, driver = failing.image.cuda, failing.pool.gpu, failing.pool.driver
    if cuda is None or driver is None:
        return
    what = f"{package_of(cuda)} in the image, which serves {gpu.name} on driver branch {driver.branch}"
    found = _first(failing, iter([Option(what, "", (change(failing, "cuda_compat", "yes"),), verb="install")]), 1)
    if found is not None:
        yield _way(found)


# --- where nothing can be found ---


def _nothing(failing: FailingCase, refusals: list[Finding]) -> Remedy:
    gpu, rules = failing.pool.gpu, {each.rule for each in refusals}
    if "R-CPU" in rules:
        host = failing.pool.cpu_architecture
        return Remedy(f"Use a build for {host}, or another host: this one has {host} processors.")
    if failing.image.gpu_free:
        return Remedy("Use an image or a build with CUDA: this one uses no GPU anywhere.")
    for span in (fix for each in refusals for fix in each.fixes if isinstance(fix, GpuSpan)):
        shown = f"{span.lowest} to {span.highest}" if span.highest else f"{span.lowest} or newer"
        what = failing.image.framework or "it"
        return Remedy(f"No build of {what} in the tables runs on {gpu.name}: use a GPU of compute capability {shown}.")
    last = last_driver(gpu)
    newest = last if last is not None and not is_driven(failing.pool) else failing.lowest
    if (failing.image.code or failing.image.cuda) is not None and (
        line := alternatives.newest_line(failing.pool, newest)
    ) is not None:
        on = f" on driver {last}.x, the last branch for it" if newest is not failing.lowest else ""
        return Remedy(f"Build it for sm_{gpu.capability.digits} ({gpu.name}), with CUDA {line}{on}.")
    return Remedy(f"Nothing that the tables know makes this run on {gpu.name} as it is: use another GPU.")


# --- does it run with a change? ---


def change(failing: FailingCase, field: str, to: str) -> Change:
    return Change(field, getattr(failing.shown if field in POOL_FIELDS else failing.case, field), to)


def changed_images(case: Case, changes: tuple[Change, ...], pool: PoolFacts) -> tuple[ImageFacts, ...]:
    """Images of the changed case; none if it leaves open what runs."""
    found = read_images(case.with_changes(changes), pool.wheels_for)
    is_open = any(each.severity.rank > Severity.WARN.rank for each in found.notes)
    is_unknown = any(each.is_unlisted for each in found.values)
    return () if found.problems or is_open or is_unknown else found.values


def all_run(images: Iterable[ImageFacts], pools: Iterable[PoolFacts]) -> bool:
    """Does each image run on each pool? Without a stated driver, no."""
    pools = tuple(pools)
    return all(pool.driver is not None for pool in pools) and all(
        runs(_as_far_as_read(image), pool) for image in images for pool in pools
    )


def _as_far_as_read(image: ImageFacts) -> ImageFacts:
    """Missing builds are reported elsewhere: the known content may still run."""
    return replace(image, is_unlisted=False, is_opaque=False) if image.is_unlisted else image


def running_drivers(images: tuple[ImageFacts, ...], failing: FailingCase) -> Iterator[DriverVersion]:
    """Drivers that run all images on all pools, among those that may change an answer; lowest first."""
    turning = turning_drivers(images[0], failing.pool)
    return (driver for driver in turning if serves(images, failing, driver))


def serves(images: tuple[ImageFacts, ...], failing: FailingCase, driver: DriverVersion) -> bool:
    here = on_drivers(failing, driver)
    return _may_reach(images[0], here[0]) and all_run(images, here)


def is_driven(pool: PoolFacts) -> bool:
    """Does the driver support the GPU?"""
    if pool.driver is None:
        return True
    arch, last = tables.architectures().get(pool.gpu.capability), last_driver(pool.gpu)
    first = arch.first_branch if arch is not None else None
    return (first or 0) <= pool.driver.branch and (last is None or pool.driver <= last)


def _may_reach(image: ImageFacts, pool: PoolFacts) -> bool:
    """Could this driver suffice for the image's CUDA? Without a compat package it must reach that CUDA."""
    if image.cuda is None or image.compat_package is not Present.NO:
        return is_driven(pool)
    return is_driven(pool) and image.cuda.line <= alternatives.newest_reached(pool.driver, pool.platform)


def on_drivers(failing: FailingCase, *drivers: DriverVersion | None) -> tuple[PoolFacts, ...]:
    """The pools with other drivers; each GPU once."""
    pools = {pool.gpu: pool for pool in reversed(failing.pools)}
    return tuple(replace(pool, driver=driver) for pool in reversed(pools.values()) for driver in drivers)
