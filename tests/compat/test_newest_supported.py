"""The newest that a pool runs."""

from __future__ import annotations

import pytest

from compat import Case, CaseError, check, read_host
from compat.values.versions import CudaVersion
from compat.verdict.newest_supported import NewestSupported, newest_supported

OLD = {"gpu": "GTX 1080 Ti", "driver": "418.88"}


def _newest(**fields: str) -> NewestSupported:
    case = Case(**fields)
    return newest_supported(case, read_host(case))


@pytest.mark.parametrize(
    ("pool", "cuda"),
    [
        (OLD, "10.1"),
        ({"gpu": "Tesla K80", "driver": "470.82"}, "11.8"),  # by minor-version compatibility; CUDA 12 dropped it
        ({"gpu": "H100", "driver": "550.54.15"}, "12.9"),
    ],
)
def test_the_newest_line_runs_and_the_next_one_does_not(pool: dict[str, str], cuda: str) -> None:
    assert _newest(**pool, cuda="9.0").cuda == cuda
    line = CudaVersion.parse(cuda)
    assert check(Case(**pool, cuda=cuda)).verdict.runs
    above = f"{line.major + 1}.0"
    assert not check(Case(**pool, cuda=above)).verdict.runs


@pytest.mark.parametrize("framework", ["pytorch", "tensorflow", "cupy"])
def test_the_newest_build_is_one_that_runs(framework: str) -> None:
    found = _newest(**OLD, framework=framework, framework_version="1.0")
    assert found.how.startswith("pip install ")
    assert found.build
    version = found.how.partition("==")[2].partition(" ")[0]
    assert check(Case(**OLD, framework=framework, framework_version=version, cuda=found.cuda)).verdict.runs


def test_how_the_code_of_a_case_is_compressed_says_nothing_of_another_line() -> None:
    found = _newest(gpu="A100", driver="535.183.01", cuda="12.8", sm_list="8.0", compressed="all")
    assert found.cuda == "12.9"


def test_without_a_framework_there_is_a_line_and_no_build() -> None:
    found = _newest(**OLD, cuda="12.9")
    assert (found.cuda, found.build, found.how) == ("10.1", "", "")


def test_a_driver_that_does_not_drive_the_gpu_runs_nothing() -> None:
    found = _newest(gpu="H100", driver="418.88", framework="pytorch", framework_version="2.6.0")
    assert (found.cuda, found.build) == ("", "")


def test_a_case_that_cannot_be_read_is_reported() -> None:
    with pytest.raises(CaseError):
        _newest(gpu="GTX 1080 Ti", driver="418.88", cuda="cu999")
