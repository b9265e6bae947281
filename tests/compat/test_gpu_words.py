"""Words of a build that speak against the GPU: no code for it, a compiler without it, an oldest or newest one."""

from __future__ import annotations

import pytest
from compat.evidence.names.targets import read_targets
from compat.evidence.prose.build_words import of_this_build, required_driver, requirements_in
from compat.evidence.prose.capability_bounds import highest_in, lowest_in
from compat.evidence.prose.gpu_words import built_on, reason_against

from compat import Verdict, case_from, check
from compat.facts import tables
from compat.values.versions import TEGRA, ComputeCapability, DriverVersion, Target, runs

NOT, OPEN = Verdict.INCOMPATIBLE, Verdict.UNKNOWN
DESKTOP = [
    arch
    for arch in sorted(tables.architectures().values(), key=lambda each: each.capability)
    if arch.capability not in TEGRA and arch.first_cuda is not None
]


def verdict(**case: str) -> Verdict:
    return check(case_from(case), with_remedy=False).verdict


def capability(text: str) -> ComputeCapability:
    return ComputeCapability.parse(text)


@pytest.mark.parametrize(
    "text",
    [
        "CUDA backend, NVRTC that does not know the card",
        "NVRTC doesn't recognize this GPU's architecture",
        "image whose nvcc cannot compile for the RTX 3060",
        "wheel with an LLVM that does not yet support sm_86",
        "bundled ptxas rejects the target of the GPU",
        "ptxas is too old for compute capability 8.6",
        "Triton refuses the device",
        "Julia whose NVVM knows nothing of Ampere",
        "ptxas: Value 'sm_86' is not defined for option 'gpu-name'",
        "LLVM prints 'sm_86' is not a recognized processor for this target",
        "nvcc fatal: Unsupported gpu architecture 'compute_86'",
        "nvrtc: error: invalid value for --gpu-architecture (-arch)",
        "LLVM that does not know sm_80",  # what is newer came to compilers later, or with it
    ],
)
def test_a_compiler_that_does_not_know_the_gpu_is_read(text: str) -> None:
    assert reason_against(text, capability("8.6"))
    assert verdict(gpu="RTX 3060", framework="my-solver", cuda="12.2", driver="535.54.03", build=text) is NOT


@pytest.mark.parametrize(
    "text",
    [
        "release without kernels for the card",
        "wheel that has no kernel image for this GPU",
        "no code for the A10",
        "not compiled for the RTX 3090",
        "the image does not support this card",
        "wheel that does not include the GPU's architecture",
        "kernels for sm_80a, none for sm_86",
        "PyTorch of the image no longer supports Ampere",
        "extension that is not built for the GPU",
    ],
)
def test_a_statement_that_code_is_missing_is_read(text: str) -> None:
    assert reason_against(text, capability("8.6"))


@pytest.mark.parametrize(
    "text",
    [
        "NVRTC that does not know the H100",
        "release without kernels for the RTX 5090",
        "nvcc fatal: Unsupported gpu architecture 'compute_90'",
        "NVRTC that knows the GPU",
        "compiled for the GPU",
        "no support for the GPU's tensor cores",
        "no code for Hopper",
        "without GPU driver in the image",
        "built from source because the wheel has no code for sm_86",
        "compiled with TORCH_CUDA_ARCH_LIST=8.6, since the release does not support the card",
        "own build instead of the wheel without sm_86",
        "the wheel lacks sm_86, so compiled from source",
        "kernels end at sm_80",  # which run on 8.6
    ],
)
def test_remarks_on_another_gpu_or_another_build_do_not_count(text: str) -> None:
    assert reason_against(text, capability("8.6")) == ""


@pytest.mark.parametrize("arch", DESKTOP, ids=lambda each: str(each.capability))
def test_a_compiler_that_lacks_a_target_lacks_the_newer_ones_and_not_the_older(arch: object) -> None:
    own = arch.capability  # type: ignore[attr-defined]
    text = f"NVRTC that does not know sm_{own.digits}"
    for other in DESKTOP:
        is_later = other.capability > own and other.first_cuda >= tables.architectures()[own].first_cuda  # type: ignore[operator]
        assert bool(reason_against(text, other.capability)) is (other.capability == own or is_later)


