"""What a report leaves out, and what its reader takes for granted."""

from __future__ import annotations

import pytest
from compat.evidence.prose.dates import month_in, released_by
from compat.evidence.prose.ggml import code_of
from packaging.version import Version

from compat import Answer, Case, Severity, Verdict, check
from compat.values.versions import CudaVersion

RUNS, WARNS, UNKNOWN, NOT = Verdict.COMPATIBLE, Verdict.WITH_WARNING, Verdict.UNKNOWN, Verdict.INCOMPATIBLE


def _text(answer: Answer) -> str:
    return "\n".join(finding.message for finding in answer.findings)


# --- a list of targets without a word of PTX


@pytest.mark.parametrize("listed", ["sm_70;sm_80", "7.0 8.0", "sm70 sm80"])
def test_a_list_that_names_no_ptx_is_one_without(listed: str) -> None:
    answer = check(Case(gpu="H200", driver="550.90.07", cuda="12.4", framework="faiss", sm_list=listed))
    assert answer.verdict is NOT
    assert "names no PTX" in _text(answer)


def test_whoever_does_not_know_of_ptx_can_say_so() -> None:
    case = Case(gpu="H200", driver="550.90.07", cuda="12.4", framework="own", sm_list="7.0;8.0", ptx="unknown")
    assert check(case).verdict is UNKNOWN


def test_a_list_with_ptx_is_taken_as_it_is_written() -> None:
    assert check(Case(gpu="H200", driver="550.90.07", cuda="12.4", sm_list="7.0;8.0+PTX")).verdict is WARNS


# --- a compiler that is older than the GPU


@pytest.mark.parametrize(
    ("gpu", "cuda", "program", "build"),
    [
        ("GeForce GTX 1070", "7.5", "some-miner", "release"),
        ("TITAN V", "8.0", "my-renderer", "own build"),
        ("RTX 3090", "10.2", "acemd3", "conda"),
        ("RTX 5080", "12.6", "gsplat", "built from source"),
        ("RTX 5070", "11.8", "pytorch", ""),
    ],
)
def test_a_program_of_a_cuda_older_than_the_gpu_is_refused(gpu: str, cuda: str, program: str, build: str) -> None:
    answer = check(Case(gpu=gpu, cuda=cuda, framework=program, build=build))
    assert answer.verdict is NOT
    refusal = next(each for each in answer.findings if each.rule == "R-ARCH")
    assert "write ptx" in refusal.message
    assert refusal.severity is Severity.REFUSE


@pytest.mark.parametrize(
    "case",
    [
        Case(gpu="RTX 5080", driver="572.16", cuda="12.4"),  # no program: an image alone has no code that could fail
        Case(gpu="RTX 5080", driver="572.16", cuda="12.4", framework="own", build="targets are unknown"),
        Case(gpu="RTX 5080", driver="572.16", cuda="12.4", framework="tensorflow"),  # its builds carry PTX
        Case(gpu="RTX 5080", driver="572.16", cuda="12.4", framework="taichi"),  # it compiles when it runs
        Case(gpu="RTX 5080", driver="572.16", cuda="12.4", framework="own", build="a CUDA sample"),
        Case(gpu="RTX 5080", driver="572.16", cuda="12.4", framework="own", build="kernels are compiled by JIT"),
    ],
)
def test_a_compiler_that_is_older_leaves_open_what_may_carry_ptx(case: Case) -> None:
    assert check(case).verdict is UNKNOWN


def test_stated_ptx_settles_what_a_compiler_that_is_older_would_not() -> None:
    fields = {"gpu": "RTX 5080", "driver": "572.16", "cuda": "12.4", "framework": "own"}
    assert check(Case(**fields)).verdict is NOT
    assert check(Case(**fields, sm_list="9.0", ptx="9.0")).verdict.runs


# --- a CUDA that is not stated


def test_targets_without_a_cuda_are_answered_where_every_compiler_of_them_gives_the_same() -> None:
    fields = {"gpu": "A40", "framework": "some-solver", "sm_list": "sm_86"}
    assert check(Case(**fields, driver="580.95.05")).verdict is RUNS
    older = check(Case(**fields, driver="470.82.01"))
    assert older.verdict is UNKNOWN
    assert "which CUDA some-solver is built by" in _text(older) or "which CUDA somesolver is built by" in _text(older)


