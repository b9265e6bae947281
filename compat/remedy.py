"""What to change so that a case runs. A way is told only if the rules, asked again with its changes, say that it runs.

A case is changed in three places: settings (a variable, kernel modules, a package), what is in the image (another
build, another tag, another CUDA line), and the driver. Each place alone is tried first, then image and driver together.
Inside a place the nearest change comes first: who runs torch 2.6 wants another build of 2.6 before another version.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import count, islice

from compat import instead, tables
from compat.case import Case
from compat.contents import image_words, read_images
from compat.instead import Option
from compat.model import (
    Change,
    Finding,
    Gpu,
    ImageFacts,
    Platform,
    PoolFacts,
    Present,
    Remedy,
    Severity,
    Surroundings,
    Way,
)
from compat.pools import lowest_driver, read_pools
from compat.resolve import Findings, runs
from compat.rules.back import reaches
from compat.rules.drop import last_branch, last_driver
from compat.turning import turning_drivers
from compat.versions import DriverVersion

_NEAR, _NEW = 6, 3  # options that look right and are asked of all rules: the nearest ones, the newest ones
_SETTINGS = frozenset(
    {"kernel_module", "env", "container_toolkit", "cuda_compat", "image_glibc", "host", "ami_release"}
)


@dataclass(frozen=True, slots=True)
class Asked:
    """A case that does not run, as it was read: what it may mean, and the image and pool that stand for it."""

    case: Case
    image: ImageFacts
    pool: PoolFacts
    images: tuple[ImageFacts, ...]
    pools: tuple[PoolFacts, ...]

    @property
    def lowest(self) -> DriverVersion | None:
        return lowest_driver(self.pools)


def find(asked: Asked, findings: Findings) -> Remedy:
    """The ways out, the cheapest first; says so where there is none."""
    refusals = [each for each in findings if each.severity is Severity.REFUSE]
    words, changes = _settings(asked.case, refusals)
    start = _changed(asked, changes) if changes else None
    if start is not None and _run(start.images, start.pools):
        return _told([Way(words, changes)])
    ways = list(_ways(start or asked, refusals))
    if start is not None:
        ways = [Way(way.text, (*changes, *way.changes)) for way in ways]
        return _told(ways, f"{words} and ") if ways else _nothing(asked, refusals, words)
    return _told(ways) if ways else _nothing(asked, refusals, words)


def _changed(asked: Asked, changes: tuple[Change, ...]) -> Asked | None:
    """The case with these changes, read again; None where it cannot be read."""
    case = asked.case.with_changes(changes)
    pools = read_pools(case).values
    images = read_images(case, pools[0]).values if pools else ()
    return Asked(case, images[0], pools[0], images, pools) if images else None


def _told(ways: list[Way], first: str = "") -> Remedy:
    """All ways in a sentence; `first` is to be done in any case."""
    text = first + ", or ".join(way.text for way in ways)
    otherwise = tuple(Way(f"{first}{way.text}", way.changes) for way in ways[1:])
    return Remedy(f"{text[0].upper()}{text[1:]}.", ways[0].changes, otherwise)


def _ways(asked: Asked, refusals: list[Finding]) -> Iterator[Way]:
    """Image alone, driver alone, a compat package alone; where none of them does, image and driver together."""
    found: list[Way] = []
    if asked.pool.platform is Platform.JETSON:
        found += _image_ways(asked)
        found += _jetpack_way(asked)
    elif asked.lowest is None:
        found += _image_ways(asked)
    else:
        if _is_driven(asked.pool):
            found += _image_ways(asked)
        found += _driver_way(asked, refusals)
        found += _compat_way(asked)
        if not found:  # the driver is open again
            pools = tuple(PoolFacts(*host) for host in dict.fromkeys((p.gpu, None, p.around) for p in asked.pools))
            found += _image_ways(replace(asked, pools=pools))[:1]
    yield from found


# --- in the image ---


def _image_ways(asked: Asked) -> list[Way]:
    """The nearest thing that runs here, and the newest one where that is another."""
    tried, newest = _options(asked)
    near = next(filter(None, (_first(asked, options, _NEAR) for options in tried)), None)
    if near is None:
        return []
    image, new = asked.image, _first(asked, newest, _NEW)
    if new is None or _version(new) in {_version(near), image.framework_version and str(image.framework_version)}:
        return [near]
    short = new.text.partition(" (")[0]
    return [near, Way(f"{short}, the newest that runs here", new.changes)]


class _Options:
    """Options with the images that they make; read as far as somebody asks, and kept."""

    def __init__(self, case: Case, pool: PoolFacts, options: Iterator[Option]) -> None:
        self._source = ((option, _read(case, option.changes, pool)) for option in options)
        self._kept: list[tuple[Option, tuple[ImageFacts, ...]]] = []

    def __iter__(self) -> Iterator[tuple[Option, tuple[ImageFacts, ...]]]:
        for number in count():
            if number == len(self._kept):
                found = next(self._source, None)
                if found is None:
                    return
                self._kept.append(found)
            yield self._kept[number]


def _options(asked: Asked) -> tuple[tuple[_Options, ...], _Options]:
    """What could be used instead, a kind after the other, and the newest builds.

    They depend on the image's fields, on the GPU, and of the driver on how far it reaches: most cases share them.
    """
    case, image, pool, driver = asked.case, asked.image, asked.pool, asked.lowest
    key = (image_words(case, pool), image, pool.gpu, pool.around, instead.newest_reached(driver, pool.platform))
    found = _OPTIONS.get(key)
    if found is None:
        if len(_OPTIONS) >= _OPTIONS_KEPT:
            _OPTIONS.clear()
        *tried, newest = (_Options(case, pool, options) for options in _kinds(case, image, pool, driver))
        found = _OPTIONS[key] = tuple(tried), newest
    return found


_OPTIONS: dict[Hashable, tuple[tuple[_Options, ...], _Options]] = {}
_OPTIONS_KEPT = 4096


def _kinds(case: Case, image: ImageFacts, pool: PoolFacts, driver: DriverVersion | None) -> Iterator[Iterator[Option]]:
    """Each kind of option, then the newest builds, which may be none."""
    newest: Iterator[Option] = iter(())
    named = bool(image.framework) and not case.framework and bool(case.image)
    if named or (case.image and not image.framework and image.cuda is None):
        yield instead.tags(case, pool, driver)
    if image.framework and not (image.gpu_free and not case.framework):
        yield instead.builds(case, image, pool, driver)
        newest = instead.newest_builds(case, image, pool, driver)
    elif image.cuda is not None and image.code is None:
        yield (instead.of_line(case, line) for line in instead.lines(image, pool, driver))
    if image.code is not None and (case.sm_list or case.ptx or not image.framework):
        yield instead.target(case, image, pool, driver)
    yield newest


def _version(way: Way) -> str:
    return next((change.to for change in way.changes if change.field == "framework_version"), "")


def _first(asked: Asked, options: _Options, most: int) -> Way | None:
    """The first option that runs on all pools, as a way."""
    for option, images in islice(options, most):
        if not images:
            continue
        how = f" ({option.how})" if option.how else ""
        if asked.lowest is not None or asked.pool.platform is Platform.JETSON:
            if _run(images, asked.pools):
                return Way(f"{option.text}{how}", option.changes)
        elif (way := _on_some_driver(asked, option, images)) is not None:
            return way
    return None


def _on_some_driver(asked: Asked, option: Option, images: tuple[ImageFacts, ...]) -> Way | None:
    """With the driver open: the GPU's last branch where it was dropped, else the lowest that runs it."""
    gpu, driver = asked.pool.gpu, _lowest_running(images, asked.pools)
    last = last_driver(gpu, asked.pool.platform)
    if driver is None:
        return None
    how = f" ({option.how})" if option.how else ""
    words = f"driver {_shown(driver)} or newer" + (f" up to branch {last}" if last is not None else "")
    is_dropped = last is not None and asked.pool.driver is not None and asked.pool.driver > last
    if last is not None and is_dropped and _run(images, _on(asked, _first_of(gpu), last)):
        driver, words = last, f"driver {last}.x, the last branch for {gpu.name}"
    return Way(f"{option.text}{how} on {words}", (*option.changes, _to(asked, driver)))


