"""`gpu-commons matrix`: stacks and lists, formats, exit codes."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from rows import each_row

from cli.json_lines import LONGEST

Run = Callable[..., Result]
PROJECT = Path(__file__).resolve().parents[2]
STACK = PROJECT / "stacks" / "Pulumi.dsmlp-fall.yaml"
T4 = {"name": "t4", "gpu": "Tesla T4", "driver": "535.54.03"}
OLD = {"name": "old", "gpu": "GTX 1080 Ti", "driver": "418.88"}
Lists = Callable[[Sequence[object], Sequence[object]], tuple[str, ...]]


@pytest.fixture
def lists(tmp_path: Path) -> Lists:
    """Options for two lists; text stands as it is, everything else as JSON."""

    def write(images: Sequence[object], pools: Sequence[object]) -> tuple[str, ...]:
        for name, lines in (("images", images), ("pools", pools)):
            texts = (line if isinstance(line, str) else json.dumps(line) for line in lines)
            (tmp_path / f"{name}.jsonl").write_text("".join(f"{text}\n" for text in texts))
        return "--images", str(tmp_path / "images.jsonl"), "--pools", str(tmp_path / "pools.jsonl")

    return write


@pytest.mark.parametrize("stack", ["dsmlp-fall", str(STACK)])
def test_a_stack_is_found_by_name_and_by_path(run: Run, stack: str) -> None:
    data = json.loads(run("matrix", "--stack", stack, "--json").stdout)
    assert [pool["name"] for pool in data["pools"]] == ["gtx1080ti", "rtx2080ti", "gtx1070ti"]
    assert {pool["driver"] for pool in data["pools"]} == {"418.88"}
    assert {pool["host"] for pool in data["pools"]} == {"kubernetes"}
    uses = {image["name"]: image["uses"] for image in data["images"]}
    assert [name for name, used in uses.items() if not used] == ["hub", "proxy", "datahub-base-notebook"]
    assert uses["scipy-ml-notebook"] == ["tensorflow 2.3.4, CUDA 10.1", "pytorch 1.7.1+cu101, CUDA 10.1"]
    assert len(data["answers"]) == 12


def test_a_pool_without_gpus_is_no_column_and_nodes_with_another_driver_are_one(run: Run) -> None:
    data = json.loads(run("matrix", "--stack", str(PROJECT / "tests/stacks/Pulumi.mixed.yaml"), "--json").stdout)
    assert [pool["name"] for pool in data["pools"]] == ["gtx1080ti", "gtx1080ti (n02)", "rtx2080ti"]
    assert [pool["driver"] for pool in data["pools"]] == ["418.88", "580.95.05", "418.88"]


def test_the_stack_of_the_site_runs_everywhere(run: Run) -> None:
    result = run("matrix", "--stack", "dsmlp-fall")
    assert result.exit_code == 0
    assert "every image runs on every pool" in result.stdout
    assert result.stdout.count("no GPU use") == 9


def test_a_stack_says_who_uses_an_image_on_a_pool(run: Run) -> None:
    data = json.loads(run("matrix", "--stack", "dsmlp-fall", "--json").stdout)
    used = {
        (each["image"], each["pool"]): [(use["kind"], use["name"]) for use in each["used_by"]]
        for each in data["answers"]
    }
    assert {place: uses for place, uses in used.items() if uses} == {
        ("hub", "gtx1080ti"): [("hub", "datahub")],
        ("proxy", "gtx1080ti"): [("proxy", "datahub")],
        ("datahub-base-notebook", "gtx1080ti"): [("profile", "cpu")],
        ("scipy-ml-notebook", "gtx1080ti"): [("profile", "gtx1080ti"), ("job", "gpu-smoke")],
        ("scipy-ml-notebook", "rtx2080ti"): [("profile", "rtx2080ti")],
    }
    (course,) = data["answers"][-2]["used_by"][0]["courses"]
    assert course == {"name": "deep-learning", "title": "Deep learning", "seats": 120, "last_day": "2020-12-18"}


def test_what_runs_on_a_pool_without_gpus_uses_no_cell(run: Run) -> None:
    data = json.loads(run("matrix", "--stack", str(PROJECT / "tests/stacks/Pulumi.mixed.yaml"), "--json").stdout)
    assert {each["image"] for each in data["answers"] if each["used_by"]} == {"scipy-ml-notebook"}


def test_a_job_without_a_pool_uses_every_pool_that_has_enough_gpus(run: Run, tmp_path: Path) -> None:
    stack = tmp_path / "Pulumi.free.yaml"
    text = STACK.read_text()
    job = text.index("- name: gpu-smoke")
    free = text[job:].replace("      pool: gtx1080ti\n", "", 1).replace("gpus: 1", "gpus: 8", 1)
    stack.write_text(text[:job] + free.replace("image, pool, gpus", "image, gpus", 1))
    data = json.loads(run("matrix", "--stack", str(stack), "--json").stdout)
    uses = {each["pool"]: [use["name"] for use in each["used_by"]] for each in data["answers"][-3:]}
    assert [pool for pool, names in uses.items() if "gpu-smoke" in names] == ["gtx1080ti", "rtx2080ti"]


def test_a_profile_of_several_pools_uses_each_of_them(run: Run, tmp_path: Path) -> None:
    stack = tmp_path / "Pulumi.both.yaml"
    text = STACK.read_text()
    for line in ("pool: rtx2080ti\n          gpus: 1", "image: datahub-base-notebook\n"):
        assert text.count(line) == 1
    text = text.replace("pool: rtx2080ti\n          gpus: 1", "pools: [rtx2080ti, gtx1070ti]\n          gpus: 1")
    text = text.replace(
        "image: datahub-base-notebook\n", "image: datahub-base-notebook\n          pools: [gtx1080ti, gtx1070ti]\n"
    )
    stack.write_text(text)
    data = json.loads(run("matrix", "--stack", str(stack), "--json").stdout)
    used = {(each["pool"], use["name"]) for each in data["answers"] for use in each["used_by"] if use["hub"]}
    assert used == {
        ("gtx1080ti", "cpu"), ("gtx1070ti", "cpu"), ("gtx1080ti", "gtx1080ti"), ("rtx2080ti", "rtx2080ti"),
        ("gtx1070ti", "rtx2080ti"),
    }  # fmt: skip


def test_the_page_is_written_beside_the_table(run: Run, tmp_path: Path) -> None:
    page = tmp_path / "out.html"
    result = run("matrix", "--stack", "dsmlp-fall", "--html", str(page))
    assert result.stderr == f"wrote {page}\n"
    assert "scipy-ml-notebook" in result.stdout
    assert page.read_text().startswith("<!doctype html>")
    assert run("matrix", "--stack", "dsmlp-fall", "--html", "-").stdout.startswith("<!doctype html>")


def test_two_lists_make_a_matrix_and_one_failing_pair_ends_with_1(run: Run, lists: Lists) -> None:
    images = [{"name": "a", "cuda": "12.2"}, {"name": "none"}]
    result = run("matrix", *lists(images, [T4, OLD]), "--json")
    assert result.exit_code == 1
    found = {(each["image"], each["pool"]): each["verdict"] for each in json.loads(result.stdout)["answers"]}
    assert found["a", "t4"] == "compatible"
    assert found["a", "old"] == "incompatible"
    assert found["none", "old"] == "compatible"


def test_lines_of_one_image_count_together(run: Run, lists: Lists) -> None:
    images = [{"name": "a", "cuda": "10.1"}, {"name": "a", "cuda": "12.2"}]
    data = json.loads(run("matrix", *lists(images, [OLD]), "--json").stdout)
    assert [image["uses"] for image in data["images"]] == [["CUDA 10.1", "CUDA 12.2"]]
    assert [each["verdict"] for each in data["answers"]] == ["incompatible"]


@pytest.mark.parametrize(
    ("images", "pools", "says"),
    [
        ([{"name": "a", "cuda": "12.2"}], [], "--pools has no lines"),
        (["{"], [T4], "--images line 1: is not a JSON object"),
        ([{"cuda": "12.2"}], [T4], "--images line 1: name: is missing"),
        ([{"name": "a", "cuda": "cu999"}], [T4], '--images line 1: cuda: "cu999" is no CUDA line'),
        ([{"name": "a", "gpu": "T4"}], [T4], "--images line 1: gpu: describes a pool"),
        ([{"name": "a", "cuda": "12.2"}], [T4, {**T4, "cuda": "12.2"}], "--pools line 2: cuda: describes an image"),
        ([{"name": "a", "cuda": "12.2"}], [T4, T4], '--pools line 2: name: "t4" is duplicated'),
        ([{"name": "a", "cuda": "12.2"}], [T4, {"name": "b", "gpu": "T5"}], '--pools line 2: gpu: "T5" is not a GPU'),
        ([{"name": "a", "cuda": "12.2"}], [{**T4, "drivr": "1"}], "--pools line 1: drivr: is not a field of a case"),
    ],
)
def test_mistakes_in_lists_are_reported_by_file_and_line(
    run: Run, lists: Lists, images: list[object], pools: list[object], says: str
) -> None:
    result = run("matrix", *lists(images, pools))
    assert result.exit_code == 2
    assert says in result.stderr
    assert not result.stdout


def test_lists_are_read_as_batches_are(run: Run, tmp_path: Path) -> None:
    images, pools = tmp_path / "images.jsonl", tmp_path / "pools.jsonl"
    mark, blanks = b"\xef\xbb\xbf", b" " * LONGEST
    images.write_bytes(mark + b'{"name": "a", "cuda": "12.4"}\n \n{"name": "b", "cuda": "12.4"' + blanks + b"}\n{}\n")
    pools.write_bytes(mark + json.dumps(T4).encode() + b"\r\n")
    result = run("matrix", "--images", str(images), "--pools", str(pools))
    assert result.exit_code == 2
    assert result.stderr.splitlines() == [
        f"Error: --images line 3: is longer than {LONGEST:,} bytes",
        "       --images line 4: name: is missing; give it text",
    ]


@each_row(
    ("arguments", "says"),
    [
        ((), "give either --stack, or --images and --pools"),
        (("--stack", "dsmlp-fall", "--images", "-"), "give either --stack, or --images and --pools"),
        (("--images", "-"), "give either --stack, or --images and --pools"),
        (("--stack", "dsmlp-fall", "--markdown", "--json"), "not both"),
        (("--stack", "nope"), 'there is no stack "nope"'),
        (("--stack", "nope.yaml"), "cannot be read"),
    ],
)
def test_a_wrong_call_says_what_to_give(run: Run, arguments: tuple[str, ...], says: str) -> None:
    result = run("matrix", *arguments)
    assert result.exit_code == 2
    assert says in result.stderr


def test_mistakes_in_a_stack_are_reported_as_by_other_commands(run: Run, tmp_path: Path) -> None:
    broken = tmp_path / "Pulumi.broken.yaml"
    broken.write_text(STACK.read_text().replace('driver: "418.88"', 'driver: "418.8x"', 1))
    result = run("matrix", "--stack", str(broken))
    assert result.exit_code == 2
    assert '"418.8x" is not a driver version' in result.stderr
    assert "line " in result.stderr


def test_a_stack_without_pools_has_nothing_to_compare(run: Run) -> None:
    result = run("matrix", "--stack", "cupy")
    assert result.exit_code == 0
    assert "nothing to compare" in result.stdout


@pytest.mark.parametrize("option", ["--json", "--markdown"])
def test_a_page_in_place_of_the_table_leaves_room_for_nothing_else(run: Run, option: str) -> None:
    result = run("matrix", "--stack", "dsmlp-fall", "--html", "-", option)
    assert result.exit_code == 2
    assert "--html -" in result.stderr
    assert not result.stdout


def test_the_example_for_an_empty_list_is_one_that_the_list_takes(run: Run, lists: Lists) -> None:
    errors = run("matrix", *lists([], [])).stderr
    images, pools = (json.loads(line.partition("such as ")[2]) for line in errors.splitlines())
    assert run("matrix", *lists([images], [{**pools, "driver": "535.54.03"}])).exit_code == 0


@pytest.mark.parametrize("name", ["dcsg", "perceptron", "eks-g6"])
def test_a_stack_of_a_docker_host_or_of_eks_has_a_verdict_for_each_image_on_each_pool(
    run: Run, golden: Callable[[str], Any], name: str
) -> None:
    """Of EKS with the driver that the machine image of the pool has."""
    result = run("matrix", "--stack", name)
    golden(f"matrix/stack-{name}.txt").equals(result.stdout)
    assert result.exit_code == 0


@pytest.mark.parametrize(
    ("name", "old", "new", "pools", "failing"),
    [
        ("dcsg", '"580.95.05"', '"595.71.05"', {"595.71.05"}, {"cupy-notebook", "cupy-notebook-kernel"}),
        ("perceptron", '"580.95.05"', '"418.226.00"', {"418.226.00"}, {"perceptron"}),
        ("eks-g6", '"580"', '"580.126.09"', {"580.126.09"}, set()),
    ],
)
def test_another_driver_of_a_docker_host_or_of_eks_is_another_verdict(
    run: Run, tmp_path: Path, name: str, old: str, new: str, pools: set[str], failing: set[str]
) -> None:
    text = (PROJECT / "stacks" / f"Pulumi.{name}.yaml").read_text()
    file = tmp_path / "Pulumi.changed.yaml"
    file.write_text(text.replace(f"driver: {old}", f"driver: {new}"))
    result = run("matrix", "--stack", str(file), "--json")
    data = json.loads(result.stdout)
    assert {pool["driver"] for pool in data["pools"]} == pools
    assert {each["image"] for each in data["answers"] if each["verdict"] == "incompatible"} == failing
    assert result.exit_code == (1 if failing else 0)