def test_of_a_major_only_the_lines_that_know_the_listed_targets_are_meant() -> None:
    fields = {"gpu": "RTX 5090", "driver": "570.124.06", "cuda": "12", "framework": "own", "build": "own build"}
    assert check(Case(**fields, sm_list="sm_120")).verdict is RUNS


@pytest.mark.parametrize(("isa", "verdict"), [("7.8", WARNS), ("8.5", NOT)])
def test_the_isa_of_ptx_tells_the_cuda_that_the_driver_has_to_know(isa: str, verdict: Verdict) -> None:
    build = f"PTX ISA {isa}, compiled by the driver"
    case = Case(gpu="A10", driver="535.129.03", framework="own", build=build, sm_list="none", ptx="8.0")
    assert check(case).verdict is verdict


# --- a driver that is not stated


def test_without_a_driver_those_that_do_not_list_the_board_do_not_count() -> None:
    # Tesla M40 came with 352.63; other boards of its chip with 346.59, which is too old for CUDA 7.5.
    assert check(Case(gpu="Tesla M40", cuda="7.5", framework="own")).verdict.runs
    assert check(Case(gpu="GTX TITAN X", cuda="7.5", framework="own")).verdict is UNKNOWN


# --- a release that is not stated


@pytest.mark.parametrize(
    ("text", "month"),
    [
        ("latest pip wheel of March 2024", "2024-03"),
        ("release of Sep. 2023", "2023-09"),
        ("2024-06-11", "2024-06"),
        ("nightly of March 2024", "2024-03"),
        ("environment of a setup.sh, March 2024", ""),
        ("a decent 2024 wheel", ""),
        ("from source, March 2024", ""),
        ("between May 2023 and June 2023", ""),
        ("2.3.1", ""),
    ],
)
def test_a_month_is_read_where_a_release_is_meant(text: str, month: str) -> None:
    assert month_in(text) == month


def test_the_releases_of_a_month_are_the_newest_before_it_and_those_in_it() -> None:
    assert [str(each) for each in released_by("pytorch", "2024-07")] == ["2.3.1", "2.4.0"]
    assert [str(each) for each in released_by("pytorch", "2023-07")] == ["2.0.1"]
    assert released_by("pytorch", "2001-01") == ()
    assert released_by("no-such-thing", "2024-07") == ()


def test_the_latest_release_of_a_month_is_judged_as_that_release() -> None:
    fields = {"gpu": "GTX 1080", "driver": "580.95.05", "framework": "xgboost"}
    latest = check(Case(**fields, build="latest pip wheel of April 2023"))
    assert latest.verdict is check(Case(**fields, framework_version="1.7.5")).verdict
    assert "2023-04 is read as" in _text(latest)


# --- ggml


def test_a_published_build_of_llama_cpp_runs_on_newer_gpus_by_its_ptx() -> None:
    fields = {"gpu": "RTX 5090", "driver": "572.83", "os": "windows", "framework": "llama.cpp", "cuda": "12.4"}
    assert check(Case(**fields, framework_version="b5200", build="release")).verdict is WARNS
    assert check(Case(**fields, build="from source")).verdict is NOT  # for the GPU that was there


def test_ptx_of_llama_cpp_needs_a_driver_of_its_cuda() -> None:
    fields = {"gpu": "GTX 1080", "framework": "llama.cpp", "cuda": "12.4", "framework_version": "b5200"}
    assert check(Case(**fields, driver="535.183.01")).verdict.runs  # on Linux it is compiled, for the GPU that is there
    fields |= {"build": "release"}
    assert check(Case(**fields, driver="535.183.01")).verdict is NOT
    assert check(Case(**fields, driver="550.54.14")).verdict is WARNS


