"""`gpu-commons image new`: the folder of a new image. That it builds is proved in tests/lab/test_image_build.py."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from rows import each_row

from cli.image.new import CUDA_WHEELS
from cli.stacks import pools_of
from compat import Verdict, check_on
from imaging.build.render import render_dockerfile
from imaging.lint.check import lint
from imaging.lint.recipe import LintContext
from imaging.spec.compat_cases import cases_of
from imaging.spec.load import IMAGES, load_family, read_spec
from imaging.spec.lock import lock_command
from imaging.spec.problems import SpecError

Run = Callable[..., Result]
KINDS = {
    "plain": (),
    "cuda": ("--cuda", "12.6"),
    "batch": ("--kind", "batch", "--package", "scipy==1.17.1"),
    "cuda-batch": ("--kind", "batch", "--cuda", "12.9"),
    "child": ("--base", "datahub-base-notebook"),
    "cuda-child": ("--base", "datahub-base-notebook", "--cuda", "12.4"),
}


@pytest.fixture
def images(tmp_path: Path) -> Path:
    """A folder of images with the base of the courses."""
    shutil.copytree(IMAGES / "datahub-base-notebook", tmp_path / "images" / "datahub-base-notebook")
    return tmp_path / "images"


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_is_a_spec_whose_lock_command_and_dockerfile_have_no_mistake(
    run: Run, images: Path, kind: str
) -> None:
    folder = images / f"new-{kind}"
    result = run("image", "new", str(folder), "--no-lock", *KINDS[kind])
    assert result.exit_code == 0
    assert sorted(path.name for path in folder.iterdir()) == [".dockerignore", "image.yaml", "verify.py"]
    spec = read_spec(folder)
    assert f"--output-file images/new-{kind}/requirements.lock" in lock_command(spec)
    with pytest.raises(SpecError) as caught:
        load_family(folder.name, images=images)
    assert {each.value for each in caught.value.problems} == {'"requirements.lock"'}  # nothing else is missing
    compile((folder / "verify.py").read_text(), "verify.py", "exec")


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_locks_plans_and_renders(run: Run, images: Path, kind: str) -> None:
    folder = images / f"new-{kind}"
    made = run("image", "new", str(folder), *KINDS[kind], "--json")
    data = json.loads(made.stdout)
    assert (made.exit_code, data["lock"]) == (0, None), made.stderr
    assert run("image", "plan", str(folder), "--stack", "dsmlp-next").exit_code == 0
    family = load_family(folder.name, images=images)
    assert bool(cases_of(family)) is ("cuda" in kind)
    report = lint(render_dockerfile(family).encode(), "Dockerfile", LintContext(has_ignore_file=True))
    assert [finding.rule for finding in report.findings] == []


def test_a_line_of_cuda_is_what_the_image_is_judged_by(run: Run, images: Path) -> None:
    from settings.reading import load_stack  # noqa: PLC0415 - for this test alone

    stack = load_stack(IMAGES.parent / "stacks" / "Pulumi.dsmlp-fall.yaml")
    run("image", "new", str(images / "course"), "--no-lock", "--cuda", "12.6")
    (nodes,) = pools_of(stack.fleet.pools[0])
    verdicts = {check_on(each, nodes.host).verdict for each in cases_of((read_spec(images / "course"),))}
    assert Verdict.INCOMPATIBLE in verdicts


def refused(run: Run, *arguments: str) -> str:
    result = run("image", "new", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    return result.stderr


def test_every_mistake_is_one_message_and_nothing_is_written(run: Run, images: Path) -> None:
    new = str(images / "course")
    before = sorted(images.rglob("*"))
    for arguments, says in [
        (("Course",), '"Course" is not a name for an image'),
        ((str(images.parent / "elsewhere" / "course"),), "is not inside a folder `images`"),
        ((str(images / "datahub-base-notebook"),), "already exists and is not overwritten"),
        (("scipy-ml-notebook",), "already exists"),
        (
            (new, "--cuda", "12.7"),
            '"12.7" is not a CUDA line that a new image can install from wheels; did you mean 12.',
        ),
        ((new, "--cuda", "10.1"), "shows how to install older ones from conda"),
        ((new, "--package", "https://user:hunter2@a.edu/x"), '--package: "https://'),
        ((new, "--package", "scipy"), '--package: "scipy" is not an exact pin such as numpy==2.4.6'),
        (
            (new, "--base", "datahub-base"),
            "neither debian nor an image of this project; did you mean datahub-base-notebook",
        ),
        ((new, "--base", "datahub-base-notebook", "--kind", "batch"), "which a batch image does not need"),
        ((new, "--kind", "hub"), "'hub' is not one of 'notebook', 'batch'"),
        ((), "Missing argument 'NAME'"),
    ]:
        text = refused(run, *arguments)
        assert says in text, arguments
        assert "hunter2" not in text
    assert sorted(images.rglob("*")) == before


def test_a_lock_that_cannot_be_made_is_reported_with_the_command_that_makes_it(
    run: Run, images: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    uv = tmp_path / "bin" / "uv"
    uv.write_text("#!/bin/sh\necho 'error: no such version' >&2\nexit 1\n")
    uv.chmod(0o755)
    monkeypatch.setenv("PATH", f"{uv.parent}{os.pathsep}{os.environ['PATH']}")
    result = run("image", "new", str(images / "course"))
    assert result.exit_code == 1
    assert "no lock yet: uv cannot resolve the pins: error: no such version" in result.stderr
    assert "gpu-commons image lock" in result.stdout
    assert (images / "course" / "image.yaml").is_file()


@each_row("line", CUDA_WHEELS)
def test_the_runtime_and_the_compiler_of_a_line_are_of_that_line(line: str) -> None:
    assert all(version.startswith(f"{line}.") for version in CUDA_WHEELS[line])


def test_what_is_printed_says_what_comes_next(run: Run, images: Path) -> None:
    data: dict[str, Any] = json.loads(run("image", "new", str(images / "a"), "--no-lock", "--json").stdout)
    assert data["files"] == [".dockerignore", "image.yaml", "verify.py"]
    output = run("image", "new", str(images / "b"), "--no-lock").stdout
    assert f"gpu-commons image plan {images / 'b'}" in output
    assert "    - name: b\n" in output
