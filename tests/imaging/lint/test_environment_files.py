"""Requirements, environments of conda and pyproject.toml: alone, and as what a recipe installs from."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rows import each_row

from imaging.lint.check import Report, lint
from imaging.lint.recipe import Kind, LintContext, LintError
from imaging.lint.rules.rule import DIGEST

CASES = Path(__file__).parent / "cases"
BASE = f"FROM python:3.12-slim@{DIGEST}\n"
INSTALLS = "RUN pip install --no-cache-dir -r requirements.txt\nUSER 1\n"
CONDA = "channels: [conda-forge]\ndependencies:\n"


def linted(name: str, text: str, **files: str) -> Report:
    """`files`: of the build context, by name with `_` for `.` and `__` for `/`."""
    context = {key.replace("__", "/").replace("_", "."): content.encode() for key, content in files.items()}
    return lint(text.encode(), name, LintContext(has_ignore_file=True, read=context.get))


def places(report: Report) -> list[tuple[str, int]]:
    return [(finding.rule, finding.line) for finding in report.all]


def everywhere(report: Report) -> list[tuple[str, str, int]]:
    return [(each.path, *place) for each in (report, *report.beside) for place in places(each)]


@each_row(
    ("name", "text", "found"),
    [
        ("requirements.txt", "torch==2.6.0\npandas\n", []),
        ("requirements.txt", "# why\n\ntorch>=2  # newest\n", [("D-FRAMEWORK", 3)]),
        ("requirements-gpu.txt", "torch>=2 ; python_version > '3.9'\n", [("D-FRAMEWORK", 1)]),
        ("dev-requirements.in", "numpy\\\n==2.1.0\njax[cuda12]\n", [("D-FRAMEWORK", 3)]),
        ("requirements.txt", "torch==2.6.0 \\\n    --hash=sha256:00\nvllm\n", [("D-FRAMEWORK", 3)]),
        ("requirements.txt", "-c lock.txt\ntorch\n", []),
        ("requirements.txt", "git+https://github.com/x/y@main\n", [("D-LATEST", 1)]),
        ("requirements.txt", "--index-url https://u:hunter2@x/simple\nnumpy\n", [("D-SECRET", 1)]),
        ("requirements.txt", "trl[vllm]==0.19.0\n", [("D-FRAMEWORK", 1)]),
        ("requirements.txt", "", []),
        ("requirements/base.txt", "torch\n", [("D-FRAMEWORK", 1)]),
        ("requirements.txt", "# note \\\ntorch\n", [("D-FRAMEWORK", 2)]),
        ("requirements.txt", "-i https://u:pw1@x/a\n-f https://u:pw2@x/b\n", [("D-SECRET", 1), ("D-SECRET", 2)]),
        ("environment.yml", f"{CONDA}  - tensorflow >=2,<3\n", [("D-FRAMEWORK", 3)]),
        ("environment.yml", f"{CONDA}  - pytorch-cuda>=118\n  - pip: 5\n", [("D-LIBRARIES", 3)]),
        ("environment.yml", "channels: conda-forge\ndependencies:\n  - pip: vllm\n", [("D-FRAMEWORK", 3)]),
        ("environment.yml", "dependencies: [a]\nchannels:\n  - https://u:hunter2@x/conda\n", [("D-SECRET", 3)]),
        ("environment.yml", f"{CONDA}  - pytorch=2.5=cuda12*\n  - pip\n  - pip:\n    - vllm\n", [("D-FRAMEWORK", 6)]),
        ("environment.yaml", f"{CONDA}  - cudatoolkit\n  - pytorch 2.1.* cuda*\n", [("D-LIBRARIES", 3)]),
        ("conda-linux.yml", f"{CONDA}  - python=3.12\n  - numpy\n", []),
        ("pyproject.toml", '[project]\ndependencies = [\n  "numpy",\n  "torch>=2",\n]\n', [("D-FRAMEWORK", 4)]),
        ("pyproject.toml", '[project.optional-dependencies]\ngpu = ["cupy-cuda12x"]\n', [("D-FRAMEWORK", 2)]),
        ("pyproject.toml", '[dependency-groups]\ngpu = [{include-group = "a"}, "vllm"]\n', [("D-FRAMEWORK", 2)]),
        ("pyproject.toml", '[tool.poetry.dependencies]\npython = "^3.11"\ntorch = "^2.5"\n', [("D-FRAMEWORK", 3)]),
        ("pyproject.toml", '[tool.poetry.dependencies]\ntorch = {version = "2.5.1"}\n', []),
        ("pyproject.toml", '[tool.poetry.dependencies]\ntorch = "==2.5.1"\n', []),
        ("pyproject.toml", '[tool.poetry.dependencies]\ntorch = [{version = "2.5.1"}, {version = "2.6.0"}]\n', []),
        ("pyproject.toml", '[tool.poetry.dependencies]\ntorch = {git = "https://x/y", tag = "v2.5.1"}\n', []),
        ("pyproject.toml", '[tool.poetry.dependencies]\ntorch-scatter = "^2"\ntorch = "^2"\n', [("D-FRAMEWORK", 3)]),
        ("pyproject.toml", '[project]\nname = "torch-app"\ndependencies = ["torch"]\n', [("D-FRAMEWORK", 3)]),
        ("pyproject.toml", '[[tool.uv.index]]\nurl = "https://u:hunter2@x/simple"\n', [("D-SECRET", 2)]),
    ],
)  # fmt: skip
def test_an_environment_file_is_read_as_what_it_installs(name: str, text: str, found: list[tuple[str, int]]) -> None:
    report = linted(name, text)
    assert report.kind is Kind.ENVIRONMENT
    assert places(report) == found


def test_a_lock_file_beside_a_project_has_its_versions() -> None:
    text = '[project]\ndependencies = ["torch>=2"]\n'
    assert places(linted("pyproject.toml", text)) == [("D-FRAMEWORK", 2)]
    assert places(linted("pyproject.toml", text, uv_lock="")) == []


def test_a_lower_bound_says_what_it_asks_of_a_host() -> None:
    (cuda, torch) = linted("environment.yml", (CASES / "course-environment.yml").read_text()).all
    assert (cuda.line, torch.line) == (4, 5)
    says = "at least CUDA 12.9, which needs driver 525.60.13 or newer and compute capability 5.0 or newer"
    assert says in cuda.message
    assert "no exact version" in torch.message
    assert "driver 525.60.13" in torch.message


@each_row(
    ("copied", "installed", "read"),
    [
        ("COPY requirements.txt ./\n", "requirements.txt", "requirements.txt"),
        ("COPY requirements.txt /tmp/r.txt\n", "/tmp/r.txt", "requirements.txt"),
        ("COPY deps/requirements.txt x.txt /opt/\n", "/opt/requirements.txt", "deps/requirements.txt"),
        ("COPY . /app\nWORKDIR /app\n", "deps/requirements.txt", "deps/requirements.txt"),
        ("COPY deps /app/deps\n", "/app/deps/requirements.txt", "deps/requirements.txt"),
        ("COPY deps/*.txt /app/\n", "/app/requirements.txt", "deps/requirements.txt"),
        ("WORKDIR /app\nADD requirements.txt .\n", "requirements.txt", "requirements.txt"),
        ("ARG F=requirements.txt\nCOPY $F /\n", "/requirements.txt", "requirements.txt"),
    ],
)
def test_a_file_that_is_copied_and_installed_from_is_read_with_its_own_lines(
    copied: str, installed: str, read: str
) -> None:
    text = f"{BASE}{copied}RUN pip install --no-cache-dir -r {installed}\nUSER 1\n"
    report = linted("Dockerfile", text, **{read.replace("/", "__").replace(".", "_"): "numpy\ntorch\n"})
    assert [each for each in everywhere(report) if each[1] != "D-ORDER"] == [(read, "D-FRAMEWORK", 2)]


def test_a_mounted_file_is_read() -> None:
    run = "RUN --mount=type=bind,source=deps,target=/deps pip install --no-cache-dir -r /deps/r.txt\nUSER 1\n"
    assert everywhere(linted("Dockerfile", BASE + run, deps__r_txt="torch\n")) == [("deps/r.txt", "D-FRAMEWORK", 1)]


def test_a_file_that_cannot_be_read_is_told_and_the_recipe_is_linted_all_the_same() -> None:
    text = f"{BASE}COPY environment.yml /\nRUN conda env create -f /environment.yml && pip install torch\nUSER 1\n"
    report = linted("Dockerfile", text, environment_yml="name: {{ name }}\n")
    assert ("Dockerfile", "D-FRAMEWORK", 3) in everywhere(report)
    (told,) = report.left_out
    assert told.startswith("environment.yml:1: ")


def test_a_file_of_powershell_is_read() -> None:
    data = "torch\n".encode("utf-16")
    report = lint(data, "requirements.txt", LintContext())
    assert places(report) == [("D-FRAMEWORK", 1)]


def test_nested_files_are_read_beside_the_file_that_names_them() -> None:
    text = f"{BASE}COPY . /app\nWORKDIR /app\nRUN pip install --no-cache-dir -r requirements/dev.txt\nUSER 1\n"
    files = {"requirements__dev_txt": "-rbase.txt\n", "requirements__base_txt": "torch\n", "base_txt": "vllm\n"}
    found = everywhere(linted("Dockerfile", text, **files))
    assert [each for each in found if each[1] == "D-FRAMEWORK"] == [("requirements/base.txt", "D-FRAMEWORK", 1)]


def test_the_requirements_of_an_environment_of_conda_are_read_in_a_build_too() -> None:
    text = f"{BASE}COPY . /\nRUN conda env create -n base -f /environment.yml && conda clean -afy\nUSER 1\n"
    files = {"environment_yml": f"name: a\n{CONDA}  - pip: [-r requirements.txt]\n", "requirements_txt": "vllm\n"}
    assert ("requirements.txt", "D-FRAMEWORK", 1) in everywhere(linted("Dockerfile", text, **files))


def test_a_copy_from_a_stage_hides_the_file_of_the_context() -> None:
    text = f"{BASE}COPY requirements.txt /\nCOPY --from=lock /requirements.txt /requirements.txt\n"
    report = linted(
        "Dockerfile", f"{text}RUN pip install --no-cache-dir -r /requirements.txt\nUSER 1\n", requirements_txt="torch\n"
    )
    assert everywhere(report) == []


def test_a_project_is_read_as_far_as_it_is_installed() -> None:
    project = '[project]\ndependencies = ["numpy"]\n[project.optional-dependencies]\ngpu = ["torch"]\n'
    groups = f'{project}[dependency-groups]\ndev = ["vllm"]\n'
    for wanted, found in ((".", []), (".[gpu]", [("pyproject.toml", "D-FRAMEWORK", 4)]), ("--no-deps .[gpu]", [])):
        text = f"{BASE}COPY pyproject.toml /\nRUN pip install --no-cache-dir {wanted}\nUSER 1\n"
        assert everywhere(linted("Dockerfile", text, pyproject_toml=groups)) == found


def test_a_file_of_another_stage_or_outside_the_context_is_not_read() -> None:
    other = f"{BASE}COPY --from=build /requirements.txt ./\n{INSTALLS}"
    assert everywhere(linted("Dockerfile", other, requirements_txt="torch\n")) == []
    outside = f"{BASE}COPY ../requirements.txt ./\n{INSTALLS}"
    assert linted("Dockerfile", outside, **{"../requirements_txt": "torch\n"}).beside == ()


def test_a_file_may_name_further_files_and_even_itself() -> None:
    files = {"requirements_txt": "-r more.txt\n-r requirements.txt\n", "more_txt": "numpy\ntorch\n"}
    report = linted("Dockerfile", f"{BASE}COPY *.txt ./\n{INSTALLS}", **files)
    assert everywhere(report) == [("more.txt", "D-FRAMEWORK", 2)]


def test_rules_see_base_command_and_file_together() -> None:
    text = f"FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04@{DIGEST}\nCOPY requirements.txt ./\n{INSTALLS}"
    report = linted("Dockerfile", text, requirements_txt="tensorflow==2.16.1\n")
    assert everywhere(report) == [("requirements.txt", "D-MISSING", 1)]
    found = linted("Dockerfile", text, requirements_txt="numpy\ntorch==2.6.0\n")
    assert everywhere(found) == [("requirements.txt", "D-TWICE", 2)]
    assert "line 1 of Dockerfile," in found.beside[0].all[0].message


def test_an_index_on_the_command_line_counts_for_the_file() -> None:
    run = "RUN pip install --no-cache-dir -i https://download.pytorch.org/whl/cpu -r requirements.txt\nUSER 1\n"
    text = f"FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04@{DIGEST}\nCOPY requirements.txt ./\n{run}"
    assert everywhere(linted("Dockerfile", text, requirements_txt="torch==2.6.0\n")) == []


def test_an_environment_of_conda_is_read_where_a_build_makes_it() -> None:
    text = f"{BASE}COPY environment.yml /\nRUN conda env create -f /environment.yml && conda clean -afy\nUSER 1\n"
    report = linted("Dockerfile", text, environment_yml=f"name: a\n{CONDA}  - pytorch=2.5.1\n  - pip:\n    - jax\n")
    assert everywhere(report) == [("environment.yml", "D-CPUBUILD", 4), ("environment.yml", "D-FRAMEWORK", 6)]


def test_a_project_that_is_installed_is_read() -> None:
    text = f"{BASE}COPY . /app\nRUN cd /app && pip install --no-cache-dir .[gpu]\nUSER 1\n"
    project = '[project]\ndependencies = ["torch"]\n'
    report = linted("Dockerfile", text, pyproject_toml=project, uv_lock="")  # pip reads no lock file
    assert ("pyproject.toml", "D-FRAMEWORK", 2) in everywhere(report)


def test_a_comment_in_the_file_waives_a_rule_there() -> None:
    waiver = '# gpu-commons lint ignore=D-FRAMEWORK reason="the newest is meant"\n'
    report = linted("Dockerfile", f"{BASE}COPY requirements.txt ./\n{INSTALLS}", requirements_txt=f"{waiver}torch\n")
    assert everywhere(report) == []
    assert [(finding.rule, each.reason) for finding, each in report.beside[0].waived] == [
        ("D-FRAMEWORK", "the newest is meant")
    ]


@each_row(
    ("name", "text", "message"),
    [
        ("environment.yml", "dependencies: [a\n", "environment.yml:"),
        ("environment.yml", "name: a\n", "environment.yml:1: has no list `dependencies`"),
        ("pyproject.toml", "[project\n", "pyproject.toml:1: is not TOML"),
    ],
)
def test_a_file_that_cannot_be_read_is_one_clear_error(name: str, text: str, message: str) -> None:
    with pytest.raises(LintError) as error:
        linted(name, text)
    assert str(error.value).startswith(message)
    assert ";" in str(error.value)


@given(st.text(max_size=300), st.sampled_from(["requirements.txt", "environment.yml", "pyproject.toml"]))
def test_no_text_breaks_the_reader(text: str, name: str) -> None:
    try:
        report = linted(name, text)
    except LintError as error:
        assert str(error).startswith(name)  # noqa: PT017 - either a report or this error
    else:
        assert report.kind is Kind.ENVIRONMENT


# The cases that came from public reports, with what must be said of each.
EXPECTED = {
    "conda-cpu-build.Dockerfile": [("D-CPUBUILD", 2, "CONDA_OVERRIDE_CUDA")],
    "conda-cudatoolkit.Dockerfile": [("D-LIBRARIES", 2, "cudatoolkit"), ("D-SUBSTITUTION", 3, "$(…)")],
    "course-environment.yml": [("D-LIBRARIES", 4, "cuda-version"), ("D-FRAMEWORK", 5, "pytorch")],
    "dated-tag.Dockerfile": [("D-TWICE", 2, "the base image (CUDA 12)")],
    "nvtop.Dockerfile": [("D-DRIVER", 2, "libnvidia-compute")],
    "tensorflow-without-cuda.Dockerfile": [("D-MISSING", 2, "cuDNN")],
    "ubuntu-24-04.Dockerfile": [("D-UID", 2, "1000"), ("D-VENV", 2, "externally-managed-environment")],
    "unquoted-lower-bound.Dockerfile": [("D-FRAMEWORK", 2, "torch"), ("D-QUOTE", 2, ">=4.45")],
}


@each_row("name", EXPECTED)
def test_a_case_of_a_public_report_gets_its_answer(name: str) -> None:
    path = CASES / name
    found = lint(path.read_bytes(), path.name, LintContext(has_ignore_file=True)).all
    assert [(each.rule, each.line) for each in found] == [(rule, line) for rule, line, _ in EXPECTED[name]]
    assert all(text in each.message + each.fix for each, (_, _, text) in zip(found, EXPECTED[name], strict=True))


def test_what_lies_beside_a_definition_file_is_read() -> None:
    path = CASES / "definition" / "image.def"
    files = {each.name: each.read_bytes() for each in path.parent.iterdir()}
    report = lint(path.read_bytes(), path.name, LintContext(read=files.get))
    assert everywhere(report) == [("requirements.txt", "D-FRAMEWORK", 1)]