def test_code_of_ggml_follows_its_cuda_and_the_number_of_the_build() -> None:
    newer = code_of(CudaVersion(12, 8), "llamacpp", Version("6000"))
    older = code_of(CudaVersion(11, 7), "llamacpp", Version("3000"))
    assert [str(each) for each in newer.cubins or ()] == ["8.6", "8.9", "12.0a"]
    assert [str(each) for each in older.cubins or ()] == ["5.0", "6.1", "7.0", "7.5", "8.0"]
    assert all(each.capability.major >= 7 for each in code_of(CudaVersion(13, 0), "jan", None).ptx or ())
    assert code_of(CudaVersion(12, 4), "localai", Version("3.9")).cubins == newer.cubins[:2]
    assert code_of(CudaVersion(12, 4), "localai", Version("2.20")).cubins == older.cubins


# --- math libraries


@pytest.mark.parametrize("build", ["uses cuFFT", "trains on spectrograms", "torch.stft at each step"])
def test_cufft_before_11_8_fails_on_ada(build: str) -> None:
    fields = {"gpu": "RTX 4080", "driver": "535.129.03", "framework": "own", "build": build}
    assert check(Case(**fields, cuda="11.7")).verdict is NOT
    assert check(Case(**fields, cuda="11.8")).verdict is RUNS
    assert check(Case(**{**fields, "gpu": "RTX 3080"}, cuda="11.7")).verdict is RUNS


# --- Jetson


def test_the_tag_of_a_local_image_names_the_jetson_linux_that_it_is_made_for() -> None:
    fields = {"gpu": "Jetson AGX Orin", "host": "docker", "image": "my-robot:r36.2.0"}
    assert check(Case(**fields, driver="JetPack 6.0")).verdict is RUNS
    assert check(Case(**fields, driver="JetPack 5.1.2")).verdict is NOT


def test_an_image_for_a_jetson_linux_serves_the_chips_of_its_time() -> None:
    answer = check(Case(gpu="Jetson Thor", driver="JetPack 7.1", host="docker", image="dustynv/ros:r36.4.0"))
    assert answer.verdict is NOT
    assert "the chips of its time" in _text(answer)


def test_torch_of_pypi_for_arm64_finds_no_gpu_on_a_jetson() -> None:
    fields = {"gpu": "Jetson Orin NX", "driver": "JetPack 6.1", "framework": "torch", "build": "aarch64 wheel of PyPI"}
    assert check(Case(**fields)).verdict is NOT
    assert check(Case(**fields, framework_version="2.12.0")).verdict is NOT  # for the GPUs of servers


# --- words


def test_what_the_card_is_and_what_a_release_is_not_compiled_for() -> None:
    fields = {"driver": "470.82.01", "cuda": "11.4", "framework": "own"}
    build = "release, not compiled for the 3000 series"
    assert check(Case(gpu="RTX 3070", **fields, build=build)).verdict is NOT
    assert check(Case(gpu="RTX 2070", **fields, build=build)).verdict.runs
    assert check(Case(gpu="GTX 980", **fields, build="card reports architecture 30")).verdict.runs


# --- no driver


def test_an_unstated_driver_is_a_late_release_of_the_first_branch_for_the_gpu() -> None:
    """450.36 is the first driver for the A100, and CUDA 11.2 asks for 450.80.02."""
    assert check(Case(gpu="A100", cuda="11.2", framework="torch", framework_version="1.8.1+cu111")).verdict.runs
    assert check(Case(gpu="A100", cuda="12.0", sm_list="sm_80")).verdict is UNKNOWN


# --- no CUDA at all


def test_what_the_drivers_opencl_compiles_needs_no_cuda() -> None:
    asked = {"gpu": "GTX 1060", "driver": "390.87"}
    assert check(Case(**asked, framework="somebodys-miner", build="OpenCL release 1.2")).verdict.runs
    assert check(Case(**asked, framework="somebodys-miner", build="CUDA and OpenCL release 1.2")).verdict is UNKNOWN


@pytest.mark.parametrize(
    "build",
    [
        "does not use OpenCL",
        "OpenCL is optional",
        "not the OpenCL release",
        "OpenCL build disabled",
        "OpenCL headers are installed too",
        "uses cuBLAS; OpenCL for preprocessing",
        "OpenCL and nvcc-built kernels",
    ],
)
def test_opencl_that_is_denied_or_beside_cuda_decides_nothing(build: str) -> None:
    asked = {"gpu": "GTX 1060", "driver": "390.87", "framework": "somebodys-miner"}
    assert check(Case(**asked, build=build)).verdict is UNKNOWN
