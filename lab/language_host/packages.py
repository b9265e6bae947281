"""The contents of an environment: packages, and the provider plugins they need.

Read from its folders and uv.lock. `pip list` says the same and costs a second per operation.
"""

from __future__ import annotations

import base64
import json
import re
import shutil
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.language_host.environment import EnvironmentFault

PRE_RELEASES = {"a": "alpha", "b": "beta", "rc": "rc"}
NOT_PROVIDERS = frozenset({"pulumi-esc-sdk"})  # an SDK without a plugin, named like one with a plugin


@dataclass(frozen=True, slots=True)
class Distribution:
    name: str  # normalised: lower case, dashes
    version: str
    metadata: Path | None = None  # the dist-info folder, None if read from a lock


@dataclass(frozen=True, slots=True)
class Parameterization:
    name: str
    version: str
    value: bytes


@dataclass(frozen=True, slots=True)
class RequiredPlugin:
    """A resource plugin that an installed SDK needs. The version is empty if the SDK states none."""

    name: str
    version: str
    server: str = ""
    parameterization: Parameterization | None = None


def required_plugins(folders: Iterable[Path]) -> list[RequiredPlugin]:
    """Plugins needed by packages in these site-packages folders, by name.

    A package declares its plugin in `pulumi-plugin.json`. One named `pulumi-*` without that file counts as the SDK of
    the provider of that name, as in the official host. Raises EnvironmentFault for a bad file.
    """
    required: dict[str, RequiredPlugin] = {}
    for folder in folders:
        distributions = {found.name: found for found in installed([folder]) if found.name not in NOT_PROVIDERS}
        described = {path.parent.name: path for path in folder.glob("*/pulumi-plugin.json")}
        for module, path in described.items():
            if plugin := _described(path, distributions.get(normalised(module))):
                required.setdefault(module, plugin)
        for distribution in distributions.values():
            module = distribution.name.replace("-", "_")
            if module not in described and distribution.name.startswith("pulumi-"):
                plugin = RequiredPlugin(distribution.name.removeprefix("pulumi-"), semver(distribution.version))
                required.setdefault(module, plugin)
    return sorted(required.values(), key=lambda plugin: plugin.name)


def obtainable(plugins: Iterable[RequiredPlugin], environ: Mapping[str, str]) -> list[RequiredPlugin]:
    """All of them, or only those on this machine if plugins must not be downloaded.

    Commands such as `pulumi package get-schema` download every plugin the host names, needed or not, and fail if they
    cannot. A plugin that is really used is still missed when its first resource is registered.
    """
    if environ.get("PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION", "").lower() not in {"true", "1"}:
        return list(plugins)
    cache = Path(environ.get("PULUMI_HOME") or Path.home() / ".pulumi") / "plugins"
    return [
        plugin
        for plugin in plugins
        if (cache / f"resource-{plugin.name}-v{plugin.version.removeprefix('v')}").exists()
        or shutil.which(f"pulumi-resource-{plugin.name}", path=environ.get("PATH"))
    ]


def installed(folders: Iterable[Path]) -> list[Distribution]:
    """Every distribution in these folders, by name, from the names of the dist-info folders alone."""
    found: dict[str, Distribution] = {}
    for folder in folders:
        for info in folder.glob("*.dist-info"):
            name, _, version = info.name.removesuffix(".dist-info").partition("-")
            found.setdefault(normalised(name), Distribution(normalised(name), version, info))
    return sorted(found.values(), key=lambda distribution: distribution.name)


def without_required(distributions: Iterable[Distribution]) -> list[Distribution]:
    """Packages that no other requires: those somebody asked for, like `pip list --not-required`."""
    kept = list(distributions)
    required = {name for distribution in kept for name in _requirements(distribution)}
    return [distribution for distribution in kept if distribution.name not in required]


def locked(lock: Path, *, is_transitive: bool) -> list[Distribution]:
    """Packages of a uv.lock, by name, without its own projects; all, or those the projects require."""
    try:
        packages: list[dict[str, Any]] = tomllib.loads(lock.read_text()).get("package", [])
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise EnvironmentFault(f"{lock} cannot be read: {error}; recreate it with `uv lock`") from error
    projects = [package for package in packages if {"virtual", "editable"} & set(package.get("source", {}))]
    own = {project["name"] for project in projects}
    direct = {dependency["name"] for project in projects for dependency in project.get("dependencies", [])}
    return sorted(
        (
            Distribution(normalised(package["name"]), package.get("version", ""))
            for package in packages
            if package["name"] not in own and (is_transitive or package["name"] in direct)
        ),
        key=lambda distribution: distribution.name,
    )


def site_packages(virtualenv: Path) -> list[Path]:
    return sorted(virtualenv.glob("lib/python3*/site-packages"))


def normalised(name: str) -> str:
    """A package name in PEP 503's form."""
    return re.sub(r"[-_.]+", "-", name).lower()


def semver(version: str) -> str:
    """A Python version in Pulumi's plugin form: 1.2.0a3 → 1.2.0-alpha.3, 1.2 → 1.2.0."""
    match = re.match(r"v?(\d+)(?:\.(\d+))?(?:\.(\d+))?(?:(a|b|rc)(\d+))?", version)
    if match is None:
        return ""
    major, minor, patch, kind, number = match.groups()
    return f"{major}.{minor or 0}.{patch or 0}" + (f"-{PRE_RELEASES[kind]}.{number}" if kind else "")


def _described(path: Path, distribution: Distribution | None) -> RequiredPlugin | None:
    try:
        described: Mapping[str, Any] = json.loads(path.read_text())
        if not described.get("resource"):
            return None
        parameters = described.get("parameterization")
        return RequiredPlugin(
            name=described.get("name") or normalised(path.parent.name).removeprefix("pulumi-"),
            version=described.get("version") or (semver(distribution.version) if distribution else ""),
            server=described.get("server") or "",
            parameterization=parameters
            and Parameterization(parameters["name"], parameters["version"], base64.b64decode(parameters["value"])),
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise EnvironmentFault(f"{path} is not a plugin description: {error!r}; install the package again") from error


def _requirements(distribution: Distribution) -> Iterable[str]:
    if distribution.metadata is None or not (metadata := distribution.metadata / "METADATA").exists():
        return
    for line in metadata.read_text(errors="replace").splitlines():
        if not line:
            return  # the description begins
        if line.startswith("Requires-Dist:") and "extra ==" not in line:
            yield normalised(re.split(r"[\s;<>=!~\[(]", line.removeprefix("Requires-Dist:").strip(), maxsplit=1)[0])
