"""Content known from an image's name: its own, that of its base image, and that of a pinned wheel."""

from __future__ import annotations

import pytest
from known import checked, told

from compat import Answer, Severity, Verdict
from compat.evidence.names.image_name import read_image
from compat.facts.tables import builds, pinned_by
from compat.values.fact import Present


def _says(answer: Answer, rule: str, severity: Severity) -> bool:
    return any(each.rule == rule and each.severity is severity for each in answer.findings)


@pytest.mark.parametrize(
    ("image", "clause", "package"),
    [
        ("nvidia/cuda:12.4.1-base-ubuntu22.04", "cuda>=12.4", Present.YES),
        ("vllm/vllm-openai:v0.5.0", "cuda>=12.4", Present.YES),
        ("vllm/vllm-openai:v0.9.1", "cuda>=12.8", Present.YES),
        ("tensorflow/tensorflow:2.11.0-gpu", "cuda>=11.2", Present.YES),
        ("rapidsai/base:24.12-cuda12.5-py3.12", "cuda>=12.5", Present.YES),
        ("pytorch/pytorch:2.1.2-cuda12.1-cudnn8-devel", "cuda>=12.1", Present.YES),
        ("ghcr.io/huggingface/text-generation-inference:1.3.4", "cuda>=12.1", Present.YES),
        ("nvcr.io/nvidia/pytorch:23.10-py3", "cuda>=9.0", Present.YES),
        ("pytorch/pytorch:2.1.2-cuda12.1-cudnn8-runtime", "", Present.NO),
        ("quay.io/jupyter/pytorch-notebook:cuda12-latest", "", Present.NO),
    ],
)
def test_an_image_has_the_clause_and_the_compat_package_of_its_base(image: str, clause: str, package: Present) -> None:
    found = read_image(image)
    assert (found.requires[0].split(" ")[0] if found.requires else "") == clause
    assert found.compat_package is package


def test_an_image_has_the_c_library_of_its_base() -> None:
    assert read_image("vllm/vllm-openai:v0.9.0").os == "ubuntu22.04"
    assert read_image("ghcr.io/huggingface/text-generation-inference:1.3.4").os == "ubuntu20.04"


def test_a_base_from_memory_is_not_inherited() -> None:
    assert read_image("tensorflow/tensorflow:2.18.0-gpu").requires == ()


@pytest.mark.parametrize("tag", ["latest", "nightly", "latest-gpu"])
def test_what_a_moving_tag_holds_is_not_known(tag: str) -> None:
    assert read_image(f"tensorflow/tensorflow:{tag}").is_moving
    answer = checked(gpu="T4", driver="535.183.01", host="docker", image="vllm/vllm-openai:latest")
    assert answer.verdict == "unknown", told(answer)


@pytest.mark.parametrize(
    ("tag", "newest"),
    [
        ("pytorch-notebook:cuda12-2024-11-04", "12.6"),
        ("pytorch-notebook:cuda12-2025-04-01", "12.8"),
        ("tensorflow-notebook:cuda-2024-06-17", "12.5"),
        ("pytorch-notebook:cuda12-2026-08-24", "12.9"),  # nothing is younger than it
        ("pytorch-notebook:cuda11-2024-02-01", "11.8"),  # one CUDA alone
    ],
)
def test_a_tag_with_a_day_has_no_cuda_that_is_younger(tag: str, newest: str) -> None:
    assert str(max(read_image(f"quay.io/jupyter/{tag}").cudas)) == newest


def test_a_moving_tag_that_names_its_cuda_is_judged_by_that() -> None:
    fields = {"host": "kubernetes", "gpu": "L4"}
    old = checked(**fields, driver="570.172.08", image="quay.io/jupyter/pytorch-notebook:cuda13-latest")
    new = checked(**fields, driver="535.183.01", image="quay.io/jupyter/pytorch-notebook:cuda12-latest")
    assert (old.verdict, new.verdict.runs) == ("incompatible", True), (told(old), told(new))


def test_a_row_that_was_read_in_another_image_of_the_family_decides_nothing() -> None:
    answer = checked(gpu="T4", driver="535.183.01", image="huggingface/transformers-pytorch-gpu:4.35.2")
    assert answer.verdict == "unknown", told(answer)