def _read(case: Case, changes: tuple[Change, ...], pool: PoolFacts) -> tuple[ImageFacts, ...]:
    """Images of the changed case; none where it leaves open what runs."""
    found = read_images(case.with_changes(changes), pool)
    is_open = any(each.severity.rank > Severity.WARN.rank for each in found.notes)
    return () if found.problems or is_open else found.values


def _run(images: Iterable[ImageFacts], pools: Iterable[PoolFacts]) -> bool:
    """Does each of them run on each? With a driver that nobody said, none does."""
    pools = tuple(pools)
    return all(pool.driver is not None or pool.platform is Platform.JETSON for pool in pools) and all(
        _runs(image, pool.gpu, pool.driver, pool.around) for image in images for pool in pools
    )


@lru_cache(32768)
def _runs(image: ImageFacts, gpu: Gpu, driver: DriverVersion | None, around: Surroundings) -> bool:
    """Cases of one GPU, or of one driver, have most of their ways out in common."""
    return runs(image, PoolFacts(gpu, driver, around))


def _lowest_running(images: tuple[ImageFacts, ...], pools: tuple[PoolFacts, ...]) -> DriverVersion | None:
    return next(iter(_running(images, tuple(dict.fromkeys((pool.gpu, pool.around) for pool in pools)))), None)


