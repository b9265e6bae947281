"""A build in people's words: series, comparisons, lists and ranges of generations, what is printed, parts left out."""

from __future__ import annotations

import pytest
from compat.evidence.names.targets import read_targets
from compat.evidence.prose.build_words import of_this_build
from compat.evidence.prose.capability_bounds import families, highest_in, lowest_in
from compat.evidence.prose.gpu_words import reason_against
from compat.evidence.prose.ptx_words import is_compiled_by_driver, is_refused_by_driver
from compat.evidence.prose.series_words import in_generations
from compat.evidence.prose.target_words import targets_in
from hypothesis import given, settings
from hypothesis import strategies as st

from compat import Verdict, case_from, check
from compat.values.versions import TEGRA, ComputeCapability

NAMES = [name for name in families() if name in {"kepler", "maxwell", "pascal", "volta", "turing", "ampere", "ada"}]
SERIES = {
    "GTX 10 series": "pascal",
    "20-series": "turing",
    "RTX 30xx": "ampere",
    "4000 series": "ada",
    "RTX 50 series": "blackwell",
}
LOWEST = (
    "CC >= {number}",
    "compute capability must be {number} or greater",
    "devices of capability at least {number}",
    "the minimum CUDA capability that we support is {number}",
    "GPU too old: needs {number}",
)
LOWEST_BY_NAME = (
    "minimum GPU is {name}",
    "minimum GPU architecture: {name}",
    "GPUs older than {name} are not supported",
    "pre-{name} cards are unsupported",
    "{name} and newer",
)


def verdict(**case: str) -> Verdict:
    return check(case_from(case), with_remedy=False).verdict


@given(st.sampled_from(LOWEST), st.sampled_from(["5.0", "6.0", "7.0", "7.5", "8.0", "8.9", "9.0"]))
@settings(deadline=None)
def test_an_oldest_capability_is_read_in_every_form(form: str, number: str) -> None:
    assert lowest_in(form.format(number=number)) == ComputeCapability.parse(number)


@given(st.sampled_from(LOWEST_BY_NAME), st.sampled_from(NAMES))
@settings(deadline=None)
def test_an_oldest_generation_is_read_in_every_form(form: str, name: str) -> None:
    assert lowest_in(form.format(name=name.capitalize())) == families()[name][0]


@given(st.sampled_from(NAMES), st.sampled_from(NAMES))
@settings(deadline=None)
def test_a_range_of_generations_has_two_ends(first: str, last: str) -> None:
    text = f"supports {first.capitalize()} through {last.capitalize()}"
    assert lowest_in(text) == families()[first][0]
    assert highest_in(text) == families()[last][-1]


@given(st.sampled_from(NAMES))
@settings(deadline=None)
def test_what_is_dropped_with_all_that_is_older_leaves_the_next_generation(name: str) -> None:
    lowest = lowest_in(f"{name.capitalize()} and older are no longer supported")
    assert lowest is not None
    assert lowest > families()[name][-1]
    assert lowest == lowest_in(f"sm_{families()[name][-1].digits} and older were removed")


@given(st.sampled_from(sorted(SERIES)))
@settings(deadline=None)
def test_a_series_is_its_generation(series: str) -> None:
    name = SERIES[series]
    assert in_generations(f"not for {series.lower()}") == f"not for {name}"
    for capability in families()[name]:
        assert reason_against(f"no support for {series}", capability)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("rtx 20 and 30 series", "turing and ampere"),
        ("20/30-series", "turing / ampere"),
        ("driver 535 series", "driver 535 series"),
        ("cuda 10 series", "cuda 10 series"),
        ("rtx 4000", "rtx 4000"),
        ("10 files in a series", "10 files in a series"),
    ],
)
def test_a_number_is_a_series_only_where_it_says_so(text: str, read: str) -> None:
    assert in_generations(text) == read


@pytest.mark.parametrize(
    ("text", "targets"),
    [
        ("ships cubins for Volta and Turing", "7.0 7.2 7.5"),
        ("targets Hopper", "9.0"),
        ("kernels for T4 and A100 only", "7.5 8.0"),
        ("only built for 2080 Ti/3090", "7.5 8.6"),
        ("built for Pascal and newer", ""),
        ("only built for my server and the cluster", ""),
    ],
)
def test_generations_and_models_that_a_build_is_for_are_its_targets(text: str, targets: str) -> None:
    assert " ".join(map(str, targets_in(of_this_build(text)).cubins or ())) == targets


