"""Any text gives findings or one clear error; lines and environments are right; waivers need a reason."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from rows import each_row

from imaging.lint.check import Report, lint
from imaging.lint.packages import installs
from imaging.lint.reading import LARGEST_BYTES, kind_of, read_recipe
from imaging.lint.recipe import Kind, LintContext, LintError, expand
from imaging.lint.rules.rule import DIGEST
from imaging.lint.shell import parse_shell, plain_text
from imaging.lint.waivers import waiver_from

BASE = f"FROM python:3.12-slim@{DIGEST}\n"
PIECES = [
    "FROM a", "FROM a AS b", "RUN ", "ENV A=b", "ARG ", "COPY . /x", "USER root", "ONBUILD ", "RUN [",
    '["a", "b"]', "\\\n", "`\n", "# escape=`", "<<EOF", "EOF", "pip install torch", "conda install -n x y",
    "&&", "|", ";", "$(", ")", "${A:-b}", "'", '"', "\n", " ", "{", "}", "\t", "rm -rf /", "git clone https://x/y",
    "%post", "Bootstrap: docker", "From: a:b", "docker run -p 80 x", "singularity exec --nv", "sh -c",
    "bash <<E\nx\nE", "@", "docker tag a", "é", "\u2028", "--mount=", "# gpu-commons lint ignore=D-ROOT",
    'reason="x"', "docker", "build", "push", "ipykernel", "-m", "apt-get", "install",
]  # fmt: skip
steps = st.lists(st.sampled_from(PIECES), max_size=6).map(lambda words: f"RUN {' '.join(words)}")
recipes = st.lists(steps, min_size=1, max_size=8).map(lambda lines: "\n".join(["FROM a", *lines]))
# Pieces alone are hardly ever a recipe: only one that is read has findings.
texts = st.one_of(st.text(max_size=300), st.lists(st.sampled_from(PIECES), max_size=40).map("".join), recipes)


def linted(text: str, kind: Kind | None = None, path: str = "Dockerfile") -> Report:
    return lint(text.encode(), path, LintContext(has_ignore_file=False), kind=kind)


def linted_or_error(data: bytes, path: str, kind: Kind | None) -> Report | str:
    """The report, or the text of the error. Anything else that is raised is a fault."""
    try:
        return lint(data, path, LintContext(has_ignore_file=False), kind=kind)
    except LintError as error:
        return str(error)


@given(text=texts, kind=st.sampled_from([None, *Kind]))
def test_any_text_gives_findings_or_one_clear_error(text: str, kind: Kind | None) -> None:
    report = linted_or_error(text.encode(), "Dockerfile", kind)
    if isinstance(report, str):
        assert report.startswith("Dockerfile:")
        return
    last = text.count("\n") + 1
    assert all(1 <= finding.line <= last for finding in report.findings)
    assert all(finding.message and finding.fix for finding in report.findings)


@given(data=st.binary(max_size=200))
def test_any_bytes_give_findings_or_one_clear_error(data: bytes) -> None:
    report = linted_or_error(data, "x", None)
    assert not isinstance(report, str) or report.startswith("x:")


@given(text=texts)
def test_findings_do_not_depend_on_the_line_ends(text: str) -> None:
    def places(ends: str) -> object:
        report = linted_or_error(text.replace("\r", "").replace("\n", ends).encode(), "Dockerfile", None)
        return report if isinstance(report, str) else [(found.rule, found.line) for found in report.findings]

    assert places("\n") == places("\r\n")


@each_row(
    ("data", "says"),
    [
        (b"", "Dockerfile: is empty"),
        (b" \n\t\n", "Dockerfile: is empty"),
        (b"# only a comment\n", "Dockerfile:1: has no instruction"),
        (b"\x7fELF\0\0", "Dockerfile: is binary"),
        (b"FROM a\n# \xff\n", "Dockerfile:2: is not UTF-8"),
        (b"FROM a\n" * (LARGEST_BYTES // 7 + 1), "Dockerfile: has more than"),
        (b"FROM a\nFORM b\n", 'Dockerfile:2: "FORM" is not an instruction; did you mean FROM? allowed are ADD'),
        (b"RUN x\n", "Dockerfile:1: RUN stands before the first FROM"),
        (b"ARG A=1\n", "Dockerfile:1: has no FROM"),
        (b"FROM\n", "Dockerfile:1: FROM has no arguments"),
        (b"hello world\n", 'Dockerfile:1: "hello" is not an instruction'),
    ],
)
def test_bad_input_gets_one_clear_error(data: bytes, says: str) -> None:
    with pytest.raises(LintError) as error:
        lint(data, "Dockerfile", LintContext())
    assert str(error.value).startswith(says)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("%post\n  x\n", "x.def:1: has no Bootstrap line"),
        ("Bootstrap: docker\nFrom: a\n%psot\n  x\n", 'x.def:3: "%psot" is not a section'),
    ],
)
def test_a_bad_definition_file_gets_one_clear_error(text: str, says: str) -> None:
    with pytest.raises(LintError, match=says.replace("%", "%")):
        linted(text, path="x.def")


@each_row(
    ("path", "text", "kind"),
    [
        ("Dockerfile", "x", Kind.DOCKERFILE),
        ("a/gpu.Dockerfile", "x", Kind.DOCKERFILE),
        ("Dockerfile.cuda12", "x", Kind.DOCKERFILE),
        ("Containerfile", "x", Kind.DOCKERFILE),
        ("tf.def", "x", Kind.DEFINITION),
        ("Singularity.1.7", "x", Kind.DEFINITION),
        ("job.sbatch", "x", Kind.SCRIPT),
        ("job", "#!/bin/bash\n", Kind.SCRIPT),
        ("-", "# a\nBootstrap: docker\nFrom: x\n", Kind.DEFINITION),
        ("-", "ARG A\nFROM b\n", Kind.DOCKERFILE),
        ("notes.md", "# Notes\n\nInstall it.\n", Kind.SCRIPT),
    ],
)
def test_the_kind_of_a_file_follows_from_its_name_else_from_its_content(path: str, text: str, kind: Kind) -> None:
    assert kind_of(path, text) is kind


def test_every_word_of_a_long_run_keeps_its_line() -> None:
    text = f"{BASE}RUN set -eu; \\\n  # why\n  pip install \\\n\n    torch \\\n    'jax' && \\\n  echo x\nUSER 1\n"
    (run, _) = read_recipe(text.encode(), "Dockerfile").stages[0].instructions
    assert [(word.text, word.line) for command in run.commands for word in command.words] == [
        ("set", 2), ("-eu", 2), ("pip", 4), ("install", 4), ("torch", 6), ("jax", 7), ("echo", 8), ("x", 8),
    ]  # fmt: skip


def test_wrappers_are_taken_off_and_environments_followed() -> None:
    text = (
        "sudo -u me env A=1 pip install a\n"
        "conda run -n tf --no-capture-output pip install b\n"
        "source activate old\n"
        "pip x\n"
    )
    recipe = read_recipe(text.encode(), "x.sh")
    assert [(command.program, command.environment) for command in recipe.commands] == [
        ("pip", ""), ("pip", "tf"), ("source", ""), ("pip", "old"),
    ]  # fmt: skip


def test_a_page_of_notes_is_read_in_its_code_blocks_only() -> None:
    page = "# Notes\n\nDon't pip install requirements.txt\n\n```sh\n$ pip install requirements.txt\n```\n"
    assert [finding.line for finding in linted(page, path="notes.md").findings] == [6]


@each_row(
    ("text", "value"),
    [("$A", "1"), ("${A}x", "1x"), ("${B:-2}", "2"), ("${A:+3}", "3"), ("${B:+3}", ""), ("$B", "$B"), (r"\$A", r"\$A")],
)
def test_known_variables_are_filled_in(text: str, value: str) -> None:
    assert expand(text, {"A": "1"}) == value


class TestWaivers:
    WAIVER = '# gpu-commons lint ignore=D-ROOT reason="a course needs it"\n'

    def test_a_comment_above_a_line_waives_it_and_keeps_its_reason(self) -> None:
        report = linted(f"{self.WAIVER}{BASE}")
        assert not report.findings
        assert [(finding.rule, waiver.reason) for finding, waiver in report.waived] == [("D-ROOT", "a course needs it")]

    def test_it_covers_the_whole_instruction_below_and_nothing_else(self) -> None:
        ours = '# gpu-commons lint ignore=D-FRAMEWORK,D-CACHE reason="nightly by intent"\n'
        report = linted(f"{BASE}{ours}RUN pip install \\\n  torch\nRUN pip install jax\nUSER 1\n")
        assert {(finding.rule, finding.line) for finding in report.findings} == {("D-FRAMEWORK", 5), ("D-CACHE", 5)}
        assert len(report.waived) == 2

    def test_an_unused_waiver_is_reported(self) -> None:
        assert [waiver.line for waiver in linted(f"{self.WAIVER}{BASE}USER 1\n").unused] == [1]

    @each_row(
        ("comment", "says"),
        [
            ("# gpu-commons lint ignore=D-ROOT", "Dockerfile:1: this waiver has no reason"),
            ('# gpu-commons lint ignore=D-ROOT reason=" "', "Dockerfile:1: this waiver has no reason"),
            ("# gpu-commons lint disable D-ROOT", "Dockerfile:1: this waiver cannot be read"),
            ('# gpu-commons lint ignore=D-ROTO reason="x"', "did you mean D-ROOT"),
        ],
    )
    def test_one_without_reason_or_rule_is_refused(self, comment: str, says: str) -> None:
        with pytest.raises(LintError, match=says):
            linted(f"{comment}\n{BASE}")

    @pytest.mark.parametrize("option", ["D-ROOT", "D-ROOT=", "D-ROOT= "])
    def test_an_option_without_reason_is_refused(self, option: str) -> None:
        with pytest.raises(LintError, match="has no reason"):
            waiver_from(option)


@each_row(
    "text",
    [
        *(
            "torch",
            "Torch_Vision",
            "torch==2.6.0",
            "torch==2.6.0+cu124",
            "jax[cuda12]==0.4.30",
            "jax[a, b_c]",
            "x==1.0rc1",
        ),
        *(
            "x==1.0.post0",
            "x==2.*",
            "x===1.0",
            "x~=1.4.2",
            "x~=1.4",
            "x>=1",
            "x==1,<2",
            "x==abc",
            "./x",
            "x.",
            "https://h/x",
        ),
        *("x @ https://h/x.whl", "x==1; python_version<'3.9'", "-", "a b", "x==1.x", "x[]==1", "x==1.0+CU"),
    ],
)
def test_common_requirements_are_read_as_the_parser_reads_them(text: str) -> None:
    (install,) = installs(parse_shell(plain_text(f'pip install "{text}"')))
    found = [(each.name, each.version, each.is_pinned, each.extras) for each in install.packages]
    try:
        wanted = Requirement(text)
    except InvalidRequirement:
        assert not found
        return
    pins = [("==", 0), ("===", 0), ("~=", 2)]  # operator, and how many dots make it one version
    exact = [
        each for each in wanted.specifier if any(each.operator == o and each.version.count(".") >= n for o, n in pins)
    ]
    version = exact[0].version if exact else ""
    pinned = bool(exact) or wanted.url is not None
    assert found == [(canonicalize_name(wanted.name), version, pinned, frozenset(wanted.extras))]


@pytest.mark.slow
def test_the_linter_starts_without_the_engine_and_without_parsers_that_a_file_does_not_need() -> None:
    program = (
        "import sys\n"
        "from cli.__main__ import commands\n"
        "commands(['image', 'lint', sys.argv[1]], standalone_mode=False)\n"
        "print(' '.join(sys.modules))"
    )

    def loaded(file: str) -> set[str]:
        path = Path(__file__).parent / "inputs" / file
        done = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True)
        return set(done.stdout.splitlines()[-1].split())

    heavy = {
        "pydantic",
        "yaml",
        "httpx",
        "rich",
        "packaging.requirements",
        "packaging.utils",
        "compat.verdict.answer",
    }
    assert not loaded("clean/Dockerfile") & heavy
    assert "tree_sitter_containerfile" not in loaded("clean/job.sbatch") | loaded("clean/clean.def")
