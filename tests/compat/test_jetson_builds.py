"""What runs on a Jetson whose JetPack is named by its major, by a preview, or only by the board."""

from __future__ import annotations

import pytest
from compat.rules.jetson import jetpack_of

from compat import Verdict, case_from, check
from compat.evidence.names.typed import read_jetson, read_jetsons
from compat.values.versions import JetsonVersion

NOT, OPEN = Verdict.INCOMPATIBLE, Verdict.UNKNOWN


def verdict(**case: str) -> Verdict:
    return check(case_from(case), with_remedy=False).verdict


@pytest.mark.parametrize(
    ("text", "release"),
    [("JetPack 4.4 DP", "32.4.2"), ("JetPack 6.0 Developer Preview", "36.2.0"), ("JetPack 4.4", "32.4.3")],
)
def test_a_developer_preview_is_a_release_of_its_own(text: str, release: str) -> None:
    assert str(read_jetson(text)) == release


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [("JetPack 5", "35.1.0", "35.6.0"), ("JP6.x", "36.3.0", "36.5.0"), ("L4T r35", "35.1.0", "35.6.0")],
)
def test_the_major_of_a_jetpack_means_each_of_its_releases(text: str, first: str, last: str) -> None:
    found = read_jetsons(text)
    assert (str(found[0]), str(found[-1])) == (first, last)
    assert len(found) > 2


@pytest.mark.parametrize("text", ["JetPack 6.1", "JetPack 5 (L4T R35.4.1)", "L4T 32.7.1"])
def test_a_release_in_full_is_one(text: str) -> None:
    assert read_jetsons(text) == (read_jetson(text),)


def test_what_runs_on_all_or_none_of_a_major_needs_no_release() -> None:
    fields = {"gpu": "Jetson Orin NX", "sm_list": "8.7", "host": "jetson"}
    assert verdict(**fields, driver="JetPack 5", cuda="11.4").runs
    assert verdict(**fields, driver="JetPack 6", cuda="13.0") is NOT
    assert verdict(gpu="Jetson TX2", driver="JetPack 6", cuda="12.2", sm_list="6.2") is NOT


@pytest.mark.parametrize(("release", "jetpack"), [("32.6.0", "4.6"), ("36.4.9", "6.2.1"), ("35.4.0", "5.1.2")])
def test_a_release_that_no_table_has_is_like_the_nearest_of_its_revision(release: str, jetpack: str) -> None:
    found = jetpack_of(JetsonVersion.parse(release))
    assert found is not None
    assert found.jetpack == jetpack


@pytest.mark.parametrize(
    ("gpu", "driver", "version"),
    [
        ("Jetson Nano", "JetPack 4.6", "8.0.1"),
        ("AGX Orin", "JetPack 5.1.2", "8.5.2"),
        ("Xavier NX", "L4T 32.7.3", "8.2.1"),
    ],
)
def test_tensorrt_of_a_jetson_is_that_of_its_jetpack(gpu: str, driver: str, version: str) -> None:
    assert verdict(gpu=gpu, driver=driver, framework="tensorrt", framework_version=version).runs


@pytest.mark.parametrize(
    ("framework", "version", "build"),
    [("tensorflow", "1.15", ""), ("pytorch", "2.8.0", "jp6/cu126 index"), ("my-detector", "", "")],
)
def test_a_framework_without_a_source_is_taken_for_one_made_for_the_jetpack(
    framework: str, version: str, build: str
) -> None:
    fields = {"framework": framework, "framework_version": version, "build": build}
    assert verdict(gpu="Jetson Orin Nano", driver="JetPack 6.1", **fields).runs


def test_a_wheel_for_servers_does_not_serve_a_jetson_before_jetpack_7() -> None:
    fields = {"framework": "pytorch", "framework_version": "2.9.0", "build": "pip cu126 wheel (sbsa)"}
    assert verdict(gpu="Jetson Orin NX", driver="JetPack 6.2", **fields) is NOT
    flash = {"framework": "flash-attn", "framework_version": "2.7.4", "cuda": "12.6"}
    assert verdict(gpu="Jetson Orin NX", driver="JetPack 6.2", build="pip install flash-attn", **flash) is NOT
    assert verdict(gpu="Jetson Orin NX", driver="JetPack 6.2", build="jetson wheel", **flash).runs
    assert verdict(gpu="L40S", driver="550.90.07", build="pip install flash-attn", **flash).runs


