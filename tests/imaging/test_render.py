"""A spec becomes the Dockerfile that an expert would have written, for the base that is really there."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from rows import each_row

from imaging.build.labels import labels
from imaging.build.render import render_dockerfile
from imaging.spec.load import load_family
from imaging.spec.plan import Substitute, outside_references, plan_image
from imaging.spec.problems import SpecError

DEBIAN = "docker.io/library/debian:bookworm-20260824-slim"
NGC = "nvcr.io/nvidia/tensorflow:25.02-tf2-py3"
JUPYTER = "quay.io/jupyter/datascience-notebook:2026-08-24"
TORCH_WHEELS = "https://download.pytorch.org/whl/torch_stable.html"
LAB_BASE = "127.0.0.1:5000/lab/debian@sha256:" + "1" * 64
LAB = [
    Substitute(DEBIAN, LAB_BASE, "not reachable from here"),
    Substitute(JUPYTER, LAB_BASE, "not reachable from here"),
    Substitute("conda-forge", "nothing", "not reachable from here"),
    Substitute(TORCH_WHEELS, "nothing", "not reachable from here"),
    Substitute(NGC, LAB_BASE, "not reachable from here"),
]
EVERY_IMAGE = [
    "hub",
    "proxy",
    "datahub-base-notebook",
    "scipy-ml-notebook",
    "scipy-ml-notebook-cu126",
    "cupy-notebook",
    "perceptron",
    "docker-hub",
    "kernel-gateway",
    "engine-filter",
    "cupy-cuda11",
    "cupy-cuda11-notebook",
    "slurm-hub",
]
LEFT_OUT = (
    "python=3.8.20 cudatoolkit=10.1.243 cudnn=7.6.5.32 nccl=2.8.3.1 tensorflow==2.3.4 numpy==1.18.5 protobuf==3.20.3 "
    "ipykernel==6.29.5 torch==1.7.1+cu101 torchvision==0.8.2+cu101 numpy==1.19.5 pillow==8.4.0"
)


@each_row("image", EVERY_IMAGE)
def test_each_image_is_rendered_as_approved(golden: Callable[[str], Any], image: str) -> None:
    golden(f"dockerfile/{image}.Dockerfile").equals(render_dockerfile(load_family(image)))


@pytest.mark.parametrize("image", ["datahub-base-notebook", "scipy-ml-notebook", "scipy-ml-notebook-cu126"])
def test_each_image_that_needs_a_jupyter_base_is_rendered_for_a_lab_as_approved(
    golden: Callable[[str], Any], image: str
) -> None:
    text = render_dockerfile(load_family(image), substitutes=LAB, ca="ca-certificates.crt")
    golden(f"dockerfile/{image}.lab.Dockerfile").equals(text)


every_image = each_row(
    ("image", "substitutes"),
    [
        pytest.param(image, substitutes, id=f"{image} of a {kind}")
        for image in EVERY_IMAGE
        for kind, substitutes in (("site", []), ("lab", LAB))
    ],
)


class TestEveryImage:
    @every_image
    def test_ends_as_a_user_who_is_not_root(self, image: str, substitutes: list[Substitute]) -> None:
        text = of(image, substitutes)
        of_image = text.partition(" AS image\n")[2].partition("FROM image AS verify")[0]
        assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", re.findall(r"^USER (\S+)$", of_image, re.MULTILINE)[-1])

    @every_image
    def test_the_default_target_is_the_image_and_not_its_check(self, image: str, substitutes: list[Substitute]) -> None:
        text = of(image, substitutes)
        assert text.rstrip().splitlines()[-1] in {"FROM image", "FROM image AS server"}

    @every_image
    def test_downloads_only_into_cache_mounts(self, image: str, substitutes: list[Substitute]) -> None:
        text = of(image, substitutes)
        for run in re.findall(r"^RUN .*?^EOF$", text, re.MULTILINE | re.DOTALL):
            for tool, cache in {
                "apt-get install": "target=/var/cache/apt",
                "apt-get update": "target=/var/lib/apt/lists",
                "pip install uv": "target=/root/.cache/pip",
                "/uv pip install": "target=/root/.cache/uv",
                "-m pip install": "target=/root/.cache/pip",
                "npm ci": "target=/root/.npm",
                "mamba": "target=/opt/conda/pkgs",
            }.items():
                assert tool not in run or cache in run, run

    @every_image
    def test_needs_no_front_end_from_a_registry(self, image: str, substitutes: list[Substitute]) -> None:
        text = of(image, substitutes)
        assert not re.search(r"^#\s*syntax", text, re.MULTILINE)

    @every_image
    def test_a_ca_bundle_is_named_only_where_it_is_mounted(self, image: str, substitutes: list[Substitute]) -> None:
        text = render_dockerfile(load_family(image), substitutes=substitutes, ca="site.pem")
        outside = re.sub(r"^RUN .*?^EOF$", "", text, flags=re.MULTILINE | re.DOTALL)
        assert "site.pem" in text
        assert "site-ca" not in outside
        assert "site.pem" not in outside
        assert "/etc/ssl" not in text
        for run in re.findall(r"^RUN .*?^EOF$", text, re.MULTILINE | re.DOTALL):
            assert ("site.pem" in run) <= ("--mount=type=bind,from=ca,target=/run/site-ca" in run)

    @every_image
    def test_without_a_ca_bundle_nothing_asks_for_one(self, image: str, substitutes: list[Substitute]) -> None:
        text = of(image, substitutes)
        assert "from=ca" not in text
        assert "CERT" not in text


def test_a_base_of_somebody_else_is_named_by_digest() -> None:
    assert re.search(rf"^FROM {re.escape(DEBIAN)}@sha256:[0-9a-f]{{64}} AS base$", of("hub"), re.MULTILINE)


def test_a_parent_of_ours_comes_as_a_build_argument_without_a_default() -> None:
    text = of("scipy-ml-notebook")
    assert "\nARG BASE\n" in text
    assert "\nFROM ${BASE} AS image\n" in text


def test_the_kernels_for_cuda_10_1_have_pinned_libraries_and_one_cuda_each() -> None:
    runs = {
        match[1]: match[0]
        for match in re.finditer(
            r"mamba create.*?--prefix \S+/(\S+) .*?^EOF$", of("scipy-ml-notebook"), re.MULTILINE | re.DOTALL
        )
    }
    assert set(runs) == {"tensorflow-2.3", "pytorch-1.7"}
    for pin in ("cudatoolkit=10.1.243", "cudnn=7.6.5.32", "nccl=2.8.3.1", "tensorflow==2.3.4"):
        assert pin in runs["tensorflow-2.3"]
        assert pin not in runs["pytorch-1.7"]
    assert "torch==1.7.1+cu101" in runs["pytorch-1.7"]
    assert f"--find-links {TORCH_WHEELS}" in runs["pytorch-1.7"]


def test_where_the_build_matters_the_wheel_of_pypi_goes_into_the_servers_environment_on_every_base() -> None:
    (server,) = re.findall(r"^mamba install.*?^EOF$", of("scipy-ml-notebook-cu126"), re.MULTILINE | re.DOTALL)
    conda, _, wheels = server.partition("-m pip install")
    assert "numpy=2.4.6" in conda
    assert "torch" not in conda
    assert [line.strip(" \\") for line in wheels.splitlines()[1:-1]] == [
        "torch==2.7.1",
        "torchvision==0.22.1",
        "nvidia-cudnn-cu12==9.5.1.17",
    ]
    plan = plan_image(load_family("scipy-ml-notebook-cu126"), substitutes=LAB)
    assert plan.missing == ("python=3.12.12", "tensorflow[and-cuda]==2.19.0", *plan.missing[2:])
    assert not [pin for pin in plan.missing if pin.startswith("torch")]


def test_an_extra_of_a_pin_is_quoted_for_the_shell() -> None:
    assert "    'tensorflow[and-cuda]==2.19.0' \\\n" in of("scipy-ml-notebook-cu126")


def test_a_jupyter_base_without_conda_forge_takes_the_wheels_all_the_same() -> None:
    plan = plan_image(load_family("scipy-ml-notebook-cu126"), substitutes=[LAB[2]])
    assert [package.pypi for package in plan.packages] == ["torch==2.7.1", "torchvision==0.22.1"]
    assert "scipy=1.17.1" in plan.missing
    assert "mamba" not in render_dockerfile(load_family("scipy-ml-notebook-cu126"), substitutes=[LAB[2]])


def test_in_a_lab_what_no_registry_has_is_left_out_and_named() -> None:
    plan = plan_image(load_family("scipy-ml-notebook"), substitutes=LAB)
    assert labels(plan)["org.gpu-commons.lab.missing"] == LEFT_OUT
    assert labels(plan)["org.gpu-commons.lab.substitute"] == f"{JUPYTER} conda-forge {TORCH_WHEELS}"
    text = render_dockerfile(load_family("scipy-ml-notebook"), substitutes=LAB)
    steps = "\n".join(re.findall(r"^RUN .*?^EOF$", text, re.MULTILINE | re.DOTALL))
    assert "cudatoolkit" not in steps
    assert "torch" not in steps
    assert "mamba" not in steps
    assert "/opt/venv" in steps


def test_without_substitutes_no_label_mentions_a_lab() -> None:
    for image in EVERY_IMAGE:
        assert not [key for key in labels(plan_image(load_family(image))) if ".lab." in key]


def test_only_the_kernel_whose_page_of_wheels_is_unreachable_is_left_out() -> None:
    only_torch = [Substitute(TORCH_WHEELS, "nothing", "blocked")]
    plan = plan_image(load_family("scipy-ml-notebook"), substitutes=only_torch)
    assert [kernel.name for kernel in plan.kernels] == ["tensorflow-2.3"]
    assert "torch==1.7.1+cu101" in plan.missing
    assert "tensorflow==2.3.4" not in plan.missing


def test_a_jupyter_base_without_conda_forge_leaves_its_packages_out() -> None:
    plan = plan_image(load_family("datahub-base-notebook"), substitutes=[LAB[2]])
    assert plan.packages == ()
    assert "jupyterhub-singleuser=5.5.4" in plan.missing


def test_substitutes_of_other_images_are_not_spoken_of() -> None:
    assert plan_image(load_family("hub"), substitutes=LAB).substituted_references == (DEBIAN,)


def test_a_stand_in_without_digest_is_refused() -> None:
    with pytest.raises(SpecError, match="is not an image by digest"):
        render_dockerfile(load_family("hub"), substitutes=[Substitute(DEBIAN, "127.0.0.1:5000/lab/debian:1", "lab")])


def test_kernels_on_a_lab_base_without_a_word_about_conda_are_refused_with_a_remedy() -> None:
    with pytest.raises(SpecError) as caught:
        render_dockerfile(load_family("scipy-ml-notebook"), substitutes=LAB[:2])
    assert "give conda-forge a substitute too (with: nothing)" in str(caught.value)
    assert {'"tensorflow-2.3"', '"pytorch-1.7"'} <= set(str(caught.value).split())


def test_a_site_can_ask_what_an_image_takes_from_elsewhere() -> None:
    assert outside_references(load_family("scipy-ml-notebook")) == ("conda-forge", TORCH_WHEELS, JUPYTER)
    assert outside_references(load_family("hub")) == (DEBIAN,)


def test_a_folder_of_the_user_is_new_and_made_before_the_files_that_change_most() -> None:
    text = of("perceptron")
    assert re.search(r"^RUN <<'EOF'\nset -eu\nmkdir /logs\nchown 1001:1001 /logs\nEOF\n\nCOPY ", text, re.MULTILINE)


def test_pins_of_a_frameworks_image_do_not_reach_our_tools_and_stay_in_the_image() -> None:
    tools, _, image = of("perceptron").partition(" AS image\n")
    assert "\nunset PIP_CONSTRAINT\n" in tools
    assert "PIP_CONSTRAINT" not in image
    assert not [name for name in EVERY_IMAGE if name != "perceptron" and "PIP_CONSTRAINT" in of(name)]


def test_an_image_that_names_no_entry_point_keeps_its_bases_own() -> None:
    assert "ENTRYPOINT" not in of("perceptron")
    assert 'CMD ["tensorboard", "--logdir", "/logs"' in of("perceptron")


def test_text_of_a_spec_cannot_become_an_instruction(tiny: Callable[..., Path]) -> None:
    folder = tiny(title='"; $(id) `id` ${HOME} \\', files=[{"source": "verify.py", "target": "/etc/verify.py"}])
    text = render_dockerfile(load_family("tiny", images=folder.parent))
    assert r'title="\"; \$(id) `id` \${HOME} \\"' in text


def test_a_release_day_is_the_time_of_everything_in_the_image() -> None:
    assert labels(plan_image(load_family("hub")))["org.opencontainers.image.created"] == "2026-11-21T00:00:00Z"


def of(image: str, substitutes: Sequence[Substitute] = ()) -> str:
    return render_dockerfile(load_family(image), substitutes=substitutes)
