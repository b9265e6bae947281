"""GPUs that the words of a build leave out by name or by age, and the capability that a card itself reports."""

from __future__ import annotations

import pytest
from compat.evidence.prose.gpu_words import reason_against
from compat.evidence.prose.model_words import denied_by_name, is_old_for, leaves_older_out
from hypothesis import given, settings
from hypothesis import strategies as st

from compat import Verdict, case_from, check
from compat.evidence.host import read_host
from compat.evidence.names.gpu_names import find_gpus
from compat.facts.tables import architectures, toolkits
from compat.values.versions import TEGRA, ComputeCapability, CudaVersion

PASCAL, K80, LINES = ComputeCapability(6, 1), ComputeCapability(3, 7), sorted({t.version.line for t in toolkits()})
MODELS = ("Tesla K80", "GTX 960", "GTX 1080 Ti", "Tesla V100", "RTX 2080", "A100", "RTX 3060", "RTX 4090", "H100")


def verdict(**case: str) -> Verdict:
    return check(case_from(case), with_remedy=False).verdict


@pytest.mark.parametrize(
    "text",
    [
        "CUDA 12 build in which the GTX 1080 is not supported",
        "release from whose build the GTX 1070 had just been dropped",
        "wheel; GTX 10xx cards such as the GTX 1060 are no longer supported",
        "a build that dropped support for the GTX 1080 Ti",
        "release without old code, the Titan Xp was removed",
        "the card is not supported in it",
        "this GPU is too old for it",
        "Pascal has now been phased out",
    ],
)
def test_a_statement_that_a_model_is_left_out_is_read(text: str) -> None:
    assert reason_against(text, PASCAL)


@pytest.mark.parametrize(
    "text",
    [
        "CUDA 12 build in which the GTX 960 is not supported",
        "the RTX 3090 was removed from the list",
        "built from source because the GTX 1080 is not supported in the wheel",
        "release for the GTX 1080, which is supported",
        "the GTX 1080 was used",
        "dropped frames on the GTX 1080",
        "cards older than Pascal are not supported",
        "GPUs below the GTX 1080 are no longer supported",
    ],
)
def test_a_statement_on_another_model_or_build_is_not(text: str) -> None:
    assert not reason_against(text, PASCAL)


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(st.sampled_from(MODELS), st.sampled_from(sorted(architectures())))
def test_what_was_dropped_is_gone_with_what_is_older_and_nothing_else(model: str, gpu: ComputeCapability) -> None:
    own = find_gpus(model)[0].compute_capability
    plain = f"release from whose build the {model} had just been dropped".lower()
    assert denied_by_name(plain, gpu) is (gpu == own or (gpu < own and gpu not in TEGRA))
    plain = f"a build in which the {model} is not supported".lower()
    assert denied_by_name(plain, gpu) is (gpu == own)


@pytest.mark.parametrize(
    ("text", "is_read"),
    [
        ("release of CUDA 9, older cards left out of the targets", True),
        ("wheel, older GPUs are no longer supported", True),
        ("drops support for older architectures", True),
        ("not built for older devices", True),
        ("runs on older cards", False),
        ("dropped an older driver", False),
    ],
)
def test_that_older_cards_are_left_out_is_read(text: str, *, is_read: bool) -> None:
    assert leaves_older_out(text) is is_read


@pytest.mark.parametrize(
    ("gpu", "cuda", "runs"),
    [
        ("GTX 960", "9.1", False),
        ("GTX 1080", "9.1", True),
        ("GTX 1080", "12.4", False),
        ("RTX 2080", "12.4", True),
        ("RTX 2080", "13.0", False),
        ("RTX 3080", "13.0", True),
    ],
)
def test_older_cards_are_those_of_the_oldest_generations_that_the_toolkit_knows(
    gpu: str, cuda: str, *, runs: bool
) -> None:
    fields = {"driver": "390.87" if cuda == "9.1" else "580.95.05", "framework": "my-miner", "cuda": cuda}
    assert verdict(gpu=gpu, **fields, build="release, older cards left out").runs is runs
    assert verdict(gpu=gpu, **fields, build="release").runs


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(sorted(architectures())), st.sampled_from(LINES), st.sampled_from(LINES))
def test_what_is_old_for_a_toolkit_is_not_young_for_a_newer_one(
    gpu: ComputeCapability, one: CudaVersion, other: CudaVersion
) -> None:
    older, newer = sorted((one, other))
    last = architectures()[gpu].last_cuda
    if is_old_for(gpu, older) and (last is None or newer <= last):
        assert is_old_for(gpu, newer)


@pytest.mark.parametrize(
    ("text", "capability"),
    [
        ("the program reports the card as arch:21", "2.1"),
        ("deviceQuery shows the GPU as sm_35", "3.5"),
        ("the miner lists the device as compute capability 3.0", "3.0"),
        ("seen as sm_30", "3.0"),
    ],
)
def test_the_capability_that_a_program_reports_tells_cards_of_one_name_apart(text: str, capability: str) -> None:
    host = read_host(case_from({"gpu": "GT 630", "driver": "390.87", "build": text}))
    assert {str(pool.gpu.capability) for pool in host.may_be} == {capability}
    assert verdict(gpu="GT 630", driver="390.87", cuda="9.1", framework="miner", build=text).runs is (
        capability != "2.1"
    )
