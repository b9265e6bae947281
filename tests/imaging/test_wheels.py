"""Which wheels go into an image, and the files that keep their sizes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from packaging.utils import canonicalize_name, parse_wheel_filename
from rows import each_row

from imaging.inspection.index import DEFAULT_INDEX, index_url
from imaging.spec.load import IMAGES, load_sizes, load_spec
from imaging.spec.wheels import (
    PYTHON,
    SERVER,
    SIZES_FILE,
    WantedWheel,
    best_wheel,
    is_current,
    other_pins,
    read_sizes,
    sizes_text,
    wanted_wheels,
)

OURS = [
    "hub",
    "datahub-base-notebook",
    "scipy-ml-notebook",
    "scipy-ml-notebook-cu126",
    "cupy-notebook",
    "cupy-cuda11",
    "perceptron",
]
TINY = WantedWheel(SERVER, canonicalize_name("tiny"), "1.0", PYTHON, frozenset({"aa", "bb"}))
LINUX = "manylinux_2_17_x86_64.manylinux2014_x86_64"


def lock_of(image: str) -> str:
    return (IMAGES / image / "requirements.lock").read_text()


@each_row("image", OURS)
def test_the_size_file_has_a_row_for_each_locked_wheel_and_none_more(image: str) -> None:
    wanted = wanted_wheels(load_spec(IMAGES / image), lock_of(image))
    sizes = read_sizes((IMAGES / image / SIZES_FILE).read_text())
    assert [(each.environment, each.name, each.version) for each in sizes] == [
        (each.environment, each.name, each.version) for each in wanted
    ]
    assert is_current(sizes, wanted)
    for size, want in zip(sizes, wanted, strict=True):
        assert best_wheel(want, {size.wheel: size.sha256}) == size.wheel  # for this platform, with a hash of the lock
        assert parse_wheel_filename(size.wheel)[0] == size.name
        assert size.bytes > 1000


@each_row("image", OURS)
def test_a_size_file_names_no_index(image: str) -> None:
    text = (IMAGES / image / SIZES_FILE).read_text()
    assert "://" not in text
    assert sizes_text(read_sizes(text)) == text


def test_what_another_system_or_python_needs_is_not_wanted() -> None:
    names = {
        each.name: each.version for each in wanted_wheels(load_spec(IMAGES / "cupy-notebook"), lock_of("cupy-notebook"))
    }
    assert not {"appnope", "colorama", "pywinpty"} & set(names)
    assert names["soupsieve"] == "2.10"  # Debian 12 has Python 3.11.2; from 3.11.5 on another one is locked
    assert "pexpect" in names


def test_pins_of_kernels_are_wanted_for_their_own_python_and_need_no_hash() -> None:
    spec = load_spec(IMAGES / "scipy-ml-notebook")
    kernels = [each for each in wanted_wheels(spec, lock_of(spec.name)) if each.environment != SERVER]
    assert {each.environment for each in kernels} == {"tensorflow-2.3", "pytorch-1.7"}
    assert {each.python for each in kernels} == {"3.8.20"}
    assert not [each for each in kernels if each.hashes]
    assert other_pins(spec.kernels) == ("torch==1.7.1+cu101", "torchvision==0.8.2+cu101")


@each_row(
    ("files", "chosen"),
    [
        (["tiny-1.0-py3-none-any.whl"], "tiny-1.0-py3-none-any.whl"),
        ([f"tiny-1.0-cp311-cp311-{LINUX}.whl", "tiny-1.0-py3-none-any.whl"], f"tiny-1.0-cp311-cp311-{LINUX}.whl"),
        ([f"tiny-1.0-cp38-abi3-{LINUX}.whl", "tiny-1.0-py3-none-any.whl"], f"tiny-1.0-cp38-abi3-{LINUX}.whl"),
        (["tiny-1.0-1-py3-none-any.whl", "tiny-1.0-2-py3-none-any.whl"], "tiny-1.0-2-py3-none-any.whl"),
        (["tiny-1.0.tar.gz", "nonsense.whl", "tiny-1.0-py3-none-any.whl"], "tiny-1.0-py3-none-any.whl"),
        (["tiny-1.1-py3-none-any.whl", "tiny-1.0.0-py3-none-any.whl"], "tiny-1.0.0-py3-none-any.whl"),
    ],
)
def test_the_wheel_that_an_installer_takes_is_chosen(files: list[str], chosen: str) -> None:
    assert best_wheel(TINY, dict.fromkeys(files, "aa")) == chosen


@each_row(
    ("files", "says"),
    [
        ({}, "no wheel of 1.0 for Python 3.11.2"),
        ({"tiny-1.0.tar.gz": "aa"}, "no wheel of 1.0"),
        ({"tiny-1.0-cp311-cp311-win_amd64.whl": "aa"}, "no wheel of 1.0"),
        ({"tiny-1.0-cp311-cp311-musllinux_1_2_x86_64.whl": "aa"}, "no wheel of 1.0"),
        ({"tiny-1.0-cp312-cp312-manylinux_2_17_x86_64.whl": "aa"}, "no wheel of 1.0"),
        ({"tiny-1.0-cp311-cp311-manylinux_2_39_x86_64.whl": "aa"}, "no wheel of 1.0"),
        ({"tiny-1.0-py3-none-any.whl": "cc"}, "has a hash of the lock"),
    ],
)
def test_if_no_wheel_fits_the_error_says_why(files: dict[str, str], says: str) -> None:
    with pytest.raises(LookupError, match=says):
        best_wheel(TINY, files)


@pytest.mark.slow
def test_a_size_file_that_is_older_than_the_lock_is_not_used() -> None:
    spec = load_spec(IMAGES / "hub")
    sizes, wanted = load_sizes(IMAGES / "hub", spec), wanted_wheels(spec, lock_of("hub"))
    assert sizes is not None
    assert not is_current(sizes[1:], wanted)
    assert not is_current([*sizes, sizes[0]], wanted)
    assert not is_current([replace(sizes[0], sha256="00"), *sizes[1:]], wanted)
    assert not is_current([replace(sizes[0], version="0"), *sizes[1:]], wanted)


@each_row(
    "text",
    [
        "",
        "name,version\na,1\n",
        "environment,name,version,wheel,sha256,bytes\n,a,1,w,s,x\n",
        "environment,name,version,wheel,sha256,bytes\n,a,1\n",
    ],
)
def test_text_that_is_not_a_size_file_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"columns|invalid literal|unpack"):
        read_sizes(text)


def test_the_index_is_the_one_that_uv_or_pip_is_set_to(tmp_path: Path) -> None:
    pip = tmp_path / "pip.conf"
    pip.write_text("[global]\nindex-url = https://mirror.example/simple/\n")
    assert index_url({"PIP_INDEX_URL": "https://one.example/simple"}, [pip]) == "https://one.example/simple"
    assert index_url({}, [pip]) == "https://mirror.example/simple"
    assert index_url({"PIP_CONFIG_FILE": str(pip)}) == "https://mirror.example/simple"
    assert index_url({}, [tmp_path / "absent"]) == DEFAULT_INDEX
