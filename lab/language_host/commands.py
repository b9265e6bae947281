"""Command lines for a program, a pack, a plug-in, an installation. Pure, so that tests can read them."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lab.language_host.environment import (
    Environment,
    EnvironmentFault,
    Toolchain,
    machine_python,
    project_file,
    search_upward,
)

if TYPE_CHECKING:
    from pulumi.runtime.proto.language_pb2 import RunPluginRequest, RunRequest

# The exec script's exit code after it has shown the error itself.
EXIT_SHOWN = 32


@dataclass(frozen=True, slots=True)
class Command:
    argv: Sequence[str]
    cwd: Path
    env: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Addresses:
    """What a program needs of its host: the engine, where traces go, the script that runs programs."""

    engine: str
    tracing: str
    exec_script: Path


def run_command(
    request: RunRequest, environment: Environment, addresses: Addresses, environ: Mapping[str, str]
) -> Command:
    """The command that runs a program: the SDK's exec script, its flags, the entry point."""
    if not addresses.exec_script.is_file():
        raise EnvironmentFault(f"{addresses.exec_script} is missing: install the tools again (`make up`)")
    flags = {
        "monitor": request.monitor_address,
        "engine": addresses.engine,
        "project": request.project,
        "root_directory": str(environment.root),
        "stack": request.stack,
        "organization": request.organization,
        "pwd": request.pwd,
        "dry_run": "true" if request.dryRun else "",
        "parallel": str(request.parallel),  # the script converts it without checking that it exists
        "tracing": addresses.tracing,
    }
    entry = request.info.entry_point or request.program or "."
    if request.pwd and Path(request.pwd) != environment.program:
        entry = str(environment.program / entry)  # the script changes into `pwd` before it looks for the entry
    given = [part for name, value in flags.items() if value for part in (f"--{name}", value)]
    # `--`: a program's own arguments may begin with a dash.
    own = ["--", *request.args] if request.args else []
    return Command(
        argv=[str(environment.python(environ)), "-u", str(addresses.exec_script), *given, entry, *own],
        cwd=environment.program,
        env={
            **environment.activated(environ),
            "PULUMI_CONFIG": json.dumps(dict(request.config)),
            "PULUMI_CONFIG_SECRET_KEYS": json.dumps(list(request.configSecretKeys)),
        },
    )


def plugin_command(request: RunPluginRequest, environment: Environment) -> Command:
    """The command for a pack or a plug-in. Its folder is the entry point, the engine's address an argument."""
    environ = dict(entry.partition("=")[::2] for entry in request.env)
    start = [str(environment.python(environ)), "-u"]
    env = environment.activated(environ)
    if request.kind == "analyzer":
        # A pack imports modules from its own folder, and reads files beside itself.
        return Command([*start, "-m", "pulumi.policy", *request.args, "."], environment.program, env)
    pwd = Path(request.pwd) if request.pwd else environment.program
    if (environment.program / "__main__.py").exists():
        return Command([*start, str(environment.program), *request.args], pwd, env)
    return Command([*start, "-m", "pulumi.run.plugin", _distribution(environment.program), *request.args], pwd, env)


def typecheck_command(environment: Environment, environ: Mapping[str, str]) -> Command | None:
    if environment.typechecker is None:
        return None
    argv = [str(environment.python(environ)), "-m", str(environment.typechecker), "."]
    return Command(argv, environment.program, environment.activated(environ))


def install_commands(environment: Environment, environ: Mapping[str, str], uv: str | None) -> list[Command]:
    """Commands that create a program's environment: `uv sync`, or a virtual environment and `pip install -r`.

    `uv` is its path, None if missing. Raises EnvironmentFault if there is no way.
    """
    virtualenv, program = environment.virtualenv, environment.program
    listed = (folder / "requirements.txt" for folder in (program, environment.root))
    requirements = next((path for path in listed if path.exists()), None)
    env = {name: value for name, value in environ.items() if name not in {"VIRTUAL_ENV", "PYTHONHOME"}}
    if virtualenv is None:
        raise EnvironmentFault(
            f"{project_file(environment.root)}: runtime.options.virtualenv is not set, and packages are not installed "
            "into the Python of the machine; add `virtualenv: .venv`"
        )
    if environment.toolchain is Toolchain.PIP:
        python = virtualenv / "bin" / "python"
        venv = [str(machine_python(env)), "-m", "venv", str(virtualenv)]
        pip = [str(python), "-m", "pip", "install", "--disable-pip-version-check", "-r", str(requirements)]
        needed = ([] if python.exists() else [venv]) + ([pip] if requirements else [])
        return [Command(argv, program, env) for argv in needed]
    if uv is None:
        raise EnvironmentFault(
            "uv is not on PATH: install it (`pip install uv`), or set runtime.options.toolchain: pip"
        )
    env["UV_PROJECT_ENVIRONMENT"] = str(virtualenv)
    if search_upward(program, "pyproject.toml"):
        return [Command([uv, "sync"], program, env)]
    if requirements is None:
        raise EnvironmentFault(
            f"{program}: there is no pyproject.toml and no requirements.txt that says what to install"
        )
    make = [uv, "venv", "--allow-existing", str(virtualenv)]
    install = [uv, "pip", "install", "--python", str(virtualenv), "-r", str(requirements)]
    return [Command(make, program, env), Command(install, program, env)]


def _distribution(folder: Path) -> str:
    """The package name of a plug-in without `__main__.py`: it runs as an installed package."""
    try:
        name = tomllib.loads((folder / "pyproject.toml").read_text())["project"]["name"]
    except (OSError, tomllib.TOMLDecodeError, KeyError, TypeError) as error:
        raise EnvironmentFault(
            f"{folder} has neither __main__.py nor a pyproject.toml with project.name: one of them says what to run"
        ) from error
    return str(name)
