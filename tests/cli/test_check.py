"""`gpu-commons check` with one case."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from click.testing import Result
from rows import each_row

from cli.check.fields import case_fields
from compat.evidence.case import FIELDS

Run = Callable[..., Result]
RUNS = ("check", "--gpu", "RTX 2080 Ti", "--driver", "418.88", "--cuda", "10.1")
DOES_NOT = ("check", "--gpu", "GTX 1080 Ti", "--driver", "418.88", "--image", "nvidia/cuda:10.2-runtime-ubuntu18.04")


def test_what_runs_ends_with_0_and_says_so_first(run: Run) -> None:
    result = run(*RUNS)
    assert result.exit_code == 0
    assert result.stdout.startswith("✓ compatible\n")
    assert not result.stderr


def test_what_does_not_run_ends_with_1_and_names_rule_source_and_change(run: Run) -> None:
    result = run(*DOES_NOT)
    assert result.exit_code == 1
    assert result.stdout.startswith("✕ incompatible\n")
    assert "R-BACK" in result.stdout
    assert "https://docs.nvidia.com/" in result.stdout
    last = result.stdout.splitlines()[-1]
    assert last.startswith("  change")
    assert "10.1" in last
    assert "440.33" in last


def test_an_answer_says_what_it_was_judged_by(run: Run) -> None:
    t4 = ("check", "--gpu", "T4", "--driver", "535.183.01")
    assert "  judged by its name\n" in run(*t4, "--image", "nvidia/cuda:12.4.1-base-ubuntu22.04").stdout
    assert "  judged by what is said of it\n" in run(*t4, "--cuda", "12.4").stdout


def test_what_is_not_known_ends_with_1(run: Run) -> None:
    result = run("check", "--gpu", "T4", "--cuda", "12.4")
    assert result.exit_code == 1
    assert result.stdout.startswith("? unknown\n")


def test_json_has_the_fields_of_the_design_and_no_others(run: Run) -> None:
    answer = json.loads(run(*DOES_NOT, "--id", "mine", "--json").stdout)
    assert list(answer) == ["id", "verdict", "findings", "remedy", "basis"]
    assert answer["id"] == "mine"
    assert answer["verdict"] == "incompatible"
    assert list(answer["findings"][0]) == ["rule", "severity", "message", "fact", "source", "date", "places"]
    assert list(answer["remedy"]) == ["text", "changes", "otherwise"]
    assert all(list(change) == ["field", "from", "to"] for change in answer["remedy"]["changes"])


def test_the_remedy_is_null_if_nothing_has_to_change(run: Run) -> None:
    assert json.loads(run(*RUNS, "--json").stdout)["remedy"] is None


def test_every_field_of_a_case_is_an_option_with_a_text(run: Run) -> None:
    help_text = run("check", "--help").stdout
    assert [field.name for field in case_fields()] == list(FIELDS)
    assert not [field.option for field in case_fields() if field.option not in help_text]
    assert not [field.name for field in case_fields() if not field.text]


@pytest.mark.parametrize(
    ("option", "value", "says"),
    [
        ("--gpu", "big red one", '"big red one" is not a GPU model of the tables'),
        ("--gpu", "", "gpu: is missing"),
    ],
)
def test_a_gpu_that_cannot_be_read_is_named_as_an_option_and_ends_with_2(
    run: Run, option: str, value: str, says: str
) -> None:
    options = {"--gpu": "T4", "--driver": "535.54.03", "--cuda": "12.2", "--framework": "torch", option: value}
    result = run("check", *(word for pair in options.items() for word in pair))
    assert result.exit_code == 2
    assert says in result.stderr
    assert f"{option}: " in result.stderr
    assert not result.stdout


@pytest.mark.slow
@each_row(
    ("option", "value", "says"),
    [
        ("--driver", "latest", 'driver: "latest" is not a driver version such as 418.88'),
        ("--driver", "12", '"12" is not a driver version'),
        ("--driver", "418.8x", '"418.8x" is not a driver version'),
        ("--driver", "-535", '"-535" is not a driver version'),
        ("--cuda", "cu999", '"cu999" is no CUDA line of the tables'),
        ("--cuda", "latest", '"latest" is not a CUDA version such as'),
        ("--cuda", "-12.2", '"-12.2" is not a CUDA version such as'),
        ("--cudnn", "eight", '"eight" is not a version'),
        ("--container-toolkit", "-1.17", '"-1.17" is not a version'),
        ("--image-glibc", "-2.31", '"-2.31" is not a version'),
        ("--host", "vmware", '"vmware" is not one of bare, docker'),
        ("--os", "TempleOS", '"TempleOS" is not one of linux, windows'),
        ("--framework-version", "latest", '"latest" is not a version'),
        ("--image", "https://example.org/image?", "is not an image reference"),
        ("--sm-list", "sm_7O", '"sm_7O" is not a target'),
        ("--sm-list", "-70", '"-70" is not a target'),
    ],
)
def test_a_field_that_cannot_be_read_counts_as_not_given_and_a_note_says_so(
    run: Run, option: str, value: str, says: str
) -> None:
    options = {"--gpu": "T4", "--driver": "535.54.03", "--cuda": "12.2", "--framework": "torch"}
    odd = run("check", *(word for pair in {**options, option: value}.items() for word in pair), "--json")
    notes = [each for each in json.loads(odd.stdout)["findings"] if each["rule"] == "CASE"]
    assert [each["severity"] for each in notes] == ["note"]
    assert says in notes[0]["message"]
    assert notes[0]["message"].endswith("it counts as not given")
    if option == "--sm-list":  # it lists targets, only not which: without the list the toolkit would decide
        assert json.loads(odd.stdout)["verdict"] == "unknown"
        return
    left_out = {name: each for name, each in options.items() if name != option}
    without = run("check", *(word for pair in left_out.items() for word in pair), "--json")
    assert json.loads(odd.stdout)["verdict"] == json.loads(without.stdout)["verdict"]


def test_where_nothing_to_run_can_be_read_the_case_is_refused(run: Run) -> None:
    result = run("check", "--gpu", "T4", "--driver", "535.54.03", "--cuda", "cu999", "--os", "TempleOS")
    assert result.exit_code == 2
    assert '--cuda: "cu999" is no CUDA line of the tables' in result.stderr
    assert '--os: "TempleOS"' in result.stderr


def test_all_fields_that_cannot_be_read_are_named_at_once(run: Run) -> None:
    errors = run("check", "--gpu", "T5", "--driver", "latest", "--cuda", "cu999", "--host", "vmware").stderr
    assert not [option for option in ("--gpu", "--driver", "--cuda", "--host") if f"{option}: " not in errors]


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--gpu", "-4"),
        ("--cuda", "-12.2"),
        ("--sm-list", "-70"),
    ],
)
def test_a_negative_number_alone_is_refused(run: Run, option: str, value: str) -> None:
    result = run("check", *(word for pair in {"--gpu": "T4", option: value}.items() for word in pair))
    assert result.exit_code == 2
    assert f'{option}: "{value}" ' in result.stderr


@each_row("driver", ["418.88.00", " v418.88 ", "418.88", "driver 418.88"])
def test_forms_of_a_driver_that_people_write_are_read(run: Run, driver: str) -> None:
    assert run("check", "--gpu", "2080 ti", "--driver", driver, "--cuda", " v10.1 ").exit_code == 0


@each_row("driver", ["R418", "r418", "418", "418.x", " v418 "])
def test_a_branch_leaves_the_release_open_which_counts_only_where_the_floor_is_in_it(run: Run, driver: str) -> None:
    arguments = ("check", "--gpu", "2080 ti", "--driver", driver, "--cuda")
    assert run(*arguments, "10.0").stdout.startswith("✓ compatible\n")  # every release of the branch is supported
    assert "NVIDIA lists driver 418.39 for CUDA 10.1; other releases of its branch" in run(*arguments, "10.1").stdout
    assert run(*arguments, "10.2").exit_code == 1


@each_row("gpu", ["2080ti", "2080 Ti", "RTX2080TI", "NVIDIA-GeForce-RTX-2080-Ti", " rtx 2080 ti 11gb "])
def test_a_gpu_by_a_nickname_is_the_gpu(run: Run, gpu: str) -> None:
    assert run("check", "--gpu", gpu, "--driver", "R535", "--cuda", "v12.2").exit_code == 0


@pytest.mark.parametrize(("driver", "verdict"), [("580.65.06", "compatible"), ("410.48", "incompatible")])
def test_a_cuda_major_version_is_answered_if_all_its_releases_agree(run: Run, driver: str, verdict: str) -> None:
    assert (
        verdict
        == json.loads(run("check", "--gpu", "T4", "--driver", driver, "--cuda", "12", "--json").stdout)["verdict"]
    )


def test_a_tag_that_moves_is_unknown_and_says_so(run: Run) -> None:
    result = run("check", "--gpu", "T4", "--driver", "535.54.03", "--image", "ghcr.io/somebody/lab:latest")
    assert result.exit_code == 1
    assert result.stdout.startswith("? unknown\n")
    assert "ghcr.io/somebody/lab:latest" in result.stdout


def test_a_gpu_by_a_misspelt_name_gets_the_nearest_ones(run: Run) -> None:
    assert "did you mean" in run("check", "--gpu", "Titn", "--cuda", "10.1").stderr


def test_a_driver_newer_than_the_tables_is_answered_by_rule_with_a_warning(run: Run) -> None:
    result = run("check", "--gpu", "T4", "--driver", "999.01", "--cuda", "12.4")
    assert result.exit_code == 0
    assert result.stdout.startswith("! compatible with warning\n")
    assert "newer than the tables" in result.stdout


def test_a_wheel_that_brings_another_cuda_than_its_image_is_answered_with_which_one_counts(run: Run) -> None:
    image = ("--image", "nvidia/cuda:12.4.1-base-ubuntu22.04")
    wheel = ("--framework", "torch", "--framework-version", "2.6.0+cu118")
    output = run("check", "--gpu", "T4", "--driver", "535.54.03", *image, *wheel).stdout
    assert "11.8" in output
    assert "12.4" in output
    assert "counts" in output


def test_a_batch_takes_no_fields_beside_it(run: Run) -> None:
    result = run("check", "--batch", "-", "--gpu", "T4", stdin=b"")
    assert result.exit_code == 2
    assert "leave out --gpu" in result.stderr


@pytest.mark.parametrize("arguments", [("--gpu",), ("--gpo", "T4"), ("--batch", "/no/such/file")])
def test_a_wrong_call_ends_with_2_and_leaves_stdout_empty(run: Run, arguments: tuple[str, ...]) -> None:
    result = run("check", *arguments)
    assert result.exit_code == 2
    assert not result.stdout
