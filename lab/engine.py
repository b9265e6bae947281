"""Drives the Pulumi engine: its environment, its plugins, and the operations of `make up`."""

from __future__ import annotations

import filecmp
import json
import os
import shlex
import shutil
import sys
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx

from lab import files, orphans, processes, sdks, state
from lab.instance import Instance
from lab.language_host import launcher as language_host
from lab.providers import plugin
from lab.servers import buildkit, docker, moto, slurm_files, slurmctld
from lab.toolchain import Report, Toolchain

PROJECT = Path(__file__).parent.parent
TOOL_PLUGINS = ("docker-build",)  # tools of every lab
# Plugin → the tool that builds it where the engine cannot download the publisher's own.
BUILT = {"kubernetes": "pulumi-kubernetes", "docker": "docker"}
STAND_INS = {"aws": ("7.51.1", "lab.providers.aws")}  # its SDK's version and our module, where it cannot be downloaded
PROGRESS = {"up", "preview", "destroy", "refresh"}
PUBLISHER = "https://get.pulumi.com"
CLUSTER = frozenset({"kubernetes"})


def bin_folder(instance: Instance) -> Path:
    """Launchers for this instance and checkout: language host and plugins."""
    return instance.config / "bin"


def environment(instance: Instance, tools: Toolchain) -> dict[str, str]:
    """Every variable that a bare `pulumi` needs to work on this lab."""
    folders = [str(bin_folder(instance)), *(str(folder) for folder in tools.bin_folders() if folder.exists())]
    inherited = [part for part in os.environ.get("PATH", "").split(":") if part not in folders]
    origin = installed_plugins(instance).get("kubernetes")
    uv = [str(folder) for folder in sdks.uv_folders()]  # last on PATH: the folder also has a Python
    return {
        "PATH": ":".join([*folders, *inherited, *(part for part in uv if part not in inherited)]),
        "PULUMI_HOME": str(instance.config / "pulumi"),
        "PULUMI_BACKEND_URL": state.url(instance),
        "PULUMI_CONFIG_PASSPHRASE": "",
        "PULUMI_SKIP_UPDATE_CHECK": "true",
        "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
        "PULUMI_OPTION_POLICY_PACK": str(PROJECT / "policies"),
        "PULUMI_ERROR_OUTPUT_STRING": "true",
        # An update that was killed has made objects that its state does not know, and in a lab nobody else makes any.
        **({"PULUMI_K8S_UPSERT_EXISTING_OBJECTS": "true"} if origin == "official" else {}),
        "KUBECONFIG": str(instance.kubeconfig),
        **({"DOCKER_HOST": docker.address(instance)} if processes.is_running(instance, docker.NAME) else {}),
        **(slurm_files.environment(instance) if processes.is_running(instance, slurmctld.NAME) else {}),
        "BUILDX_NO_DEFAULT_ATTESTATIONS": "1",  # buildx would push an index around each image
        "DOCKER_CONFIG": str(buildkit.docker_config(instance)),
        "GPU_COMMONS_SITE": str(instance.config / "site.yaml"),
        **(moto.environment(instance) if processes.is_running(instance, moto.NAME) else {}),
        # A proxy never handles the lab's own addresses.
        "NO_PROXY": ",".join(filter(None, [os.environ.get("NO_PROXY"), "127.0.0.1", instance.networks.node_address])),
    }


def program(instance: Instance, tools: Toolchain) -> str:
    """The `pulumi` of that lab."""
    placed = bin_folder(instance) / "pulumi"
    return str(placed if placed.exists() else tools.path("pulumi"))


def shell_exports(variables: Mapping[str, str]) -> str:
    return "\n".join(f"export {name}={shlex.quote(value)}" for name, value in variables.items())


def prepare(instance: Instance, tools: Toolchain, report: Report, *, plugins: Collection[str] = CLUSTER) -> None:
    """Language host, provider plugins and state folder. Safe to repeat. `plugins`: those of the stack's SDKs."""
    state.make(instance)
    bin_folder(instance).mkdir(exist_ok=True)
    if not tools.is_official("pulumi"):
        # The engine expects its language host beside itself, and warns on every command if it is elsewhere.
        _place(tools.path("pulumi"), bin_folder(instance))
        for name in tools.pins["pulumi"].module_files:
            _place(tools.path(name), bin_folder(instance))
        language_host.write_launcher(bin_folder(instance) / "pulumi-language-python", Path(sys.executable))
    origins = installed_plugins(instance)
    for name in TOOL_PLUGINS:
        _install_tool(instance, tools, name, name)
        origins[name] = "official" if tools.is_official(name) else "built"
    for name in sorted(plugins):
        if origins.get(name) != "official":
            install = _install_built if name in BUILT else _install_stand_in
            origins[name] = install(instance, tools, name, report)
    files.write(_plugins_record(instance), json.dumps(origins, indent=2) + "\n")


def to_build(instance: Instance | None, plugins: Collection[str]) -> tuple[str, ...]:
    """The tools that build those of these plugins that the engine lacks and cannot download."""
    have = installed_plugins(instance) if instance else {}
    wanted = tuple(tool for name, tool in BUILT.items() if name in plugins and have.get(name) != "official")
    return wanted if wanted and not _answers(PUBLISHER) else ()


