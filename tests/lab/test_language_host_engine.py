"""The language host under the real engine: programs, packs, components and the ways they end."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from lab.language_host.launcher import write_launcher

pytestmark = pytest.mark.lab

PROGRAMS = Path(__file__).with_name("language_host_programs")
EXEC_NAME = "pulumi-language-python-exec"


@dataclass(frozen=True)
class Engine:
    """A Pulumi CLI with a home, a backend and a language host of its own."""

    pulumi: str
    folder: Path
    environ: dict[str, str]

    def project(self, name: str) -> Path:
        """A copy of that program (and its neighbours), with a stack `dev`."""
        folder = self.folder / "programs" / name
        if not folder.parent.exists():
            shutil.copytree(PROGRAMS, folder.parent)
            for yaml in folder.parent.glob("*/Pulumi*.yaml"):
                yaml.write_text(yaml.read_text().replace("@virtualenv@", sys.prefix))
        if (folder / "Pulumi.yaml").exists():
            assert self.run(folder, "stack", "select", "--create", "dev").returncode == 0
        return folder

    def run(self, cwd: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
        process = self.start(cwd, *arguments)
        out, err = process.communicate(timeout=120)
        return subprocess.CompletedProcess(arguments, process.returncode, out, err)

    def start(self, cwd: Path, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [self.pulumi, *arguments, "--color", "never", "--non-interactive"],
            cwd=cwd,
            env=self.environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    pulumi = required("pulumi", os.environ.get("GPU_COMMONS_PULUMI"))
    tools = tmp_path / "tools"
    tools.mkdir()
    write_launcher(tools / "pulumi-language-python", Path(sys.executable))
    script = os.environ.get("GPU_COMMONS_PULUMI_EXEC") or shutil.which(EXEC_NAME)
    shutil.copy(required(EXEC_NAME, script or str(Path(pulumi).resolve().with_name(EXEC_NAME))), tools / EXEC_NAME)
    (tmp_path / "state").mkdir()
    environ = {
        "HOME": str(tmp_path),
        "PATH": f"{tools}:{os.environ['PATH']}",
        "PULUMI_HOME": str(tmp_path / "home"),
        "PULUMI_BACKEND_URL": f"file://{tmp_path}/state",
        "PULUMI_CONFIG_PASSPHRASE": "",
        "PULUMI_SKIP_UPDATE_CHECK": "true",
        "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
    }
    return Engine(pulumi, tmp_path, environ)


def required(name: str, path: str | None) -> str:
    found = path or shutil.which(name)
    if not found or not Path(found).is_file():
        pytest.fail(f"{name} is not there ({path or 'not on PATH'}): run `make up`, then `make test`")
    return found


def hosts_of(engine: Engine) -> list[psutil.Process]:
    """Language hosts and what they started: their command lines or folders lie in the test's own folder."""
    found = []
    for process in psutil.process_iter():
        try:
            if any(str(engine.folder) in part for part in [*process.cmdline(), process.cwd()]):
                found.append(process)
        except psutil.Error:
            continue
    return found


def none_left(engine: Engine, within_s: float = 8) -> bool:
    deadline = time.monotonic() + within_s
    while hosts_of(engine) and time.monotonic() < deadline:
        time.sleep(0.1)
    return not hosts_of(engine)


def wait_for_program(folder: Path, within_s: float = 30) -> int:
    deadline = time.monotonic() + within_s
    while not ((folder / "pid").exists() and (folder / "pid").read_text()):
        assert time.monotonic() < deadline, "the program did not start"
        time.sleep(0.05)
    return int((folder / "pid").read_text())


def test_a_program_gets_its_configuration_and_exports_its_outputs(engine: Engine) -> None:
    greets = engine.project("greets")
    engine.run(greets, "config", "set", "who", "students")
    engine.run(greets, "config", "set", "--secret", "word", "hush")
    up = engine.run(greets, "up", "--yes", "--skip-preview")
    assert up.returncode == 0, up.stdout + up.stderr
    assert "preview: False, project: greets" in up.stdout
    assert "hush" not in up.stdout
    outputs = json.loads(engine.run(greets, "stack", "output", "--json").stdout)
    assert outputs == {"greeting": "hello students", "word": "[secret]"}
    preview = engine.run(greets, "preview", "--expect-no-changes")
    assert preview.returncode == 0, preview.stdout + preview.stderr
    assert "preview: True" in preview.stdout
    assert none_left(engine)