@pytest.mark.parametrize("arch", DESKTOP, ids=lambda each: str(each.capability))
def test_code_that_ends_at_a_target_serves_what_runs_it_and_what_is_older(arch: object) -> None:
    own = arch.capability  # type: ignore[attr-defined]
    for other in DESKTOP:
        is_refused = bool(reason_against(f"kernels end at sm_{own.digits}", other.capability))
        assert is_refused is (other.capability > own and not runs(Target(own), other.capability))


@pytest.mark.parametrize("arch", DESKTOP, ids=lambda each: str(each.capability))
def test_a_target_that_is_left_out_is_that_one_alone(arch: object) -> None:
    own = arch.capability  # type: ignore[attr-defined]
    found = [
        each.capability for each in DESKTOP if reason_against(f"wheel with no sm_{own.digits} code", each.capability)
    ]
    assert found == [own]


@pytest.mark.parametrize(
    ("text", "lowest"),
    [
        ("no support for compute capability below 6.0", "6.0"),
        ("GPUs older than sm_70 are not supported", "7.0"),
        ("nothing below Turing is supported", "7.5"),
        ("dropped everything before Volta", "7.0"),
        ("The minimum required Cuda capability is 3.5", "3.5"),
        ("The minimum cuda capability supported by this library is 3.7", "3.7"),
        ("oldest target sm_75", "7.5"),
        ("kernels from sm_70 on", "7.0"),
        ("attention kernels start at sm_80", "8.0"),
        ("PTX with a .target above compute capability 5.0", "5.2"),
        ("only for GPUs newer than compute capability 6.1", "6.2"),
        ("no support for CUDA below 12.0", None),
        ("needs a driver before 525", None),
        ("nothing above sm_90", None),
        ("supported from 8.6 on", None),  # of what, it does not say
        ("no Blender below 5.0", None),
        ("no code for GPUs below 7.0", "7.0"),
        ("built with GCC older than 8.0", None),
    ],
)
def test_the_oldest_gpu_is_read_in_more_words(text: str, lowest: str | None) -> None:
    assert lowest_in(text) == (capability(lowest) if lowest else None)


@pytest.mark.parametrize(
    ("text", "highest"),
    [
        ("its kernels end at sm_90", "9.0"),
        ("compiled up to sm_75", "7.5"),
        ("capabilities up to 8.6", "8.6"),
        ("newest target sm_89", "8.9"),
        ("nothing newer than Ada", "8.9"),
        ("no kernels above compute capability 9.0", "9.0"),
        ("PyTorch that only goes up to sm_90", "9.0"),
        ("up to CUDA 12.0", None),
        ("nothing below sm_70", None),
        ("latest version 8.0", None),
        ("CUDA support up to 10.0", None),
        ("latest nightly with sm_120", None),
        ("latest image for Hopper", None),
        ("newest architecture is Hopper", "9.0"),
    ],
)
def test_the_newest_gpu_is_read(text: str, highest: str | None) -> None:
    assert highest_in(text) == (capability(highest) if highest else None)


@pytest.mark.parametrize(
    ("text", "first", "last", "count"),
    [
        ("PyTorch for capabilities 7.5 to 9.0", "7.5", "9.0", 6),
        (
            "Minimum and Maximum cuda capability supported by this version of PyTorch is (8.0) - (12.0)",
            "8.0",
            "12.0",
            9,
        ),
        ("The current PyTorch install supports CUDA capabilities sm_70 sm_80 sm_90", "7.0", "9.0", 3),
    ],
)
def test_the_range_that_a_framework_prints_is_a_list_without_chips_of_tegra(
    text: str, first: str, last: str, count: int
) -> None:
    cubins = read_targets(text, bare=False).cubins or ()
    assert (str(cubins[0]), str(cubins[-1]), len(cubins)) == (first, last, count)
    assert not {each.capability for each in cubins} & TEGRA


@pytest.mark.parametrize(
    ("text", "cubins", "ptx"),
    [
        ("image built with CUDA_COMPUTE_CAP=86", "8.6", "8.6"),
        ("TCNN_CUDA_ARCHITECTURES=75;86", "7.5 8.6", None),
        ("CUTLASS_NVCC_ARCHS=80", "8.0", None),
        ("Kokkos_ARCH_VOLTA70, no PTX", "7.0", ""),
        ("nvfortran -gpu=cc70,cc80", "7.0 8.0", None),
        ("own build whose JIT emits PTX for sm_60", None, "6.0"),
        ("cubins for sm_70 and sm_80", "7.0 8.0", None),
    ],
)
def test_more_variables_list_targets(text: str, cubins: str | None, ptx: str | None) -> None:
    found = read_targets(text, bare=False)
    assert (found.cubins if found.cubins is None else " ".join(map(str, found.cubins))) == cubins
    assert (found.ptx if found.ptx is None else " ".join(map(str, found.ptx))) == ptx


