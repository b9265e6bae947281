"""A driver container: what its spec refuses, the stages that it becomes, and what its program does on a node."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from imaging.build.labels import labels
from imaging.build.modules import NAMES, StepSize, sources, step_size
from imaging.build.render import render_dockerfile
from imaging.lint.check import lint
from imaging.lint.recipe import LintContext, Role
from imaging.spec.load import IMAGES, load_family, load_spec
from imaging.spec.plan import plan_image
from imaging.spec.problems import SpecError

IMAGE = "driver-builder"
KERNEL = "6.1.0-56-cloud-amd64"
MODULES: dict[str, Any] = {
    "driver": "535.309.01",
    "kernel": KERNEL,
    "os": "debian12",
    "source": "nvidia-kernel-source",
    "headers": [f"linux-headers-{KERNEL}"],
}
DRIVER_IMAGE = {"python": None, "user": None, "modules": MODULES, "version": f"535-{KERNEL}-debian12"}
FLATCAR = "registry.example.edu/flatcar-developer@sha256:" + "f" * 64


@pytest.fixture
def driver_image(tiny: Callable[..., Path]) -> Callable[..., Path]:
    """`driver_image(modules={…}, …)`: the folder of a driver container with these keys changed."""

    def write(modules: dict[str, Any] | None = None, **changes: Any) -> Path:
        merged = {key: value for key, value in {**MODULES, **(modules or {})}.items() if value is not None}
        folder = tiny(**{**DRIVER_IMAGE, "modules": merged, **changes})
        (folder / ".dockerignore").write_text("*\n!verify.py\n")
        return folder

    return write


def stage(text: str, name: str) -> str:
    """One stage of a Dockerfile."""
    found = re.search(rf"^FROM \S+ AS {name}$.*?(?=^FROM |\Z)", text, re.MULTILINE | re.DOTALL)
    assert found is not None, name
    return found[0]


def test_our_driver_image_is_rendered_as_approved(golden: Callable[[str], Any]) -> None:
    golden(f"dockerfile/{IMAGE}.Dockerfile").equals(render_dockerfile(load_family(IMAGE)))


def test_the_image_has_the_modules_and_neither_compiler_nor_source() -> None:
    image = stage(render_dockerfile(load_family(IMAGE)), "image")
    copied = re.findall(r"^COPY --link --from=(\S+) (\S+) (\S+)$", image, re.MULTILINE)
    assert copied == [("modules", f"/out/lib/modules/{KERNEL}", f"/opt/driver/lib/modules/{KERNEL}")]
    assert not re.search(r"\b(gcc|make|linux-headers|nvidia-kernel-source)\b", image)


def test_modules_are_built_without_a_network_from_a_source_that_is_in_no_layer_of_theirs() -> None:
    built = stage(render_dockerfile(load_family(IMAGE)), "modules")
    assert "RUN --network=none" in built
    assert "--mount=type=bind,from=driver-source,source=/driver,target=/run/driver,rw" in built
    assert f"KERNEL_UNAME={KERNEL}" in built
    assert [name for name in NAMES if name in re.findall(r"^for module in (.*); do$", built, re.MULTILINE)[0].split()]


def test_nothing_is_found_in_it_where_a_driver_image_is_meant_and_much_where_none_is() -> None:
    text = render_dockerfile(load_family(IMAGE)).encode()
    assert not lint(text, "Dockerfile", LintContext(Role.DRIVER, has_ignore_file=True)).findings
    others = lint(text, "Dockerfile", LintContext(Role.APPLICATION, has_ignore_file=True)).findings
    assert {each.rule for each in others} >= {"D-DRIVER"}


def test_labels_say_what_its_modules_are_for() -> None:
    found = labels(plan_image(load_family(IMAGE)))
    assert found["org.gpu-commons.spec.driver"] == "535.309.01"
    assert found["org.gpu-commons.spec.driver-key"] == found["org.opencontainers.image.version"]


def test_headers_may_come_with_an_image_for_a_kernel_that_debian_does_not_have(
    driver_image: Callable[..., Path],
) -> None:
    kernel = {"kernel": "6.12.102-flatcar", "os": "flatcar4593.2.5", "headers": None, "headers_image": FLATCAR}
    folder = driver_image(kernel, version="535-6.12.102-flatcar-flatcar4593.2.5")
    built = stage(render_dockerfile([load_spec(folder)]), "modules")
    assert built.startswith(f"FROM {FLATCAR} AS modules\n")
    assert "apt-get" not in built
    assert "KERNEL_UNAME=6.12.102-flatcar" in built


@pytest.mark.parametrize(
    ("modules", "changes", "reason"),
    [
        ({}, {"version": "1.0.0"}, f'its version is their key: "535-{KERNEL}-debian12"'),
        ({"driver": "535"}, {}, "is not a driver version"),
        ({"kernel": "latest"}, {}, "is not the key of a driver container"),
        ({"os": "Debian 12"}, {}, "is not the key of a driver container"),
        ({"headers": None}, {}, "needs either headers .* or headers_image"),
        ({"headers_image": FLATCAR}, {}, "needs either headers .* or headers_image"),
        ({"headers": None, "headers_image": "registry.example.edu/flatcar:1"}, {}, "headers_image without digest"),
        ({"components": ["sid"]}, {}, "components"),
        ({}, {"user": {"name": "a", "uid": 1, "gid": 1, "home": "/a"}}, "leave user out"),
        ({}, {"os_packages": [], "python": {"packages": ["jupyterhub==5.5.4"]}}, "make it two images"),
    ],
)
def test_a_spec_that_makes_no_driver_container_is_refused(
    driver_image: Callable[..., Path], modules: dict[str, Any], changes: dict[str, Any], reason: str
) -> None:
    with pytest.raises(SpecError, match=reason):
        load_spec(driver_image(modules, **changes))


def test_any_other_image_says_who_it_runs_as(tiny: Callable[..., Path]) -> None:
    with pytest.raises(SpecError, match="needs user: who it runs as"):
        load_spec(tiny(user=None))


ONE_LINE = "deb http://deb.debian.org/debian bookworm main\n"
DEB822 = "Types: deb\nURIs: http://deb.debian.org/debian\nSuites: bookworm\nComponents: main\n"


@pytest.mark.parametrize("text", [ONE_LINE, DEB822])
def test_components_are_added_once_to_whichever_form_of_source_is_there(text: str, tmp_path: Path) -> None:
    (tmp_path / "debian.sources").write_text(text)
    (line,) = sources(["contrib", "non-free"])
    script = line.replace("/etc/apt/sources.list.d", str(tmp_path))
    for _ in range(2):
        subprocess.run(["/bin/sh", "-eu", "-c", script], check=True)
    assert (tmp_path / "debian.sources").read_text() == text.replace("main\n", "main contrib non-free\n")


def test_what_a_step_fills_is_read_from_its_line() -> None:
    assert step_size("#9 41.20 thrown away, source with objects: 412876800\t/run/driver") == StepSize(
        "source with objects", 412876800
    )
    assert step_size("#9 RUN printf 'thrown away, source: %s\\n' …") is None


# --- the program that loads


@pytest.fixture
def node(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """`node(kernel, loaded=driver)`: what load-driver says and does on a node with this kernel."""
    programs = tmp_path / "bin"
    programs.mkdir()
    root = tmp_path / "driver"
    (root / "lib" / "modules" / KERNEL / "extra").mkdir(parents=True)

    def program(name: str, text: str) -> None:
        (programs / name).write_text(f"#!/bin/sh\n{text}\n")
        (programs / name).chmod(0o755)

    def run(kernel: str, *words: str, loaded: str = "") -> subprocess.CompletedProcess[str]:
        program("uname", f"echo {kernel}")
        program("modinfo", "echo 535.309.01")
        for name in ("modprobe", "nvidia-modprobe", "nvidia-persistenced", "mount"):
            program(name, f'echo {name} "$@"')
        version = tmp_path / "version"
        if loaded:
            version.write_text(f"{loaded}\n")
        variables = {"DRIVER_ROOT": root, "DRIVER_SHOWN": tmp_path / "shown", "DRIVER_LOADED": version}
        env = {"PATH": f"{programs}:{os.environ['PATH']}", **{key: str(value) for key, value in variables.items()}}
        command = ["/bin/sh", str(IMAGES / IMAGE / "load-driver"), *words]
        return subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=20)

    return run


def test_modules_are_loaded_in_their_order_and_then_shown_to_the_node(
    node: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    done = node(KERNEL)
    assert done.returncode == 0, done.stderr
    loaded = re.findall(r"^modprobe --dirname \S+ (\S+)$", done.stdout, re.MULTILINE)
    assert tuple(loaded) == NAMES
    programs = [line.split()[0] for line in done.stdout.splitlines()]
    assert programs.index("nvidia-persistenced") > programs.index("nvidia-modprobe") > programs.index("modprobe")
    assert programs[-2:] == ["mount", "driver"]


def test_on_another_kernel_nothing_is_loaded_and_both_kernels_are_named(
    node: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    done = node("6.12.102-flatcar")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"this image holds modules for kernel {KERNEL}; the node runs kernel 6.12.102-flatcar\n"


def test_beside_another_driver_nothing_is_loaded(node: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    done = node(KERNEL, loaded="535.274.02")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "driver 535.274.02 is loaded, and this image brings 535.309.01: replace the node\n"
    assert node(KERNEL, loaded="535.309.01").returncode == 0


def test_a_check_says_whether_it_fits_the_node_and_loads_nothing(
    node: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    fits = node(KERNEL, "check", KERNEL)
    assert (fits.returncode, fits.stderr) == (0, "")
    assert fits.stdout == f"the modules of driver 535.309.01 are for kernel {KERNEL}, which this node runs\n"
    other_image = node("6.12.102-flatcar", "check", "6.12.102-flatcar")
    assert (other_image.returncode, other_image.stdout) == (1, "")
    assert f"holds modules for kernel {KERNEL}" in other_image.stderr
    other_node = node(KERNEL, "check", "6.12.102-flatcar")
    assert (other_node.returncode, other_node.stdout) == (1, "")
    assert other_node.stderr == f"this node is to run kernel 6.12.102-flatcar, and it runs {KERNEL}\n"
    assert node(KERNEL, "check", KERNEL, loaded="535.274.02").returncode == 1
