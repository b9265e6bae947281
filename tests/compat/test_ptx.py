"""PTX: the version of its language decides which driver compiles it, not the CUDA of the image around it."""

from __future__ import annotations

import pytest
from rows import each_row

from compat import Case, CaseError, check
from compat.facts import tables
from compat.values.versions import CUDA_OF_PTX

REFUSED = "R-PTX refuse"


def found(**fields: str) -> list[str]:
    """R-PTX and the rules about drivers, for an H100 and an image without machine code for it."""
    answer = check(Case(**{"gpu": "H100", "sm_list": "none", **fields}), with_remedy=False)
    rules = {"R-PTX", "R-MINOR", "R-NATIVE"}
    return [f"{each.rule} {each.severity.value}" for each in answer.findings if each.rule in rules]


@each_row(
    ("ptx", "cuda", "driver", "says"),
    [
        ("compute_90@8.4", "", "535.104.05", [REFUSED]),  # 8.4 came with CUDA 12.4, so with 550.54.14
        ("compute_90@8.4", "", "550.54.14", ["R-PTX warn"]),
        ("compute_90@8.4", "12.2", "535.104.05", [REFUSED]),
        ("compute_80@7.1", "12.2", "525.60.13", ["R-PTX warn"]),  # older than the toolkit that it came with
        ("compute_80@8.6", "", "560.35.03", ["R-PTX warn"]),  # a driver has it, no toolkit; the floor is from memory
        ("compute_80@8.6", "", "565.57.01", ["R-PTX warn"]),
        ("80@8.4", "", "535.104.05", [REFUSED]),
        ("compute_80@7.1;compute_90@8.4", "", "535.104.05", [REFUSED]),  # the newest that fits is compiled
        ("compute_80@7.1;compute_100@8.7", "", "535.104.05", ["R-PTX warn"]),  # of another GPU
    ],
)
def test_the_driver_must_know_the_language_of_the_ptx(ptx: str, cuda: str, driver: str, says: list[str]) -> None:
    assert [each for each in found(ptx=ptx, cuda=cuda, driver=driver) if "note" not in each] == says


def test_without_a_version_the_cuda_of_the_image_counts() -> None:
    assert REFUSED in found(ptx="compute_80", cuda="12.2", driver="525.60.13")


def test_a_version_that_nobody_knows_is_refused() -> None:
    with pytest.raises(CaseError, match=r"none of 6\.0, .*9\.2"):
        found(ptx="compute_80@9.9", driver="535.104.05")


def test_every_version_belongs_to_a_cuda_that_a_driver_of_the_tables_reports() -> None:
    reported = {each.native_cuda for each in tables.driver_branches().values()} | set(tables.cuda_lines())
    assert set(CUDA_OF_PTX.values()) <= reported
    assert list(CUDA_OF_PTX.values()) == sorted(CUDA_OF_PTX.values())
