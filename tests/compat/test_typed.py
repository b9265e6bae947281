"""Versions and targets as people paste them, to values."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from known import written

from compat.evidence.names import typed
from compat.values.versions import VersionError

DRIVERS = {
    "418.88": "418.88|418.88.00",
    "535.104.05": "535.104.05-1.el8",
    "535.183.01": "1:535.183.01-1|535.183.01-0ubuntu1|535.183.01-0ubuntu0.22.04.1|NVIDIA-Linux-x86_64-535.183.01|"
    "libnvidia-compute-535=535.183.01-0ubuntu1|Driver Version: 535.183.01   CUDA Version: 12.2",
    "550.54.14": "v550.54.14",
}
CUDAS = {
    "9.2": "cu92",
    "10.1.243": "10.1 Update 2",
    "11.0.3": "11.0 Update 1",
    "12.4": "cu124|12-4|cuda-toolkit-12-4|CUDA Version: 12.4|v12.4",
    "12.4.1": "12.4u1|12.4 Update 1",
}
RELEASES = {
    "1.15.0rc3": "1.15.0~rc.3-1",
    "1.17.8": "1.17.8-1|NVIDIA Container Toolkit CLI version 1.17.8|nvidia-container-toolkit=1.17.8-1",
    "2.35": "2.35-0ubuntu3",
    "2.6.0+cu124": "2.6.0+cu124",
    "8": "cudnn8",
    "8.9.7.29": "8.9.7.29-1+cuda12.2|libcudnn8=8.9.7.29-1+cuda12.2|8.9.7.29_cuda12-archive",
    # As cuDNN tells it by one number.
    "5.1.10": "5110",
    "7.6.5": "7605",
    "8.4.1": "8401",
    "8.9": "8.9",
}
UNREAD = [
    (typed.read_drivers, "is a range; write the driver", ">=535|535+|535 or newer"),
    (typed.read_drivers, r"is 418\.88 meant\?", "418.088"),
    (typed.read_cudas, "is a range", ">=12.4|12.4+"),
    (typed.read_cudas, "is no CUDA release", "12.4 Update 9"),
    (typed.read_targets, "is not a target", "sm_|for older cards|no code|+PTX|sm_70;;x"),
]


@pytest.mark.parametrize(("text", "driver"), written(DRIVERS))
def test_a_driver_as_people_paste_it_is_one_release(text: str, driver: str) -> None:
    assert [str(each) for each in typed.read_drivers(text)] == [driver]


@pytest.mark.parametrize(
    ("text", "branch"),
    [
        ("R535", 535),
        ("535", 535),
        ("535.x", 535),
        ("390xx", 390),
        ("cuda-drivers-535", 535),
        ("nvidia-driver-535-server", 535),
        ("nvidia-open-570", 570),
    ],
)
def test_a_branch_is_its_first_release_to_its_last(text: str, branch: int) -> None:
    first, last = typed.read_drivers(text)
    assert (first.branch, last.branch) == (branch, branch)
    assert first < last


@pytest.mark.parametrize(("text", "cuda"), written(CUDAS))
def test_a_cuda_version_as_people_paste_it(text: str, cuda: str) -> None:
    assert [str(each) for each in typed.read_cudas(text)] == [cuda]


@pytest.mark.parametrize("text", ["12", "v12", "12.x", "cuda12x", "cu12"])
def test_a_major_alone_is_every_line_of_it(text: str) -> None:
    lines = typed.read_cudas(text)
    assert {line.major for line in lines} == {12}
    assert len(lines) > 5


@pytest.mark.parametrize(("text", "lines"), [("10", ["10.0"]), ("CUDA 9", ["9.0"]), ("10.x", ["10.0", "10.1", "10.2"])])
def test_before_cuda_11_a_bare_major_is_its_first_release(text: str, lines: list[str]) -> None:
    assert [str(line) for line in typed.read_cudas(text)] == lines


@pytest.mark.parametrize(("text", "release"), written(RELEASES))
def test_a_release_as_people_paste_it_or_as_cudnn_tells_it_by_one_number(text: str, release: str) -> None:
    assert str(typed.read_release(text)) == release


@pytest.mark.parametrize(
    ("text", "cubins", "ptx"),
    [
        ("sm_70;8.0+PTX", "7.0 8.0", "8.0"),
        ("7.0 8.0", "7.0 8.0", None),
        ("sm_80, compute_90", "8.0", "9.0"),
        ("86-real;89-virtual", "8.6", "8.9"),
        ("7.0;8.0;PTX", "7.0 8.0", "8.0"),
        ("9.0a 12.0f", "9.0a 12.0f", None),
        ("none", None, ""),
    ],
)
def test_a_list_of_targets_is_machine_code_and_ptx(text: str, cubins: str | None, ptx: str | None) -> None:
    found = typed.read_targets(text)
    for listed, expected in ((found.cubins, cubins), (found.ptx, ptx)):
        assert (None if listed is None else " ".join(map(str, listed))) == expected


@pytest.mark.parametrize(
    ("read", "reason", "text"), [(read, reason, text) for read, reason, texts in UNREAD for text in texts.split("|")]
)
def test_what_is_no_one_driver_cuda_or_list_of_targets_is_refused_in_words(
    read: Callable[[str], object], reason: str, text: str
) -> None:
    with pytest.raises(VersionError, match=reason):
        read(text)