@pytest.mark.parametrize(
    ("text", "there"),
    [
        ("compiled on a machine with a V100", "7.0"),
        ("wheel built on an RTX 2080 workstation", "7.5"),
        ("compiled where only an H100 was present", "9.0"),
        ("built on the machine", None),
        ("compiled on a node with an A100 and a V100", None),
        ("image built on nvidia/cuda:12.4.1-devel-ubuntu22.04", None),
        ("engine built on an A10", None),
    ],
)
def test_the_gpu_of_the_machine_that_compiled_it_is_read(text: str, there: str | None) -> None:
    assert built_on(text) == (capability(there) if there else None)


def test_an_extension_is_for_the_gpu_that_was_there_when_it_was_compiled() -> None:
    fields = {
        "framework": "pointnet2",
        "cuda": "11.3",
        "driver": "470.82.01",
        "build": "compiled on an RTX 3090 machine",
    }
    assert verdict(**fields, gpu="RTX 3070").runs
    assert verdict(**fields, gpu="RTX 2070") is NOT


def test_words_against_the_gpu_count_more_than_the_ptx_of_the_tables() -> None:
    fields = {"gpu": "RTX 5070", "driver": "572.42", "os": "windows", "framework": "onnxruntime", "cuda": "12.6"}
    fields["framework_version"] = "1.20.1"
    assert verdict(**fields, build="pip package").runs
    assert verdict(**fields, build="pip package without kernels for sm_120") is NOT


def test_an_oldest_gpu_promises_nothing_for_one_that_the_compiler_does_not_know() -> None:
    fields = {"framework": "my-solver", "build": "kernels need compute capability 7.0 or newer", "driver": "572.42"}
    assert verdict(**fields, gpu="RTX 4070", cuda="12.4").runs
    assert verdict(**fields, gpu="RTX 5070", cuda="12.4") is NOT
    torch = {"framework": "torch", "framework_version": "2.5.1+cu121", "build": "wheel, needs compute capability 5.0"}
    assert verdict(**torch, gpu="RTX 5070", driver="572.42", os="linux") is NOT


def test_a_driver_that_the_build_needs_by_its_text_is_its_floor() -> None:
    assert required_driver("image that needs driver 545 or newer") == DriverVersion.start_of(545)
    assert required_driver("requires NVIDIA driver >= 550.54.14") == DriverVersion.parse("550.54.14")
    assert required_driver("the driver 470 that is there") is None
    fields = {"gpu": "RTX 3060", "framework": "some-service", "cuda": "12.2", "build": "needs driver 545 or newer"}
    assert verdict(**fields, driver="535.183.01") is NOT
    assert verdict(**fields, driver="550.54.14").runs


def test_reasons_and_other_builds_are_left_out_of_the_text_on_a_build() -> None:
    assert "sm_61" not in of_this_build("built from source because the wheel of 2.8 has no sm_61")
    assert "sm_61" not in of_this_build("the wheel has no sm_61, so it was compiled here")
    assert "sm_61" not in of_this_build("nightly instead of the release without sm_61")
    assert "sm_61" in of_this_build("unusable because its NVRTC rejects sm_61")
    assert of_this_build("Compiled by nvcc 12.4") == "compiled by nvcc 12.4"


@pytest.mark.parametrize(("board", "jetpack"), [("Jetson AGX Thor", "JetPack 7.0"), ("Jetson Orin NX", "JetPack 6.1")])
def test_what_is_built_on_a_jetson_is_built_by_the_cuda_of_its_jetpack(board: str, jetpack: str) -> None:
    fields = {"gpu": board, "driver": jetpack, "os": "l4t", "cpu_arch": "arm64", "framework": "some-robot"}
    assert verdict(**fields, build="compiled on the device").runs
    assert verdict(**fields, build="compiled on the device for sm_53") is NOT


def test_thor_is_known_to_compilers_of_cuda_12_by_another_name() -> None:
    fields = {
        "gpu": "Jetson AGX Thor",
        "driver": "JetPack 7.0",
        "os": "l4t",
        "cpu_arch": "arm64",
        "framework": "my-jit",
    }
    build = "kernels that the bundled NVRTC compiles for the GPU"
    assert verdict(**fields, build=build, cuda="12.9").runs
    assert verdict(**fields, build=build, cuda="12.6") is NOT