def test_an_ngc_image_does_without_its_compat_package_where_the_gpu_cannot_use_it() -> None:
    host = {"gpu": "RTX 3090", "driver": "525.147.05", "host": "docker"}
    ngc = checked(**host, image="nvcr.io/nvidia/pytorch:23.10-py3")
    plain = checked(**host, image="nvidia/cuda:12.2.2-base-ubuntu22.04")
    older = checked(**host | {"driver": "470.199.02"}, image="nvcr.io/nvidia/pytorch:23.10-py3")
    assert ngc.verdict == "compatible", told(ngc)
    assert _says(plain, "R-COMPATHOOK", Severity.REFUSE), told(plain)
    assert older.verdict == "incompatible", told(older)  # another CUDA major: only the package would help


def test_a_compat_folder_in_the_images_loader_cache_warns_on_a_newer_driver() -> None:
    host = {"gpu": "A100", "driver": "580.95.05", "host": "docker"}
    assert _says(checked(**host, image="vllm/vllm-openai:v0.16.0"), "R-COMPATHOOK", Severity.WARN)
    assert checked(**host, image="vllm/vllm-openai:v0.17.0").verdict == "compatible"


def test_a_wheel_has_the_code_of_the_torch_that_it_pins() -> None:
    (row,) = (each for each in builds("sglang") if each.version == "0.4.6")
    assert row.pins == ("pytorch", "2.6.0")
    torch = next(each for each in pinned_by(row) if each.is_default)
    assert (row.cubins, row.ptx, row.cuda) == (torch.cubins, torch.ptx, torch.cuda)


def test_the_cuda_of_an_image_picks_the_torch_beside_vllm() -> None:
    host = {"driver": "570.133.20", "host": "docker", "image": "vllm/vllm-openai:v0.9.0"}
    assert checked(gpu="TITAN V", **host).verdict == "incompatible"  # cu128 starts at 7.5
    assert checked(gpu="RTX 5090", **host).verdict == "compatible"
    pip = {"framework": "vllm", "framework_version": "0.9.0", "driver": "570.133.20"}
    assert checked(gpu="TITAN V", **pip).verdict == "compatible"  # cu126, which PyPI gives
    assert checked(gpu="RTX 5090", **pip).verdict == "incompatible"
    assert checked(gpu="RTX 5090", **pip, build="cu128").verdict == "compatible"


def test_of_two_wheels_in_one_program_both_must_have_code() -> None:
    case = {"gpu": "RTX 5090", "driver": "570.133.20", "framework": "xformers", "framework_version": "0.0.30"}
    alone, beside = checked(**case), checked(**case, build="cu128")
    assert alone.verdict == "incompatible", told(alone)  # torch cu126 ends at 9.0, whatever xformers has
    assert beside.verdict == "compatible_with_warning", told(beside)  # some of its kernels end at 9.0


@pytest.mark.parametrize(
    ("tag", "gpu", "verdict"),
    [
        ("1.2", "V100", "incompatible"),
        ("1.2", "L4", "compatible"),
        ("1.2", "H100", "incompatible"),
        ("turing-1.2", "T4", "compatible"),
        ("86-1.2", "A100", "incompatible"),
        ("86-1.2", "A10G", "compatible"),
        ("hopper-1.5", "H100", "compatible"),
        ("cpu-1.5", "A100", "compatible_with_warning"),
    ],
)
def test_a_tag_may_name_the_one_gpu_that_its_code_is_for(tag: str, gpu: str, verdict: str) -> None:
    image = f"ghcr.io/huggingface/text-embeddings-inference:{tag}"
    answer = checked(gpu=gpu, driver="550.54.15", host="docker", image=image)
    assert answer.verdict == verdict, told(answer)


@pytest.mark.parametrize(
    ("gpu", "tag", "verdict"),
    [
        ("RTX 5080", "server-sm120", "compatible"),
        ("RTX 4080", "server-sm120", "incompatible"),
        ("RTX 3090", "latest-sm_80", "compatible"),
        ("H100", "latest-sm_80", "incompatible"),
        ("V100", "v2-sm70-sm75", "compatible"),
    ],
)
def test_a_target_in_a_tag_is_what_the_image_has_code_for(gpu: str, tag: str, verdict: str) -> None:
    image = f"registry.example.edu/lab/tool:{tag}"
    answer = checked(gpu=gpu, driver="580.95.05", cuda="12.8", host="docker", image=image)
    assert answer.verdict == verdict, told(answer)


@pytest.mark.parametrize("name", ["tensorrt", "paddlepaddle", "vllm"])
def test_ngc_images_of_a_month_have_one_cuda(name: str) -> None:
    known = read_image("nvcr.io/nvidia/pytorch:25.06-py3").cudas
    assert known
    assert read_image(f"nvcr.io/nvidia/{name}:25.06-py3").cudas == known
    assert not read_image(f"docker.io/someone/{name}:25.06-py3").cudas


