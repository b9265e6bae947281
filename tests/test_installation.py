"""How the project gets onto a machine: as a clone, as a command in an environment of its own, never as a library."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from lab import sdks

ROOT = Path(__file__).parent.parent
OURS = {
    *(
        "cli",
        "compat",
        "components",
        "errors",
        "fleet",
        "images",
        "imaging",
        "lab",
        "platforms",
        "policies",
        "settings",
    ),
    "workloads",
}
OPTIONAL = {"pulumi_aws", "pulumi_docker"}

pytestmark = pytest.mark.slow  # real installers, with real packages


def run(*argv: str | Path, cwd: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if name not in {"VIRTUAL_ENV", "PYTHONPATH"}}
    command = [str(word) for word in argv]
    variables = {**kept, **environment}
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, env=variables, timeout=300)


def packages(environment: Path) -> set[str]:
    (found,) = environment.glob("lib/python3*/site-packages")
    return {path.name for path in found.iterdir()}


@pytest.fixture
def somebodys(tmp_path: Path) -> Path:
    """An environment that belongs to other programs."""
    made = run(sys.executable, "-m", "venv", tmp_path / "somebodys")
    assert made.returncode == 0, made.stderr
    return tmp_path / "somebodys"


@pytest.mark.parametrize("how", [(), ("--editable",)], ids=["install", "editable"])
def test_pip_refuses_an_environment_of_other_programs_and_says_what_works(
    how: tuple[str, ...], somebodys: Path
) -> None:
    refused = run(somebodys / "bin" / "pip", "install", *how, ROOT)
    assert refused.returncode != 0
    assert not packages(somebodys) & {*OURS, "_gpu_commons.pth"}
    output = refused.stdout + refused.stderr
    assert "Traceback" not in output
    assert "is not a library" in output
    assert "uv tool install --config-setting install=tool" in output
    assert "pulumi package add CLONE/components" in output
    assert "make up" in output


@pytest.mark.parametrize("how", [(), ("--editable",)], ids=["install", "editable"])
def test_uv_refuses_it_too(how: tuple[str, ...], somebodys: Path) -> None:
    refused = run(sdks.uv(), "pip", "install", "--python", somebodys, "--directory", somebodys, *how, ROOT)
    assert refused.returncode != 0
    assert "is not a library" in refused.stderr
    assert not packages(somebodys) & {*OURS, "_gpu_commons.pth"}


def test_an_archive_of_the_sources_is_refused_like_a_clone(somebodys: Path, tmp_path: Path) -> None:
    made = run(sdks.uv(), "build", "--sdist", "--out-dir", tmp_path, ROOT)
    assert made.returncode == 0, made.stderr
    (archive,) = tmp_path.glob("*.tar.gz")
    refused = run(somebodys / "bin" / "pip", "install", archive)
    assert refused.returncode != 0
    assert "is not a library" in refused.stdout + refused.stderr


def check(command: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    return run(command, "check", "--gpu", "GTX 1080 Ti", "--driver", "418.88", "--cuda", "10.2", cwd=folder)


def test_the_command_is_installed_as_a_tool_and_answers_far_from_a_clone(tmp_path: Path) -> None:
    places = {"UV_TOOL_DIR": str(tmp_path / "tools"), "UV_TOOL_BIN_DIR": str(tmp_path / "bin")}
    made = run(
        sdks.uv(), "tool", "install", "--python", sys.executable, "--config-setting", "install=tool", ROOT, **places
    )
    assert made.returncode == 0, made.stderr
    answer = check(tmp_path / "bin" / "gpu-commons", tmp_path)
    assert answer.returncode == 1
    assert "CUDA 10.2 needs driver 440.33" in answer.stdout
    assert not packages(tmp_path / "tools" / "gpu-commons") & {*OPTIONAL, "lab"}
    lost = run(tmp_path / "bin" / "gpu-commons", "matrix", "--stack", "fall", cwd=tmp_path)
    assert 'there is no stack "fall" in' in lost.stderr
    assert lost.stderr.rstrip().endswith("give the path of a stack file")


def test_pip_installs_the_command_where_an_environment_is_declared_to_be_its_own(somebodys: Path) -> None:
    made = run(somebodys / "bin" / "pip", "install", "--no-deps", "--config-settings", "install=tool", ROOT)
    assert made.returncode == 0, made.stdout + made.stderr
    assert packages(somebodys) >= OURS - {"lab"}


def test_a_clone_has_the_sdks_of_other_sites_only_once_a_stack_needs_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clone = tmp_path / ".venv"
    here: Mapping[str, str] = {"UV_PROJECT_ENVIRONMENT": str(clone)}
    made = run(
        sdks.uv(), "sync", "--project", ROOT, "--frozen", "--no-default-groups", "--python", sys.executable, **here
    )
    assert made.returncode == 0, made.stderr
    assert not packages(clone) & OPTIONAL
    assert check(clone / "bin" / "gpu-commons", tmp_path).returncode == 1

    monkeypatch.setenv("UV_PROJECT_ENVIRONMENT", str(clone))
    monkeypatch.setenv("UV_NO_DEFAULT_GROUPS", "1")
    lines: list[str] = []
    sdks.ensure(ROOT / "stacks" / "Pulumi.dsmlp-fall.yaml", lines.append)
    assert not lines
    assert not packages(clone) & OPTIONAL
    stack = tmp_path / "Pulumi.one-host.yaml"
    stack.write_text("config:\n  gpu-commons:site:\n    kind: docker\n")
    sdks.ensure(stack, lines.append)
    assert packages(clone) & OPTIONAL == {"pulumi_docker"}
    assert lines == ["Python packages for this site: pulumi-docker …"]