@lru_cache(16384)
def _running(images: tuple[ImageFacts, ...], hosts: tuple[tuple[Gpu, Surroundings], ...]) -> tuple[DriverVersion, ...]:
    """Drivers that run all of it on all of them, of those at which an answer may turn; lowest first."""
    gpu, around = hosts[0]
    turning = turning_drivers(images[0], PoolFacts(gpu, None, around))
    return tuple(driver for driver in turning if _serves(images, hosts, driver))


def _serves(images: tuple[ImageFacts, ...], hosts: tuple[tuple[Gpu, Surroundings], ...], driver: DriverVersion) -> bool:
    here = [PoolFacts(gpu, driver, around) for gpu, around in hosts]
    return _may_reach(images[0], here[0]) and _run(images, here)


def forget() -> None:
    """Empty the memory of options and of what runs where."""
    _OPTIONS.clear()
    _runs.cache_clear()
    _running.cache_clear()


# --- the driver ---


def _is_driven(pool: PoolFacts) -> bool:
    """Does the driver drive the GPU at all?"""
    if pool.driver is None:
        return True
    arch, last = tables.architectures().get(pool.gpu.capability), last_driver(pool.gpu, pool.platform)
    first = arch.first_branch if arch is not None and pool.platform is not Platform.WINDOWS else None
    return (first or 0) <= pool.driver.branch and (last is None or pool.driver <= last)


def _may_reach(image: ImageFacts, pool: PoolFacts) -> bool:
    """Could this driver do for the image's CUDA? Without a compat package only one that reaches it."""
    if image.cuda is None or image.compat_package is not Present.NO:
        return _is_driven(pool)
    return _is_driven(pool) and image.cuda.line <= instead.newest_reached(pool.driver, pool.platform)