def test_a_known_family_of_which_nothing_is_known_is_no_promise() -> None:
    answer = checked(gpu="T4", driver="535.183.01", host="docker", image="ghcr.io/ggerganov/llama.cpp:server-cuda")
    assert answer.verdict == "unknown", told(answer)


@pytest.mark.parametrize(
    ("framework", "version", "build", "cudnn", "verdict"),
    [
        ("tensorflow", "2.12.0", "", "8.0.5", "incompatible"),
        ("tensorflow", "2.12.0", "", "8.9.2", "compatible"),
        ("tensorflow", "2.12.0", "", "9.1", "incompatible"),
        ("jax", "0.4.25", "jax[cuda12_local]", "8.6", "incompatible"),
        ("pytorch", "2.1.0", "", "8.0.5", "compatible"),  # carries its own
    ],
)
def test_tensorflow_and_jax_ask_for_the_minor_of_cudnn(
    framework: str, version: str, build: str, cudnn: str, verdict: str
) -> None:
    cuda = {"tensorflow": "11.8", "jax": "12.3", "pytorch": "12.1"}[framework]
    case = {"gpu": "T4", "driver": "550.54.15", "cuda": cuda, "framework": framework, "framework_version": version}
    answer = checked(**case, build=build, cudnn=cudnn)
    runs = answer.verdict.runs
    assert runs is (verdict == "compatible"), told(answer)


def test_ptx_counts_by_its_own_version_where_that_was_read() -> None:
    """TensorFlow 2.15 is built with CUDA 12.2, but its PTX is of ISA 7.1, which a driver of CUDA 12.0 compiles."""
    case = {"gpu": "A100", "driver": "525.147.05", "framework": "tensorflow", "framework_version": "2.15.0"}
    answer = checked(**case, build="tensorflow[and-cuda]")
    assert answer.verdict == "compatible_with_warning", told(answer)


def test_cupy_compiles_for_gpus_that_its_nvrtc_knows() -> None:
    case = {"gpu": "RTX 5080", "driver": "570.133.07", "framework": "cupy", "framework_version": "13.4.1"}
    assert _says(checked(**case, cuda="12.6", build="cupy-cuda12x"), "R-ARCH", Severity.REFUSE)


def test_a_list_as_torch_prints_it_says_that_there_is_no_ptx() -> None:
    case = {"gpu": "H100", "driver": "550.54.15", "framework": "pytorch"}
    assert checked(**case, sm_list="sm_37 sm_50 sm_60 sm_70 sm_75 sm_80 sm_86").verdict == "incompatible"
    assert checked(**case, sm_list="sm_80 sm_86 compute_86").verdict != "incompatible"
    assert checked(**case, sm_list="8.0;8.6", ptx="unknown").verdict == "unknown"


def test_a_tag_that_names_its_cuda_is_not_described_by_a_note_on_all_tags_with_its_beginning() -> None:
    assert [str(cuda) for cuda in read_image("vllm/vllm-openai:v0.21.0-cu129").cudas] == ["12.9"]
    assert [str(cuda) for cuda in read_image("vllm/vllm-openai:v0.21.0").cudas] == ["13.0"]


def test_a_repository_that_names_its_cuda_says_what_its_newest_tag_holds() -> None:
    azure = "mcr.microsoft.com/azureml/openmpi4.1.0-cuda11.8-cudnn8-ubuntu22.04:latest"
    answer = checked(gpu="T4", driver="535.183.01", host="kubernetes", image=azure)
    assert answer.verdict == "compatible", told(answer)
    assert read_image("pytorch/pytorch:latest").is_moving


@pytest.mark.parametrize(("cuda", "cudnn", "runs"), [("12.3", "9.8", True), ("13.0", "9.8", False)])
def test_cudnn_is_looked_up_by_the_cuda_of_the_build(cuda: str, cudnn: str, *, runs: bool) -> None:
    case = {"gpu": "A100", "driver": "580.95.05", "framework": "jax", "framework_version": "0.10.0"}
    answer = checked(**case, build=f"cuda{cuda[:2]}_local", cuda=cuda, cudnn=cudnn)
    assert answer.verdict.runs is runs, told(answer)


def test_of_the_libraries_in_bitsandbytes_the_one_for_the_driver_counts() -> None:
    fields = {"gpu": "RTX 3090", "framework": "bitsandbytes"}
    assert checked(**fields, driver="525.147.05").verdict.runs
    assert checked(**fields, driver="525.147.05", build="cu130").verdict is Verdict.INCOMPATIBLE
    assert checked(**fields, driver="390.157").verdict is Verdict.INCOMPATIBLE