def _place(program: Path, folder: Path) -> None:
    """Put the program into `folder`, without a second copy if the file system allows."""
    target = folder / program.name
    if target.exists() and target.samefile(program):
        return
    target.unlink(missing_ok=True)
    try:
        target.hardlink_to(program)
    except OSError:
        shutil.copy(program, target)


def installed_plugins(instance: Instance) -> dict[str, str]:
    """The origin of each plugin by name: `official`, `built` (here, from its Go modules) or `stand-in`."""
    try:
        return dict(json.loads(_plugins_record(instance).read_text()))
    except FileNotFoundError:
        return {}


def _install_tool(instance: Instance, tools: Toolchain, name: str, tool: str) -> None:
    """Put a plugin from the toolchain into the engine's cache, which may hold an earlier lab's stand-in."""
    pin = tools.pins[tool]
    brought = tools.path(pin.programs[0])
    cache = instance.config / "pulumi" / "plugins" / f"resource-{name}-v{pin.version}"
    pairs = [(path, cache / path.name) for path in sorted(brought.parent.iterdir())]
    if all(cached.exists() and filecmp.cmp(path, cached) for path, cached in pairs):
        return
    command = [program(instance, tools), "plugin", "install", "resource", name, pin.version, "--reinstall"]
    source = brought.parent if len(pairs) > 1 else brought
    processes.run([*command, "--file", str(source)], env=environment(instance, tools))
    for path, cached in pairs:
        if cached.exists():
            shutil.copystat(path, cached)  # the next comparison then reads no content


def _install_built(instance: Instance, tools: Toolchain, name: str, report: Report) -> str:
    tool = BUILT[name]
    if _install_official(instance, tools, name, tools.pins[tool].version, report):
        return "official"
    tools.ensure_one(tool, report)
    _install_tool(instance, tools, name, tool)
    return "built"


def _install_official(instance: Instance, tools: Toolchain, name: str, version: str, report: Report) -> bool:
    """Let the engine download a plugin that it lacks, if the publisher answers."""
    if installed_plugins(instance).get(name) in {"built", "official"} or not _answers(PUBLISHER):
        return False
    report(f"Pulumi plugin {name} {version}: official download …")
    command = [program(instance, tools), "plugin", "install", "resource", name, version]
    # Whatever an earlier lab has put there under this version.
    processes.run([*command, "--reinstall"], env=environment(instance, tools), timeout_s=900)
    return True


def _install_stand_in(instance: Instance, tools: Toolchain, name: str, report: Report) -> str:
    version, module = STAND_INS[name]
    if _install_official(instance, tools, name, version, report):
        return "official"
    launcher = bin_folder(instance) / "stand-ins" / f"pulumi-resource-{name}"
    launcher.parent.mkdir(exist_ok=True)
    before = launcher.read_text() if launcher.exists() else None
    plugin.write_launcher(launcher, Path(sys.executable), module)
    if launcher.read_text() != before:
        command = [program(instance, tools), "plugin", "install", "resource", name, version]
        processes.run([*command, "--file", str(launcher), "--reinstall"], env=environment(instance, tools))
    return "stand-in"


def _answers(url: str) -> bool:
    try:
        httpx.head(url, timeout=5)
    except httpx.HTTPError:
        return False
    return True


def _plugins_record(instance: Instance) -> Path:
    return instance.config / "plugins.json"


def select_stack(instance: Instance, tools: Toolchain, stack: str) -> None:
    processes.run(
        [program(instance, tools), "stack", "select", "--create", "--non-interactive", stack],
        cwd=PROJECT,
        env=environment(instance, tools),
    )


def settle(instance: Instance, tools: Toolchain, stack: str, report: Report) -> None:
    """Clean up after a killed `pulumi`: its lock, and what it was creating (docs/faults.md).

    The lock of a running one stays, and the engine reports it. Pending creations are removed from the state and not
    from the cluster: all our objects have fixed names, so the next update takes over what exists.
    """
    if not state.left_locked(instance, stack):
        return
    report(f"the last pulumi of stack {stack} was killed: removing its lock and what it left half done")
    orphans.end(instance)
    for command in (["cancel", "--yes"], ["refresh", "--clear-pending-creates", "--yes", "--skip-preview"]):
        processes.run(
            [program(instance, tools), *command, "--non-interactive", "--stack", stack],
            cwd=PROJECT,
            env=environment(instance, tools),
        )


def pulumi(instance: Instance, tools: Toolchain, args: Sequence[str], **variables: str) -> int:
    """Run one `pulumi` command in the project, its output on our terminal; returns the exit code."""
    env = {**environment(instance, tools), **variables}
    if not sys.stdout.isatty() and args[0] in PROGRESS:
        args = [*args, "--suppress-progress"]  # a log needs results, not every step of a display
    return processes.call([program(instance, tools), *args], cwd=PROJECT, env=env)


def outputs(instance: Instance, tools: Toolchain, stack: str) -> dict[str, Any]:
    """Outputs of the stack's last deployment; secrets stay hidden."""
    text = processes.run(
        [program(instance, tools), "stack", "output", "--json", "--stack", stack],
        cwd=PROJECT,
        env=environment(instance, tools),
    )
    return dict(json.loads(text))
