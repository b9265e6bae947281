"""GPU names as people write them, and as drivers, lspci and GPU feature discovery print them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from known import written

from cli.check.mapping import case_from
from compat import CaseError, Severity, Verdict, check
from compat.evidence.names import gpu_names
from compat.evidence.names.gpu_names import UnknownGpu, find_gpu, find_gpus
from compat.facts.tables import gpu_model, gpu_models, gpu_rows

LSPCI = "01:00.0 VGA compatible controller: NVIDIA Corporation GP102 [GeForce GTX 1080 Ti] (rev a1)"
LSPCI_NN = (
    "01:00.0 VGA compatible controller [0300]: NVIDIA Corporation GP102 [GeForce GTX 1080 Ti] [10de:1b06] (rev a1)"
)
LABELS = "GeForce-GTX-1080-Ti|NVIDIA-GeForce-GTX-1080-Ti|NVIDIA-GeForce-GTX-1080-Ti-SHARED"  # of Kubernetes
ONE_MODEL = {
    "GeForce GTX 1070": "Gigabyte GeForce GTX 1070",
    "GeForce GTX 1070 Ti": "NVIDIA 1070 Ti",
    "GeForce GTX 1080 Ti": f"NVIDIA 1080 Ti|GeForce GTX 1080 Ti|gtx1080ti|1080ti|{LSPCI}|{LSPCI_NN}|{LABELS}",
    "GeForce GTX 1650": "ASUS GTX 1650",
    "GeForce GTX 1660 SUPER": "1660S",
    "GeForce RTX 2060 SUPER": "2060S",
    "GeForce RTX 2070": "RTX 2070M",
    "GeForce RTX 2080 Super with Max-Q Design": "RTX2080SuperMaxQ",
    "GeForce RTX 2080 Ti": "NVIDIA 2080 Ti|  2080ti ",
    "GeForce RTX 3060 Laptop GPU": "RTX3060 Laptop GPU",
    "GeForce RTX 3070 Laptop GPU": "NVIDIA Corporation GA104M [GeForce RTX 3070 Mobile / Max-Q]",
    "GeForce RTX 3090": "GeForce 3090|RTX 3090 24GB|2 x RTX 3090|4x3090",
    "GeForce RTX 3090 Ti": "3090 Ti",
    "GeForce RTX 4070 Ti SUPER": "GeForce RTX 4070 Ti SUPER|4070TiS|GeForceRTX4070TiSuper",
    "GeForce GTX TITAN X": "GTX TITAN X",
    "TITAN X (Pascal)": "NVIDIA TITAN X (Pascal)",
    "TITAN Xp": "TitanXp",
    "TITAN Xp COLLECTORS EDITION": "TITAN Xp COLLECTORS EDITION",
    "NVIDIA A100-SXM4-40GB": "8xA100|A100 x8|A100-SXM4-40GB",
    "NVIDIA A100-SXM4-80GB": "NVIDIA-A100-SXM4-80GB",
    "NVIDIA L4": "L4|Tesla L4",
    "NVIDIA L40G": "L40G",
    "NVIDIA RTX 6000 Ada Generation": "RTX 6000 Ada",
    "NVIDIA RTX A4000": "RTXA4000",
    "Quadro P6000": "QuadroP6000",
    "Quadro RTX 5000": "Quadro RTX 5000",
    "Quadro RTX 6000": "Quadro RTX 6000",
    "Tesla T4": "TeslaT4|Tesla T4|T4|nvidia.com/gpu.product=Tesla-T4|GPU 0: Tesla T4 (UUID: GPU-1234abcd-0000)",
    "Tesla V100-SXM2-16GB": "TeslaV100|Tesla-V100-SXM2-16GB-SHARED",
}

# Chips that were sold under one name, and forms of one chip: what it means is left open, or does not matter.
CAPABILITIES = {
    "2.1 3.0": "820M",
    "2.1 3.0 3.5": "GT 640|GT 630|GT 730",
    "2.1 3.5": "710M|720M",
    "3.0 5.0": "GTX 860M",
    "5.0": "845M",
    "5.2 6.1": "TITAN X",
    "6.0": "P100",
    "7.0": "V100",
    "7.5 8.9 12.0": "RTX 6000|RTX 5000|RTX 4000",
    "8.0": "A100",
    "9.0": "H100",
}

VGPUS = [
    ("GRID A100D-4C", "NVIDIA A100 80GB PCIe", "A100D-4C"),
    ("GRID A100X-1-5CME", "NVIDIA A100-SXM4-40GB", "A100X-1-5CME"),
    ("GRID T4-16Q", "Tesla T4", "T4-16Q"),
    ("NVIDIA A10-24Q", "NVIDIA A10", "A10-24Q"),
    ("GRID V100D-8Q", "Tesla V100-PCIE-32GB", "V100D-8Q"),
    ("A40-48C", "NVIDIA A40", "A40-48C"),
    ("GRID RTX6000-8Q", "Quadro RTX 6000", "RTX6000-8Q"),
    ("NVIDIA RTX6000-Ada-48Q", "NVIDIA RTX 6000 Ada Generation", "RTX6000-Ada-48Q"),
    ("GRID K280Q", "GRID K2", ""),
    ("GRID K520", "GRID K520", ""),
]

SLICES = [
    ("A100-SXM4-40GB MIG 1g.5gb", {"NVIDIA A100-SXM4-40GB"}, "1g.5gb"),
    ("NVIDIA-A100-SXM4-40GB-MIG-1g.5gb", {"NVIDIA A100-SXM4-40GB"}, "1g.5gb"),
    ("A100-SXM4-40GB MIG 1c.3g.20gb", {"NVIDIA A100-SXM4-40GB"}, "3g.20gb"),
    ("A100-SXM4-80GB MIG 1g.10gb+me", {"NVIDIA A100-SXM4-80GB"}, "1g.10gb"),
    ("nvidia.com/mig-1g.6gb", {"NVIDIA A30"}, "1g.6gb"),
    ("MIG 1g.6gb Device 0: (UUID: MIG-1234)", {"NVIDIA A30"}, "1g.6gb"),
]


@pytest.mark.parametrize(("text", "name"), written(ONE_MODEL))
def test_a_name_as_people_write_it_resolves(text: str, name: str) -> None:
    found = find_gpus(text)
    assert (found[0] if len(found) == 1 else find_gpu(text)).name == name


@pytest.mark.parametrize(("text", "capabilities"), written(CAPABILITIES))
def test_a_name_of_several_chips_is_all_of_them(text: str, capabilities: str) -> None:
    assert {str(model.compute_capability) for model in find_gpus(text)} == set(capabilities.split())


@pytest.mark.parametrize(("text", "name", "profile"), VGPUS)
def test_a_vgpu_is_the_gpu_behind_it(text: str, name: str, profile: str) -> None:
    assert find_gpu(text).name == name
    assert gpu_names.vgpu_profile(text) == profile


@pytest.mark.parametrize(("text", "found", "profile"), SLICES)
def test_a_slice_is_one_of_a_gpu_that_has_it(text: str, found: set[str], profile: str) -> None:
    assert {model.name for model in find_gpus(text)} == found
    assert gpu_names.mig_profile(text) == profile


def test_a_slice_alone_may_be_of_any_gpu_that_has_it() -> None:
    assert {str(model.compute_capability) for model in find_gpus("MIG 3g.40gb")} == {"8.0", "9.0"}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("T4 MIG 1g.5gb", "Tesla T4 has no MIG"),
        ("RTX 4090 MIG", "GeForce RTX 4090 has no MIG"),
        ("A30 MIG 1g.5gb", "NVIDIA A30 has 1g.6gb, 2g.12gb, 4g.24gb"),
        ("MIG 9g.99gb", "no such GPU has"),
    ],
)
def test_a_slice_that_no_gpu_has_is_refused_in_words(text: str, reason: str) -> None:
    with pytest.raises(UnknownGpu, match=reason):
        find_gpus(text)


def test_the_three_models_of_the_dsmlp_fleet_have_their_capability_family_and_memory() -> None:
    models = [find_gpu(text) for text in ("1080 Ti", "2080 Ti", "1070 Ti")]
    assert [(str(m.compute_capability), m.family, m.memory_mib) for m in models] == [
        ("6.1", "pascal", 11264),
        ("7.5", "turing", 11264),
        ("6.1", "pascal", 8192),
    ]


@given(name=st.sampled_from([*gpu_rows()]), shape=st.sampled_from([str.lower, str.upper, str.strip]))
def test_every_model_is_found_by_its_own_name_and_label_in_any_case(name: str, shape: Callable[[str], str]) -> None:
    model = gpu_model(name)
    assert find_gpu(shape(model.name)) == model
    if model.gfd_product:  # one label may be that of several chips
        assert model in find_gpus(shape(model.gfd_product))


def test_no_two_models_share_a_name() -> None:
    assert len({find_gpu(model.name).name for model in gpu_models()}) == len(gpu_models())


def test_two_chips_of_one_name_are_decided_only_where_both_agree() -> None:
    case = {"gpu": "GTX 860M", "driver": "470.256.02", "cuda": "11.4", "ptx": "none"}
    assert check(case_from(case | {"sm_list": "5.0"})).verdict is Verdict.UNKNOWN
    assert check(case_from(case | {"sm_list": "8.0"})).verdict is Verdict.INCOMPATIBLE
    assert check(case_from(case | {"cuda": "10.2", "sm_list": "3.0;5.0"})).verdict is Verdict.COMPATIBLE


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("GTX 860M", "GeForce GTX 860M or GeForce GTX 860M (Maxwell); compute_capability 3.0 or 5.0 tells"),
        ("NVIDIA Graphics Device", "a board that it has no name for; write the model, or compute_capability"),
        ("NVIDIA Corporation Device 2882 (rev a1)", "write the model, or compute_capability"),
    ],
)
def test_what_is_left_open_says_what_to_write(text: str, advice: str) -> None:
    answer = check(case_from({"gpu": text, "driver": "470.256.02", "cuda": "11.4", "sm_list": "5.0", "ptx": "none"}))
    assert answer.verdict is Verdict.UNKNOWN
    assert all(advice in finding.message for finding in answer.findings if finding.severity is Severity.UNKNOWN)


def test_a_board_without_a_name_is_decided_by_its_measured_capability() -> None:
    case = {"gpu": "NVIDIA Graphics Device", "driver": "550.54.15", "cuda": "12.4"}
    assert check(case_from(case)).verdict is Verdict.UNKNOWN
    assert check(case_from(case | {"compute_capability": "8.9"})).verdict is Verdict.COMPATIBLE


def test_for_a_vgpu_the_answer_states_whose_driver_counts() -> None:
    answer = check(case_from({"gpu": "GRID T4-16Q", "driver": "535.161.08", "cuda": "12.2"}))
    assert answer.verdict is Verdict.COMPATIBLE
    (finding,) = (finding for finding in answer.findings if "vGPU" in finding.message)
    assert "vGPU software in the guest" in finding.message


@pytest.mark.parametrize(
    ("text", "is_helped"),
    [("banana", True), ("10de:1b06", False), ("T4 MIG 1g.5gb", False), ("Radeon Pro V520", False)],
)
def test_the_list_of_models_is_named_where_it_helps(text: str, is_helped: bool) -> None:
    with pytest.raises(CaseError) as caught:
        check(case_from({"gpu": text, "driver": "550.54.15", "cuda": "12.4"}))
    assert ("facts gpu_model" in str(caught.value)) == is_helped


@pytest.mark.parametrize(
    ("text", "reason", "suggestion"),
    [
        ("GTX 1085 Ti", "is not a GPU model", "GeForce GTX 1080 Ti"),
        ("RTX 1080 Ti", "is not a GPU model", "GeForce GTX 1080 Ti"),
        ("RTX 3095", "is not a GPU model", "GeForce RTX 3090"),
        ("K80G", "is not a GPU model", "Tesla K80"),
        ("MX160", "is not a GPU model", "GeForce MX150"),
        ("Titn", "is not a GPU model", "TITAN RTX"),
        ("RTX 6090", "is not a GPU model", "GeForce RTX 5090"),
    ],
)
def test_a_name_that_fits_none_is_refused_with_the_nearest(text: str, reason: str, suggestion: str) -> None:
    with pytest.raises(UnknownGpu, match=reason) as caught:
        find_gpu(text)
    assert suggestion in caught.value.suggestions
    assert len(caught.value.suggestions) <= 3


@pytest.mark.parametrize("text", ["", "banana", "NVIDIA", "Radeon Pro V520", "Q9000", "10de:1b06", "x" * 5000])
def test_a_name_like_no_other_is_refused_without_a_wild_guess(text: str) -> None:
    with pytest.raises(UnknownGpu) as caught:
        find_gpu(text)
    assert caught.value.suggestions == ()


@pytest.mark.slow
@given(st.text(max_size=60))
def test_any_text_is_a_gpu_or_an_error_in_words(text: str) -> None:
    try:
        told = bool(find_gpus(text))
    except UnknownGpu as error:
        told = bool(error.reason)
    assert told
