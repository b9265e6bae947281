"""The grammar of `build`, and what its parts mean for the framework that is asked about."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.check.mapping import case_from
from compat import Case, CaseError, Verdict, check
from compat.evidence.names.builds import read_build, read_build_spec
from compat.values.versions import VersionError

NOT = Verdict.INCOMPATIBLE
PARTS = (
    "torch==2.6.0+cu124", "cupy-cuda12x", "cupy-cuda12x==13.0.0", "jax[cuda12]", "jax[cuda12_local]", "conda cuda12.1",
    "tensorflow[and-cuda]==2.16.1", "pip torch==2.6.0", "cu118", "cuda12", "cuda11.8", "cu12x", "torch-cu128",
    "cuda12_local", "cpu", "sm_70", "8.0+PTX", "compute_80", "9.0a", "ptx only", "no ptx", "nvcc 12.4",
    "cudatoolkit=11.3",
)  # fmt: skip


@pytest.mark.parametrize("part", PARTS)
def test_each_form_of_the_grammar_is_read(part: str) -> None:
    assert read_build(part) == read_build(f" {part.upper() if '==' not in part else part} ")


@given(st.lists(st.sampled_from(PARTS), min_size=1, max_size=4), st.sampled_from([";", ", ", " ", "; "]))
def test_parts_may_be_listed_with_any_separator(parts: list[str], separator: str) -> None:
    assert read_build(separator.join(parts)) == read_build(";".join(parts))


@pytest.mark.parametrize(
    ("build", "cuda"),
    [
        ("cu118", "11.8"),
        ("cu92", "9.2"),
        ("cuda11.8", "11.8"),
        ("conda cuda12.1", "12.1"),
        ("torch-cu128", "12.8"),
        ("torch==2.6.0+cu124", "12.4"),
        ("cudatoolkit=11.3", "11.3"),
        ("cudatoolkit=10.1.243", "10.1"),
    ],
)
def test_a_tag_a_pin_and_cudatoolkit_name_one_cuda(build: str, cuda: str) -> None:
    spec = read_build_spec("pytorch", "", build)
    assert spec is not None
    assert [str(line) for line in spec.cuda] == [cuda]


@pytest.mark.parametrize("build", ["cuda12", "cu12x", "cupy-cuda12x", "jax[cuda12]"])
def test_a_major_alone_is_every_line_of_it(build: str) -> None:
    spec = read_build_spec("cupy", "", build)
    assert spec is not None
    assert {line.major for line in spec.cuda} == {12}


def test_a_pin_names_the_framework_and_its_release_where_nothing_else_does() -> None:
    spec = read_build_spec("", "", "torch==2.6.0+cu124")
    assert spec is not None
    assert (spec.framework, str(spec.version)) == ("pytorch", "2.6.0")
    beside = read_build_spec("vllm", "0.8.2", "torch==2.6.0+cu124")
    assert beside is not None
    assert (beside.framework, str(beside.version), [str(line) for line in beside.cuda]) == ("vllm", "0.8.2", ["12.4"])


PROSE = (
    "built from source without sm_61",
    "pip cu118 wheel",
    "official Windows installer",
    "release of March 2021",
    "image of the project",
    "needs driver 545 or newer",
    "nvidia-smi shows CUDA 12.2",
    "==",
    "torch==",
    "nvcc",
    "sm_",
    "+PTX",
)


@pytest.mark.parametrize("build", PROSE)
def test_anything_else_is_refused_with_the_forms_that_are_accepted(build: str) -> None:
    with pytest.raises(CaseError) as caught:
        check(case_from({"gpu": "RTX 4090", "driver": "550.54.14", "cuda": "12.4", "build": build}))
    (problem,) = caught.value.problems
    assert problem.field == "build"
    told = str(caught.value)
    assert told.startswith(f'build: "{build}" is none of: ')
    for form in ("torch==2.6.0+cu124", "cupy-cuda12x", "cu118", "cuda12", "sm_70;8.0+PTX", "ptx only", "nvcc 12.4"):
        assert form in told
    assert "cudatoolkit=11.3" in told


@given(st.text(max_size=40))
def test_any_text_is_a_build_or_an_error_in_words(text: str) -> None:
    reason = ""
    try:
        read_build(text)
    except VersionError as error:
        reason = error.reason
    assert reason == "" or "is none of" in reason or "is not a" in reason or "is no " in reason


# --- what they decide

T4 = {"gpu": "T4", "driver": "535.183.01"}
A100 = {"gpu": "A100", "driver": "535.183.01"}


@pytest.mark.parametrize(
    ("case", "runs"),
    [
        ({"framework": "torch", "framework_version": "2.9.0", "build": "cu126", **T4}, True),
        ({"framework": "torch", "framework_version": "2.9.0", "build": "cu130", **T4}, False),
        ({"framework": "jax", "framework_version": "0.8.0", "build": "jax[cuda12]", **A100}, True),
        ({"framework": "jax", "framework_version": "0.8.0", "build": "jax[cuda13]", **A100}, False),
        ({"build": "cupy-cuda12x==13.4.1", **A100}, True),
        ({"cuda": "12.2", "build": "sm_70;sm_75;no ptx", **T4}, True),
        ({"cuda": "12.2", "build": "sm_80;no ptx", **T4}, False),
        ({"build": "nvcc 12.2;7.0+PTX", **T4}, True),
        ({"build": "nvcc 12.8;7.0;ptx only", **T4}, False),  # the driver compiles PTX up to CUDA 12.2
        ({"framework": "torch", "framework_version": "1.9.0", "build": "cudatoolkit=10.2", **A100}, False),
        ({"framework": "torch", "framework_version": "1.9.0", "build": "cudatoolkit=11.1", **A100}, True),
        ({"framework": "torch", "framework_version": "2.4.0", "build": "cpu", **A100}, False),
    ],
)
def test_a_build_decides(case: dict[str, str], *, runs: bool) -> None:
    answer = check(case_from(case), with_remedy=False)
    assert answer.verdict is not Verdict.UNKNOWN, answer.findings
    assert answer.verdict.runs is runs, answer.findings


def test_a_remedy_writes_builds_that_are_read_again() -> None:
    case = Case(gpu="RTX 3090", driver="470.57.02", framework="torch", framework_version="2.6.0", build="cu124")
    answer = check(case)
    assert answer.remedy is not None
    assert {change.field: change.to for change in answer.remedy.changes}["build"] == "cu118"
    assert check(case.with_changes(answer.remedy.changes)).verdict.runs


BLACKWELL = {"gpu": "RTX 5090", "driver": "580.95.05"}


def test_cupy_for_a_major_compiles_by_whichever_cuda_of_it_the_image_has() -> None:
    alone = check(Case(build="cupy-cuda12x==13.6.0", **BLACKWELL), with_remedy=False)
    assert alone.verdict is Verdict.UNKNOWN
    assert alone.findings[0].message.count("which CUDA 12.x is in the image") == 1
    assert check(Case(build="cupy-cuda12x==13.6.0", cuda="12.8", **BLACKWELL), with_remedy=False).verdict.runs
    old = check(Case(build="cupy-cuda12x==13.6.0", cuda="12.4", **BLACKWELL), with_remedy=False)
    assert old.verdict is Verdict.INCOMPATIBLE


@pytest.mark.parametrize(
    ("driver", "verdict"),
    [("535.183.01", Verdict.UNKNOWN), ("580.95.05", Verdict.WITH_WARNING), ("470.256.02", Verdict.INCOMPATIBLE)],
)
def test_a_release_between_two_with_other_code_may_be_built_like_either(driver: str, verdict: Verdict) -> None:
    """ctranslate2 4.6.0 has PTX of CUDA 12.2, and 4.6.3 of 12.8; H100 runs nothing else of them."""
    answer = check(Case(gpu="H100", driver=driver, build="ctranslate2==4.6.2"), with_remedy=False)
    assert answer.verdict is verdict, answer.findings


def test_a_row_for_libraries_of_several_cudas_is_that_of_each() -> None:
    old = check(Case(build="bitsandbytes==0.45.5", cuda="12.4", **BLACKWELL), with_remedy=False)
    assert old.verdict is Verdict.INCOMPATIBLE  # its library for 12.4 has code up to sm_90
    assert check(Case(build="bitsandbytes==0.45.5", cuda="12.4", **A100), with_remedy=False).verdict.runs
