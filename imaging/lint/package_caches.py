"""Package managers' caches in a layer, and commands that clear them."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from imaging.lint.packages import Install, Manager, install_of
from imaging.lint.recipe import Command, Instruction

_REMOVERS: Final = frozenset({"rm", "find", "truncate"})


@dataclass(frozen=True, slots=True)
class Cache:
    """One manager's cache. `paths` are parts of paths; a mount or removal with one of them covers it."""

    leaves: str
    paths: tuple[str, ...]
    cleaners: tuple[tuple[str, ...], ...]  # programs and their required arguments
    fix: str
    off_options: frozenset[str] = frozenset()
    off_variables: frozenset[str] = frozenset()


PIP: Final = Cache(
    "pip's cache",
    (".cache", ".cache/pip"),
    (("pip", "cache", "purge"), ("pip3", "cache", "purge")),
    "RUN --mount=type=cache,target=/root/.cache/pip …, or pip install --no-cache-dir",
    off_options=frozenset({"--no-cache-dir", "--no-cache"}),
    off_variables=frozenset({"PIP_NO_CACHE_DIR", "PIP_NO_CACHE"}),
)
UV: Final = Cache(
    "uv's cache",
    (".cache", ".cache/uv"),
    (("uv", "cache", "clean"), ("uv", "cache", "prune")),
    "RUN --mount=type=cache,target=/root/.cache/uv …, or uv pip install --no-cache",
    off_options=frozenset({"--no-cache", "-n", "--no-cache-dir"}),
    off_variables=frozenset({"UV_NO_CACHE"}),
)
CONDA: Final = Cache(
    "conda's package cache",
    ("pkgs",),
    (("conda", "clean"), ("mamba", "clean"), ("micromamba", "clean")),
    "end the same RUN with && conda clean --all -f -y, or mount a cache at /opt/conda/pkgs",
)
APT: Final = Cache(
    "apt's package lists",
    ("/var/lib/apt", "/var/lib/apt/lists", "/var/cache/apt"),
    (("apt-get", "distclean"), ("apt", "distclean"), ("apt-get", "dist-clean")),
    "end the same RUN with && rm -rf /var/lib/apt/lists/*, or mount a cache at /var/lib/apt/lists",
)
RPM: Final = Cache(
    "the package manager's cache",
    ("/var/cache/yum", "/var/cache/dnf", "/var/cache/zypp", "/var/cache"),
    (("yum", "clean"), ("dnf", "clean"), ("microdnf", "clean"), ("tdnf", "clean"), ("zypper", "clean")),
    "end the same RUN with && dnf clean all, or mount a cache at /var/cache/dnf",
)
APK: Final = Cache(
    "apk's index",
    ("/var/cache/apk",),
    (("apk", "cache", "clean"),),
    "apk add --no-cache",
    off_options=frozenset({"--no-cache"}),
)
NPM: Final = Cache(
    "npm's cache",
    (".npm",),
    (("npm", "cache", "clean"),),
    "RUN --mount=type=cache,target=/root/.npm …, or end it with && npm cache clean --force",
)
_BY_MANAGER: Final[Mapping[Manager, Cache]] = {
    Manager.PIP: PIP,
    Manager.UV: UV,
    Manager.CONDA: CONDA,
    Manager.RPM: RPM,
    Manager.APK: APK,
    Manager.NPM: NPM,
}
ALL: Final = (PIP, UV, CONDA, APT, RPM, APK, NPM)
# D-CACHE is for the big caches of GPU images. A distribution's lists have some tens of MB, and nothing to do with
# GPUs: D-LISTS. A cleanup in a later layer is a mistake for every manager.
HEAVY: Final = frozenset({PIP, UV, CONDA, NPM})
LIGHT: Final = frozenset({APT, RPM, APK})


def filled_by(command: Command) -> Cache | None:
    """The cache that this command fills. apt: `update` brings the lists; Debian's images keep no archives."""
    if command.program in {"apt-get", "apt", "aptitude"}:
        return APT if command.has("update") else None
    install: Install | None = install_of(command)
    return _BY_MANAGER.get(install.manager) if install else None


def emptied_by(command: Command) -> Cache | None:
    """The cache that this command is made to clear (`conda clean`), not by a plain `rm`."""
    words = (command.program, *command.plain)
    if words[:2] in {("apt-get", "clean"), ("apt", "clean"), ("apt-get", "autoclean")}:
        return APT
    return next((cache for cache in ALL for cleaner in cache.cleaners if words[: len(cleaner)] == cleaner), None)


def is_covered(
    cache: Cache, command: Command, run: Instruction, later: Sequence[Command], known: Mapping[str, str]
) -> bool:
    """Is the cache off, on a mount, or cleared by a later command of the same RUN?"""
    if cache.off_options & {word.text.partition("=")[0] for word in command.arguments}:
        return True
    own = {name: word.text for name, word in command.variables}
    exported = {name: word.text for each in run.commands for name, word in each.variables}
    variables = {**known, **exported, **own}
    if any(variables.get(name, "").lower() in {"1", "true", "yes", "on", "off"} for name in cache.off_variables):
        return True
    if any(is_at(cache, mount.get("target", "")) and mount.get("type") in {"cache", "tmpfs"} for mount in run.mounts):
        return True
    if cache is PIP and any(
        each.program.startswith("pip") and each.has("config") and each.has("global.no-cache-dir")
        for each in run.commands
    ):
        return True
    return any(clears(cache, each) for each in later)


def left_in(image: Sequence[Instruction], wanted: frozenset[Cache]) -> Iterator[tuple[Cache, int]]:
    """Caches that each RUN of an image leaves, with the first line that fills each."""
    known: dict[str, str] = {}
    for run in image:
        if run.keyword in {"ENV", "ARG"}:
            known |= {name: word.text for name, word in run.variables}
        found = set[Cache]()
        for index, command in enumerate(run.commands if run.keyword == "RUN" else ()):
            cache = filled_by(command)
            if cache not in wanted - found or cache is None:
                continue
            if not is_covered(cache, command, run, run.commands[index:], known):
                found.add(cache)
                yield cache, command.line


def clears(cache: Cache, command: Command) -> bool:
    """Does this command clear the cache? `apt-get clean` leaves the lists."""
    if command.program in _REMOVERS:
        return any(is_at(cache, word.text) for word in command.arguments)
    return emptied_by(command) is cache and not (cache is APT and command.has("clean", "autoclean"))


def is_at(cache: Cache, path: str) -> bool:
    """Is this the folder of the cache, or all its content?"""
    return any(re.search(rf"(^|/){re.escape(part.strip('/'))}(/\*?)?$", path) for part in cache.paths)
