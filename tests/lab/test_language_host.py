"""The language host over its protocol: the process is real, the engine is this test.

The environments are folders with a shell script for a Python, which shows how it was called.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import psutil
import pytest
from google.protobuf.empty_pb2 import Empty
from pulumi.runtime.proto import language_pb2
from pulumi.runtime.proto.language_pb2_grpc import LanguageRuntimeStub

from lab.language_host.launcher import is_official, write_launcher

pytestmark = pytest.mark.slow  # each starts the language host

# How it was called, one fact a line; then what the test wants it to do.
SHOWS_ITS_CALL = """\
echo "arguments: $*"
echo "folder: $PWD"
echo "environment: $VIRTUAL_ENV $PYTHONHOME $PULUMI_CONFIG $PULUMI_CONFIG_SECRET_KEYS"
"""


@dataclass
class Host:
    process: subprocess.Popen[str]
    calls: LanguageRuntimeStub

    def end(self) -> tuple[str, str]:
        """Interrupt it as the engine does; what it wrote after its port."""
        self.process.send_signal(signal.SIGINT)
        return self.process.communicate(timeout=10)


StartHost = Callable[..., Host]


@pytest.fixture
def launcher(tmp_path: Path) -> Path:
    folder = tmp_path / "tools with a space"
    folder.mkdir()
    target = folder / "pulumi-language-python"
    write_launcher(target, Path(sys.executable))
    (folder / "pulumi-language-python-exec").write_text("# the exec script of the SDK\n")
    return target


@pytest.fixture
def start_host(launcher: Path) -> Iterator[StartHost]:
    started: list[subprocess.Popen[str]] = []

    def start(**environ: str) -> Host:
        process = subprocess.Popen(
            [launcher, "127.0.0.1:1"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={"PATH": os.environ["PATH"], "HOME": str(launcher.parent), **environ},
            start_new_session=True,
        )
        started.append(process)
        assert process.stdout
        port = process.stdout.readline()
        assert port.strip().isdigit(), f"the first line is the port, not {port!r}"
        return Host(process, LanguageRuntimeStub(grpc.insecure_channel(f"127.0.0.1:{int(port)}")))

    yield start
    for process in started:
        if process.poll() is None:
            for child in psutil.Process(process.pid).children(recursive=True):
                with contextlib.suppress(psutil.NoSuchProcess):
                    child.kill()  # a broken host leaves them, and they hold its pipes open
        process.kill()
        process.communicate(timeout=10)


@pytest.fixture
def host(start_host: StartHost) -> Host:
    return start_host()


def make_environment(folder: Path, script: str = SHOWS_ITS_CALL) -> Path:
    """A virtual environment whose Python is this shell script."""
    python = folder / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f"#!/bin/sh\n{script}")
    python.chmod(python.stat().st_mode | stat.S_IXUSR)
    (folder / "lib" / "python3.11" / "site-packages").mkdir(parents=True)
    return folder


def make_project(folder: Path, script: str = SHOWS_ITS_CALL) -> Path:
    folder.mkdir()
    (folder / "Pulumi.yaml").write_text("name: tiny\nruntime: python\n")
    make_environment(folder / ".venv", script)
    return folder


def describe(root: Path, options: Mapping[str, Any] | None = None, program: Path | None = None) -> Any:
    info = language_pb2.ProgramInfo(root_directory=str(root), program_directory=str(program or root), entry_point=".")
    info.options.update({"virtualenv": ".venv"} if options is None else dict(options))
    return info


def run_request(root: Path, options: Mapping[str, Any] | None = None, **fields: Any) -> Any:
    request = language_pb2.RunRequest(info=describe(root, options), pwd=str(root), **fields)
    if not request.parallel:
        request.parallel = 4
    return request


def open_plugin(host: Host, folder: Path) -> Any:
    """The stream of a plug-in that runs on, with the environment an engine would hand over."""
    environ = [f"{name}={value}" for name, value in os.environ.items()]
    return host.calls.RunPlugin(language_pb2.RunPluginRequest(info=describe(folder), kind="resource", env=environ))


def failure(call: Callable[[], Any]) -> tuple[grpc.StatusCode, str]:
    with pytest.raises(grpc.RpcError) as caught:
        call()
    error: Any = caught.value
    return error.code(), error.details()


def is_gone(pid: int, within_s: float = 5) -> bool:
    deadline = time.monotonic() + within_s
    with contextlib.suppress(psutil.NoSuchProcess):  # it may end between any two of these questions
        process = psutil.Process(pid)
        while process.status() != psutil.STATUS_ZOMBIE:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.05)
    return True


def read_when_there(path: Path, within_s: float = 10) -> str:
    deadline = time.monotonic() + within_s
    while not (path.exists() and path.read_text()):
        assert time.monotonic() < deadline, f"{path} was not written"
        time.sleep(0.05)
    return path.read_text()


# --- the process


def test_a_start_loads_the_stubs_and_not_the_sdk() -> None:
    process = subprocess.Popen(
        [sys.executable, "-X", "importtime", "-m", "lab.language_host", "127.0.0.1:1"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    assert process.stdout
    process.stdout.readline()
    process.send_signal(signal.SIGINT)
    imported = {line.rpartition("|")[2].strip() for line in process.communicate(timeout=10)[1].splitlines()}
    assert "pulumi.runtime.proto.language_pb2_grpc" in imported
    assert not imported & {"pulumi.resource", "pulumi.runtime.settings", "pydantic", "yaml", "psutil"}


def test_the_host_does_not_import_from_the_callers_python_path(start_host: StartHost, tmp_path: Path) -> None:
    poison = tmp_path / "poison"
    poison.mkdir()
    for name in ("grpc", "lab", "asyncio"):
        (poison / f"{name}.py").write_text("raise RuntimeError('not mine')\n")
    project = make_project(tmp_path / "project", 'echo "path: $PYTHONPATH"')
    host = start_host(PYTHONPATH=str(poison))
    host.calls.Run(run_request(project))
    assert host.end() == (f"path: {poison}\n", "")  # programs still get it


def test_a_launcher_of_ours_is_not_taken_for_the_official_host(launcher: Path, tmp_path: Path) -> None:
    assert not is_official(launcher)
    assert not is_official(tmp_path / "nothing")
    other = tmp_path / "pulumi-language-python"
    other.write_bytes(b"\x7fELF")
    assert not is_official(other), "it cannot be run"
    other.chmod(0o755)
    assert is_official(other)


# --- programs


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ending", "answered"),
    [
        ("exit 0", ("", False)),
        ("exit 32", ("", True)),  # bail: the error was shown already
        ("exit 3", ("the program ended with exit code 3", False)),
        ("kill -9 $$", ("the program was ended by signal 9", False)),
    ],
)
def test_the_end_of_a_program_is_reported_in_the_form_that_the_engine_reads(
    host: Host, tmp_path: Path, ending: str, answered: tuple[str, bool]
) -> None:
    answer = host.calls.Run(run_request(make_project(tmp_path / "project", ending)))
    assert (answer.error, answer.bail) == answered


def test_a_missing_exec_script_is_named(launcher: Path, start_host: StartHost, tmp_path: Path) -> None:
    (launcher.parent / "pulumi-language-python-exec").unlink()
    host = start_host(GPU_COMMONS_PULUMI_EXEC="/nowhere/exec")
    answer = host.calls.Run(run_request(make_project(tmp_path / "project")))
    assert answer.error == "/nowhere/exec is missing: install the tools again (`make up`)"


def test_a_cancelled_program_ends_and_bails_while_plugins_go_on(start_host: StartHost, tmp_path: Path) -> None:
    project = make_project(tmp_path / "project", f"echo $$ > {tmp_path}/program; exec sleep 60")
    plugin = make_project(tmp_path / "plugin", f"echo $$ > {tmp_path}/plugin.pid; exec sleep 60")
    (plugin / "__main__.py").touch()
    host = start_host()
    stream = open_plugin(host, plugin)
    running = host.calls.Run.future(run_request(project))
    program_pid, plugin_pid = (int(read_when_there(tmp_path / name)) for name in ("program", "plugin.pid"))
    host.calls.Cancel(Empty())
    answer = running.result(timeout=5)
    assert (answer.error, answer.bail) == ("", True)
    assert is_gone(program_pid)
    assert psutil.pid_exists(plugin_pid), "the engine tells a plug-in itself, and closes its stream"
    stream.cancel()
    assert is_gone(plugin_pid)


@pytest.mark.slow
def test_a_type_checker_that_complains_keeps_the_program_from_running(host: Host, tmp_path: Path) -> None:
    script = 'case "$*" in "-m mypy .") echo "main.py:1: error: wrong"; exit 1;; *) echo "it ran";; esac'
    project = make_project(tmp_path / "project", script)
    answer = host.calls.Run(run_request(project, {"virtualenv": ".venv", "typechecker": "mypy"}))
    assert answer.error == f"mypy found faults in {project}:\nmain.py:1: error: wrong"
    assert host.end()[0] == ""


# --- options and environments


def test_all_bad_options_are_reported_at_once_with_their_file(host: Host, tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    options = {"toolchain": "conda", "virtualenv": 3, "typechecker": "tsc"}
    answer = host.calls.Run(run_request(project, options))
    start = f"{project}/Pulumi.yaml: runtime.options"
    assert answer.error.splitlines() == [
        f"{start}.toolchain: 'conda' is not a toolchain; use uv or pip",
        f"{start}.virtualenv: 3.0 is not a path; write the folder's name, relative to the yaml, such as .venv",
        f"{start}.typechecker: 'tsc' is not a type checker; use mypy or pyright, or leave it out",
    ]


def test_poetry_is_refused_with_what_to_use_instead(host: Host, tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    assert "use uv or pip" in host.calls.Run(run_request(project, {"toolchain": "poetry"})).error
    (project / "poetry.lock").touch()
    assert f"{project}/poetry.lock: Poetry is not supported" in host.calls.Run(run_request(project, {})).error


def test_the_virtual_environment_is_relative_to_the_yaml_and_not_to_the_program(host: Host, tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    (project / "source").mkdir()
    info = describe(project, {"virtualenv": "../project/.venv"}, program=project / "source")
    host.calls.Run(language_pb2.RunRequest(info=info, pwd=str(project / "source"), parallel=1))
    lines = host.end()[0].splitlines()
    assert lines[1] == f"folder: {project}/source"
    assert lines[2].startswith(f"environment: {project}/.venv ")


@pytest.mark.slow
def test_without_options_the_environment_lies_beside_the_nearest_lock_above(host: Host, tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    (project / "uv.lock").touch()
    policies = project / "policies"
    policies.mkdir()
    (policies / "PulumiPolicy.yaml").touch()
    host.calls.Run(run_request(policies, {}))
    assert f"environment: {project}/.venv " in host.end()[0]


# --- packages


def install(project: Path, name: str, version: str, *, plugin: str | None = None, requires: str = "") -> None:
    site = project / ".venv" / "lib" / "python3.11" / "site-packages"
    info = site / f"{name}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Name: {name}\n{requires}\nRequires-Dist: no-such-thing\n")
    (site / name).mkdir()
    if plugin is not None:
        (site / name / "pulumi-plugin.json").write_text(plugin)


def required(host: Host, project: Path) -> list[str]:
    answer = host.calls.GetRequiredPackages(language_pb2.GetRequiredPackagesRequest(info=describe(project)))
    return [f"{package.kind} {package.name} {package.version} {package.server}".strip() for package in answer.packages]


def test_required_packages_are_what_the_installed_sdks_say(host: Host, tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    install(project, "pulumi", "3.259.0")
    install(
        project, "pulumi_kubernetes", "4.34.2", plugin='{"resource": true, "name": "kubernetes", "version": "4.34.2"}'
    )
    install(project, "pulumi_policy", "1.21.0", plugin='{"resource": false}')
    install(project, "pulumi_nameless", "1.2.0rc3", plugin='{"resource": true, "server": "https://example.edu"}')
    install(project, "pulumi_forgetful", "2.1")
    assert required(host, project) == [
        "resource forgetful 2.1.0",
        "resource kubernetes 4.34.2",
        "resource nameless 1.2.0-rc.3 https://example.edu",
    ]


def test_a_parameterised_package_keeps_its_parameter(host: Host, tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    parameters = {"name": "netlify", "version": "0.2.2", "value": "eyJ4IjoxfQ=="}
    described = {"resource": True, "name": "terraform-provider", "version": "0.10.0", "parameterization": parameters}
    install(project, "pulumi_netlify", "0.2.2", plugin=json.dumps(described))
    answer = host.calls.GetRequiredPackages(language_pb2.GetRequiredPackagesRequest(info=describe(project)))
    (package,) = answer.packages
    assert (package.name, package.parameterization.name, package.parameterization.value) == (
        "terraform-provider",
        "netlify",
        b'{"x":1}',
    )


@pytest.mark.slow
def test_without_downloads_only_installed_plugins_are_required(start_host: StartHost, tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    for name in ("cached", "older", "missing", "onpath"):
        install(
            project, f"pulumi_{name}", "1.0.0", plugin=f'{{"resource": true, "name": "{name}", "version": "1.0.0"}}'
        )
    for version in ("cached-v1.0.0", "older-v0.9.0"):
        (tmp_path / "home" / "plugins" / f"resource-{version}").mkdir(parents=True)
    (tmp_path / "pulumi-resource-onpath").write_text("#!/bin/sh\n")
    (tmp_path / "pulumi-resource-onpath").chmod(0o755)
    settings = {"PULUMI_HOME": str(tmp_path / "home"), "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    assert len(required(start_host(**settings), project)) == 4
    hermetic = start_host(**settings, PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION="true")
    assert required(hermetic, project) == ["resource cached 1.0.0", "resource onpath 1.0.0"]


def test_a_broken_plugin_description_is_named(host: Host, tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    install(project, "pulumi_broken", "1.0.0", plugin="{")
    code, text = failure(lambda: required(host, project))
    assert code is grpc.StatusCode.FAILED_PRECONDITION
    assert "pulumi_broken/pulumi-plugin.json is not a plugin description" in text


LOCK = """
version = 1
[[package]]
name = "tiny"
version = "0.1.0"
source = { editable = "." }
dependencies = [{ name = "pulumi" }, { name = "Rich" }]
[[package]]
name = "pulumi"
version = "3.259.0"
source = { registry = "https://pypi.org/simple" }
dependencies = [{ name = "grpcio" }]
[[package]]
name = "grpcio"
version = "1.85.1"
source = { registry = "https://pypi.org/simple" }
"""


def dependencies(host: Host, project: Path, *, is_transitive: bool) -> list[tuple[str, str]]:
    info = describe(project)
    request = language_pb2.GetProgramDependenciesRequest(info=info, transitiveDependencies=is_transitive)
    return [(found.name, found.version) for found in host.calls.GetProgramDependencies(request).dependencies]


def test_dependencies_come_from_the_lock(host: Host, tmp_path: Path) -> None:
    project = make_project(tmp_path / "project", "exit 1")  # no Python is run
    (project / "uv.lock").write_text(LOCK)
    assert dependencies(host, project, is_transitive=False) == [("pulumi", "3.259.0")]
    assert dependencies(host, project, is_transitive=True) == [("grpcio", "1.85.1"), ("pulumi", "3.259.0")]


def test_without_a_lock_dependencies_come_from_the_environment(host: Host, tmp_path: Path) -> None:
    project = make_project(tmp_path / "project", "exit 1")
    extra = 'Requires-Dist: Rich_Text>=1; python_version > "3"\nRequires-Dist: click; extra == "cli"'
    install(project, "pulumi", "3.259.0", requires=extra)
    install(project, "rich_text", "1.2")
    install(project, "click", "8.2")
    assert dependencies(host, project, is_transitive=False) == [("click", "8.2"), ("pulumi", "3.259.0")]
    assert ("rich-text", "1.2") in dependencies(host, project, is_transitive=True)


def test_a_broken_lock_is_named(host: Host, tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    (project / "uv.lock").write_text("version = = 1")
    code, text = failure(lambda: dependencies(host, project, is_transitive=True))
    assert code is grpc.StatusCode.FAILED_PRECONDITION
    assert text.startswith(f"{project}/uv.lock cannot be read: ")


# --- packs and plug-ins


def run_plugin(host: Host, folder: Path, kind: str, pwd: Path, environ: Mapping[str, str] | None = None) -> list[Any]:
    request = language_pb2.RunPluginRequest(
        info=describe(folder),
        kind=kind,
        pwd=str(pwd),
        args=["127.0.0.1:9"],
        env=[f"{name}={value}" for name, value in {"PATH": os.environ["PATH"], **(environ or {})}.items()],
    )
    return list(host.calls.RunPlugin(request))


def output_of(messages: list[Any]) -> list[str]:
    return b"".join(message.stdout for message in messages).decode().splitlines()


def test_a_pack_runs_in_its_own_folder_with_the_environment_of_the_engine(host: Host, tmp_path: Path) -> None:
    pack = make_project(tmp_path / "pack", SHOWS_ITS_CALL + 'echo "stack: $PULUMI_STACK"')
    messages = run_plugin(host, pack, "analyzer", tmp_path, {"PULUMI_STACK": "dev", "PYTHONHOME": "/elsewhere"})
    arguments, folder, environment, stack = output_of(messages)
    assert arguments == "arguments: -u -m pulumi.policy 127.0.0.1:9 ."
    assert folder == f"folder: {pack}"
    assert environment.split() == ["environment:", f"{pack}/.venv"]
    assert stack == "stack: dev"
    assert messages[-1].WhichOneof("output") == "exitcode"
    assert messages[-1].exitcode == 0


def test_a_plugin_without_a_main_module_runs_as_an_installed_package(host: Host, tmp_path: Path) -> None:
    plugin = make_project(tmp_path / "plugin")
    (plugin / "pyproject.toml").write_text('[project]\nname = "my-boxes"\n')
    assert output_of(run_plugin(host, plugin, "resource", tmp_path))[0] == (
        "arguments: -u -m pulumi.run.plugin my-boxes 127.0.0.1:9"
    )
    (plugin / "pyproject.toml").unlink()
    code, text = failure(lambda: run_plugin(host, plugin, "resource", tmp_path))
    assert code is grpc.StatusCode.FAILED_PRECONDITION
    assert text.startswith(f"{plugin} has neither __main__.py nor a pyproject.toml with project.name")


def test_the_streams_of_a_plugin_stay_apart_and_its_exit_code_comes_last(host: Host, tmp_path: Path) -> None:
    plugin = make_project(tmp_path / "plugin", "echo 40001; echo 'it hurts' >&2; exit 7")
    (plugin / "__main__.py").touch()
    messages = run_plugin(host, plugin, "resource", tmp_path)
    assert b"".join(message.stdout for message in messages) == b"40001\n"
    assert b"".join(message.stderr for message in messages) == b"it hurts\n"
    assert messages[-1].exitcode == 7


@pytest.mark.slow
def test_closing_the_stream_ends_a_plugin_that_ignores_requests(start_host: StartHost, tmp_path: Path) -> None:
    script = f"trap '' TERM; echo $$ > {tmp_path}/pid; while :; do sleep 1; done"
    plugin = make_project(tmp_path / "plugin", script)
    (plugin / "__main__.py").touch()
    host = start_host()
    stream = open_plugin(host, plugin)
    pid = int(read_when_there(tmp_path / "pid"))
    stream.cancel()
    assert is_gone(pid, within_s=8)


# --- installing, asking, refusing


def installed_by(host: Host, root: Path, options: Mapping[str, Any]) -> tuple[str, str]:
    request = language_pb2.InstallDependenciesRequest(info=describe(root, options))
    messages = list(host.calls.InstallDependencies(request))
    return tuple(b"".join(getattr(message, name) for message in messages).decode() for name in ("stdout", "stderr"))  # type: ignore[return-value] # two of them


@pytest.fixture
def uv(tmp_path: Path) -> Path:
    """A folder with a uv that shows how it was called and then ends as `$UV_ENDS` says."""
    script = tmp_path / "bin" / "uv"
    script.parent.mkdir()
    script.write_text(
        '#!/bin/sh\necho "uv $* in $PWD for $UV_PROJECT_ENVIRONMENT"\necho warning >&2\nexit ${UV_ENDS:-0}\n'
    )
    script.chmod(0o755)
    return script


def test_uv_installs_into_the_environment_of_the_yaml(start_host: StartHost, uv: Path, tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    (project / "pyproject.toml").touch()
    host = start_host(PATH=f"{uv.parent}:{os.environ['PATH']}")
    out, err = installed_by(host, project, {"toolchain": "uv", "virtualenv": "elsewhere"})
    assert out == f"{uv} sync\nuv sync in {project} for {project}/elsewhere\n"
    assert err == "warning\n"


def test_a_failed_installation_is_an_error_after_its_output(start_host: StartHost, uv: Path, tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    (project / "pyproject.toml").touch()
    host = start_host(PATH=f"{uv.parent}:{os.environ['PATH']}", UV_ENDS="2")
    code, text = failure(lambda: installed_by(host, project, {"toolchain": "uv"}))
    assert code is grpc.StatusCode.FAILED_PRECONDITION
    assert text == f"{uv} sync ended with exit code 2 in {project}"


def test_requirements_are_installed_with_uv_where_there_is_no_project(
    start_host: StartHost, uv: Path, tmp_path: Path
) -> None:
    project = make_project(tmp_path / "project")
    host = start_host(PATH=f"{uv.parent}:{os.environ['PATH']}")
    assert (
        "no pyproject.toml and no requirements.txt"
        in failure(lambda: installed_by(host, project, {"toolchain": "uv"}))[1]
    )
    (project / "requirements.txt").touch()
    out, _ = installed_by(host, project, {"toolchain": "uv"})
    assert f"uv pip install --python {project}/.venv -r {project}/requirements.txt in" in out


def test_pip_makes_the_environment_and_installs_the_requirements(start_host: StartHost, tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    (project / "requirements.txt").touch()
    tools = make_environment(tmp_path / "machine", f'mkdir -p "$3/bin" && cp {project}/.venv/bin/python "$3/bin/"')
    host = start_host(PULUMI_PYTHON_CMD=str(tools / "bin" / "python"))
    out, _ = installed_by(host, project, {"virtualenv": "new"})
    assert f"{tools}/bin/python -m venv {project}/new" in out
    assert f"arguments: -m pip install --disable-pip-version-check -r {project}/requirements.txt" in out


def test_nothing_is_installed_into_the_python_of_the_machine(host: Host, tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    code, text = failure(lambda: installed_by(host, project, {}))
    assert code is grpc.StatusCode.FAILED_PRECONDITION
    assert text.startswith(f"{project}/Pulumi.yaml: runtime.options.virtualenv is not set")


def test_a_new_project_is_asked_for_its_toolchain_once(host: Host, tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    reply = host.calls.RuntimeOptionsPrompts(language_pb2.RuntimeOptionsRequest(info=describe(project, {})))
    assert [(prompt.key, [choice.stringValue for choice in prompt.choices]) for prompt in reply.prompts] == [
        ("toolchain", ["uv", "pip"])
    ]
    answered = language_pb2.RuntimeOptionsRequest(info=describe(project, {"toolchain": "uv"}))
    assert not host.calls.RuntimeOptionsPrompts(answered).prompts


@pytest.mark.slow
@pytest.mark.parametrize(
    ("call", "request_of"),
    [
        ("GeneratePackage", language_pb2.GeneratePackageRequest),
        ("GenerateProject", language_pb2.GenerateProjectRequest),
        ("GenerateProgram", language_pb2.GenerateProgramRequest),
        ("Pack", language_pb2.PackRequest),
        ("Link", language_pb2.LinkRequest),
    ],
)
def test_what_needs_the_official_release_says_so_without_a_traceback(host: Host, call: str, request_of: Any) -> None:
    code, text = failure(lambda: getattr(host.calls, call)(request_of()))
    assert code is grpc.StatusCode.UNIMPLEMENTED
    assert text.endswith(
        "is part of the official Pulumi release (https://www.pulumi.com/docs/install/), not of this stand-in"
    )
    assert host.end() == ("", "")