@pytest.mark.parametrize(
    ("gpu", "cuda", "is_refused"),
    [
        ("Jetson Nano", "11.8", True),
        ("Jetson TX2", "12.2", True),
        ("Jetson Nano", "10.1", False),
        ("Jetson AGX Orin", "11.8", False),
    ],
)
def test_a_cuda_that_no_jetpack_brings_to_the_module_needs_no_release(gpu: str, cuda: str, is_refused: bool) -> None:
    found = check(case_from({"gpu": gpu, "cuda": cuda, "os": "l4t", "build": "own build"}), with_remedy=False)
    assert (found.verdict is Verdict.INCOMPATIBLE) is is_refused


@pytest.mark.parametrize(
    ("version", "jetpack", "is_refused"),
    [("0.1.25", "5.1.3", True), ("0.1.29", "5.0.2", True), ("0.1.32", "5.1.2", False), ("0.1.27", "6.0", False)],
)
def test_ollama_found_no_gpu_of_a_jetson_without_its_management_library(
    version: str, jetpack: str, is_refused: bool
) -> None:
    fields = {"gpu": "Jetson Xavier NX" if jetpack < "6" else "Jetson AGX Orin", "driver": f"JetPack {jetpack}"}
    found = check(case_from({**fields, "framework": "ollama", "framework_version": version}), with_remedy=False)
    assert (found.verdict is Verdict.INCOMPATIBLE) is is_refused


def test_a_wheel_of_tensorflow_from_pypi_uses_no_gpu_on_a_jetson() -> None:
    fields = {
        "gpu": "Jetson AGX Xavier",
        "driver": "JetPack 5.1",
        "framework": "tensorflow",
        "framework_version": "2.12",
    }
    from_pypi = check(case_from({**fields, "build": "from PyPI"}), with_remedy=False)
    assert from_pypi.verdict is Verdict.INCOMPATIBLE
    assert check(case_from({**fields, "build": "wheel of NVIDIA for JetPack 5.1"}), with_remedy=False).verdict.runs


def test_torch2trt_needs_the_python_module_that_tensorrt_has_since_jetpack_4_2() -> None:
    fields = {"gpu": "Jetson TX2", "framework": "torch2trt"}
    old, new = (check(case_from({**fields, "driver": f"JetPack {each}"})).verdict for each in ("3.2", "4.3"))
    assert old is Verdict.INCOMPATIBLE
    assert new.runs


@pytest.mark.parametrize(("cuda", "runs"), [("12.6", True), ("12.2", True), ("12.8", False)])
def test_without_a_container_the_cuda_beside_a_major_is_the_one_of_its_jetpack(cuda: str, *, runs: bool) -> None:
    case = {"gpu": "Jetson Orin NX 16GB", "driver": "JetPack 6", "framework": "llama.cpp", "build": "from source"}
    assert check(case_from(case | {"cuda": cuda, "sm_list": "sm_87", "os": "l4t", "host": "bare"})).verdict.runs is runs


@pytest.mark.parametrize(
    ("gpu", "host", "framework", "version", "build", "runs"),
    [
        ("Jetson TX2", "JetPack 4.6", "torch", "1.13.0", "pip wheel", False),
        ("Jetson TX2", "JetPack 4.6", "torch", "1.13.0", "compiled on the device", True),
        ("Jetson TX2", "JetPack 4.6", "torch", "1.9.0", "wheel of NVIDIA", True),
        ("Jetson Nano", "JetPack 4.6.1", "torch", "1.12.0", "built by ourselves for sm_53 with CUDA 10.2", True),
        ("Jetson Nano", "", "tensorflow", "2.10", "", False),
        ("Jetson AGX Xavier", "JetPack 5.1", "tensorflow", "2.10.0+nv22.11", "", True),
    ],
)
def test_nobody_publishes_newer_frameworks_for_jetpack_4(
    gpu: str, host: str, framework: str, version: str, build: str, *, runs: bool
) -> None:
    case = {"gpu": gpu, "driver": host, "framework": framework, "framework_version": version, "build": build}
    assert check(case_from({**case, "cpu_arch": "arm64", "os": "l4t"})).verdict.runs is runs