def test_a_pack_is_loaded_and_its_mandatory_rule_fails_the_preview(engine: Engine) -> None:
    greets = engine.project("greets")
    engine.run(greets, "config", "set", "who", "students")
    engine.run(greets, "config", "set", "--secret", "word", "hush")
    preview = engine.run(greets, "preview", "--policy-pack", "../pack")
    assert preview.returncode != 0
    assert "[mandatory]  refuses" in preview.stdout
    assert "Every stack of a test is refused" in preview.stdout  # read from a file beside the pack
    assert "refused: 1 resource" in preview.stdout
    assert "Traceback" not in preview.stdout + preview.stderr
    assert none_left(engine)


def test_an_exception_shows_the_users_own_lines_and_nothing_of_the_host(engine: Engine) -> None:
    raises = engine.project("raises")
    preview = engine.run(raises, "preview")
    shown = preview.stdout + preview.stderr
    assert preview.returncode != 0
    assert f'File "{raises}/__main__.py", line 8, in <module>' in shown
    assert "ValueError: the fleet has no nodes" in shown
    assert "language_host" not in shown
    assert EXEC_NAME not in shown


def test_an_interrupted_update_ends_the_program_without_a_traceback(engine: Engine) -> None:
    sleeps = engine.project("sleeps")
    up = engine.start(sleeps, "up", "--yes", "--skip-preview")
    program = wait_for_program(sleeps)
    up.send_signal(signal.SIGINT)
    out, err = up.communicate(timeout=20)
    assert up.returncode != 0
    assert "update canceled" in out + err
    assert "Traceback" not in out + err
    assert "KeyboardInterrupt" not in out + err
    assert not psutil.pid_exists(program)
    assert none_left(engine)


def test_nothing_outlives_an_engine_that_was_killed(engine: Engine) -> None:
    sleeps = engine.project("sleeps")
    up = engine.start(sleeps, "up", "--yes", "--skip-preview")
    wait_for_program(sleeps)
    assert hosts_of(engine)
    up.kill()
    assert none_left(engine)
    up.communicate()


def test_about_shows_the_python_of_the_project(engine: Engine) -> None:
    about = engine.run(engine.project("greets"), "about")
    version = ".".join(map(str, sys.version_info[:3]))
    assert about.returncode == 0, about.stderr
    assert f"version='{version}'" in about.stdout
    assert "stand-in for pulumi-language-python" in about.stdout


def test_a_plugin_folder_gives_its_schema(engine: Engine) -> None:
    box = engine.project("box")
    schema = engine.run(box.parent, "package", "get-schema", "./box")
    assert schema.returncode == 0, schema.stderr
    described = json.loads(schema.stdout)["resources"]["box:index:Box"]
    assert described["isComponent"]
    assert described["requiredInputs"] == ["size"]


def test_a_component_of_a_plugin_folder_is_constructed(engine: Engine) -> None:
    uses_box = engine.project("uses_box")
    up = engine.run(uses_box, "up", "--yes", "--skip-preview")
    assert up.returncode == 0, up.stdout + up.stderr
    assert json.loads(engine.run(uses_box, "stack", "output", "--json").stdout) == {"label": "box of 12"}
    assert none_left(engine)


def test_install_makes_the_environment_with_uv(engine: Engine) -> None:
    uv = required("uv", None)
    folder = engine.folder / "fresh"
    folder.mkdir()
    (folder / "Pulumi.yaml").write_text("name: fresh\nruntime:\n  name: python\n  options:\n    toolchain: uv\n")
    (folder / "pyproject.toml").write_text('[project]\nname = "fresh"\nversion = "0.1.0"\nrequires-python = ">=3.11"\n')
    install = engine.run(folder, "install")
    assert install.returncode == 0, install.stdout + install.stderr
    assert f"{uv} sync" in install.stdout
    assert (folder / ".venv" / "bin" / "python").exists()
    assert (folder / "uv.lock").exists()


def test_a_missing_environment_is_one_clear_message(engine: Engine) -> None:
    greets = engine.project("greets")
    (greets / "Pulumi.yaml").write_text("name: greets\nruntime:\n  name: python\n  options:\n    virtualenv: gone\n")
    preview = engine.run(greets, "preview")
    assert preview.returncode != 0
    assert (preview.stdout + preview.stderr).count("the virtual environment") == 1
    assert f"{greets}/gone does not exist; create it with `pulumi install`" in preview.stderr