@pytest.mark.parametrize(
    ("text", "cubins", "ptx"),
    [
        ("nvcc -arch=sm_75 -code=sm_75", "7.5", ""),
        ("-arch=compute_60 -code=sm_60,sm_61", "6.0 6.1", ""),
        ("TORCH_CUDA_ARCH_LIST was 7.0;7.5", "7.0 7.5", ""),
        ("SASS for 7.5/8.0/8.6", "7.5 8.0 8.6", None),
        ("sm_60+sm_61+sm_70", "6.0 6.1 7.0", None),
    ],
)
def test_targets_are_read_behind_words_and_slashes(text: str, cubins: str, ptx: str | None) -> None:
    found = read_targets(text, bare=False)
    assert " ".join(map(str, found.cubins or ())) == cubins
    assert (None if found.ptx is None else " ".join(map(str, found.ptx))) == ptx


def test_a_range_of_targets_alone_is_all_between_them() -> None:
    found = read_targets("sm_70 to sm_86", bare=False).cubins or ()
    assert [str(each) for each in found if each.capability not in TEGRA] == ["7.0", "7.5", "8.0", "8.6"]


@pytest.mark.parametrize(
    "text",
    [
        "cudaErrorNoKernelImageForDevice",
        "CUDA_ERROR_NO_BINARY_FOR_GPU",
        "CUDA error 209",
        "ends in: invalid device function",
        "GPU not supported by this release",
        "wheel predates Hopper",
        "the H100 isn't in its list",
        "doesn't have sm_90 kernels",
        "no H100 kernels: made before Hopper came out",
    ],
)
def test_what_says_that_there_is_no_code_is_against_the_gpu(text: str) -> None:
    assert reason_against(text, ComputeCapability(9, 0))


@pytest.mark.parametrize(
    "text",
    [
        "FP8 not supported on this card, fp16 is used",
        "flash attention disabled: requires Hopper or newer",
        "error 209 solved by a new build",
        "the old wheel had no sm_80, this one does",
        "triton not supported on this GPU, eager mode",
        "pre-Ampere cards fall back to fp16",
        "pre-Ampere cards unsupported",
        "multi-GPU not supported, one card is used",
    ],
)
def test_a_part_that_is_left_out_or_another_build_says_nothing_against_it(text: str) -> None:
    assert not reason_against(text, ComputeCapability(8, 0))
    assert verdict(gpu="A100", driver="535.161.08", cuda="12.2", framework="someprogram", build=text).runs


@pytest.mark.parametrize(
    ("text", "is_compiled"),
    [
        ("kernels are shipped as .ptx files", True),
        ("contains PTX but no cubins", True),
        ("nvcc -O3 -ptx kernels.cu", True),
        ("JIT compiled by the driver from PTX", True),
        ("PTX version 8.3", True),
        ("sm_70 and PTX 8.0", False),  # for a GPU
        ("no PTX, sm_80 only", False),
        ("JIT extension of torch, compiled by ninja", False),
        ("PTX is stripped", False),
    ],
)
def test_what_the_driver_compiles_is_read(text: str, is_compiled: bool) -> None:
    assert is_compiled_by_driver(text) is is_compiled


@pytest.mark.parametrize("build", ["CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "error 222", "Unsupported .version 8.4"])
def test_ptx_that_a_driver_refused_needs_a_newer_one(build: str) -> None:
    assert is_refused_by_driver(build)
    case = {"gpu": "L4", "cuda": "12.4", "sm_list": "8.0", "build": build}
    assert verdict(driver="535.54.03", **case) is Verdict.INCOMPATIBLE
    assert verdict(driver="550.54.14", **case).runs


def test_the_isa_of_the_ptx_counts_and_not_the_cuda_beside_it() -> None:
    case = {"gpu": "L4", "cuda": "12.6", "build": "emits PTX 8.2"}
    assert verdict(driver="535.54.03", **case).runs
    assert verdict(driver="530.30.02", **case) is Verdict.INCOMPATIBLE


def test_what_is_for_one_gpu_alone_by_its_target_is_not_for_newer_ones() -> None:
    case = {"driver": "580.65.06", "cuda": "12.8", "build": "requires Hopper (sm_90a)"}
    assert verdict(gpu="H100", **case).runs
    assert verdict(gpu="RTX 5080", **case) is Verdict.INCOMPATIBLE


def test_native_code_of_another_machine_is_for_its_card() -> None:
    build = "compiled with -march=native -arch=native on a box with a T4"
    assert verdict(gpu="T4", driver="535.54.03", cuda="12.2", build=build).runs
    assert verdict(gpu="A100", driver="535.54.03", cuda="12.2", build=build) is Verdict.INCOMPATIBLE


@pytest.mark.parametrize(("build", "runs"), [("CPU build", False), ("with CPU offload", True), ("CPU: i7-9700K", True)])
def test_a_cpu_that_helps_makes_no_build_for_the_cpu(build: str, runs: bool) -> None:
    answer = check(
        case_from(
            {
                "gpu": "RTX 3090",
                "driver": "535.54.03",
                "framework": "torch",
                "framework_version": "2.1.0",
                "build": build,
            }
        )
    )
    assert any("CPU" in each.message for each in answer.findings) is not runs
