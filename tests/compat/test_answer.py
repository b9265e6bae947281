"""What a case leaves out: an answer that holds for every value it could have, or `unknown` and how to learn it."""

from __future__ import annotations

import pytest
from known import told

from compat import Case, Severity, Verdict, check

RUNS, WARNS, UNKNOWN, NOT = Verdict.COMPATIBLE, Verdict.WITH_WARNING, Verdict.UNKNOWN, Verdict.INCOMPATIBLE
DEEP, PROBE = "gpu-commons inspect --deep", "gpu-commons probe"


# --- targets


@pytest.mark.parametrize("listed", ["sm_70;sm_80", "7.0 8.0", "sm70 sm80"])
def test_a_list_that_names_no_ptx_is_one_without(listed: str) -> None:
    answer = check(Case(gpu="H200", driver="550.90.07", cuda="12.4", framework="faiss", sm_list=listed))
    assert answer.verdict is NOT
    assert "names no PTX" in told(answer)


def test_whoever_does_not_know_of_ptx_can_say_so() -> None:
    case = Case(gpu="H200", driver="550.90.07", cuda="12.4", framework="own", sm_list="7.0;8.0", ptx="unknown")
    assert check(case).verdict is UNKNOWN


def test_a_list_with_ptx_is_taken_as_it_is_written() -> None:
    assert check(Case(gpu="H200", driver="550.90.07", cuda="12.4", sm_list="7.0;8.0+PTX")).verdict is WARNS


def test_of_a_major_only_the_lines_that_know_the_listed_targets_are_meant() -> None:
    fields = {"gpu": "RTX 5090", "driver": "570.124.06", "cuda": "12", "framework": "own"}
    assert check(Case(**fields, sm_list="sm_120")).verdict is RUNS


def test_targets_without_a_cuda_are_answered_where_every_compiler_of_them_gives_the_same() -> None:
    fields = {"gpu": "A40", "framework": "some-solver", "sm_list": "sm_86"}
    assert check(Case(**fields, driver="580.95.05")).verdict is RUNS
    assert check(Case(**fields, driver="470.82.01")).verdict is UNKNOWN


# --- what is missing, and how to get it

OF_THE_IMAGE = {
    "targets and PTX of a program": Case(gpu="RTX 5080", driver="570.124.06", cuda="12.4", framework="own"),
    "PTX beside a list": Case(gpu="H200", driver="550.90.07", cuda="12.4", sm_list="7.0", ptx="unknown"),
    "CUDA of a program": Case(gpu="RTX 4090", driver="550.54.14", framework="somebodys-solver"),
    "CUDA beside targets": Case(gpu="A40", driver="470.82.01", framework="some-solver", sm_list="sm_86"),
    "an image that no table has": Case(gpu="T4", driver="535.183.01", image="registry.example.edu/lab/tool:2.1"),
    "what a moving tag holds": Case(gpu="T4", driver="535.183.01", host="docker", image="vllm/vllm-openai:latest"),
}
OF_THE_HOST = {
    "the driver": Case(gpu="RTX 3090", framework="torch", framework_version="2.6.0+cu124"),
    "the release of a branch": Case(gpu="GTX 1080 Ti", driver="367", cuda="8.0"),
    "which GPU of a name": Case(gpu="GTX 860M", driver="470.256.02", cuda="11.4", sm_list="5.0", ptx="none"),
}


@pytest.mark.parametrize(
    ("case", "command"),
    [
        *(pytest.param(case, DEEP, id=what) for what, case in OF_THE_IMAGE.items()),
        *(pytest.param(case, PROBE, id=what) for what, case in OF_THE_HOST.items()),
    ],
)
def test_an_unknown_names_the_missing_fact_and_the_command_that_gets_it(case: Case, command: str) -> None:
    answer = check(case)
    assert answer.verdict is UNKNOWN, told(answer)
    unknown = [each.message for each in answer.findings if each.severity is Severity.UNKNOWN]
    assert any(command in message for message in unknown), unknown


def test_an_inspected_or_stated_fact_settles_it() -> None:
    fields = {"gpu": "RTX 5080", "driver": "570.124.06", "cuda": "12.4", "framework": "own"}
    assert check(Case(**fields, sm_list="9.0", ptx="9.0")).verdict.runs
    assert check(Case(**fields, sm_list="9.0", ptx="none")).verdict is NOT


@pytest.mark.parametrize("framework", ["frigate", "blender", "some-miner"])
def test_no_statistics_stand_in_for_a_fact(framework: str) -> None:
    """A program that no table has is neither guessed from its name nor from what most such programs did."""
    assert check(Case(gpu="RTX 4090", driver="550.54.14", framework=framework)).verdict is UNKNOWN
    assert check(Case(gpu="Tesla K80", framework=framework)).verdict is UNKNOWN
    image = f"somebody/{framework}:1.0"
    assert check(Case(gpu="RTX 4090", driver="550.54.14", image=image)).verdict is UNKNOWN


# --- a driver that is not stated


def test_without_a_driver_those_that_do_not_list_the_board_do_not_count() -> None:
    # Tesla M40 came with 352.63; other boards of its chip with 346.59, which is too old for CUDA 7.5.
    assert check(Case(gpu="Tesla M40", cuda="7.5", sm_list="5.2")).verdict.runs
    assert check(Case(gpu="GTX TITAN X", cuda="7.5", sm_list="5.2")).verdict is UNKNOWN


def test_an_unstated_driver_is_a_late_release_of_the_first_branch_for_the_gpu() -> None:
    """450.36 is the first driver for the A100, and CUDA 11.2 asks for 450.80.02."""
    assert check(Case(gpu="A100", cuda="11.2", framework="torch", framework_version="1.8.1+cu111")).verdict.runs
    assert check(Case(gpu="A100", cuda="12.0", sm_list="sm_80")).verdict is UNKNOWN


def test_no_driver_older_than_a_board_is_tried_for_it() -> None:
    wheel = {"framework": "pytorch", "framework_version": "2.6.0+cu124"}
    assert check(Case(gpu="H200 NVL", **wheel)).verdict.runs
    assert check(Case(gpu="H100", **wheel)).verdict is UNKNOWN
    assert check(Case(gpu="H20", driver="525.60.13", **wheel)).verdict.runs  # a stated driver is not refused for it


# --- fields that cannot be read


@pytest.mark.parametrize(
    "case",
    [
        Case(gpu="A100", driver="450.51.06", image="a,b,c", cuda="12.4"),
        Case(gpu="A100", driver="450.51.06", image="sm_70;;sm_80", framework="torch", framework_version="2.6.0+cu124"),
        Case(gpu="A100", driver="450.51.06", framework="torch==2.6.0+câu124", cuda="12.4"),
    ],
)
def test_a_remedy_does_not_start_from_what_cannot_be_read(case: Case) -> None:
    answer = check(case)
    assert answer.verdict is NOT
    assert [each.rule for each in answer.findings].count("CASE") == 1
    assert answer.remedy is not None
