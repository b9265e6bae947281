"""Finds what a command installs: package manager, names, versions, target environment."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from typing import Final

from imaging.lint.recipe import Command, Word
from imaging.lint.requirements import Package, of_conda, of_pip
from imaging.lint.shell import PROGRAMS, option_value, option_values


class Manager(StrEnum):
    """Package managers that the rules know."""

    PIP = "pip"
    UV = "uv"
    CONDA = "conda"
    APT = "apt"
    RPM = "rpm"  # yum, dnf, microdnf, zypper
    APK = "apk"
    NPM = "npm"


@dataclass(frozen=True, slots=True)
class Install:
    """One call that installs."""

    manager: Manager
    command: Command
    packages: tuple[Package, ...]
    environment: str  # conda environment, virtual environment or prefix; empty: the image's own
    files: tuple[Word, ...] = ()  # requirements, environment files, lock files
    plain: tuple[Word, ...] = ()  # pip: all words except options and their values
    has_constraints: bool = False  # a file named in the call has the versions

    @property
    def names(self) -> frozenset[str]:
        return frozenset(package.name for package in self.packages)


_PIP_VALUED: Final = frozenset(PROGRAMS["valued"]["pip"])
_CONDA_VALUED: Final = frozenset(PROGRAMS["valued"]["conda"])
_SYSTEM: Final[Mapping[str, Mapping[str, list[str]]]] = PROGRAMS["system"]
_SYSTEM_PREFIXES: Final = frozenset({"", "/usr", "/usr/local", "/opt/conda", "$CONDA_DIR", "${CONDA_DIR}", "base"})


def installs(commands: Iterable[Command]) -> Iterator[Install]:
    """Every call that installs something, in order."""
    for command in commands:
        if found := install_of(command):
            yield found


@cache
def install_of(command: Command) -> Install | None:
    """What this command installs; None if it is no installation."""
    program, words = command.program, command.arguments
    if re.fullmatch(r"(python|pypy)[\d.]*", program):
        module = re.match(r"-m ?pip ", " ".join(command.texts[1:]))
        return _pip(command, words[module[0].count(" ") :], _environment_of(command)) if module else None
    if re.fullmatch(r"pip[\d.]*", program):
        return _pip(command, words, _environment_of(command))
    if program == "uv":
        return _uv(command, words)
    if program in {"conda", "mamba", "micromamba"}:
        return _conda(command, words)
    manager = next((name for name, known in _SYSTEM.items() if program in known["programs"]), None)
    return _system(command, words, Manager(manager)) if manager else None


def installs_anything(install: Install) -> bool:
    """Does it bring dependencies? Installing the project itself (`pip install .`) needs the project first."""
    return bool(install.packages or install.files) or install.command.has("ci")


def _plain(words: Sequence[Word], valued: frozenset[str]) -> list[Word]:
    """Words except options and their values."""
    found: list[Word] = []
    skip = False
    for word in words:
        if skip:
            skip = False
        elif word.text.startswith("-"):
            skip = word.text in valued
        else:
            found.append(word)
    return found


def _verb(words: Sequence[Word], verbs: Sequence[str], valued: frozenset[str]) -> Sequence[Word] | None:
    """Words after the verb, if the first plain word is one of these."""
    plain = _plain(words, valued)
    if not plain or plain[0].text not in verbs:
        return None
    return [word for word in words if word is not plain[0]]


def _environment_of(command: Command) -> str:
    """By the program's own path, else the active one."""
    folder, slash, _ = command.words[0].text.rpartition("/")
    return _named(folder.removesuffix("/bin")) if slash and folder.endswith("/bin") else _named(command.environment)


def _named(prefix: str) -> str:
    """One name for one environment: `/opt/conda/envs/tf` and `tf` are the same, and so are all system prefixes."""
    prefix = prefix.rstrip("/")
    if prefix in _SYSTEM_PREFIXES:
        return ""
    return re.sub(r"^.*/envs/", "", prefix)


def _pip(command: Command, words: Sequence[Word], environment: str) -> Install | None:
    rest = _verb(words, ("install",), _PIP_VALUED)
    if rest is None:
        return None
    plain = tuple(_plain(rest, _PIP_VALUED))
    return Install(
        Manager.PIP,
        command,
        tuple(of_pip(plain)),
        option_value(rest, "--target", "-t", "--prefix") or environment,
        tuple(option_values(rest, "-r", "--requirement", may_touch=True)),
        plain,
        has_constraints=any(option_values(rest, "-c", "--constraint", may_touch=True)),
    )


def _uv(command: Command, words: Sequence[Word]) -> Install | None:
    texts = [word.text for word in words]
    if texts[:2] == ["pip", "sync"]:
        return Install(Manager.UV, command, (), _environment_of(command), tuple(_plain(words[2:], _PIP_VALUED)))
    if texts[:1] == ["pip"]:
        python = option_value(words, "--python", "-p")
        environment = _named(re.sub(r"/bin/python[\d.]*$", "", python)) if "/" in python else _environment_of(command)
        found = _pip(command, words[1:], environment)
        return replace(found, manager=Manager.UV) if found else None
    if texts[:1] == ["sync"]:
        return Install(Manager.UV, command, (), "", (words[0],), has_constraints=True)
    if texts[:1] == ["add"]:
        return Install(Manager.UV, command, tuple(of_pip(_plain(words[1:], _PIP_VALUED))), "")
    return None


def _conda(command: Command, words: Sequence[Word]) -> Install | None:
    environment = _named(option_value(words, "-n", "--name", "-p", "--prefix") or command.environment)
    if [word.text for word in words[:1]] == ["env"]:
        rest = _verb(words[1:], ("create", "update"), _CONDA_VALUED | {"-f", "--file"})
        files = tuple(option_values(words, "-f", "--file", may_touch=True))
        return (
            Install(Manager.CONDA, command, (), environment, files, has_constraints=True) if rest is not None else None
        )
    rest = _verb(words, ("install", "create", "update"), _CONDA_VALUED | {"-f", "--file"})
    if rest is None:
        return None
    packages = tuple(of_conda(_plain(rest, _CONDA_VALUED | {"-f", "--file"})))
    return Install(
        Manager.CONDA, command, packages, environment, tuple(option_values(rest, "--file", "-f", may_touch=True))
    )


def _system(command: Command, words: Sequence[Word], manager: Manager) -> Install | None:
    valued = frozenset(_SYSTEM[manager]["valued"])
    rest = _verb(words, _SYSTEM[manager]["verbs"], valued)
    if rest is None:
        return None
    packages = []
    for word in _plain(rest, valued):
        is_scoped = manager is Manager.NPM and "@" in word.text[1:]
        name, _, version = word.text.partition("@" if is_scoped else "=")
        packages.append(Package(re.sub(r"(:\w+|/\S+|[+-])$", "", name), word, version, is_pinned=bool(version)))
    return Install(manager, command, tuple(packages), "")