def test_flashinfer_before_0_1_6_in_sglang_is_for_ampere_and_newer() -> None:
    fields = {"gpu": "RTX 2080 Ti", "driver": "535.104.05", "framework": "sglang", "cuda": "12.1"}
    fields["framework_version"] = "0.3.0"
    assert verdict(**fields, build="pip with flashinfer 0.1.5 and torch 2.4.0+cu121") is NOT
    assert verdict(**fields, build="pip with flashinfer 0.1.6 and torch 2.4.0+cu121").runs
    assert verdict(**fields, build="flashinfer 0.1.5, started with --attention-backend triton").runs


@pytest.mark.parametrize(
    ("image", "build"),
    [("my-registry/llama.cpp:server-cuda13", ""), ("", "image built on nvidia/cuda:13.1.1-runtime-ubuntu24.04")],
)
def test_what_is_built_on_nvidias_cuda_image_brings_its_compat_package(image: str, build: str) -> None:
    fields = {"host": "docker", "framework": "llama.cpp", "image": image, "build": build, "cuda": "13.1.1"}
    assert verdict(**fields, gpu="RTX 3080", driver="580.95.05") is NOT
    assert verdict(**fields, gpu="RTX 3080", driver="590.44.01").runs
    assert verdict(**fields, gpu="A100", driver="580.95.05").runs
    assert verdict(**fields, gpu="RTX 3080", driver="580.95.05", cuda_compat="removed").runs


def test_images_for_one_compute_capability_are_for_it_alone() -> None:
    tei = {"host": "docker", "driver": "550.90.07", "framework": "text-embeddings-inference"}
    tei["framework_version"] = "1.5"
    image = "ghcr.io/huggingface/text-embeddings-inference"
    assert verdict(**tei, gpu="L40S", image=f"{image}:hopper-1.5") is NOT
    assert verdict(**tei, gpu="T4", image=f"{image}:86-1.5") is NOT
    assert verdict(gpu="RTX 3060", driver="550.90.07", framework="mistral.rs", image="x/mistral.rs:cuda-89") is NOT


def test_what_an_image_requires_of_the_driver_by_its_text_is_checked() -> None:
    assert requirements_in("image whose entrypoint asks for CUDA >= 12.9") == ("cuda>=12.9",)
    assert requirements_in("toolkit with cuda>=12.9") == ()
    fields = {"gpu": "RTX 3080", "host": "docker", "framework": "some-service", "cuda": "12.6"}
    fields |= {"container_toolkit": "1.17.8", "build": "image with the requirement cuda>=12.6"}
    assert verdict(**fields, driver="535.183.01") is NOT
    assert verdict(**fields, driver="560.35.03").runs


def test_the_fastertransformer_backend_in_a_triton_server_is_for_volta_and_newer() -> None:
    fields = {"host": "docker", "framework": "triton-inference-server", "framework_version": "22.04"}
    fields |= {"driver": "515.65.01", "build": "fastertransformer_backend as in its guide"}
    assert verdict(**fields, gpu="Tesla P4") is NOT
    assert verdict(**fields, gpu="Tesla T4").runs
    assert verdict(**{**fields, "build": ""}, gpu="Tesla P4").runs


@pytest.mark.parametrize(
    ("build", "lowest"),
    [
        ("Triton's ptxas is that of CUDA 12.6", "12.0"),
        ("the ptxas found on the path is 11.0.221", "8.6"),
        ("ptxas release 11.7", "8.9"),
    ],
)
def test_a_ptxas_that_is_older_than_the_gpu_does_not_serve_it(build: str, lowest: str) -> None:
    capability = ComputeCapability.parse(lowest)
    assert "ptxas is of CUDA" in reason_against(build, capability)
    assert not reason_against(build, ComputeCapability(7, 5))


@pytest.mark.parametrize(
    "build",
    [
        "older ptxas 12.4 is not used",
        "not the ptxas of CUDA 12.4",
        "ptxas of 12.4 was removed from the path",
        "after moving from ptxas 12.4 to 12.8",
        "ptxas 12.4 on the path before, now 12.8",
        "built with ptxas 11.7",
    ],
)
def test_a_ptxas_that_does_not_compile_for_the_gpu_says_nothing_of_it(build: str) -> None:
    assert not reason_against(build, ComputeCapability(12, 0))
