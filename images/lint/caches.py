"""What package managers leave in a layer, and what takes it away again."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from images.lint.model import Command, Instruction
from images.lint.packages import Install, Manager, install_of

_REMOVERS: Final = frozenset({"rm", "find", "truncate"})


@dataclass(frozen=True, slots=True)
class Cache:
    """What one manager leaves. `paths` are parts of paths; a mount or a removal that has one of them covers it."""

    name: str
    leaves: str
    paths: tuple[str, ...]
    cleaners: tuple[tuple[str, ...], ...]  # programs with the words that must follow
    off_options: frozenset[str]
    off_variables: frozenset[str]
    fix: str


PIP: Final = Cache(
    "pip",
    "pip's cache",
    (".cache", ".cache/pip"),
    (("pip", "cache", "purge"), ("pip3", "cache", "purge")),
    frozenset({"--no-cache-dir", "--no-cache"}),
    frozenset({"PIP_NO_CACHE_DIR", "PIP_NO_CACHE"}),
    "RUN --mount=type=cache,target=/root/.cache/pip …, or pip install --no-cache-dir",
)
UV: Final = Cache(
    "uv",
    "uv's cache",
    (".cache", ".cache/uv"),
    (("uv", "cache", "clean"), ("uv", "cache", "prune")),
    frozenset({"--no-cache", "-n", "--no-cache-dir"}),
    frozenset({"UV_NO_CACHE"}),
    "RUN --mount=type=cache,target=/root/.cache/uv …, or uv pip install --no-cache",
)
CONDA: Final = Cache(
    "conda",
    "conda's package cache",
    ("pkgs",),
    (("conda", "clean"), ("mamba", "clean"), ("micromamba", "clean")),
    frozenset(),
    frozenset(),
    "end the same RUN with && conda clean --all -f -y, or mount a cache at /opt/conda/pkgs",
)
APT: Final = Cache(
    "apt",
    "apt's package lists",
    ("/var/lib/apt", "/var/lib/apt/lists", "/var/cache/apt"),
    (("apt-get", "distclean"), ("apt", "distclean"), ("apt-get", "dist-clean")),
    frozenset(),
    frozenset(),
    "end the same RUN with && rm -rf /var/lib/apt/lists/*, or mount a cache at /var/lib/apt/lists",
)
RPM: Final = Cache(
    "yum",
    "the package manager's cache",
    ("/var/cache/yum", "/var/cache/dnf", "/var/cache/zypp", "/var/cache"),
    (("yum", "clean"), ("dnf", "clean"), ("microdnf", "clean"), ("tdnf", "clean"), ("zypper", "clean")),
    frozenset(),
    frozenset(),
    "end the same RUN with && dnf clean all, or mount a cache at /var/cache/dnf",
)
APK: Final = Cache(
    "apk",
    "apk's index",
    ("/var/cache/apk",),
    (("apk", "cache", "clean"),),
    frozenset({"--no-cache"}),
    frozenset(),
    "apk add --no-cache",
)
NPM: Final = Cache(
    "npm",
    "npm's cache",
    (".npm",),
    (("npm", "cache", "clean"),),
    frozenset(),
    frozenset(),
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
# What weighs in a GPU image is D-CACHE's. A distribution's lists are some tens of MB, and have nothing to do with GPUs:
# D-LISTS. A cleanup in a later layer is a mistake for every manager.
HEAVY: Final = frozenset({PIP, UV, CONDA, NPM})
LIGHT: Final = frozenset({APT, RPM, APK})


def filled_by(command: Command) -> Cache | None:
    """The cache that this command fills. apt: the lists come with `update`; Debian's images keep no archives."""
    if command.program in {"apt-get", "apt", "aptitude"}:
        return APT if command.has("update") else None
    install: Install | None = install_of(command)
    return _BY_MANAGER.get(install.manager) if install else None


def emptied_by(command: Command) -> Cache | None:
    """The cache that this command clears as its own business (`conda clean`), not a plain `rm`."""
    words = (command.program, *(word.text for word in command.arguments if not word.text.startswith("-")))
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
    told = {**known, **exported, **own}
    if any(told.get(name, "").lower() in {"1", "true", "yes", "on", "off"} for name in cache.off_variables):
        return True
    if any(is_at(cache, mount.get("target", "")) and mount.get("type") in {"cache", "tmpfs"} for mount in run.mounts):
        return True
    if cache is PIP and any(
        each.program.startswith("pip") and each.has("config") and each.has("global.no-cache-dir")
        for each in run.commands
    ):
        return True
    return any(clears(cache, each) for each in later)


def left_by(run: Instruction, asked: frozenset[Cache], known: Mapping[str, str]) -> dict[Cache, int]:
    """Which of these caches a RUN leaves, each with the first line that fills it."""
    found: dict[Cache, int] = {}
    for index, command in enumerate(run.commands):
        cache = filled_by(command)
        if cache not in asked or cache is None or cache in found:
            continue
        if not is_covered(cache, command, run, run.commands[index:], known):
            found[cache] = command.line
    return found


def clears(cache: Cache, command: Command) -> bool:
    """Does this command take away what the cache holds? `apt-get clean` leaves the lists."""
    if command.program in _REMOVERS:
        return any(is_at(cache, word.text) for word in command.arguments)
    return emptied_by(command) is cache and not (cache is APT and command.has("clean", "autoclean"))


def is_at(cache: Cache, path: str) -> bool:
    """Is this the folder of the cache, or all that is in it?"""
    return any(re.search(rf"(^|/){re.escape(part.strip('/'))}(/\*?)?$", path) for part in cache.paths)