def _driver_way(asked: Asked, refusals: list[Finding]) -> Iterator[Way]:
    """A driver with which all images run: the lowest newer one, or the nearest older one for a GPU that was dropped."""
    gpu, image, last = asked.pool.gpu, asked.image, last_driver(asked.pool.gpu, asked.pool.platform)
    now = max(pool.driver for pool in asked.pools if pool.driver is not None)
    top = last or _newest()
    does_top = _run(asked.images, _on(asked, top))
    if not does_top and image.compat_package is Present.NO and not image.requires:
        return  # what the newest driver of a GPU does not run, no other does
    if last is not None and now > last and does_top and _run(asked.images, _on(asked, _first_of(gpu))):
        yield Way(f"use driver {last}.x, the last branch for {gpu.name}", (_to(asked, top),))
        return
    hosts = tuple(dict.fromkeys((pool.gpu, pool.around) for pool in asked.pools))
    known = {
        *_running(asked.images, hosts),
        *(each for each in _asked_for(refusals) if _serves(asked.images, hosts, each)),
    }
    allowed = [driver for driver in known if driver != now and (last is None or driver <= last)]
    newer, older = [each for each in allowed if each > now], [each for each in allowed if each < now]
    if driver := min(newer, default=None) or max(older, default=None):
        until = f" up to branch {last}" if last is not None else ""
        words = f" or newer, which {gpu.name} allows{until}" if does_top and driver > now else ""
        yield Way(f"use driver {_shown(driver)}{words}", (_to(asked, driver),))


def _to(asked: Asked, driver: DriverVersion) -> Change:
    return Change("driver", asked.case.driver, str(driver))


@cache
def _newest() -> DriverVersion:
    """What stands for the newest driver of the tables."""
    return DriverVersion.end_of(tables.newest_branch())


def _first_of(gpu: Gpu) -> DriverVersion:
    """The first driver of the last branch of a GPU that was dropped."""
    return tables.first_release(last_branch(gpu) or 0)


def _on(asked: Asked, *drivers: DriverVersion) -> tuple[PoolFacts, ...]:
    gpus = dict.fromkeys((pool.gpu, pool.around) for pool in asked.pools)
    return tuple(PoolFacts(gpu, driver, around) for gpu, around in gpus for driver in drivers)


def _asked_for(refusals: list[Finding]) -> Iterator[DriverVersion]:
    for change in (change for finding in refusals for change in finding.changes if change.field == "driver"):
        try:
            yield tables.parse_driver_floor(change.to)
        except ValueError:
            continue  # a JetPack, words


def _shown(driver: DriverVersion) -> str:
    """A branch as such, where the tables know no release of it."""
    return f"{driver}.x" if str(driver).isdigit() else str(driver)


# --- packages and JetPacks ---


def _compat_way(asked: Asked) -> Iterator[Way]:
    """A compat package, where the GPU and the host's branch are among those it serves."""
    image, pool, driver = asked.image, asked.pool, asked.pool.driver
    if image.cuda is None or driver is None or image.compat_package is Present.YES:
        return
    if pool.gpu.forward_compat is not Present.YES or reaches(image.cuda, driver, pool.platform) is not False:
        return
    change = Change("cuda_compat", asked.case.cuda_compat, "yes")
    images = _read(asked.case, (change,), pool)
    if images and _run(images, asked.pools):
        package = f"cuda-compat-{image.cuda.major}-{image.cuda.minor}"
        text = f"install {package} in the image, which serves {pool.gpu.name} on driver branch {driver.branch}"
        yield Way(text, (change,))


def _jetpack_way(asked: Asked) -> Iterator[Way]:
    """The lowest newer JetPack for the module with which it runs."""
    now = asked.pool.jetson
    for row in sorted(tables.jetsons(), key=lambda row: row.l4t):
        if (now is not None and row.l4t <= now) or asked.pool.gpu.capability not in row.modules:
            continue
        change = Change("driver", asked.case.driver, str(row.l4t))
        pools = read_pools(replace(asked.case, driver=change.to)).values
        if _run(asked.images, pools):
            yield Way(f"install JetPack {row.jetpack} (L4T {row.l4t}) on the {asked.pool.gpu.name}", (change,))
            return


