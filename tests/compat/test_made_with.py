"""The CUDA that a build is made with, in words; builds between releases; lists of generations; a JetPack's sisters."""

from __future__ import annotations

import pytest

from compat import Verdict, case_from, check
from compat.evidence.names.builds import cuda_made_with, read_wish
from compat.evidence.names.words import presence

WORKS = {Verdict.COMPATIBLE, Verdict.WITH_WARNING}


def verdict(**case: str) -> Verdict:
    return check(case_from(case), with_remedy=False).verdict


@pytest.mark.parametrize(
    ("build", "cudas"),
    [
        ("links libcudart.so.10.1", "10.1"),
        ("needs libcublasLt.so.11", "11.0 11.1 11.2 11.3 11.4 11.5 11.6 11.7 11.8"),
        ("libcudart.so.11.0 and nvcc 11.4", "11.4"),
        ("FROM nvidia/cuda:11.3.1-devel-ubuntu20.04", "11.3"),
        ("module load cuda/10.2", "10.2"),
        ("spack: cuda@11.5", "11.5"),
        ("CUDA toolkit 9.2", "9.2"),
        ("nvcc 11.1 in one file, nvcc 11.7 in another", ""),
        ("libcudnn.so.8", ""),
        ("from source", ""),
    ],
)
def test_the_cuda_of_a_build_is_that_of_its_compiler_its_libraries_or_its_image(build: str, cudas: str) -> None:
    assert " ".join(map(str, cuda_made_with(build))) == cudas


@pytest.mark.parametrize(("driver", "answer"), [("470.57.02", {Verdict.INCOMPATIBLE}), ("525.60.13", WORKS)])
def test_a_program_that_links_a_cuda_needs_its_driver(driver: str, answer: set[Verdict]) -> None:
    build = "linked against libcudart.so.12"
    assert verdict(gpu="RTX 3070", driver=driver, framework="some-renderer", build=build) in answer


def test_a_compiler_beside_a_published_wheel_is_not_the_wheels() -> None:
    wish = read_wish("torch", "2.3.0", "pip wheel; nvcc 11.8 on the host")
    assert wish is not None
    assert wish.cuda == ()


@pytest.mark.parametrize(
    ("version", "read"),
    [
        ("2.4.1 / CUDA 12.1", "2.4.1"),
        ("stable (2.3.0+cu118)", "2.3.0"),
        ("2.2.2-cuda12.1-cudnn8", "2.2.2"),
        ("2.1.0 py3.9_cuda11.8_cudnn8.7.0_0", "2.1.0"),
        ("main (commit 0f1e2d3)", "None"),
        ("nightly, cu124", "None"),
    ],
)
def test_of_a_version_with_other_words_the_releases_number_is_read(version: str, read: str) -> None:
    wish = read_wish("torch", version, "")
    assert wish is not None
    assert str(wish.version) == read


def test_nvidias_own_build_is_that_of_its_image_of_the_month() -> None:
    version = "2.5.0a0+e000cf0ad9.nv24.10"  # CUDA 12.6
    case = {"gpu": "RTX 3070", "framework": "torch", "framework_version": version}
    assert verdict(driver="470.57.02", **case) is Verdict.INCOMPATIBLE
    assert verdict(driver="560.35.03", **case) in WORKS


@pytest.mark.parametrize("name", ["NVIDIA TensorRT", "RAPIDS cuML", "Microsoft onnxruntime", "Google JAX"])
def test_who_makes_a_framework_may_stand_before_its_name(name: str) -> None:
    wish, plain = read_wish(name, "", ""), read_wish(name.split()[1], "", "")
    assert wish is not None
    assert plain is not None
    assert wish.framework == plain.framework


@pytest.mark.parametrize(("gpu", "answer"), [("RTX 2070", WORKS), ("RTX 3070", {Verdict.INCOMPATIBLE})])
def test_a_list_of_generations_is_one_of_targets(gpu: str, answer: set[Verdict]) -> None:
    assert verdict(gpu=gpu, driver="535.54.03", cuda="12.2", sm_list="Volta and Turing", ptx="none") in answer


def test_all_that_the_compiler_knows_is_what_its_cuda_can_make() -> None:
    case = {"driver": "535.54.03", "cuda": "12.2", "framework": "someprogram", "sm_list": "all-major"}
    assert verdict(gpu="L40", **case) in WORKS
    assert verdict(gpu="Tesla K80", **{**case, "driver": "470.57.02"}) is Verdict.INCOMPATIBLE


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("stripped", "no"),
        ("cubins only", "no"),
        ("the image ships it", "yes"),
        ("embedded", "yes"),
        ("comes with it", "yes"),
    ],
)
def test_what_is_there_is_read_in_words(text: str, word: str) -> None:
    assert presence(text) == word


@pytest.mark.parametrize(
    ("jetpack", "wheel", "answer"),
    [
        ("JetPack 6.2", "JetPack 6.1", WORKS),  # both CUDA 12.6
        ("JetPack 6.2", "JetPack 6.0", {Verdict.UNKNOWN}),  # CUDA 12.2
        ("JetPack 5.1.2", "JetPack 6.1", {Verdict.INCOMPATIBLE}),
    ],
)
def test_a_wheel_for_a_jetpack_runs_on_another_with_the_same_cuda(
    jetpack: str, wheel: str, answer: set[Verdict]
) -> None:
    build = f"NVIDIA's wheel for {wheel}"
    case = {"gpu": "Jetson AGX Orin", "driver": jetpack, "framework": "torch", "framework_version": "2.5.0"}
    assert verdict(**case, build=build) in answer
