"""R-COMPRESS: code that zstd compresses needs driver 550.54.14, and only the binary tells whether it is."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat import Case, Finding, Severity, Verdict, check

A100 = Case(gpu="A100", driver="535.183.01", cuda="12.8", sm_list="8.0", ptx="9.0")


def own(case: Case) -> list[Finding]:
    return [each for each in check(case).findings if each.rule == "R-COMPRESS"]


def test_compressed_machine_code_is_refused_for_that_alone_and_the_driver_that_unpacks_it_is_named() -> None:
    answer = check(replace(A100, compressed="sm_80"))
    assert answer.verdict is Verdict.INCOMPATIBLE
    assert [each.rule for each in answer.findings if each.severity is Severity.REFUSE] == ["R-COMPRESS"]
    assert answer.remedy is not None
    assert answer.remedy.text == (
        "Build it with nvcc --compress-mode=speed, or use driver 550.54.14 or newer, "
        "or install cuda-compat-12-8 in the image, which serves NVIDIA A100-SXM4-40GB on driver branch 535."
    )


def test_instead_of_a_compressed_build_the_remedy_names_the_nearest_and_the_newest_that_is_not() -> None:
    case = Case(gpu="A100", driver="535.183.01", framework="torch", framework_version="2.9.0+cu128", compressed="sm_80")
    answer = check(case)
    assert [each.rule for each in answer.findings if each.severity is Severity.REFUSE] == ["R-COMPRESS"]
    assert answer.remedy is not None
    assert answer.remedy.text.startswith("Use torch 2.9.0+cu126 (pip install torch==2.9.0 ")
    newest = next(each for each in answer.remedy.otherwise if each.text.endswith(", the newest that runs here"))
    for changes in (answer.remedy.changes, newest.changes):
        assert check(case.with_changes(changes)).verdict.runs


@pytest.mark.parametrize(
    ("changes", "severity"),
    [
        ({"compressed": "all"}, "refuse"),
        ({"compressed": "none"}, "note"),
        ({"compressed": "compute_90"}, "note"),  # PTX that this GPU does not need
        ({"compressed": "sm_90"}, "note"),  # machine code of another GPU
        ({"compressed": ""}, "warn"),
        ({"compressed": "size"}, "refuse"),  # as nvcc's --compress-mode names it
        ({"compressed": "speed"}, "note"),
        ({"sm_list": "7.5", "ptx": "7.5", "compressed": "compute_75", "driver": "545.23.08", "cuda": "12.3"}, "refuse"),
    ],
)
def test_what_the_gpu_loads_decides(changes: dict[str, str], severity: str) -> None:
    assert [each.severity for each in own(replace(A100, **changes))] == [severity]


@pytest.mark.parametrize(
    "changes",
    [
        {"cuda": "12.6", "compressed": ""},  # no compiler before 12.8 makes such code
        {"driver": "550.54.14", "compressed": "all"},
        {"cuda_compat": "yes", "compressed": "all"},  # the libcuda of the package unpacks it
    ],
)
def test_nothing_is_reported_where_it_does_not_matter(changes: dict[str, str]) -> None:
    assert own(replace(A100, **changes)) == []


@pytest.mark.parametrize(("gpu", "loads"), [("A100", "machine code sm_80"), ("T4", "machine code sm_75")])
def test_a_build_whose_cuda_the_driver_runs_is_refused_for_compression_alone(gpu: str, loads: str) -> None:
    """All code of MLX is compressed, and CUDA 12 runs on drivers from 525.60.13 on."""
    mlx = Case(gpu=gpu, driver="535.183.01", framework="mlx[cuda12]", framework_version="0.32.4")
    answer = check(mlx)
    (refused,) = [each for each in answer.findings if each.severity is Severity.REFUSE]
    assert refused.rule == "R-COMPRESS"
    assert refused.message.startswith(f"{loads} is compressed by zstd")
    assert "mlx_cuda_12-0.32.4-" in refused.fact.source
    assert check(replace(mlx, driver="550.54.14")).verdict is Verdict.COMPATIBLE


def test_a_wheel_that_was_read_says_so_beside_what_else_is_wrong() -> None:
    """GTX 1080 Ti: torch 2.9.0+cu128 has no code for it, and what it has is not compressed."""
    answer = check(Case(gpu="GTX 1080 Ti", driver="535.183.01", framework="torch", framework_version="2.9.0+cu128"))
    assert answer.verdict is Verdict.INCOMPATIBLE
    assert {each.rule for each in answer.findings if each.severity is Severity.REFUSE} == {"R-ARCH", "R-PTX"}
    (read,) = [each for each in answer.findings if each.rule == "R-COMPRESS"]
    assert read.severity is Severity.NOTE
    assert "torch-2.9.0-" in read.fact.source


@pytest.mark.parametrize(
    ("changes", "severity"),
    [
        ({"compressed": "sm_80;sm_90"}, "refuse"),  # no PTX is compressed
        ({"compressed": "compute_80"}, "warn"),  # there may be machine code beside it
        ({"gpu": "A10G", "compressed": "sm_80"}, "warn"),  # there may be code for sm_86
        ({"gpu": "A10G", "compressed": "sm_80;sm_86"}, "refuse"),
        ({"compressed": "sm_90;compute_90"}, "note"),  # none of it is for this GPU
    ],
)
def test_where_the_targets_are_not_known_compressed_code_for_the_very_gpu_is_what_it_loads(
    changes: dict[str, str], severity: str
) -> None:
    assert [each.severity for each in own(replace(A100, sm_list="", ptx="", **changes))] == [severity]


def test_a_wheel_whose_machine_code_was_seen_compressed_is_not_called_uncompressed() -> None:
    """Of onnxruntime 1.29 the code for sm_80 is compressed and no PTX; its other targets are in no table."""
    case = Case(gpu="A100", driver="535.183.01", framework="onnxruntime", framework_version="1.29.0")
    assert [each.severity for each in own(case)] == ["refuse"]


@pytest.mark.parametrize(
    "changes",
    [
        {"framework_version": "0.28.5"},  # read as 0.28.0
        {"framework_version": "0.28.0", "cpu_arch": "arm64"},
    ],
)
def test_a_wheel_says_nothing_of_another_release_or_another_system(changes: dict[str, str]) -> None:
    case = replace(Case(gpu="A100", driver="535.183.01", framework="vllm"), **changes)
    (found,) = own(case)
    assert found.severity is Severity.WARN
    assert "inspect --deep" in found.message


drivers = st.integers(525, 620).flatmap(lambda branch: st.integers(60, 90).map(lambda minor: f"{branch}.{minor}.01"))
lists = st.sampled_from(["", "none", "all", "sm_80", "compute_80", "sm_80;compute_80", "sm_90"])


@given(driver=drivers, compressed=lists)
def test_drivers_from_550_54_14_on_give_no_finding(driver: str, compressed: str) -> None:
    found = own(replace(A100, driver=driver, compressed=compressed))
    assert bool(found) == (driver < "550.54.14")


@pytest.mark.slow
@given(driver=drivers)
def test_more_compression_never_helps(driver: str) -> None:
    rank = [Verdict.COMPATIBLE, Verdict.WITH_WARNING, Verdict.UNKNOWN, Verdict.INCOMPATIBLE]
    verdicts = (check(replace(A100, driver=driver, compressed=each)).verdict for each in ("none", "", "sm_80", "all"))
    ranks = [rank.index(each) for each in verdicts]
    assert ranks == sorted(ranks)
