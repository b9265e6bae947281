"""One spec gives several images: the same versions in each, layers that they share, and nothing that a kind is not."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from imaging.build.labels import labels
from imaging.build.render import render_dockerfile
from imaging.size.expected import expected_of
from imaging.spec.compat_cases import cases_of
from imaging.spec.load import IMAGES, load_family, load_named, load_sizes, load_spec
from imaging.spec.lock import lock_command
from imaging.spec.parts import TargetKind
from imaging.spec.plan import plan_image
from imaging.spec.problems import SpecError
from imaging.spec.targets import kind_of, stands_on, target_specs

CUPY = IMAGES / "cupy-notebook"
LOCKS = {
    "": ["ipykernel==7.4.0", "jupyter-server==2.20.0", "jupyterlab==4.6.6", "numpy==2.4.6", "torch==2.9.0"],
    "gateway-client.": ["ipykernel==7.4.0", "jupyter-server==2.20.0", "jupyterlab==4.6.6"],
    "kernel.": ["ipykernel==7.4.0", "numpy==2.4.6", "torch==2.9.0"],
    "batch.": ["numpy==2.4.6", "torch==2.9.0"],
}
PACKAGES = ["jupyterlab==4.6.6", "ipykernel==7.4.0", "numpy==2.4.6", "torch==2.9.0"]
TARGETS: Mapping[str, Any] = {
    "gateway-client": {"without": ["numpy", "torch"]},
    "kernel": {"without": ["jupyterlab"]},
    "batch": {"without": ["jupyterlab", "ipykernel"]},
}

Several = Callable[..., Path]


@pytest.fixture
def several(tiny: Callable[..., Path]) -> Several:
    """`several(targets=…, locks=…)` writes a correct image with three targets, changed like this, as its folder."""

    def write(targets: Mapping[str, Any] = TARGETS, locks: Mapping[str, list[str]] = LOCKS, **changes: object) -> Path:
        folder = tiny(python={"packages": PACKAGES}, targets=dict(targets), **changes)
        names = [f"requirements.{part}lock" for part in locks]
        for name, wheels in zip(names, locks.values(), strict=True):
            (folder / name).write_text("\n".join(wheels) + "\n")
        (folder / ".dockerignore").write_text("".join(f"{line}\n" for line in ["*", *_let_in(names)]))
        return folder

    return write


def _let_in(names: list[str]) -> list[str]:
    return [f"!{name}" for name in sorted([*names, "verify.py"])]


def refusal(folder: Path) -> str:
    with pytest.raises(SpecError) as caught:
        load_spec(folder)
    return str(caught.value)


def stage(text: str, name: str) -> str:
    """The lines of a build stage, its FROM included."""
    found = re.search(rf"^FROM \S+ AS {re.escape(name)}$.*?(?=^FROM |\Z)", text, re.MULTILINE | re.DOTALL)
    assert found, name
    return found[0]


class TestTheTargetsOfCupyNotebook:
    def test_the_gateway_client_has_no_cuda_and_the_others_have_all_of_it(self) -> None:
        server = load_family("cupy-notebook")[0]
        client, kernel, batch = target_specs(server)
        assert (client.cuda_lines, cases_of([client])) == ((), ())
        for spec in (kernel, batch):
            assert spec.cuda_lines == ("12.9",)
            assert cases_of([spec]) == cases_of([server])

    def test_every_wheel_of_a_target_is_the_servers_version_of_it(self) -> None:
        server = locked(CUPY / "requirements.lock")
        for name in ("gateway-client", "kernel", "batch"):
            target = locked(CUPY / f"requirements.{name}.lock")
            assert target
            assert target.items() <= server.items()

    def test_what_each_runs_is_what_it_is_for(self) -> None:
        found = {
            kind_of(spec): (spec.entry_point, spec.command) for spec in target_specs(load_family("cupy-notebook")[0])
        }
        tini = ("tini", "-g", "--")
        assert found == {
            TargetKind.GATEWAY_CLIENT: (tini, ("jupyter", "lab", "--ip=0.0.0.0", "--no-browser")),
            TargetKind.KERNEL: (tini, ("python", "-m", "ipykernel_launcher")),
            TargetKind.BATCH: ((*tini, "python"), ("-",)),
        }

    def test_sizes_of_a_target_are_among_those_of_the_server(self) -> None:
        sizes = {
            name: load_sizes(CUPY, load_family("cupy-notebook", target=name)[0])
            for name in ("server", "gateway-client", "kernel", "batch")
        }
        total = {name: sum(each.bytes for each in found) for name, found in sizes.items() if found is not None}
        assert len(total) == 4
        assert total["gateway-client"] < total["batch"] < total["kernel"] < total["server"]

    def test_policies_find_a_target_by_the_name_that_workloads_call_it(self) -> None:
        names = ["cupy-notebook", "cupy-notebook-gateway-client", "cupy-notebook-kernel", "cupy-notebook-batch"]
        assert [load_named(name)[0].full_name for name in names] == names
        server, client, kernel, batch = (size.unpacked for name in names if (size := expected_of(name)))
        assert client < batch < kernel < server
        with pytest.raises(SpecError, match="is not a target of it"):
            load_named("hub-batch")
        with pytest.raises(SpecError, match="did you mean cupy-notebook"):
            load_named("cupy-notebok-batch")


class TestTheDockerfile:
    def test_the_bigger_image_stands_on_the_layers_of_the_smaller_one(self, several: Several) -> None:
        text = rendered(several())
        assert stage(text, "batch-packages").startswith("FROM system ")
        assert stage(text, "kernel-packages").startswith("FROM batch-packages ")
        assert stage(text, "image-packages").startswith("FROM kernel-packages ")
        assert stage(text, "gateway-client-packages").startswith("FROM system ")

    def test_what_all_need_is_there_once(self, several: Several) -> None:
        text = rendered(several())
        assert [text.count(step) for step in ("apt-get install", "uv venv", "useradd")] == [2, 1, 1]  # tools, system

    def test_labels_and_variables_of_a_smaller_image_do_not_reach_a_bigger_one(self, several: Several) -> None:
        targets = {**TARGETS, "batch": {**TARGETS["batch"], "env": {"OMP_NUM_THREADS": "1"}}}
        text = rendered(several(targets=targets))
        assert 'OMP_NUM_THREADS="1"' in stage(text, "batch")
        assert text.count("OMP_NUM_THREADS") == 1
        for name in ("batch-packages", "kernel-packages", "image-packages"):
            assert not re.search(r"^(LABEL|ENV|USER|CMD|ENTRYPOINT) ", stage(text, name), re.MULTILINE)

    def test_each_target_takes_the_wheels_of_its_own_lock(self, several: Several) -> None:
        text = rendered(several())
        for name, lock in {
            "image": "requirements.lock",
            "kernel": "requirements.kernel.lock",
            "batch": "requirements.batch.lock",
        }.items():
            assert re.findall(r"source=(requirements\S*),", stage(text, f"{name}-packages")) == [lock]

    def test_the_spec_itself_is_the_default_and_each_image_has_a_check(self, several: Several) -> None:
        text = rendered(several())
        assert text.rstrip().splitlines()[-1] == "FROM image AS server"
        checks = re.findall(r"^FROM (\S+) AS verify(\S*)$", text, re.MULTILINE)
        assert checks == [
            ("image", ""),
            ("gateway-client", "-gateway-client"),
            ("kernel", "-kernel"),
            ("batch", "-batch"),
        ]

    def test_a_label_says_which_target_it_is(self, several: Several) -> None:
        folder = several()
        found = {
            name: labels(plan_image(load_family("tiny", images=folder.parent, target=name)))
            for name in ("server", "batch")
        }
        assert "org.gpu-commons.target" not in found["server"]
        assert found["batch"]["org.gpu-commons.target"] == "batch"
        assert {each["org.gpu-commons.image"] for each in found.values()} == {"tiny"}

    def test_ports_are_for_servers(self, several: Several) -> None:
        text = rendered(several(ports=[8888]))
        exposed = {name: "EXPOSE 8888" in stage(text, name) for name in ("image", "gateway-client", "kernel", "batch")}
        assert exposed == {"image": True, "gateway-client": True, "kernel": False, "batch": False}


def test_of_two_smaller_images_the_one_with_cuda_is_built_upon(several: Several) -> None:
    # The gateway client has as many pins as the batch image, and far fewer bytes.
    spec = load_spec(several(cuda={"line": "12.8", "source": "wheels"}))
    client, _, batch = target_specs(spec)
    below = stands_on(spec, [client, batch])
    assert below is not None
    assert below.full_name == "tiny-batch"


def test_a_lock_of_a_target_is_made_under_the_one_of_the_server() -> None:
    lines = lock_command(load_spec(CUPY)).splitlines()
    assert [line.endswith(" &&") for line in lines] == [True, True, True, False]
    assert "--constraint" not in lines[0]
    for line in lines[1:]:
        assert "--constraint images/cupy-notebook/requirements.lock" in line
    assert "'cupy-cuda12x==14.2.0'" not in lines[1]
    assert lines[3].endswith("--output-file images/cupy-notebook/requirements.batch.lock")


@pytest.mark.parametrize(
    ("targets", "words"),
    [
        ({"batc": {}}, ("targets.batc", "gateway-client")),
        ({"batch": {"withoutt": []}}, ("targets.batch.withoutt", "is not a key of an image spec")),
        (
            {"batch": {"without": ["jupyterlabb"]}},
            ('targets.batch.without[0]: "jupyterlabb"', "did you mean jupyterlab"),
        ),
        ({"kernel": {"without": ["jupyterlab", "ipykernel"]}}, ("targets.kernel: has no ipykernel",)),
        ({"gateway-client": {"without": ["jupyterlab"]}}, ("targets.gateway-client: has no jupyterlab",)),
        (
            {"batch": {"without": ["jupyterlab", "ipykernel", "numpy", "torch"]}},
            ("targets.batch.without: leaves no package",),
        ),
    ],
)
def test_a_mistake_in_a_target_is_named_with_its_path(
    several: Several, targets: dict[str, Any], words: tuple[str, ...]
) -> None:
    message = refusal(several(targets=targets))
    for word in words:
        assert word in message


@pytest.mark.parametrize(
    ("lock", "wheel", "words"),
    [
        ("kernel.", "jupyter-server==2.20.0", ('targets.kernel: "jupyter-server" is a server',)),
        ("batch.", "ipykernel==7.4.0", ('targets.batch: "ipykernel" is Jupyter\'s',)),
        ("gateway-client.", "torch==2.9.0", ('targets.gateway-client: "torch" brings CUDA or a framework',)),
        ("gateway-client.", "nvidia-nccl-cu12==2.27.3", ('"nvidia-nccl-cu12" brings CUDA', "none")),
    ],
)
def test_a_target_has_nothing_that_its_kind_must_not_have(
    several: Several, lock: str, wheel: str, words: tuple[str, ...]
) -> None:
    message = refusal(several(locks={**LOCKS, lock: [*LOCKS[lock], wheel]}))
    for word in words:
        assert word in message


def test_a_target_with_another_version_than_the_server_is_refused_with_the_command_that_helps(several: Several) -> None:
    message = refusal(several(locks={**LOCKS, "batch.": ["numpy==2.4.5", "torch==2.9.0"]}))
    assert 'requirements.batch.lock: "numpy==2.4.5" does not match requirements.lock, which has 2.4.6' in message
    assert "gpu-commons image lock tiny" in message


def test_a_target_without_its_lock_is_refused(several: Several) -> None:
    folder = several()
    (folder / "requirements.batch.lock").unlink()
    assert '"requirements.batch.lock" is not in the image\'s folder' in refusal(folder)


def test_an_image_on_a_base_that_brings_jupyter_has_no_targets(several: Several) -> None:
    base = {"reference": "quay.io/jupyter/minimal-notebook:2026-01-01", "digest_note": "x", "layout": "jupyter"}
    assert "on a base that brings no Jupyter" in refusal(several(base=base))


def test_a_gateway_client_on_a_base_with_cuda_is_refused(several: Several) -> None:
    base = {"reference": "docker.io/nvidia/cuda:12.6.3-base-ubuntu22.04", "digest_note": "x", "layout": "debian"}
    folder = several(base=base)
    with pytest.raises(SpecError, match=r"targets\.gateway-client: would have CUDA: .* brings 12\.6"):
        load_family("tiny", images=folder.parent)


def test_an_entry_point_of_ones_own_is_all_that_runs(several: Several) -> None:
    batch = {**TARGETS["batch"], "entry_point": ["python", "/opt/train.py"]}
    text = rendered(several(targets={**TARGETS, "batch": batch}))
    assert 'ENTRYPOINT ["python", "/opt/train.py"]' in stage(text, "batch")
    assert "CMD" not in stage(text, "batch")


def test_files_come_after_packages_so_that_a_new_file_does_not_reinstall_them(several: Several) -> None:
    folder = several(files=[{"source": "verify.py", "target": "/opt/train.py"}])
    text = rendered(folder)
    assert not [name for name in ("system", "batch-packages") if "/opt/train.py" in stage(text, name)]
    assert "/opt/train.py" in stage(text, "batch")


def test_a_target_that_an_image_does_not_have_is_named_with_those_it_has() -> None:
    with pytest.raises(SpecError, match="did you mean batch") as caught:
        load_family("cupy-notebook", target="bach")
    assert 'targets: "bach" is not a target of it' in str(caught.value)
    with pytest.raises(SpecError, match="known targets: server"):
        load_family("hub", target="kernel")


def test_an_image_without_targets_is_rendered_without_a_word_of_them(tiny: Callable[..., Path]) -> None:
    folder = tiny()
    assert "targets" not in yaml.safe_load((folder / "image.yaml").read_text())
    text = rendered(folder)
    assert "target" not in text.replace("target=", "")
    assert re.findall(r"^FROM \S+ AS (\S+)$", text, re.MULTILINE) == ["base", "tools", "image", "verify"]


def rendered(folder: Path) -> str:
    return render_dockerfile(load_family(folder.name, images=folder.parent))


def locked(lock: Path) -> dict[str, str]:
    return dict(re.findall(r"^(\S+?)==(\S+)", lock.read_text(), re.MULTILINE))
