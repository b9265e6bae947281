"""What is found in layers: libraries, wheels, device code, drivers, waste; and which of several CUDAs counts."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from rows import each_row

from fleet.driver_key import DRIVER_KEY_LABEL
from imaging.inspection.conclusions import Conclusions, judge
from imaging.inspection.facts import CONTENTS, Contents, ImageContents
from imaging.inspection.faults import InspectError
from imaging.inspection.finders.packages import cuda_of
from imaging.inspection.layouts import DockerArchive, OciLayout
from imaging.inspection.reading import Progress, inspect
from imaging.inspection.secrets import hide, hide_in_command
from imaging.inspection.store import Store

sys.path.insert(0, str(Path(__file__).parent))
from made import Content, Image, digest, fatbin, image, library, write_archive, write_layout

SITE = "opt/venv/lib/python3.11/site-packages"
CUPY = {
    f"{SITE}/cupy/cuda/thrust.so": library(
        fatbin(("cubin", 70), ("cubin", 80), ("cubin", 90), ("ptx", 90)),
        fatbin(("cubin", 70), ("cubin", 80), ("cubin", 90)),
    ),
    f"{SITE}/cupy_cuda12x-14.2.0.dist-info/METADATA": "Name: cupy-cuda12x\nRequires-Dist: numpy\n\ntext",
    f"{SITE}/nvidia_cuda_runtime_cu12-12.9.79.dist-info/METADATA": "Name: nvidia-cuda-runtime-cu12\nVersion: 12.9.79\n",
    f"{SITE}/nvidia/cuda_runtime/lib/libcudart.so.12": library(),
    f"{SITE}/nvidia_cuda_nvrtc_cu12-12.9.86.dist-info/METADATA": "Name: nvidia-cuda-nvrtc-cu12\n\n",
}
Look = Callable[..., ImageContents]


@pytest.fixture
def look(tmp_path: Path) -> Look:
    """Facts of an image with its layers read."""

    def call(made: Image) -> ImageContents:
        return inspect(OciLayout(write_layout(tmp_path / "layout", made)), deep=True).contents

    return call


def deep(facts: ImageContents) -> Contents:
    assert facts.deep is not None
    return facts.deep


def kinds(judged: Conclusions) -> set[str]:
    return {each.kind for each in judged.remarks}


@pytest.mark.parametrize("form", ["gzip", "zstd", "none"])
def test_the_cupy_image_shows_its_runtime_and_its_targets(look: Look, form: str) -> None:
    facts = look(image({"etc/os-release": 'PRETTY_NAME="Debian 12"\n'}, CUPY, form=form))
    found = deep(facts)
    assert {(each.name, each.version, each.cuda) for each in found.packages} == {
        ("cupy-cuda12x", "14.2.0", "12"), ("nvidia-cuda-runtime-cu12", "12.9.79", "12.9"),
        ("nvidia-cuda-nvrtc-cu12", "12.9.86", "12.9"),
    }  # fmt: skip
    assert [(each.name, each.version) for each in found.libraries] == [("cudart", "12.9.79")]
    (program,) = judge(facts).programs
    assert dict(program.fields) == {
        "cuda": "12.9", "framework": "cupy", "framework_version": "14.2.0", "sm_list": "sm_70;sm_80;sm_90",
        "ptx": "compute_90@8.5", "compressed": "none", "cuda_compat": "no",
    }  # fmt: skip
    assert not judge(facts).remarks


def test_a_private_key_of_any_layer_is_told_even_if_a_later_one_removes_it(look: Look) -> None:
    key = "-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n"
    layers: list[dict[str, Content]] = [
        {
            "root/.ssh/id_ed25519": key,
            "etc/ssh/ssh_host_rsa_key": key,
            "etc/ssl/ca.pem": "-----BEGIN CERTIFICATE-----\n",
        },
        {"root/.ssh/.wh.id_ed25519": "", f"{SITE}/tornado/test/test.key": key, "home/a/id_rsa.pub": "ssh-rsa AAAA\n"},
    ]
    facts = look(image(*layers))
    assert {(each.path, each.layer) for each in deep(facts).private_keys} == {
        ("root/.ssh/id_ed25519", 0), ("etc/ssh/ssh_host_rsa_key", 0),
    }  # fmt: skip
    (remark,) = (each for each in judge(facts).remarks if each.kind == "private-key")
    assert "root/.ssh/id_ed25519 (layer 1)" in remark.says
    assert "AAAA" not in f"{facts}"


def test_a_loader_that_searches_the_compat_package_first_is_seen(look: Look) -> None:
    compat: dict[str, Content] = {**CUPY, "usr/local/cuda-12.9/compat/libcuda.so.575.57.08": library()}
    first: dict[str, Content] = {"etc/ld.so.conf.d/00-compat.conf": "/usr/local/cuda-12.9/compat\n"}
    other: dict[str, Content] = {"etc/ld.so.conf.d/cuda.conf": "# compat\n/usr/local/cuda/lib64\n"}
    found = [judge(look(image(compat, each))).programs[0].fields["cuda_compat"] for each in (first, other)]
    assert found == ["first", "yes"]
    assert judge(look(image(CUPY, first))).programs[0].fields["cuda_compat"] == "no"  # a folder without a library


VLLM = {
    f"{SITE}/vllm-0.9.1.dist-info/METADATA": "Name: vllm\n\n",
    f"{SITE}/vllm/_C.abi3.so": library(*[fatbin(("cubin", 75), ("cubin", 80), ("cubin", 90)) for _ in range(3)]),
}


def test_a_library_for_some_gpus_does_not_hide_what_another_has_for_the_rest(look: Look) -> None:
    attention: dict[str, Content] = {
        f"{SITE}/vllm/vllm_flash_attn/_vllm_fa2_C.abi3.so": library(*[fatbin(("cubin", 80)) for _ in range(40)])
    }
    (program,) = judge(look(image(VLLM, attention))).programs
    assert (program.fields["sm_list"], program.fields["ptx"]) == ("sm_75;sm_80;sm_90", "none")
    (note,) = program.notes
    assert note.says == "_vllm_fa2_C.abi3.so has code for sm_80 alone: other GPUs are without what it does"


def test_linear_algebra_for_more_gpus_does_not_make_torch_run_on_them(look: Look) -> None:
    files: dict[str, Content] = {
        f"{SITE}/torch-2.8.0.dist-info/METADATA": "Name: torch\nVersion: 2.8.0\n\n",
        f"{SITE}/torch/lib/libtorch_cuda.so": library(*[fatbin(("cubin", 70), ("cubin", 80)) for _ in range(40)]),
        f"{SITE}/torch/lib/libtorch_cuda_linalg.so": library(
            *[fatbin(("cubin", 50), ("cubin", 60), ("cubin", 70), ("cubin", 80)) for _ in range(10)]
        ),
    }
    (program,) = judge(look(image(files))).programs
    assert program.fields["sm_list"] == "sm_70;sm_80"


def test_a_small_helper_does_not_make_a_program_run_where_its_kernels_do_not(look: Look) -> None:
    big = library(*[fatbin(("cubin", 80), ("cubin", 90)) for _ in range(60)])
    helper = library(fatbin(("cubin", 50), ("cubin", 70), ("cubin", 80), ("cubin", 90)))
    files: dict[str, Content] = {
        f"{SITE}/vllm-0.9.1.dist-info/METADATA": "Name: vllm\n\n",
        f"{SITE}/vllm/_C.abi3.so": big,
        f"{SITE}/vllm/cumem.abi3.so": helper,
    }
    (program,) = judge(look(image(files))).programs
    assert program.fields["sm_list"] == "sm_80;sm_90"


def test_a_few_entries_of_ptx_do_not_make_everything_runnable(look: Look) -> None:
    code = [fatbin(("cubin", 80), ("cubin", 90)) for _ in range(20)]
    files: dict[str, Content] = {
        f"{SITE}/vllm-0.9.1.dist-info/METADATA": "Name: vllm\n\n",
        f"{SITE}/vllm/_C.abi3.so": library(*code, fatbin(("ptx", 70))),
    }
    (program,) = judge(look(image(files))).programs
    assert (program.fields["sm_list"], program.fields["ptx"]) == ("sm_80;sm_90", "none")


def test_code_that_is_mostly_ptx_counts_as_ptx(look: Look) -> None:
    files: dict[str, Content] = {
        f"{SITE}/tensorflow-2.20.0.dist-info/METADATA": "Name: tensorflow\n\n",
        f"{SITE}/tensorflow/libtensorflow_cc.so.2": library(
            *[fatbin(("ptx", 60)) for _ in range(16)], *[fatbin(("cubin", 60), ("cubin", 80)) for _ in range(3)]
        ),
    }
    (program,) = judge(look(image(files))).programs
    assert (program.fields["sm_list"], program.fields["ptx"]) == ("none", "compute_60@8.5")


@pytest.mark.parametrize(("runtime", "chosen"), [("12.4.127", "sm_75"), ("11.8.89", "sm_50"), ("13.0.48", "sm_100")])
def test_of_libraries_for_one_cuda_each_the_one_for_the_images_cuda_counts(
    look: Look, runtime: str, chosen: str
) -> None:
    folder = f"{SITE}/bitsandbytes"
    files: dict[str, Content] = {
        f"{SITE}/bitsandbytes-0.48.0.dist-info/METADATA": "Name: bitsandbytes\n\n",
        f"{folder}/libbitsandbytes_cuda118.so": library(fatbin(("cubin", 50))),
        f"{folder}/libbitsandbytes_cuda124.so": library(fatbin(("cubin", 75))),
        f"{folder}/libbitsandbytes_cuda130.so": library(fatbin(("cubin", 100), flags=0x8000)),
        f"{SITE}/nvidia_cuda_runtime_cu12-{runtime}.dist-info/METADATA": (
            f"Name: nvidia-cuda-runtime-cu12\nVersion: {runtime}\n"
        ),
    }
    (program,) = judge(look(image(files))).programs
    assert program.fields["sm_list"] == chosen
    assert program.fields["compressed"] == ("sm_100" if chosen == "sm_100" else "none")


def test_without_a_runtime_the_library_that_a_program_loads_tells_the_major(look: Look) -> None:
    files: dict[str, Content] = {
        "usr/local/bin/solver": library(fatbin(("cubin", 80))),
        "usr/local/lib/libcublas.so.12": library(),
    }
    (program,) = judge(look(image(files))).programs
    assert program.fields["cuda"] == "12"


def test_the_runtime_that_a_file_with_code_loads_tells_the_major(look: Look) -> None:
    names = b"\0libcudart.so.12\0libcublas-1a2b3c4d.so.12\0"
    files: dict[str, Content] = {f"{SITE}/lesson/cuda/liblesson.so": library(fatbin(("cubin", 80)), text=names)}
    (program,) = judge(look(image(files))).programs
    assert (program.fields["cuda"], program.fields["sm_list"]) == ("12", "sm_80")


def test_a_name_that_is_cut_by_two_pieces_is_read(look: Look) -> None:
    at_the_cut = b"\0" * ((1 << 18) - 512 - 5) + b"\0libcudart.so.11.0\0"
    files: dict[str, Content] = {f"{SITE}/lesson/liblesson.so": library(fatbin(("cubin", 80)), text=at_the_cut)}
    (program,) = judge(look(image(files))).programs
    assert program.fields["cuda"] == "11"


def test_ptx_tells_the_major_of_the_compiler_whose_runtime_may_be_inside(look: Look) -> None:
    files: dict[str, Content] = {f"{SITE}/lesson/liblesson.so": library(fatbin(("cubin", 80), ("ptx", 80)))}
    (program,) = judge(look(image(files))).programs
    assert (program.fields["cuda"], program.fields["ptx"]) == ("12", "compute_80@8.5")


def test_of_libraries_for_one_cuda_each_none_says_which_cuda_there_is(look: Look) -> None:
    names = {cuda: f"\0libcudart.so.{cuda}\0".encode() for cuda in ("11.0", "12", "13")}
    files: dict[str, Content] = {
        f"{SITE}/bitsandbytes-0.48.0.dist-info/METADATA": "Name: bitsandbytes\n\n",
        **{
            f"{SITE}/bitsandbytes/libbitsandbytes_cuda{number}.so": library(fatbin(("cubin", 80)), text=names[cuda])
            for number, cuda in (("118", "11.0"), ("124", "12"), ("130", "13"))
        },
    }
    (program,) = judge(look(image(files, env=["CUDA_VERSION=12.4.1"]))).programs
    assert program.fields["cuda"] == "12.4"


def test_libraries_of_rapids_are_programs_and_those_of_cuda_are_not(look: Look) -> None:
    files: dict[str, Content] = {
        f"{SITE}/libcuml/lib64/libcuml.so": library(fatbin(("cubin", 70))),
        f"{SITE}/libcuml/lib64/libcusolver.so.12": library(fatbin(("cubin", 50), ("cubin", 90))),
    }
    (program,) = judge(look(image(files))).programs
    assert program.fields["sm_list"] == "sm_70"


def test_wheels_count_and_not_a_label_that_says_otherwise(look: Look) -> None:
    env = ["CUDA_VERSION=10.1.243", "NVIDIA_REQUIRE_CUDA=cuda>=10.1"]
    judged = judge(look(image(CUPY, labels={"com.nvidia.cuda.version": "10.1"}, env=env)))
    (program,) = judged.programs
    assert program.fields["cuda"] == "12.9"
    assert program.fields["env"] == "NVIDIA_REQUIRE_CUDA=cuda>=10.1"
    says = [note.says for note in program.notes]
    assert len([text for text in says if "the label com.nvidia.cuda.version=10.1 means CUDA 10.1" in text]) == 1
    assert all("counts, because it is what the program loads" in text for text in says)
    assert "label-disagrees" in kinds(judged)


def test_a_label_counts_if_nothing_contradicts_it(look: Look) -> None:
    (program,) = judge(look(image({"a": b"1"}, labels={"com.nvidia.cuda.version": "10.1"}))).programs
    assert program.fields["cuda"] == "10.1"
    assert not program.notes


def test_torch_says_itself_for_which_cuda_it_was_built(look: Look) -> None:
    files: dict[str, Content] = {
        f"{SITE}/torch-2.6.0.dist-info/METADATA": "Name: torch\nRequires-Dist: nvidia-cublas-cu12 (==12.4.5.8)\n\n",
        f"{SITE}/torch/version.py": "__version__ = '2.6.0+cu124'\ncuda: Optional[str] = '12.4'\nhip = None\n",
        f"{SITE}/torch/lib/libtorch_cuda.so": library(
            *[fatbin(("cubin", 50), ("cubin", 90))] * 8, fatbin(("cubin", 100))
        ),
        f"{SITE}/nvidia_cudnn_cu12-9.1.0.70.dist-info/METADATA": "Name: nvidia-cudnn-cu12\n\n",
        f"{SITE}/nvidia/cudnn/lib/libcudnn.so.9": library(),
        f"{SITE}/nvidia/nccl/lib/libnccl.so.2": library(text=b"NCCL version 2.21.5+cuda12.4\0"),
        "usr/local/cuda-12.8/targets/x86_64-linux/lib/libcudart.so.12.8.90": library(),
        "usr/lib/x86_64-linux-gnu/libc.so.6": b"GNU C Library (Debian GLIBC 2.36-9) stable release version 2.36.\n",
    }
    facts = look(image(files, env=["CUDA_VERSION=12.8.1"]))
    (program,) = judge(facts).programs
    assert {key: program.fields[key] for key in ("cuda", "cudnn", "sm_list", "ptx", "image_glibc")} == {
        "cuda": "12.4", "cudnn": "9.1.0", "sm_list": "sm_50;sm_90", "ptx": "none", "image_glibc": "2.36",
    }  # fmt: skip
    assert ("nccl", "2.21.5") in {(each.name, each.version) for each in deep(facts).libraries}
    notes = [note.says for note in program.notes if "12.8" in note.says]
    assert notes
    assert all("torch says" in says for says in notes)


def wheels(*names: str) -> dict[str, Content]:
    """Records of wheels: `torch-2.6.0`."""
    return {f"{SITE}/{name}.dist-info/METADATA": f"Name: {name.partition('-')[0]}\n\n" for name in names}


@each_row(
    ("names", "programs", "for_cpu"),
    [
        (["torch-2.6.0+cpu"], [], ["torch 2.6.0+cpu"]),
        (["jaxlib-0.4.30", "jax-0.4.30"], [], ["jaxlib 0.4.30"]),
        (["jaxlib-0.4.30", "cupy_cuda12x-14.2.0"], ["cupy"], ["jaxlib 0.4.30"]),
        (["jaxlib-0.4.30", "jax_cuda12_plugin-0.4.30"], ["jax"], []),
        (["jaxlib-0.4.13+cuda12.cudnn89"], ["jax"], []),
        (["mlx-0.32.4", "mlx_cuda_12-0.32.4"], ["mlx"], []),
        (["mxnet-1.9.1"], [], ["mxnet 1.9.1"]),
        (["onnxruntime-1.20.0"], [], ["onnxruntime 1.20.0"]),
        (["tensorflow_cpu-2.20.0"], [], ["tensorflow-cpu 2.20.0"]),
        (["keras-3.0.0"], [], []),
        (["vllm-0.11.0"], ["vllm"], []),
    ],
)
def test_a_build_for_the_cpu_does_not_count_as_a_program_that_uses_a_gpu(
    look: Look, names: list[str], programs: list[str], for_cpu: list[str]
) -> None:
    judged = judge(look(image(wheels(*names))))
    assert [each.name for each in judged.programs] == programs
    assert list(judged.for_cpu) == for_cpu


CONDA: dict[str, Content] = {"opt/conda/conda-meta/history": ""}
CONDA_SITE = "opt/conda/lib/python3.11/site-packages"


def conda(name: str, build: str) -> dict[str, Content]:
    """Conda's record of a package, and pip's, which conda packages have too."""
    plain = name.replace("pytorch", "torch")
    return {
        **CONDA,
        f"opt/conda/conda-meta/{name}-{build}.json": "{}",
        f"{CONDA_SITE}/{plain}.dist-info/METADATA": f"Name: {plain.partition('-')[0]}\n\n",
    }


@each_row(
    ("files", "programs", "for_cpu"),
    [
        (conda("pytorch-2.5.1", "cpu_mkl_py312_h60c10ca_0"), [], ["torch 2.5.1"]),
        (conda("pytorch-2.5.1", "cpu_generic_py39_h1ceff7d_7"), [], ["torch 2.5.1"]),
        (conda("pytorch-1.7.1", "py3.8_cpu_0"), [], ["torch 1.7.1"]),
        (conda("pytorch-2.5.1", "cuda126_mkl_py312_h1b2c3d4_300"), ["pytorch"], []),
        (conda("pytorch-1.7.1", "py3.8_cuda10.1.243_cudnn7.6.3_0"), ["pytorch"], []),
        ({**wheels("torch-2.5.1"), f"{SITE}/torch/version.py": "cuda: Optional[str] = None\n"}, [], ["torch 2.5.1"]),
        ({**wheels("torch-1.4.0"), f"{SITE}/torch/version.py": "cuda = None\n"}, [], ["torch 1.4.0"]),
        ({**wheels("torch-2.5.1"), f"{SITE}/torch/version.py": "cuda = '12.4'\nhip = None\n"}, ["pytorch"], []),
        (wheels("torch-2.5.1"), ["pytorch"], []),
    ],
)
def test_a_build_that_says_that_it_is_for_the_cpu_is_believed_more_than_the_cuda_of_its_base(
    look: Look, files: dict[str, Content], programs: list[str], for_cpu: list[str]
) -> None:
    judged = judge(look(image(files, env=["CUDA_VERSION=12.4.1"])))
    assert [each.name for each in judged.programs] == programs
    assert [each.replace("pytorch", "torch") for each in judged.for_cpu] == for_cpu


def test_a_cpu_build_in_one_environment_says_nothing_of_another(look: Look) -> None:
    files = conda("pytorch-2.5.1", "cpu_mkl_py312_h60c10ca_0") | {
        f"{SITE}/torch-2.6.0.dist-info/METADATA": "Name: torch\n\n",
        f"{SITE}/torch/version.py": "cuda = '12.4'\n",
    }
    judged = judge(look(image(files)))
    assert [(each.name, each.fields["framework_version"]) for each in judged.programs] == [("pytorch", "2.6.0")]
    assert len(judged.for_cpu) == 1


def test_an_image_without_gpu_use_has_no_program(look: Look) -> None:
    judged = judge(look(image({"usr/bin/tool": b"#!/bin/sh\n"})))
    assert judged == Conclusions((), around={"cuda_compat": "no"})


def test_one_framework_in_two_environments_is_two_programs_each_with_its_own_cuda_and_code(look: Look) -> None:
    files: dict[str, Content] = {}
    for kernel, version, cuda, target in (("old", "1.7.1", "10.1", 61), ("new", "2.6.0", "12.4", 90)):
        site = f"opt/conda/envs/{kernel}/lib/python3.11/site-packages"
        files[f"{site}/torch-{version}.dist-info/METADATA"] = "Name: torch\n\n"
        files[f"{site}/torch/version.py"] = f"cuda = '{cuda}'\n"
        files[f"{site}/torch/lib/libtorch_cuda.so"] = library(fatbin(("cubin", target)))
    programs = judge(look(image(files))).programs
    assert [(each.name, each.fields["cuda"], each.fields["sm_list"]) for each in programs] == [
        ("pytorch in /opt/conda/envs/old", "10.1", "sm_61"), ("pytorch in /opt/conda/envs/new", "12.4", "sm_90"),
    ]  # fmt: skip
    assert not any(each.notes for each in programs)


def test_a_label_that_fits_one_of_two_programs_is_not_wrong_and_each_program_is_named(look: Look) -> None:
    files = {**wheels("torch-1.12.1+cu113"), **CUPY}
    assert "label-disagrees" not in kinds(judge(look(image(files, labels={"com.nvidia.cuda.version": "11.3"}))))
    remarks = judge(look(image(files, labels={"com.nvidia.cuda.version": "10.1"}))).remarks
    (remark,) = [each for each in remarks if each.kind == "label-disagrees"]
    assert remark.says == (
        "the label com.nvidia.cuda.version=10.1 means CUDA 10.1, and cupy is for 12.9, pytorch is for 11.3"
    )


def test_why_a_statement_counts_is_what_was_read(look: Look) -> None:
    cuda_label = {"com.nvidia.cuda.version": "10.1"}
    by_wheel = judge(look(image(wheels("torch-1.12.1+cu113"), labels=cuda_label))).programs[0].notes
    assert by_wheel[0].says.endswith("the latter counts, because the program was built for it")
    env = ["CUDA_VERSION=12.4.1"]
    by_environment = judge(look(image({"a": b"1"}, labels=cuda_label, env=env))).programs[0].notes
    assert by_environment[0].says.endswith("the latter counts, because nothing that was read counts more")


def test_own_programs_count_without_any_framework(look: Look) -> None:
    files: dict[str, Content] = {
        "usr/local/bin/solver": library(fatbin(("cubin", 61), ("ptx", 61))),
        "usr/local/cuda-11.8/lib64/libcublas.so.11.11.3.6": library(fatbin(("cubin", 35), ("cubin", 90))),
        "usr/local/cuda-11.8/lib64/libcudart.so.11.8.89": library(),
    }
    (program,) = judge(look(image(files))).programs
    fields = program.fields
    assert (fields["cuda"], fields["sm_list"], fields["ptx"]) == ("11.8", "sm_61", "compute_61@8.5")


def test_the_name_of_the_runtime_of_cuda_11_says_no_minor_version(look: Look) -> None:
    (program,) = judge(look(image({"usr/lib/libcudart-d0da41ae.so.11.0": library()}))).programs
    assert program.fields["cuda"] == "11"


def test_a_driver_inside_is_a_finding_and_a_compat_package_is_not(look: Look) -> None:
    files: dict[str, Content] = {
        "usr/lib/x86_64-linux-gnu/libcuda.so.535.104.05": library(),
        "usr/lib/x86_64-linux-gnu/libnvidia-ml.so.535.104.05": b"",
        "lib/modules/6.1.0/updates/nvidia-uvm.ko.xz": b"x",
        "usr/local/cuda-12.4/compat/libcuda.so.550.54.15": library(),
        "usr/local/cuda-12.4/lib64/stubs/libcuda.so": library(),
        "usr/lib/x86_64-linux-gnu/libnvidia-container.so.1.17.8": library(),
    }
    facts = look(image(files))
    assert {(each.path.rpartition("/")[2], each.what) for each in deep(facts).driver} == {
        ("libcuda.so.535.104.05", "driver 535.104.05"), ("nvidia-uvm.ko.xz", "kernel module"),
        ("libnvidia-ml.so.535.104.05", "an empty file that a container with a GPU has left"),
    }  # fmt: skip
    assert [each.version for each in deep(facts).compat] == ["550.54.15"]
    assert kinds(judge(facts)) == {"driver-inside"}


def test_a_driver_container_may_have_its_driver(look: Look) -> None:
    files: dict[str, Content] = {"usr/lib/x86_64-linux-gnu/libcuda.so.535.104.05": library()}
    assert kinds(judge(look(image(files, labels={DRIVER_KEY_LABEL: "535-6.1.0-debian12"})))) == set()


def test_what_a_later_layer_removes_is_not_in_the_image_but_wasted(look: Look) -> None:
    below: dict[str, Content] = {
        "usr/lib/libcuda.so.535.104.05": library(),
        "opt/old/libcudart.so.10.1.243": library(),
        "opt/twice": bytes(5000),
        "root/.cache/pip/wheel": bytes(2_000_000),
    }
    above: dict[str, Content] = {
        "usr/lib/.wh.libcuda.so.535.104.05": b"",
        "opt/old/.wh..wh..opq": b"",
        "opt/old/new": b"1",
        "opt/twice": bytes(10),
        "root/.cache/.wh.pip": b"",
    }
    facts = look(image(below, above))
    found = deep(facts)
    assert found.driver == ()
    assert found.libraries == ()
    assert found.caches == ()
    size = len(library())
    assert [(each.unpacked_bytes, each.wasted_bytes) for each in found.layers] == [(2_005_000 + 2 * size,) * 2, (11, 0)]
    assert found.files == 2


def test_a_layer_that_was_read_before_says_the_same_above_other_layers_and_is_not_read_again(tmp_path: Path) -> None:
    driver: dict[str, Content] = {"usr/lib/libcuda.so.535.104.05": library(), "etc/os-release": 'PRETTY_NAME="D"\n'}
    first, second = image(driver, CUPY), image({"a": b"1"}, CUPY, {"usr/lib/.wh.libcuda.so.535.104.05": b""}, driver)
    store = Store(tmp_path / "cache")
    inspect(OciLayout(write_layout(tmp_path / "first", first)), deep=True, store=store)
    layout = write_layout(tmp_path / "second", second)
    anew = inspect(OciLayout(layout), deep=True).contents
    for known in first.layers:
        (layout / "blobs" / "sha256" / digest(known).partition(":")[2]).unlink()
    progress: list[Progress] = []
    again = inspect(OciLayout(layout), deep=True, store=store, tell=progress.append)
    assert again.contents == anew
    assert {each.layer for each in deep(again.contents).driver} == {3}
    sizes = [len(layer) for layer in second.layers]
    assert [max(each.read_bytes for each in progress if each.number == number + 1) for number in range(4)] == sizes


@pytest.mark.parametrize(
    "change",
    [lambda text: text[:-9], lambda text: text[:0], lambda text: text[:20] + b"!" + text[21:]],
    ids=["cut", "empty", "changed"],
)
def test_a_corrupt_record_of_a_layer_is_ignored(tmp_path: Path, change: Callable[[bytes], bytes]) -> None:
    layout, store = write_layout(tmp_path / "layout", image(CUPY)), Store(tmp_path / "cache")
    first = inspect(OciLayout(layout), deep=True, store=store).contents
    (record,) = store.folder.rglob("*.layer.gz")
    record.write_bytes(change(record.read_bytes()))
    next(store.folder.rglob("*.deep.json")).unlink()
    assert inspect(OciLayout(layout), deep=True, store=store).contents == first


def test_whiteouts_hide_what_is_below_and_not_what_is_beside(look: Look) -> None:
    facts = look(image({"a/x": b"1", "a/y": b"1"}, {"a/x": b"22", "a/.wh.x": b"", "a/.wh..wh..opq": b""}))
    assert deep(facts).files == 1
    assert deep(facts).layers[0].wasted_bytes == 2
    assert deep(facts).layers[1].wasted_bytes == 0


@pytest.mark.slow
def test_caches_copies_and_the_biggest_directories_are_listed(look: Look) -> None:
    files: dict[str, Content] = {
        "root/.cache/pip/http/a": bytes(15_000_000),
        "opt/conda/pkgs/x": bytes(9_000_000),
        "usr/local/cuda-12.4/lib64/libcublas.so.12.4.5.8": library(bytes(12_000_000)),
        f"{SITE}/nvidia/cublas/lib/libcublas.so.12": library(bytes(12_000_000)),
        "a/b/c/d/one": bytes(40_000_000),
    }
    facts = look(image(files))
    found = deep(facts)
    assert [(each.path, each.what) for each in found.caches] == [
        ("/root/.cache/pip", "pip's cache"), ("/opt/conda/pkgs", "conda's packages"),
    ]  # fmt: skip
    (copies,) = found.copies
    assert (copies.name, copies.extra_bytes > 12_000_000) == ("cublas", True)
    assert found.biggest[0].path == "/a/b/c/d" or found.biggest[0].size >= 40_000_000
    assert len(found.biggest) <= 10
    assert kinds(judge(facts)) == {"caches", "cuda-twice"}


def kernel(name: str, cuda: str, size: int = 12_000_000) -> dict[str, Content]:
    """A kernel with an environment and a CUDA of its own, from wheels."""
    site = f"opt/kernels/{name}/lib/python3.11/site-packages"
    package = f"nvidia_cuda_runtime_cu{cuda.partition('.')[0]}-{cuda}"
    return {
        f"{site}/{package}.dist-info/METADATA": "Name: nvidia-cuda-runtime\n",
        f"{site}/nvidia/cuda_runtime/lib/libcudart.so.{cuda}": library(bytes(size)),
    }


@pytest.mark.slow
def test_kernels_with_environments_of_their_own_may_have_a_cuda_each(look: Look) -> None:
    facts = look(image({**kernel("old", "11.8.89"), **kernel("new", "12.4.127")}))
    assert deep(facts).copies == ()
    assert kinds(judge(facts)) == set()


@pytest.mark.slow
def test_a_cuda_of_the_system_under_several_environments_is_extra_once(look: Look) -> None:
    below: dict[str, Content] = {"usr/local/cuda-12.4/lib64/libcudart.so.12.4.127": library(bytes(11_000_000))}
    facts = look(image(below, {**kernel("old", "11.8.89"), **kernel("new", "12.4.127")}))
    (copies,) = deep(facts).copies
    assert copies.extra_bytes == len(library(bytes(11_000_000)))
    assert len(copies.paths) == 3
    assert kinds(judge(facts)) == {"cuda-twice"}


def test_one_environment_with_two_cuda_majors_is_reported_with_the_evidence(look: Look) -> None:
    facts = look(image({**kernel("both", "11.8.89", 10), **kernel("both", "12.4.127", 10)}))
    (remark,) = judge(facts).remarks
    assert remark.kind == "two-cudas"
    assert remark.says.startswith(
        "the environment /opt/kernels/both has CUDA 11 (nvidia-cuda-runtime-cu11 11.8.89) and CUDA 12 (nvidia-"
    )


@pytest.mark.slow
def test_conda_environments_are_environments_too(look: Look) -> None:
    lines = {"envs/tf/": "10.1.243", "": "11.3.1"}
    files: dict[str, Content] = {}
    for folder, version in lines.items():
        files[f"opt/conda/{folder}conda-meta/cudatoolkit-{version}-h9edb442_10.json"] = "{}"
        files[f"opt/conda/{folder}lib/libcudart.so.{version}"] = library(bytes(12_000_000))
    facts = look(image(files))
    assert deep(facts).copies == ()
    assert kinds(judge(facts)) == set()


def test_foreign_layers_are_left_out_and_named(look: Look) -> None:
    made = image({"a": b"1"}, {"b": b"2"})
    made.layer_fields = [{"urls": ["https://example.org/layer"]}, {}]
    facts = look(made)
    assert facts.layers[0].is_foreign
    assert "foreign" in deep(facts).left_out[0]
    assert deep(facts).files == 1


def test_packages_of_conda_and_dpkg_are_found(look: Look) -> None:
    status = (
        "Package: libc6\nStatus: install ok installed\nVersion: 2.31-13+deb11u11\n\n"
        "Package: cuda-cudart-11-8\nStatus: install ok installed\nVersion: 11.8.89-1\n\n"
        "Package: libcudnn8\nStatus: deinstall ok config-files\nVersion: 8.9.7\n\n"
        "Package: bash\nStatus: install ok installed\nVersion: 5\n"
    )
    files: dict[str, Content] = {
        "var/lib/dpkg/status": status,
        "opt/conda/conda-meta/cudatoolkit-11.3.1-h9edb442_10.json": "{}",
        "opt/conda/conda-meta/pytorch-1.12.1-py3.9_cuda11.3_cudnn8.3.2_0.json": "{}",
    }
    found = deep(look(image(files)))
    assert {(each.kind, each.name, each.cuda) for each in found.packages} == {
        ("deb", "cuda-cudart-11-8", "11.8"), ("conda", "cudatoolkit", "11.3"), ("conda", "pytorch", "11.3"),
    }  # fmt: skip
    assert found.glibc == "2.31"


@each_row(
    ("name", "version", "cuda"),
    [
        ("torch", "2.5.1+cu121", "12.1"),
        ("torch", "1.4.0+cu92", "9.2"),
        ("torch", "2.6.0", ""),
        ("torch", "1.0+cpu", ""),
        ("mxnet-cu101", "1.5.0", "10.1"),
        ("cupy-cuda12x", "13.0", "12"),
        ("cupy-cuda102", "9.0", "10.2"),
        ("nvidia-cublas-cu12", "12.4.5.8", "12"),
        ("nvidia-cuda-runtime", "13.0.48", "13.0"),
        ("cudf-cu12", "24.10", "12"),
        ("jaxlib", "0.4.13+cuda12.cudnn89", "12"),
        ("jax-cuda12-plugin", "0.5", "12"),
        ("libcublas-12-4", "12.4.5", "12.4"),
        ("libcudnn9-cuda-12", "9.1", "12"),
        ("numpy", "2.0", ""),
    ],
)
def test_packages_say_in_many_ways_for_which_cuda_they_are(name: str, version: str, cuda: str) -> None:
    assert cuda_of(name, version) == cuda


def test_facts_come_back_from_json_as_they_were(look: Look) -> None:
    facts = look(image(CUPY, env=["A=1"], labels={"b": "2"}))
    assert CONTENTS.validate_json(CONTENTS.dump_json(facts)) == facts


def test_a_docker_archive_has_the_same_contents_as_a_layout(tmp_path: Path) -> None:
    made = image(CUPY, {"a": b"1"}, form="none")
    archive = write_archive(tmp_path / "image.tar", made)
    saved = inspect(DockerArchive.parse(str(archive)), deep=True).contents
    laid = inspect(OciLayout.parse(str(write_layout(tmp_path / "layout", made))), deep=True).contents
    assert saved.deep == laid.deep
    assert inspect(DockerArchive.parse(f"{archive}:tiny:1.0")).contents == inspect(DockerArchive(archive)).contents
    with pytest.raises(InspectError, match=r"has no image other; there is tiny:1\.0"):
        inspect(DockerArchive.parse(f"{archive}:other"))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"no archive" * 100, "is not a tar archive"),
        (b"\x1f\x8b" + bytes(50), "packed archive"),
        (b"", "is not a tar|no manifest"),
    ],
)
def test_a_file_that_is_not_a_docker_archive_is_reported(tmp_path: Path, content: bytes, reason: str) -> None:
    (tmp_path / "x.tar").write_bytes(content)
    with pytest.raises(InspectError, match=reason):
        inspect(DockerArchive(tmp_path / "x.tar"))


def test_a_docker_archive_whose_layer_was_changed_is_refused(tmp_path: Path) -> None:
    archive = write_archive(tmp_path / "image.tar", image({"opt/data": b"abcdefgh"}, form="none"))
    archive.write_bytes(archive.read_bytes().replace(b"abcdefgh", b"abcdefgX"))
    with pytest.raises(InspectError, match="does not match its digest"):
        inspect(DockerArchive(archive), deep=True)


def test_an_incomplete_layout_is_reported(tmp_path: Path) -> None:
    with pytest.raises(InspectError, match="is not an OCI layout"):
        inspect(OciLayout(tmp_path))
    folder = write_layout(tmp_path / "layout", image({"a": b"1"}))
    with pytest.raises(InspectError, match="has no image 2"):
        inspect(OciLayout.parse(f"{folder}:2"))
    for blob in (folder / "blobs" / "sha256").iterdir():
        blob.unlink()
    with pytest.raises(InspectError, match="cannot be read"):
        inspect(OciLayout.parse(f"{folder}:1.0"))


@each_row(
    ("name", "value", "shown"),
    [
        ("API_KEY", "abc", "(not shown)"),
        ("PATH", "/usr/bin", "/usr/bin"),
        ("TOKEN_FILE", "/run/secrets/token", "/run/secrets/token"),
        ("GPG_KEY", "A035C8C19219BA821ECEA86B64E628F8D684696D", "A035C8C19219BA821ECEA86B64E628F8D684696D"),
        ("X", "key ghp_" + "a" * 36, "key (not shown)"),
        ("MAX_TOKENS", "4096", "4096"),
        ("PGPASSWORD", "hunter2", "(not shown)"),
        ("clientSecret", "hunter2", "(not shown)"),
        ("org.example.api-key", "hunter2", "(not shown)"),
        ("TOKENIZERS_PARALLELISM", "fast", "fast"),
        ("USE_TOKEN", "true", "true"),
    ],
)
def test_values_that_look_like_secrets_are_hidden(name: str, value: str, shown: str) -> None:
    assert hide(name, value) == shown


@each_row(
    ("text", "shown"),
    [
        ("ARG NGC_API_KEY=abc def", "ARG NGC_API_KEY=(not shown) def"),
        ("RUN login --token hunter2 --port 80", "RUN login --token (not shown) --port 80"),
        ("RUN TOKEN PASSWORD=hunter2 x", "RUN TOKEN PASSWORD=(not shown) x"),
        ("RUN A=1 TOKEN_FILE=/run/t make", "RUN A=1 TOKEN_FILE=/run/t make"),
        ("RUN curl https://u:$P@h/x https://u:p@h/x", "RUN curl https://u:$P@h/x https://(not shown)@h/x"),
    ],
)
def test_values_behind_telling_names_are_hidden_in_commands(text: str, shown: str) -> None:
    assert hide_in_command(text) == shown
