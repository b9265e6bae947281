"""A host in people's words: the card with its machine around it, the driver by what it reports, WSL by its names."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compat.evidence.names import words
from compat.evidence.names.gpu_names import UnknownGpu, described_gpus, find_gpus
from compat.evidence.names.typed import read_cudas, read_drivers, read_jetsons
from compat.facts import tables
from compat.values.versions import VersionError

# Names that hold no number of a machine, and none of another maker.
MODELS = sorted(
    {
        model.name
        for model in tables.gpu_models()
        if model.product_class in {"geforce", "datacenter"} and any(map(str.isdigit, model.name))
    }
)
AROUND = (
    "{} in a Dell R7525",
    "HP Z6 with {}",
    "Colab Pro+ ({})",
    "{} + Intel UHD Graphics 630",
    "AMD Radeon Vega 8 and {}",
    "GP107 [{}] (rev a1)",
    "three {} cards",
)


@pytest.mark.slow
@given(st.sampled_from(MODELS), st.sampled_from(AROUND))
@settings(max_examples=200, deadline=None)
def test_what_stands_around_a_name_does_not_change_the_gpu(name: str, around: str) -> None:
    alone = {model.compute_capability for model in find_gpus(name)}
    assert {model.compute_capability for model in described_gpus(around.format(name))} == alone


@pytest.mark.parametrize(
    ("text", "model"),
    [
        ("three 2080 Tis", "GeForce RTX 2080 Ti"),
        ("MSI laptop with GTX 1070", "GeForce GTX 1070"),
        ("GA104 [GeForce RTX 3070 Ti]", "GeForce RTX 3070 Ti"),
        ("MIG 2g.10gb of an A30... no, of an A100-SXM4-40GB", "NVIDIA A100-SXM4-40GB"),
        ("A10-12Q vGPU", "NVIDIA A10"),
        ("Standard_NC8as_T4_v3", "Tesla T4"),
        ("RTX 3080 and an AMD Radeon iGPU", "GeForce RTX 3080"),
        ("RTX 3060 12 GB GA106-300", "GeForce RTX 3060"),
        ("GeForce GTX 860M GM107", "GeForce GTX 860M (Maxwell)"),
        ("2x P104-100 8GB", "P104-100"),
    ],
)
def test_a_gpu_is_found_in_a_description(text: str, model: str) -> None:
    assert model in {each.name for each in described_gpus(text)}


def test_a_chip_that_was_never_sold_under_a_name_leaves_it_unread() -> None:
    with pytest.raises(UnknownGpu, match="GT 1030 GK107"):
        described_gpus("GT 1030 GK107")


@pytest.mark.parametrize("text", ["Radeon RX 580 and Intel Arc A770", "Dell R740", "Intel UHD 630"])
def test_a_machine_or_another_makers_card_is_no_gpu_of_the_tables(text: str) -> None:
    with pytest.raises(UnknownGpu):
        described_gpus(text)


@pytest.mark.parametrize(
    ("text", "branch"),
    [
        ("nvidia-smi shows CUDA 11.4", 470),
        ("nvidia-smi: CUDA Version: 12.4", 550),
        ("driver supports up to CUDA 12.0", 525),
        ("CUDA Driver Version / Runtime Version  11.6 / 11.3", 510),
        ("12.8 (per nvidia-smi)", 570),
        ("driver too old (found version 11040)", 470),
    ],
)
def test_a_driver_is_the_branch_that_reports_the_cuda(text: str, branch: int) -> None:
    assert {driver.branch for driver in read_drivers(text)} == {branch}


@pytest.mark.parametrize("text", ["CUDA 12.4 toolkit", "found version 9", "nvidia-smi is not there", "12.2"])
def test_a_toolkit_or_a_bare_cuda_is_no_driver(text: str) -> None:
    with pytest.raises(VersionError):
        read_drivers(text)


@pytest.mark.parametrize(
    ("text", "driver"),
    [
        ("upgraded from 460.91.03 to 515.65.01", "515.65.01"),
        ("was 418.87.00, now 440.33.01", "440.33.01"),
        ("Windows: 546.33; nvidia-smi 545.84 inside", "546.33"),
    ],
)
def test_of_several_drivers_the_one_that_is_there_now_counts(text: str, driver: str) -> None:
    (found,) = read_drivers(text)
    assert str(found) == driver


@pytest.mark.parametrize(
    ("text", "cuda"),
    [
        ("11.8 (nvcc), 12.2 (nvidia-smi)", "11.8"),
        ("runtime 11.7, driver 12.1", "11.7"),
        ("nvcc 12.1; shown: 12.6", "12.1"),
    ],
)
def test_the_cuda_of_the_compiler_or_the_runtime_counts_beside_the_drivers(text: str, cuda: str) -> None:
    assert [str(each.line) for each in read_cudas(text)] == [cuda]


@pytest.mark.parametrize(
    ("text", "l4t"), [("5.1.2", "35.4.1"), ("6.1+b123", "36.4.0"), ("JetPack v4.6.1", "32.7.1"), ("v6.0", "36.3.0")]
)
def test_on_a_jetson_a_small_number_is_its_jetpack(text: str, l4t: str) -> None:
    assert [str(each) for each in read_jetsons(text)] == [l4t]


@pytest.mark.parametrize(
    ("kind", "text", "word"),
    [
        ("module", "not the open one", "proprietary"),
        ("module", "non-open", "proprietary"),
        ("module", "Dual MIT/GPL", "open"),
        ("module", "NVIDIA UNIX Open Kernel Module for x86_64", "open"),
        ("system", "Win32", "windows"),
        ("system", "Xubuntu 20.04", "linux"),
        ("runtime", "conda env inside docker", "docker"),
        ("runtime", "no container", "bare"),
        ("runtime", "VM with passthrough", "bare"),
    ],
)
def test_a_word_of_a_host_is_read(kind: str, text: str, word: str) -> None:
    assert getattr(words, kind)(text) == word


@pytest.mark.parametrize(
    ("text", "is_wsl"),
    [
        ("Windows Subsystem for Linux", True),
        ("5.15.146.1-microsoft-standard", True),
        ("Ubuntu 24.04 on Windows 11", True),
        ("Windows 11, no WSL", False),
        ("native Windows, not WSL2", False),
    ],
)
def test_wsl_is_known_by_its_names_and_its_kernel(text: str, is_wsl: bool) -> None:
    assert words.is_wsl(text) is is_wsl
