"""Text that people write around a version or a list of targets, and text that is left unread."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random

import pytest
from compat.evidence.names.targets import Targets, read_ptx, read_targets
from hypothesis import given
from hypothesis import strategies as st

from compat import Case, Severity, Verdict, check
from compat.evidence.names import typed as readings
from compat.evidence.names.builds import read_wish
from compat.evidence.names.gpu_names import UnknownGpu, find_gpus
from compat.values.versions import VersionError

VERSIONS: list[tuple[Callable[[str], object], str, str]] = [
    *(
        (readings.read_drivers, text, release)
        for text, release in (
            ("NVIDIA 535.183.01 / CUDA 12.2", "535.183.01"),
            ("R535 (535.129.03)", "535.129.03"),
            ("528.49 (WSL 525.89.02)", "528.49"),
            ("v545.84 WHQL", "545.84"),
            ("580.65.06 open kernel module", "580.65.06"),
            ("31.0.15.3667", "536.67"),
            ("27.21.14.5671 on Windows 10", "456.71"),
        )
    ),
    *(
        (readings.read_jetson, text, release)
        for text, release in (
            ("JetPack 5.1.3 (L4T R35.5)", "35.5.0"),
            ("540.3.0 (JetPack 6.0)", "36.3.0"),
            ("Jetson Linux 36.3", "36.3.0"),
            ("L4T 32.7.1 / JetPack 4.6.1", "32.7.1"),
            ("# R32 (release), REVISION: 7.1, GCID: 29818004", "32.7.1"),
            ("R36 (release), REVISION: 4.3", "36.4.3"),
        )
    ),
    *(
        (readings.read_cudas, text, release)
        for text, release in (
            ("CUDA 12.2 (conda)", "12.2"),
            ("12.2 runtime", "12.2"),
            ("built on a 12.5.1 devel image", "12.5.1"),
            ("cudatoolkit 11.3 from conda-forge", "11.3"),
            ("cu121 wheels", "12.1"),
            ("nvcc V11.5.119", "11.5.119"),
            ("12.4 Update 1 (conda)", "12.4.1"),
            ("cuda91", "9.1"),
        )
    ),
    *(
        (readings.read_release, text, release)
        for text, release in (
            ("cuDNN 8.9.2 (conda)", "8.9.2"),
            ("8.9.2.26 from pip", "8.9.2.26"),
            ("glibc 2.31 (Ubuntu 20.04)", "2.31"),
        )
    ),
    *(
        (readings.read_capability, text, found)
        for text, found in (("sm_61 (Pascal)", "6.1"), ("8.6 (Ampere)", "8.6"), ("compute capability 7.5", "7.5"))
    ),
]


@pytest.mark.parametrize(("read", "text", "found"), VERSIONS)
def test_a_version_between_other_words_is_read(read: Callable[[str], object], text: str, found: str) -> None:
    value = read(text)
    assert [str(each) for each in value] == [found] if isinstance(value, tuple) else str(value) == found


def test_a_branch_between_other_words_is_that_branch() -> None:
    assert {each.branch for each in readings.read_drivers("driver 470 series (Ubuntu)")} == {470}


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (readings.read_drivers, "535.183.01 or 550.54.14"),
        (readings.read_drivers, "RTX 3090"),
        (readings.read_cudas, "12.4 (host 12.2)"),
        (readings.read_cudas, "CUDA 10.0/10.1"),
        (readings.read_release, "between 8.9.2 and 9.1.0"),
    ],
)
def test_what_names_two_versions_or_none_is_not_read(read: Callable[[str], object], text: str) -> None:
    with pytest.raises(VersionError):
        read(text)


TARGETS = [
    ("sm_70;sm_80, no PTX", "7.0 8.0", ""),
    ("only sm_60 sm_75 inside", "6.0 7.5", None),
    ("['sm_50', 'sm_60', 'compute_37']", "5.0 6.0", "3.7"),
    ("sm_86..sm_89", "8.6 8.7 8.8 8.9", None),
    ("7.0-8.0", "7.0 7.2 7.5 8.0", None),
    ("sm_70 to sm_75 with CUDA 12.4", "7.0 7.2 7.5", None),
    ("sm_75, sm_86; relies on PTX", "7.5 8.6", "8.6"),
    ("8.6 + PTX", "8.6", "8.6"),
    ("PTX only 7.0", "", "7.0"),
    ("sm_50 sm_60 (no sm_120)", "5.0 6.0", None),
    ("TORCH_CUDA_ARCH_LIST='7.0 8.6+PTX'", "7.0 8.6", "8.6"),
    ("TORCH_CUDA_ARCH_LIST=8.6", "8.6", ""),
    ("-DCMAKE_CUDA_ARCHITECTURES=86 -DGGML_CUDA=ON", "8.6", "8.6"),
    ('CMAKE_CUDA_ARCHITECTURES="70-real;86-virtual"', "7.0", "8.6"),
    ("-gencode arch=compute_70,code=sm_70 -gencode arch=compute_80,code=compute_80", "7.0", "8.0"),
    ("-gencode arch=compute_61,code=[sm_61,compute_61]", "6.1", "6.1"),
    ("nvcc -arch=sm_61", "6.1", "6.1"),
    ("CUDA_ARCH_BIN=7.5,8.6 CUDA_ARCH_PTX=8.6", "7.5 8.6", "8.6"),
    ("TF_CUDA_COMPUTE_CAPABILITIES=sm_60,compute_70", "6.0 7.0", "7.0"),
]
IN_A_BUILD = [
    ("compiled for 75 and 86", "7.5 8.6", None),
    ("from source with CUDA 12.4 for sm_86", "8.6", None),
    ("from source, TORCH_CUDA_ARCH_LIST=8.6+PTX", "8.6", "8.6"),
    ("targets: 5.0, 6.1", "5.0 6.1", None),
    ("built for 12.4", None, None),
    ("built with CUDA 12.1", None, None),
    ("official docker image 2.3", None, None),
]


def _words(targets: Targets) -> tuple[str | None, str | None]:
    return tuple(None if each is None else " ".join(map(str, each)) for each in (targets.cubins, targets.ptx))  # type: ignore[return-value]


@pytest.mark.parametrize(("text", "cubins", "ptx"), TARGETS)
def test_targets_are_read_from_lists_flags_and_prose(text: str, cubins: str | None, ptx: str | None) -> None:
    assert _words(read_targets(text)) == (cubins, ptx)


@pytest.mark.parametrize(("text", "cubins", "ptx"), IN_A_BUILD)
def test_the_text_of_a_build_lists_targets_only_where_it_says_so(
    text: str, cubins: str | None, ptx: str | None
) -> None:
    assert _words(read_targets(text, bare=False)) == (cubins, ptx)


@pytest.mark.parametrize("text", ["sm_7O", "-70", "hello", "sm_xx", "7.0;eight.0.1"])
def test_what_lists_no_target_is_refused(text: str) -> None:
    with pytest.raises(VersionError, match="is not a target"):
        read_targets(text)


def test_yes_is_ptx_of_the_newest_cubin() -> None:
    cubins = read_targets("7.0;8.6").cubins or ()
    assert [_words(read_ptx(text, cubins))[1] for text in ("yes", "no", "unknown", "9.0")] == ["8.6", "", None, "9.0"]


@pytest.mark.parametrize(
    ("framework", "version", "build", "found"),
    [
        ("torch", "2.3+", "", "2.3"),
        ("torch", "2.1.0.dev", "", "2.1.0.dev0"),
        ("torch", "2.6.0+cu124 (pip)", "", "2.6.0"),
        ("torch", "", "pip install torch==2.1.0 torchvision==0.16.0", "2.1.0"),
        ("vllm", "", "official image v0.6.3", "0.6.3"),
        ("vllm", "", "from source on a CUDA 12.8 base", None),
        ("tensorflow", "", "python 3.10 in nvidia/cuda:11.8.0-base", None),
        ("pytorch", "", "conda 4.10.3", None),
    ],
)
def test_a_number_is_the_frameworks_version_only_where_it_says_so(
    framework: str, version: str, build: str, found: str | None
) -> None:
    wish = read_wish(framework, version, build)
    assert wish is not None
    assert (str(wish.version) if wish.version else None) == found


def test_a_month_is_nvidias_image_of_that_month() -> None:
    by_month = check(Case(gpu="V100", driver="418.87", framework="PyTorch", framework_version="24.05"))
    by_image = check(Case(gpu="V100", driver="418.87", image="nvcr.io/nvidia/pytorch:24.05-py3"))
    assert by_month.verdict is Verdict.INCOMPATIBLE
    assert by_month.findings == by_image.findings


def test_a_pre_release_may_be_as_the_release_before_it_or_as_the_one_that_it_became() -> None:
    blackwell = Case(
        gpu="RTX 5090", driver="570.124.04", framework="torch", framework_version="2.7.0.dev20250224+cu128"
    )
    assert check(blackwell).verdict is Verdict.COMPATIBLE
    before_and_after = Case(
        gpu="RTX 5090", driver="580.65.06", framework="torch", framework_version="2.7.0.dev20250110"
    )
    assert check(before_and_after).verdict is Verdict.INCOMPATIBLE
    unclear = check(Case(gpu="GTX 1080", driver="580.65.06", framework="torch", framework_version="2.8.0.dev20250110"))
    assert unclear.verdict is Verdict.UNKNOWN
    assert "2.7.1 cu126, 2.8.0 cu128" in unclear.findings[0].message


@pytest.mark.parametrize(("driver", "verdict"), [("450.80.02", "compatible"), ("440.33.01", "incompatible")])
def test_a_post_release_of_paddle_names_its_cuda(driver: str, verdict: str) -> None:
    wish = read_wish("paddlepaddle-gpu", "2.5.1.post117", "")
    assert wish is not None
    assert [str(line) for line in wish.cuda] == ["11.7"]
    case = Case(gpu="V100", driver=driver, framework="paddlepaddle-gpu", framework_version="2.5.1.post117", cuda="11.7")
    assert check(case).verdict.runs == (verdict == "compatible")


def test_a_wheel_for_jetson_is_made_for_the_cuda_of_its_jetpack_and_for_arm64_alone() -> None:
    wheel = Case(framework="onnxruntime", framework_version="1.11.0", build="onnxruntime-gpu wheel of the Jetson zoo")
    jetson = replace(wheel, gpu="Jetson Xavier NX", driver="JetPack 4.6.1")
    server = replace(wheel, gpu="T4", driver="535.183.01", cpu_arch="amd64")
    assert check(jetson).verdict is Verdict.COMPATIBLE
    assert check(server).verdict is Verdict.INCOMPATIBLE


@pytest.mark.parametrize(
    ("framework", "text", "version", "cuda"),
    [
        ("vllm", "vLLM 0.8.5, PyTorch 2.6.0+cu124", "0.8.5", "12.4"),
        ("sglang", "0.4.6 (torch 2.6.0+cu126)", "0.4.6", "12.6"),
        ("jax", "jaxlib 0.4.30; jax 0.4.31", "0.4.30", None),
        ("CUDA.jl", "v5.4.3 (Julia 1.10)", "5.4.3", None),
        ("tensorrt", "10.3 (v100300 b26)", "10.3", None),
        ("hashcat", "v6.2.6-851-g6716447df", "6.2.6", None),
        ("ollama", "March 2025", None, None),
        ("onnxruntime", "latest (June 2024)", None, None),
    ],
)
def test_of_several_versions_the_frameworks_own_counts_and_a_date_is_none(
    framework: str, text: str, version: str | None, cuda: str | None
) -> None:
    wish = read_wish(framework, text, "")
    assert wish is not None
    assert str(wish.version) == str(version)
    assert [str(line) for line in wish.cuda] == ([cuda] if cuda else [])


@pytest.mark.parametrize(
    ("text", "model"),
    [
        ("Tegra X2 (Jetson TX2)", "Jetson TX2"),
        ("Jetson Xavier NX (sm_72)", "Jetson Xavier NX"),
        ("RTX 4090 (Ada, 24 GB)", "GeForce RTX 4090"),
    ],
)
def test_a_remark_in_brackets_does_not_hide_the_name_of_a_gpu(text: str, model: str) -> None:
    assert [each.name for each in find_gpus(text)] == [model]


def test_a_driver_is_known_by_the_cuda_that_it_reports() -> None:
    assert {each.branch for each in readings.read_drivers("CUDA 12.4 system")} == {550}
    assert {each.branch for each in readings.read_drivers("driver reports CUDA Version: 12.2")} == {535}


def test_a_jetpack_is_known_by_the_cuda_that_it_brings() -> None:
    assert readings.read_jetson("JetPack with CUDA 11.4").release == 35
    assert readings.read_jetson("JetPack 6.2 (CUDA 12.6)") == readings.read_jetson("JetPack 6.2")


def test_a_jetson_runs_a_newer_cuda_than_its_jetpacks_with_the_compat_package_alone() -> None:
    case = Case(gpu="Jetson Orin NX", driver="JetPack 6.0", cuda="12.6", build="from source for sm_87")
    answer = check(case)
    assert answer.verdict is Verdict.INCOMPATIBLE
    assert answer.remedy is not None
    assert [(each.field, each.to) for each in answer.remedy.changes] == [("cuda_compat", "yes")]
    assert check(replace(case, cuda_compat="yes")).verdict is Verdict.COMPATIBLE


def test_a_publishers_image_and_its_framework_are_one_thing_stated_twice() -> None:
    image = "nvcr.io/nvidia/tensorflow:23.05-tf2-py3"
    alone = check(Case(gpu="A30", driver="535.183.01", image=image))
    both = check(Case(gpu="A30", driver="535.183.01", image=image, framework="TensorFlow"))
    assert both.verdict is alone.verdict is Verdict.COMPATIBLE
    assert both.findings == alone.findings


def test_a_stated_cuda_narrows_a_variant_for_a_whole_major() -> None:
    case = Case(gpu="RTX 5080", driver="580.95.05", framework="pytorch", build="cuda12 variant", cuda="12.1")
    assert check(case).verdict is Verdict.INCOMPATIBLE
    assert check(replace(case, cuda="12.8")).verdict is Verdict.COMPATIBLE


def test_variables_may_stand_beside_each_other() -> None:
    case = Case(gpu="L4", driver="535.183.01", cuda="12.2", env="CUDA_VISIBLE_DEVICES=0 CUDA_MODULE_LOADING=LAZY")
    assert check(case).verdict is Verdict.COMPATIBLE
    assert check(replace(case, env="CUDA_VISIBLE_DEVICES=-1 OMP_NUM_THREADS=4")).verdict is Verdict.INCOMPATIBLE


def test_a_gtx_of_the_20_series_or_later_is_an_rtx() -> None:
    assert find_gpus("GTX3060Ti") == find_gpus("RTX 3060 Ti")
    with pytest.raises(UnknownGpu):
        find_gpus("RTX 1080 Ti")


def test_targets_are_read_as_the_compiler_numbers_them() -> None:
    assert read_targets("610 750 860 1200") == read_targets("61 75 86 120")


@pytest.mark.parametrize(("host", "verdict"), [("wsl2", Verdict.COMPATIBLE), ("", Verdict.UNKNOWN)])
def test_on_wsl_the_oldest_driver_is_the_first_with_cuda_for_it(host: str, verdict: Verdict) -> None:
    case = Case(gpu="RTX 2070", cuda="11.2", framework="torch", framework_version="1.8.1+cu111", host=host)
    assert check(case).verdict is verdict


def test_a_jetson_without_a_release_is_answered_where_every_release_for_it_answers_alike() -> None:
    case = Case(gpu="Jetson Xavier NX", cuda="10.2", sm_list="sm_53", ptx="none", build="from source")
    assert check(case).verdict is Verdict.INCOMPATIBLE
    assert check(replace(case, sm_list="sm_72", cuda="12.2")).verdict is not Verdict.COMPATIBLE


@pytest.mark.parametrize(
    ("framework", "target", "gpu"), [("apex", "sm_89", "L4"), ("tiny-cuda-nn", "compute_90", "H100")]
)
def test_a_compiler_makes_no_build_for_targets_that_it_does_not_know(framework: str, target: str, gpu: str) -> None:
    case = Case(gpu=gpu, driver="535.183.01", framework=framework, build=f"from source, for {target}")
    assert check(replace(case, cuda="11.7")).verdict is Verdict.INCOMPATIBLE
    assert check(replace(case, cuda="11.8")).verdict.runs


def test_nvrtc_of_a_toolkit_that_is_older_than_the_gpu_refuses_it() -> None:
    case = Case(gpu="H100", driver="535.183.01", cuda="11.7", framework="nvrtc")
    assert [each.rule for each in check(case).findings if each.severity is Severity.REFUSE] == ["R-DROP"]
    assert check(replace(case, cuda="11.8")).verdict is Verdict.COMPATIBLE


def test_a_machine_of_another_cloud_is_no_instance_type() -> None:
    case = Case(gpu="T4", driver="535.183.01", cuda="12.2", instance_type="n1-standard-8 with a T4")
    assert check(case).verdict is Verdict.COMPATIBLE
    assert check(replace(case, instance_type="g99.xlarge")).verdict is Verdict.UNKNOWN


def test_a_patch_that_the_tables_lack_is_as_its_minor() -> None:
    answer = check(Case(gpu="A100", driver="550.54.14", framework="torch", framework_version="2.4.7+cu124"))
    assert answer.verdict is Verdict.COMPATIBLE
    (finding,) = (finding for finding in answer.findings if "read as" in finding.message)
    assert "read as 2.4.1" in finding.message


def test_a_compat_folder_that_is_put_first_breaks_a_newer_driver() -> None:
    case = Case(gpu="A100", driver="550.54.14", cuda="11.8", host="docker", cuda_compat="first in the loader's path")
    assert check(case).verdict is Verdict.INCOMPATIBLE


def test_a_variable_in_the_words_of_a_build_is_one_of_its_environment() -> None:
    case = Case(gpu="T4", driver="535.54.03", host="docker", container_toolkit="1.17.8", cuda="12.8", sm_list="7.5")
    image = "own image with NVIDIA_REQUIRE_CUDA=cuda>=12.8"
    assert check(replace(case, build=image)).verdict is Verdict.INCOMPATIBLE
    assert check(replace(case, build=f"{image}; NVIDIA_DISABLE_REQUIRE=1")).verdict.runs


FORMS = [text for _, text, _ in VERSIONS] + [text for text, *_ in (*TARGETS, *IN_A_BUILD)]
FIELDS = (
    "driver",
    "cuda",
    "cudnn",
    "compute_capability",
    "sm_list",
    "ptx",
    "build",
    "framework_version",
    "cuda_compat",
)


@given(text=st.sampled_from(FORMS), seed=st.integers(0, 1 << 32), field=st.sampled_from(FIELDS))
def test_a_form_with_one_character_changed_still_gets_an_answer(text: str, seed: int, field: str) -> None:
    random = Random(seed)
    where = random.randrange(len(text))
    changed = text[:where] + chr(random.randrange(32, 127)) + text[where + 1 :]
    case = {"gpu": "T4", "driver": "535.54.03", "cuda": "12.2", "framework": "torch", field: changed}
    assert isinstance(check(Case(**case)).verdict, Verdict)
