"""Every input gets an answer or a usage error, never a traceback."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cli.check.mapping import case_from
from compat import Answer, Case, CaseError, Verdict, check
from compat.evidence.case import FIELDS
from compat.facts.lookup import facts

SEED = 20261121
MANY = int(os.environ.get("GPU_COMMONS_TEST_RANDOM_INPUTS", "4000"))  # `make soak` tries 100,000
FEW = 200
SHARE = 1 / 3  # of the inputs, at least, reach a verdict: else the garbage is too strange to try the rules

GARBAGE = (
    "", " ", "latest", "12", "cu999", "418.88.00", "R535", "v12.4", "-1", "-418.88", "0", "999.99", "1e309", "nan", "None", "null",  # noqa: E501
    "true", "470.1", "٤١٨.٨٨", "12．4", "\x00", "\x1b[31m", "🦄", "a" * 300, "9" * 300, "9" * 5000, "../../etc/passwd", "'; DROP TABLE",  # noqa: E501, RUF001
    "${HOME}", "%s%n", "sm_", "sm_999", "sm_70;;sm_80", "7.5+PTX", "compute_90a", "9.0a", "[", "(", "*", "\\", "a,b,c", "12.4.1.2.3", "2.x",  # noqa: E501
    ">=2.0", "==", "+cu124", "2.6.0+cu124", "2.6.0+nv24.05", "1!2.0", "2.0.dev1", "2.0rc1", "nightly", "stable", "main", "torch==", "a:b:c",  # noqa: E501
    "x/y/z:w@sha256:0", "@sha256:" + "f" * 64, ":", "/", "nvidia/cuda:", ":latest", "GeForce", "NVIDIA", "A100 V100", "Radeon VII", "gtx",  # noqa: E501
    "8x H100", "MIG 1g.5gb", "1g.5gb", "NVIDIA_REQUIRE_CUDA=cuda>=", "NVIDIA_REQUIRE_CUDA=brand=,,,", "CUDA_VISIBLE_DEVICES=", "=", "A=B;C",  # noqa: E501
)  # fmt: skip
ODD_VALUES = (
    None, True, False, 0, -1, 12, 12.4, 418.88, float("nan"), float("inf"), 10**30, [], {}, [[]], [None], [7.0, "8.0"], {"A": "B"}, b"12",  # noqa: E501
)  # fmt: skip

Draw = Callable[[Random], str]


def _column(table: str, *columns: str) -> tuple[str, ...]:
    return tuple(sorted({row[column] for row in facts(table) for column in columns if row[column]}))


def _real() -> dict[str, tuple[str, ...]]:
    """Real texts of each field, from the tables and from what people write."""
    capabilities = _column("gpu_arch", "compute_capability")
    images = [f"{row['repository']}:{row['tag'].replace('*', '-x')}" for row in facts("image_tag")]
    cudas, floors = _column("cuda_driver", "cuda_version"), _column("cuda_driver", "min_linux_x86_64_driver")
    require = "NVIDIA_REQUIRE_CUDA=cuda>=12.4"
    return {
        "gpu": (*_column("gpu_model", "model", "gfd_product_label"), "V100", "a100", "1080ti", "RTX 3090 24GB", "T4"),
        "compute_capability": (*capabilities, *(f"sm_{each.replace('.', '')}" for each in capabilities)),
        "gpu_class": ("datacenter", "workstation", "geforce", "jetson"),
        "driver": (*floors, *_column("driver_branch", "branch"), "R535", "535.x"),
        "host": ("bare", "docker", "kubernetes", "apptainer", "wsl"),
        "container_toolkit": _column("container_toolkit", "version"),
        "image": (*images, *(f"nvidia/cuda:{cuda}-base-ubuntu22.04" for cuda in cudas)),
        "cuda": (*cudas, "11", "12", "cu118", "v12.4"),
        "framework": (*_column("framework", "framework"), "torch", "tf", "torch==2.6.0+cu124", "tensorflow[and-cuda]"),
        "framework_version": _column("framework", "version"),
        "build": (*_column("framework", "variant"), "sm_70;sm_80, no PTX", "cu118", "torch==2.6.0+cu124", "pip wheel"),
        "compressed": ("none", "all", "sm_80;compute_80", "size", "7.5 8.0"),
        "sm_list": (*capabilities, "7.0;7.5;8.0", "sm_70 sm_80+PTX", "9.0a", "none"),
        "ptx": (*capabilities, "none", "compute_90"),
        "cudnn": ("7.6.5", "8.9.7", "9.1.0", "9", "9.17.0"),
        "cuda_compat": ("yes", "first", "no", "unknown"),
        "cpu_arch": ("amd64", "arm64", "x86_64", "aarch64", "ppc64le"),
        "os": ("linux", "windows", "l4t"),
        "instance_type": _column("ec2_gpu_instances", "instance_type"),
        "ami_release": _column("eks_ami", "release", "ami_type"),
        "kernel_module": ("open", "proprietary"),
        "operator": _column("gpu_operator", "operator_version"),
        "env": ("CUDA_VISIBLE_DEVICES=0", require, "NVIDIA_DRIVER_CAPABILITIES=compute", "A=1;B=2"),
        "image_glibc": ("2.31", "2.35"),
        "host_glibc": ("2.28", "2.39"),
    }


def _mangled(random: Random, text: str) -> str:
    """A real text with a typing error: cut, doubled, a character changed, blanks, another case."""
    where = random.randrange(len(text) + 1)
    return random.choice(
        (
            text[:where],
            text[where:],
            text + text,
            f"{text[:where]}{chr(random.randrange(32, 1000))}{text[where:]}",
            f" {text}\t",
            text.upper(),
            text.swapcase(),
            f"-{text}",
            f"v{text}",
            text.replace(".", ","),
        )
    )


def inputs(random: Random) -> Iterator[dict[str, object]]:
    """Mappings as a line of a batch holds: mostly real words, some mangled, some garbage, now and then no text at all."""  # noqa: E501
    real = _real()
    assert set(real) | {"id"} == set(FIELDS)
    while True:
        given_: dict[str, object] = {}
        chosen = {random.choice(("gpu", "gpu", "compute_capability", "instance_type")), "driver"}
        chosen |= {random.choice(("cuda", "image", "framework", "sm_list"))}
        chosen |= set(random.sample(sorted(real), k=random.choice((0, 0, 1, 1, 2, 4, 8))))
        calm = random.random() < 0.6  # an input with nothing strange in it but its combination
        for name in sorted(chosen):
            text = random.choice(real[name])
            kind = 1.0 if calm else random.random()
            if kind < 0.15:
                given_[name] = random.choice(GARBAGE)
            elif kind < 0.3:
                given_[name] = _mangled(random, text)
            elif kind < 0.32:
                given_[name] = random.choice(ODD_VALUES)
            elif kind < 0.33:
                given_[random.choice(GARBAGE)] = text
            else:
                given_[name] = text
        yield given_


def _outcome(given_: dict[str, object]) -> Answer | CaseError:
    try:
        return check(case_from(given_))
    except CaseError as error:
        return error


def _tally(number: int, seed: int) -> Counter[str]:
    found: Counter[str] = Counter()
    for given_, _ in zip(inputs(Random(seed)), range(number), strict=False):
        try:
            outcome = _outcome(given_)
        except Exception as error:  # noqa: BLE001
            pytest.fail(f"{given_!r} ends in {type(error).__name__}: {error}")
        if isinstance(outcome, CaseError):
            found["usage error"] += 1
            assert outcome.problems, given_
            assert all(problem.reason for problem in outcome.problems), given_
        else:
            found[outcome.verdict] += 1
            assert isinstance(outcome.verdict, Verdict)
    return found


def _share(found: Counter[str]) -> float:
    return 1 - found["usage error"] / found.total()


# In parts, which several processes share.
PARTS = [pytest.param(MANY // 4, SEED + part, marks=pytest.mark.slow) for part in range(1, 5)]


@pytest.mark.slow
@pytest.mark.parametrize(("number", "seed"), [(FEW, SEED), *PARTS])
def test_any_input_gives_a_verdict_or_a_usage_error(number: int, seed: int, capsys: pytest.CaptureFixture[str]) -> None:
    found = _tally(number, seed)
    with capsys.disabled():
        shown = ", ".join(f"{what} {count}" for what, count in found.most_common())
        print(f"\n{number:,} random inputs: {_share(found):.0%} reach a verdict ({shown})")  # noqa: T201 - a figure to read
    assert _share(found) >= SHARE
    assert set(found) >= {*Verdict, "usage error"}


anything = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.binary(), st.lists(st.text()))
unhurried = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@pytest.mark.slow
@unhurried
@given(given_=st.dictionaries(st.sampled_from(FIELDS), st.one_of(st.sampled_from(GARBAGE), anything), max_size=6))
def test_a_mapping_of_anything_is_read_or_refused(given_: dict[str, object]) -> None:
    assert isinstance(_outcome(given_), Answer | CaseError)


@pytest.mark.slow
@unhurried
@given(field=st.sampled_from([field for field in FIELDS if field != "id"]), text=st.text(max_size=60))
def test_any_text_in_any_field_is_read_or_refused_with_the_field_named(field: str, text: str) -> None:
    fields = {"gpu": "T4", "driver": "535.104.05", "cuda": "12.2", field: text}
    try:
        check(Case(**fields))
    except CaseError as error:
        assert {problem.field for problem in error.problems} <= set(FIELDS)  # noqa: PT017
        assert all(len(problem.value) <= 80 for problem in error.problems)  # noqa: PT017
        assert all(problem.reason for problem in error.problems)  # noqa: PT017


@pytest.mark.slow
@unhurried
@given(name=st.text(max_size=40).filter(lambda name: name not in FIELDS))
def test_a_field_that_is_none_is_refused_by_its_name(name: str) -> None:
    with pytest.raises(CaseError) as caught:
        case_from({"gpu": "T4", name: "x"})
    assert [problem.field for problem in caught.value.problems] == [name[:80]]


def test_all_mistakes_are_reported_at_once() -> None:
    with pytest.raises(CaseError) as caught:
        check(Case(gpu="RTX 9999", driver="latest", cuda="cu999", host="vmware", kernel_module="shut", cudnn="new"))
    found = {problem.field for problem in caught.value.problems}
    assert found >= {"gpu", "driver", "cuda", "host", "kernel_module", "cudnn"}


@pytest.mark.parametrize("field", FIELDS)
def test_a_field_that_is_too_long_is_refused_and_not_repeated_in_full(field: str) -> None:
    with pytest.raises(CaseError) as caught:
        check(case_from({"gpu": "T4", "driver": "535.104.05", "cuda": "12.2", field: "x" * 100_000}))
    assert len(str(caught.value)) < 1000
