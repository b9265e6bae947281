"""`gpu-commons check --batch`: whatever is on a line, it gets one answer, and the next line too."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from click.testing import Result
from rows import each_row

from cli.check import batch as module
from compat import CaseError

Batch = Callable[[bytes], tuple[Result, list[dict[str, Any]]]]
GOOD = b'{"id": "a", "gpu": "T4", "driver": "535.54.03", "cuda": "12.2"}\n'
BAD = b'{"id": "b", "gpu": "GTX 1080 Ti", "driver": "418.88", "cuda": "10.2"}\n'
PROJECT = Path(__file__).resolve().parents[2]


def test_one_line_in_is_one_line_out_in_order(batch: Batch) -> None:
    result, answers = batch(GOOD + BAD + GOOD)
    assert [answer["id"] for answer in answers] == ["a", "b", "a"]
    assert [answer["verdict"] for answer in answers] == ["compatible", "incompatible", "compatible"]
    assert result.exit_code == 1
    assert result.stderr == "3 cases: 2 compatible, 1 incompatible\n"


def test_hosts_that_are_not_covered_and_prose_in_a_build_leave_a_batch_whole(batch: Batch) -> None:
    wsl = b'{"id": "wsl", "gpu": "RTX 4090", "driver": "560.94", "cuda": "12.4", "host": "wsl"}\n'
    jetson = b'{"id": "jetson", "gpu": "Jetson AGX Orin", "os": "l4t", "cuda": "12.4"}\n'
    prose = b'{"id": "prose", "gpu": "T4", "cuda": "12.2", "build": "built from source without sm_61"}\n'
    result, answers = batch(wsl + BAD + jetson + prose + GOOD)
    assert [answer["id"] for answer in answers] == ["wsl", "b", "jetson", "prose", "a"]
    verdicts = [answer["verdict"] for answer in answers]
    assert verdicts == ["unknown", "incompatible", "unknown", "unknown", "compatible"]
    for answer in (answers[0], answers[2]):
        assert [each["rule"] for each in answer["findings"]] == ["CASE"]
        assert "does not cover Windows, WSL or Jetson" in answer["findings"][0]["message"]
    assert "is none of: a pin (torch==2.6.0+cu124" in answers[3]["findings"][0]["message"]
    assert "line 4" in result.stderr


def test_all_fine_ends_with_0(batch: Batch) -> None:
    assert batch(GOOD * 3)[0].exit_code == 0


def test_an_answer_is_the_same_as_that_of_a_single_check(batch: Batch, run: Callable[..., Result]) -> None:
    (answer,) = batch(BAD)[1]
    single = run("check", "--id", "b", "--gpu", "GTX 1080 Ti", "--driver", "418.88", "--cuda", "10.2", "--json")
    assert answer == json.loads(single.stdout)


def test_without_remedies_all_else_is_the_same(run: Callable[..., Result], tmp_path: Path) -> None:
    cases = tmp_path / "cases.jsonl"
    cases.write_bytes(BAD)
    whole, short = (
        json.loads(run("check", "--batch", str(cases), *options).stdout) for options in ((), ("--no-remedy",))
    )
    assert whole["remedy"] is not None
    assert short == {**whole, "remedy": None}


def test_no_remedy_only_works_with_batches(run: Callable[..., Result]) -> None:
    refused = run("check", "--gpu", "T4", "--cuda", "12.2", "--no-remedy")
    assert refused.exit_code == 2
    assert "--no-remedy only works with --batch" in refused.stderr


def test_the_id_defaults_to_the_number_of_the_line_and_blank_lines_count(batch: Batch) -> None:
    _, answers = batch(b'\n{"gpu": "T4", "cuda": "12.2"}\n  \r\n{"id": 7, "gpu": "T4", "cuda": "12.2"}')
    assert [answer["id"] for answer in answers] == ["2", "7"]


@each_row(
    ("line", "says"),
    [
        (b'{"gpu": "T4", "cuda":\n', "is not JSON"),
        (b'{"gpu": "T4"', "is not JSON"),
        (b'["T4", "12.2"]\n', "is not a JSON object"),
        (b"12\n", "is not a JSON object"),
        (b"\x7fELF\x00\x01\xff\xfe\n", "is not UTF-8 text (byte 7)"),
        (b'{"gpu": "T\xe94", "cuda": "12.2"}\n', "is not UTF-8 text"),
        (b'{"gpu": "T4", "cuda": NaN}\n', "is not JSON"),
        (b'{"gpu": "T4", "cuda": "12.2", "drivr": "535"}\n', "drivr: is not a field of a case"),
        (b'{"gpu": "T4", "driver": 470.1, "cuda": "11.4"}\n', "quote it"),
        (b'{"gpu": "T4", "driver": "latest", "cuda": "cu999"}\n', '"cu999" is no CUDA line'),
        (b'{"gpu": {"model": "T4"}, "cuda": "12.2"}\n', "gpu: "),
        (b'{"id": ["x"], "gpu": "T4", "cuda": "12.2"}\n', "id: is neither text nor a number"),
        (b'{"id": "x", "env": ' + b"[" * 900 + b"]" * 900 + b"}\n", "is nested too deeply"),
        (b"[" * 100_000 + b"\n", "is not JSON"),
        (b'{"gpu": "' + b"T" * 2_000_000 + b'", "cuda": "12.2"}\n', "is longer than 1,048,576 bytes"),
        (b'{"gpu": "' + b"T" * 200_000 + b'", "cuda": "12.2"}\n', "is longer than 4000 characters"),
    ],
)
def test_a_line_that_is_not_a_case_is_reported_by_number_and_the_batch_continues(
    batch: Batch, line: bytes, says: str
) -> None:
    result, answers = batch(GOOD + line.rstrip(b"\n") + b"\n" + GOOD)
    assert [answer["verdict"] for answer in answers] == ["compatible", "unknown", "compatible"]
    assert len(answers[1]["findings"]) == 1
    finding = answers[1]["findings"][0]
    assert (finding["rule"], finding["severity"], finding["places"]) == ("CASE", "unknown", ["line 2"])
    assert says in finding["message"]
    lines = [lines for lines in result.stderr.splitlines() if lines.startswith("line ")]
    assert lines == [f"line 2: {finding['message']}"]
    assert result.stderr.endswith("1 line could not be read\n")
    assert result.exit_code == 1


def test_a_bad_line_keeps_its_id_if_that_can_be_read(batch: Batch) -> None:
    _, answers = batch(b'{"id": "mine", "gpu": "T4", "cuda": "cu999"}\n{"id": "broken", "gpu":\n')
    assert [answer["id"] for answer in answers] == ["mine", "2"]


def test_a_truncated_last_line_is_reported(batch: Batch) -> None:
    result, answers = batch(GOOD + GOOD[:30])
    assert [answer["id"] for answer in answers] == ["a", "2"]
    assert "line 2: is not JSON" in result.stderr


def test_an_empty_batch_is_no_finding_but_is_reported(batch: Batch) -> None:
    result, answers = batch(b"")
    assert (answers, result.exit_code) == ([], 0)
    assert result.stderr == "no cases: write one JSON object per line\n"


def test_a_byte_order_mark_and_carriage_returns_are_no_mistake(batch: Batch) -> None:
    _, answers = batch(b"\xef\xbb\xbf" + GOOD.replace(b"\n", b"\r\n"))
    assert [answer["verdict"] for answer in answers] == ["compatible"]


def test_equal_cases_are_answered_alike_whatever_the_order_of_their_fields(batch: Batch) -> None:
    cases = [b'{"id": "1", "gpu": "T4", "cuda": "12.2"}\n', b'{"cuda": "12.2", "gpu": "T4", "id": "2"}\n']
    first, second = batch(b"".join(cases))[1]
    assert {**first, "id": ""} == {**second, "id": ""}


def test_numbers_and_truth_that_are_equal_to_python_are_not_one_case(batch: Batch) -> None:
    _, (text, truth) = batch(b'{"gpu": "T4", "cuda": 12}\n{"gpu": "T4", "cuda": 12, "ptx": true}\n')
    assert text["verdict"] != "unknown" or text["findings"][0]["rule"] != "CASE"
    assert truth["findings"][0]["rule"] == "CASE"


def test_a_bug_costs_one_answer_and_not_the_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: object, **__: object) -> object:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr(module, "answered", broken)
    outcome = module.answer_line(3, b'{"gpu": "T4", "cuda": "12.3"}')
    assert outcome.verdict == "unknown"
    assert "a bug in gpu-commons: ZeroDivisionError" in outcome.problem
    assert not issubclass(ZeroDivisionError, CaseError)


def test_answers_that_are_kept_have_a_limit_in_bytes() -> None:
    kept = module._Answers(most=1000)  # noqa: SLF001 - its size cannot be seen from outside
    for index in range(100):
        kept.keep(b"%02d" % index, ("compatible", b"x" * 98))
    assert kept.get(b"99") == ("compatible", b"x" * 98)
    assert [index for index in range(100) if kept.get(b"%02d" % index)] == list(range(90, 100))


@pytest.mark.slow
def test_a_line_of_a_gigabyte_is_reported_and_never_held_in_memory(tmp_path: Path) -> None:
    file = tmp_path / "sparse.jsonl"
    with file.open("wb") as out:
        out.write(GOOD)
        out.truncate(1 << 30)
        out.seek(0, 2)
        out.write(b"\n" + GOOD)
    limit = "import resource; resource.setrlimit(resource.RLIMIT_AS, (400 << 20, 400 << 20))"
    program = f"{limit}\nimport sys; sys.argv[0] = 'gpu-commons'\nfrom cli.__main__ import main; main()"
    argv = [sys.executable, "-c", program, "check", "--batch", str(file)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, cwd=PROJECT)
    assert done.returncode == 1, done.stderr
    assert [json.loads(line)["id"] for line in done.stdout.splitlines()] == ["a", "2", "a"]
    assert done.stderr.startswith("line 2: is longer than 1,048,576 bytes\n")


@pytest.mark.slow
def test_a_gigabyte_of_cases_through_a_pipe_takes_the_memory_of_one_line() -> None:
    limit = "import resource; resource.setrlimit(resource.RLIMIT_AS, (400 << 20, 400 << 20))"
    program = f"{limit}\nimport sys; sys.argv[0] = 'gpu-commons'\nfrom cli.__main__ import main; main()"
    argv = [sys.executable, "-c", program, "check", "--batch", "-"]
    blanks = b" " * (1 << 20)  # JSON takes them anywhere
    size = number = 0
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=out, stderr=err, cwd=PROJECT) as it:
            assert it.stdin
            while size < 1 << 30:
                driver = b"%d.%02d" % (400 + number % 200, number % 100)
                case = b'{"gpu": "T4", "cuda": "12.2", "driver": "%b" ' % driver
                size += it.stdin.write(case + blanks[: module.LONGEST - len(case) - 2] + b"}\n")
                number += 1
            it.stdin.close()
            assert it.wait(timeout=60) == 1  # drivers before 525 do not run it
        out.seek(0)
        err.seek(0)
        assert [json.loads(line)["id"] for line in out] == [str(each) for each in range(1, number + 1)]
        assert err.read().startswith(f"{number:,} cases: ".encode())


def test_a_file_of_random_bytes_is_reported_line_by_line(batch: Batch) -> None:
    lines = Random(20261121).randbytes(50_000)
    result, answers = batch(lines)
    errors = [line for line in result.stderr.splitlines() if line.startswith("line ")]
    assert len(errors) == len(answers) > 100
    assert {answer["findings"][0]["rule"] for answer in answers} == {"CASE"}
    assert result.exit_code == 1


@pytest.mark.slow
def test_whoever_waits_for_an_answer_gets_it_before_the_next_case() -> None:
    argv = [sys.executable, "-m", "cli", "check", "--batch", "-"]
    with subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=PROJECT
    ) as it:
        assert it.stdin
        assert it.stdout
        for _ in range(2):
            it.stdin.write(GOOD)
            it.stdin.flush()
            assert json.loads(it.stdout.readline())["id"] == "a"
        it.stdin.close()
        assert it.wait() == 0