# --- settings ---


def _settings(case: Case, refusals: list[Finding]) -> tuple[str, tuple[Change, ...]]:
    """What refusals ask for that is neither in the image nor the driver: in words, and as changes of the case."""
    words: list[str] = []
    changes: dict[str, str] = {}
    for change in (finding.changes[0] for finding in refusals if finding.changes):
        if change.field not in _SETTINGS:
            continue
        words.append(_words(change))
        before = changes.get(change.field, getattr(case, change.field))
        changes[change.field] = _environment(before, change.to) if change.field == "env" else change.to
    told = tuple(Change(name, getattr(case, name), to) for name, to in changes.items())
    return " and ".join(dict.fromkeys(words)), told


def _words(change: Change) -> str:
    to = change.to
    if change.field == "env":
        if to.endswith(" unset"):
            return f"unset {to.removesuffix(' unset')}"
        if " without " in to:
            return f"take the compat folder out of {to.partition(' ')[0]}"
        return f"set {to.partition(', or ')[0]} in the container"
    if change.field == "cuda_compat":
        if to == "no":
            return "take the cuda-compat package out of the image"
        return "install the cuda-compat package in the image"
    return {
        "kernel_module": f"load the {to} kernel modules",
        "container_toolkit": f"update the NVIDIA container toolkit to {to}",
        "image_glibc": f"use an image with glibc {to} or newer",
        "host": "run it under WSL 2" if to == "wsl" else f"run it under {to}",
        "ami_release": f"use the machine image {to}",
    }[change.field]


def _environment(env: str, to: str) -> str:
    """The variables after one of them is set, unset or freed of the compat folder."""
    said = dict(part.partition("=")[::2] for part in re.split(r"[;\n]", env) if "=" in part)
    said = {key.strip(): value.strip() for key, value in said.items()}
    name = re.match(r"\w+", to)
    if to.endswith(" unset") and name:
        said.pop(name[0], None)
    elif " without " in to and name:
        said[name[0]] = ":".join(part for part in said.get(name[0], "").split(":") if "compat" not in part)
    else:
        key, _, value = to.partition("=")
        said[key] = value.partition(", or ")[0]
    return ";".join(f"{key}={value}" for key, value in said.items() if value or not to.startswith(key))


# --- where nothing can be found ---


def _nothing(asked: Asked, refusals: list[Finding], words: str) -> Remedy:
    gpu, rules = asked.pool.gpu, {each.rule for each in refusals}
    if words:
        return Remedy(f"{words[0].upper()}{words[1:]}.")
    if "R-CPU" in rules:
        host = asked.pool.cpu_architecture
        return Remedy(f"Use a build for {host}, or another host: this one has {host} processors.")
    if asked.image.gpu_free:
        return Remedy("Use an image or a build with CUDA: this one uses no GPU anywhere.")
    for finding in refusals:
        if found := re.search(r"asks for compute capability (\d+\.\d)(?: to (\d+\.\d))?", finding.message):
            span = f"{found[1]} to {found[2]}" if found[2] else f"{found[1]} or newer"
            what = asked.image.framework or "it"
            return Remedy(
                f"No build of {what} in the tables runs on {gpu.name}: use a GPU of compute capability {span}."
            )
    last = last_driver(gpu, asked.pool.platform)
    newest = last if last is not None and not _is_driven(asked.pool) else asked.lowest
    if asked.image.code is not None and (line := instead.newest_line(asked.pool, newest)) is not None:
        on = f" on driver {last}.x, the last branch for it" if newest is not asked.lowest else ""
        return Remedy(f"Build it for sm_{gpu.capability.digits} ({gpu.name}), with CUDA {line}{on}.")
    return Remedy(f"Nothing that the tables know makes this run on {gpu.name} as it is: use another GPU.")
