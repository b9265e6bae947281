"""GPUs that a text gives for a build, in words: generations, a lowest one, one that is left out."""

from __future__ import annotations

import pytest
from compat.evidence.names.targets import read_targets
from compat.evidence.prose.capability_bounds import lowest_in
from compat.evidence.prose.target_words import leaves_out, targets_in

from compat import Verdict, case_from, check
from compat.values.versions import ComputeCapability

NOT, OPEN = Verdict.INCOMPATIBLE, Verdict.UNKNOWN


def verdict(**case: str) -> Verdict:
    return check(case_from(case), with_remedy=False).verdict


@pytest.mark.parametrize(
    ("text", "targets"),
    [
        ("package built for Maxwell only", "5.0 5.2 5.3"),
        ("only built for Pascal and Volta", "6.0 6.1 6.2 7.0 7.2"),
        ("cmake -DCUDA_GENERATION=Turing", "7.5"),
        ('CUDA_GENERATION="Kepler"', "3.0 3.2 3.5 3.7"),
        ("from source for my Pascal card", ""),
        ("Tesla only", ""),  # the brand or the architecture
        ("only Maxwell and newer are supported", ""),
    ],
)
def test_generations_that_a_build_is_for_alone_are_its_targets(text: str, targets: str) -> None:
    assert " ".join(map(str, targets_in(text).cubins or ())) == targets


@pytest.mark.parametrize(
    ("text", "lowest"),
    [
        ("SM 6.x+ only", "6.0"),
        ("kernels for sm_70+", "7.0"),
        ("compute capability 3.5 or higher", "3.5"),
        ("requires compute capability 7.5", "7.5"),
        ("minimum CC 5.2", "5.2"),
        ("for Ampere and newer", "8.0"),
        ("needs a Volta", "7.0"),
        ("targets from 5.2 on", "5.2"),
        ("own build, architectures starting at sm_70 and up", "7.0"),
        ("targets from 2024", None),
        ("only Pascal and newer are supported", "6.0"),
        ("sm_80+PTX", None),
        ("compute_86+ptx", None),
        ("from source, Maxwell", None),
        ("SM 0.5+", None),
    ],
)
def test_the_oldest_gpu_that_a_build_is_for_is_read(text: str, lowest: str | None) -> None:
    assert lowest_in(text) == (ComputeCapability.parse(lowest) if lowest else None)


@pytest.mark.parametrize(
    ("text", "is_left_out"),
    [
        ("from source without compute capability 5.2", True),
        ("wheel without sm_52", True),
        ("not compiled for Maxwell", True),
        ("no code for 5.2", True),
        ("sm_52 is missing", True),
        ("Maxwell support dropped", True),
        ("Maxwell kernels are not included", True),
        ("from source with compute capability 5.2", False),
        ("without AVX, for sm_52", False),
        ("not only for Maxwell", False),
        ("without sm_61", False),
    ],
)
def test_a_target_that_the_text_leaves_out_is_left_out(text: str, is_left_out: bool) -> None:
    assert leaves_out(text, ComputeCapability.parse("5.2")) is is_left_out


@pytest.mark.parametrize(
    ("text", "cubins", "ptx"),
    [
        ("make SMS=75", "7.5", None),
        ('make SMS="60 70"', "6.0 7.0", None),
        ("cmake -DCUDA_ARCH=61", "6.1", None),
        ("GMX_CUDA_TARGET_SM=80;86", "8.0 8.6", None),
        ("COMPUTE=50", "", "5.0"),
    ],
)
def test_variables_of_makefiles_list_targets(text: str, cubins: str | None, ptx: str | None) -> None:
    found = read_targets(text, bare=False)
    assert (found.cubins if found.cubins is None else " ".join(map(str, found.cubins))) == cubins
    assert (found.ptx if found.ptx is None else " ".join(map(str, found.ptx))) == ptx


def test_a_build_without_code_for_the_gpu_is_refused_whatever_driver_is_there() -> None:
    assert verdict(gpu="GTX 970", framework="my-miner", build="SM 6.x+ only") is NOT
    assert verdict(gpu="RTX 2070", framework="opencv", framework_version="3.4.1", build="CUDA_GENERATION=Pascal") is NOT
    assert verdict(gpu="GTX 960", cuda="9.0", framework="opencv", build="package for Pascal only") is NOT
    assert (
        verdict(
            gpu="GTX 970",
            framework="tensorflow",
            framework_version="2.5.0",
            build="from source without compute capability 5.2",
        )
        is NOT
    )
    assert verdict(gpu="GTX 1070", framework="my-miner", build="SM 6.x+ only") is OPEN  # its CUDA is not known


def test_what_compiles_for_the_gpu_when_it_runs_needs_a_compiler_that_knows_it() -> None:
    fields = {"gpu": "RTX 3060", "driver": "510.47.03", "framework": "my-simulator"}
    assert verdict(**fields, cuda="11.0", build="PyCUDA kernels") is NOT
    assert verdict(**fields, cuda="11.0", build="nvcc at run time") is NOT
    assert verdict(**fields, cuda="11.1", build="PyCUDA kernels").runs


@pytest.mark.parametrize(
    ("framework", "build", "gpu", "cuda", "expected"),
    [
        ("hashcat", "CUDA backend", "GTX 570", "10.2", NOT),
        ("hashcat", "CUDA backend", "GTX 680", "11.4", NOT),
        ("blender", "Cycles kernel compiled at run time", "RTX 2060", "9.2", NOT),
        ("blender", "Cycles kernel compiled at run time", "RTX 2060", "10.1", "runs"),
        ("own program", "kernels made at run time by nvrtc", "RTX 3070", "11.0", NOT),
    ],
)
def test_a_compiler_at_run_time_knows_the_gpus_from_its_first_cuda_to_its_last(
    framework: str, build: str, gpu: str, cuda: str, expected: str
) -> None:
    found = verdict(framework=framework, build=build, gpu=gpu, cuda=cuda, driver="460.32.03")
    assert found.runs if expected == "runs" else found is NOT


@pytest.mark.parametrize(
    ("targets", "gpu", "cuda", "runs"),
    [
        ("sm_35", "GTX 780", "12.0", False),
        ("sm_35", "GTX 780", "11.4", True),
        ("sm_61", "GTX 1060", "13.0", False),
        ("sm_61;sm_75", "GTX 1660", "13.0", True),
    ],
)
def test_an_own_build_for_targets_that_its_compiler_dropped_is_never_made(
    targets: str, gpu: str, cuda: str, runs: bool
) -> None:
    driver = "470.42.01" if cuda.startswith("11") else "580.95.05"
    found = verdict(framework="own program", build="own build", sm_list=targets, gpu=gpu, cuda=cuda, driver=driver)
    assert found.runs is runs


def test_what_the_device_reports_picks_one_of_several_gpus_of_a_name() -> None:
    fields = {"framework": "cuda.jl", "cuda": "11.4", "gpu": "GT 730", "driver": "470.57.02"}
    assert verdict(**fields, build="the device reports sm_35").runs
    assert not verdict(**fields, build="the card is compute capability 2.1").runs
    assert verdict(**fields) is OPEN


def test_the_pair_of_one_gencode_is_machine_code_without_ptx() -> None:
    found = read_targets("built from source for compute_50/sm_50 and compute_61 -> sm_61", bare=False)
    assert found == read_targets("sm_50;sm_61, no PTX")
    assert read_targets("compute_50/sm_61", bare=False) != found
