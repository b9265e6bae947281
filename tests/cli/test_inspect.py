"""`inspect` and `check --inspect`, called as a user calls them, against a registry on loopback and files on disk."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from cli.inspect.report import age
from imaging.size.estimate import amount

sys.path.insert(0, str(Path(__file__).parents[1] / "imaging" / "inspection"))
from made import fatbin, image, library, write_archive, write_layout
from registry_server import Fault, Registry

Run = Callable[..., Result]
SITE = "opt/venv/lib/python3.11/site-packages"
CUPY = {
    "etc/os-release": 'PRETTY_NAME="Debian 12"\n',
    f"{SITE}/cupy/cuda/thrust.so": library(fatbin(("cubin", 70), ("cubin", 80), ("cubin", 90))),
    f"{SITE}/cupy_cuda12x-14.2.0.dist-info/METADATA": "Name: cupy-cuda12x\n\n",
    f"{SITE}/nvidia_cuda_runtime_cu12-12.9.79.dist-info/METADATA": "Name: nvidia-cuda-runtime-cu12\n\n",
    f"{SITE}/nvidia/cuda_runtime/lib/libcudart.so.12": library(),
}


@pytest.fixture
def registry() -> Iterator[Registry]:
    server = Registry()
    yield server
    server.close()


@pytest.fixture(autouse=True)
def _own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path / "docker"))
    monkeypatch.delenv("REGISTRY_AUTH_FILE", raising=False)
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)


@pytest.mark.slow
def test_it_prints_what_is_in_an_image(run: Run, registry: Registry) -> None:
    reference = registry.push(image(CUPY, env=["NVIDIA_REQUIRE_CUDA=cuda>=12.0"]))
    plain = run("inspect", reference)
    assert plain.exit_code == 0
    for part in (
        "digest    sha256:",
        "linux/amd64",
        "compressed in 1 layer",
        "tini --",
        "NVIDIA_REQUIRE_CUDA=cuda>=12.0",
    ):
        assert part in plain.stdout
    deep = run("inspect", "--deep", reference)
    assert deep.exit_code == 0
    for part in (
        "cupy-cuda12x 14.2.0  CUDA 12",
        "sm_70 sm_80 sm_90",
        "cudart 12.9.79",
        "Debian 12",
        "for check cupy: cuda 12.9",
    ):
        assert part in deep.stdout


def test_json_is_one_object_an_image_in_the_order_of_the_call(run: Run, registry: Registry) -> None:
    first = registry.push(image(CUPY), tag="1")
    second = registry.push(image({"a": b"1"}), tag="2")
    result = run("inspect", "--json", first, f"{registry.host}/team/tiny:none", second)
    assert result.exit_code == 2
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    assert [each["reference"] for each in lines] == [first, f"{registry.host}/team/tiny:none", second]
    assert lines[0]["compressed_bytes"] > 0
    assert lines[0]["platforms"] == [{"platform": "linux/amd64", "digest": lines[0]["digest"]}]
    assert "error" in lines[1]
    assert result.stderr.startswith(f"error: {registry.host}/team/tiny:none: ")


def test_json_of_one_image_is_one_line_too(run: Run, registry: Registry) -> None:
    reference = registry.push(image(CUPY))
    (line,) = run("inspect", "--json", reference).stdout.splitlines()
    assert json.loads(line)["reference"] == reference


def test_findings_end_with_1(run: Run, tmp_path: Path) -> None:
    made = image({"usr/lib/libcuda.so.535.104.05": library()}, form="none")
    archive = write_archive(tmp_path / "image.tar", made)
    result = run("inspect", "--deep", "--docker-archive", str(archive))
    assert result.exit_code == 1
    assert "driver-inside" in result.stdout
    layout = write_layout(tmp_path / "layout", made)
    assert run("inspect", "--deep", "--oci-layout", str(layout), "--json").exit_code == 1


@pytest.mark.slow
def test_a_mistake_is_one_message_and_2(run: Run, registry: Registry, tmp_path: Path) -> None:
    for arguments, message in [
        ((), "name an image"),
        (("Team/Tiny",), "team/tiny"),
        (("--platform", "amd64", "tiny"), "is not a platform"),
        (("--oci-layout", str(tmp_path)), "is not an OCI layout"),
        (("--sif", str(tmp_path / "none")), "cannot be opened"),
        (("--docker-archive", str(tmp_path)), f"{tmp_path}: cannot be read: Is a directory"),
        ((f"{registry.host}/team/none:1",), "has no such repository, or no tag 1 in it\n    check the spelling"),
        ((f"{registry.host}/team/none",), "or no tag latest in it"),
        ((f"{registry.host}/team/none@sha256:{'0' * 64}",), "or no such digest in it"),
    ]:
        result = run("inspect", *arguments)
        assert result.exit_code == 2, arguments
        assert message in result.stderr
        assert "Traceback" not in result.stderr


@pytest.mark.slow
def test_what_was_read_is_kept_and_what_failed_is_not(run: Run, registry: Registry, tmp_path: Path) -> None:
    reference = registry.push(image(CUPY))
    blob = next(path for path in registry.content if "/blobs/" in path and registry.content[path][1][:2] == b"\x1f\x8b")
    registry.fail(f"{blob}*", Fault(body=b"broken"))
    assert run("inspect", "--deep", reference).exit_code == 2
    assert not list((tmp_path / "cache").rglob("*.json"))
    registry.faults.clear()
    assert run("inspect", "--deep", reference).exit_code == 0
    before = len(registry.seen)
    assert run("inspect", "--deep", reference).exit_code == 0
    assert len(registry.seen) == before + 1


@pytest.mark.slow
def test_200_references_take_two_requests_each(run: Run, registry: Registry) -> None:
    references = [registry.push(image({f"f{number}": b"1"}), f"team/image-{number}") for number in range(200)]
    result = run("inspect", "--json", *references)
    assert result.exit_code == 0
    assert len(registry.seen) == 400


@pytest.mark.slow
def test_check_believes_what_is_in_the_image(run: Run, registry: Registry) -> None:
    reference = registry.push(image(CUPY, labels={"com.nvidia.cuda.version": "10.1"}))
    result = run("check", "--gpu", "T4", "--driver", "418.88", "--inspect", reference, "--json")
    assert result.exit_code == 1
    answer = json.loads(result.stdout)
    assert answer["verdict"] == "incompatible"
    text = json.dumps(answer)
    assert "12.9" in text
    assert "the label com.nvidia.cuda.version=10.1 means CUDA 10.1" in text
    assert "the latter counts" in text
    fine = run("check", "--gpu", "T4", "--driver", "575.57.08", "--inspect", reference, "--json")
    assert json.loads(fine.stdout)["verdict"] in {"compatible", "compatible_with_warning"}


def test_check_uses_the_targets_that_were_found(run: Run, registry: Registry) -> None:
    reference = registry.push(image(CUPY))
    answer = json.loads(
        run("check", "--gpu", "GTX 1080 Ti", "--driver", "575.57.08", "--inspect", reference, "--json").stdout
    )
    assert answer["verdict"] == "incompatible"
    (finding,) = [each for each in answer["findings"] if each["rule"] == "R-ARCH"]
    assert finding["severity"] == "refuse"
    assert finding["source"].startswith("sha256:")


@pytest.mark.slow
def test_check_uses_the_compression_that_was_found_and_names_the_image_as_its_source(
    run: Run, registry: Registry
) -> None:
    files = {**CUPY, f"{SITE}/cupy/cuda/thrust.so": library(fatbin(("cubin", 70), ("cubin", 80), flags=0x8000))}
    reference = registry.push(image(files))
    arguments = ("check", "--gpu", "V100", "--driver", "535.183.01", "--inspect", reference, "--json")
    answer = json.loads(run(*arguments).stdout)
    (finding,) = [each for each in answer["findings"] if each["rule"] == "R-COMPRESS"]
    assert finding["severity"] == "refuse"
    assert finding["source"].startswith("sha256:")
    (finding,) = [
        each
        for each in json.loads(run(*arguments, "--compressed", "none").stdout)["findings"]
        if each["rule"] == "R-COMPRESS"
    ]
    assert (finding["severity"], finding["source"]) == ("note", "the case")


def checked(run: Run, reference: str, *options: str) -> dict[str, Any]:
    """The answer of `check --inspect` for a T4 with driver 418.88."""
    arguments = ("check", "--gpu", "T4", "--driver", "418.88", "--inspect", reference, "--json", *options)
    answer: dict[str, Any] = json.loads(run(*arguments).stdout)
    return answer


def messages(answer: dict[str, Any], severity: str) -> str:
    return " | ".join(each["message"] for each in answer["findings"] if each["severity"] == severity)


@pytest.mark.slow
def test_check_says_that_an_image_uses_no_gpu_and_what_is_not_known(run: Run, registry: Registry) -> None:
    answer = checked(run, registry.push(image({"a": b"1"})))
    assert answer["verdict"] == "compatible"
    assert "nothing in the image uses a GPU" in messages(answer, "note")
    assert "it is not known what is installed on top of it or while it runs" in messages(answer, "note")
    assert "1 files of its layers" in [each["fact"] for each in answer["findings"]]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ubuntu:22.04", "docker.io/library/debian:12-slim", "python:3.12"])
@pytest.mark.parametrize(("gpu", "driver"), [("T4", "418.88"), ("T4", "580.95.05"), ("RTX 2080 Ti", "390.77")])
def test_an_image_without_gpu_use_gets_the_same_answer_by_its_name_and_by_its_content(
    run: Run, registry: Registry, name: str, gpu: str, driver: str
) -> None:
    pushed = registry.push(image({"etc/os-release": 'PRETTY_NAME="Ubuntu 22.04"\n'}))
    answers = []
    for source in (("--image", name), ("--inspect", pushed)):
        result = run("check", "--gpu", gpu, "--driver", driver, *source, "--json")
        answer = json.loads(result.stdout)
        findings = sorted((each["rule"], each["severity"], each["message"]) for each in answer["findings"])
        answers.append((result.exit_code, answer["verdict"], findings))
    assert answers[0] == answers[1]
    code, verdict, findings = answers[0]
    assert (code, verdict) == ((1, "incompatible") if gpu == "RTX 2080 Ti" else (0, "compatible"))
    assert ["nothing in the image uses a GPU" in message for rule, _, message in findings if rule == "R-FRAMEWORK"] == [
        True
    ]


def test_an_image_whose_framework_is_for_the_cpu_gets_the_same_answer_by_its_name_and_by_its_content(
    run: Run, registry: Registry
) -> None:
    wheel = f"{SITE}/tensorflow_cpu-2.15.0.dist-info/METADATA"
    by_content = checked(run, registry.push(image({wheel: "Name: tensorflow-cpu\n\n"})))
    arguments = ("check", "--gpu", "T4", "--driver", "418.88", "--image", "tensorflow/tensorflow:2.15.0", "--json")
    by_name = json.loads(run(*arguments).stdout)
    assert by_name["verdict"] == by_content["verdict"] == "compatible_with_warning"
    for answer in (by_name, by_content):
        assert "built for the CPU only; the image runs anywhere, and uses no GPU" in messages(answer, "warn")


@pytest.mark.slow
@pytest.mark.parametrize("seen", [{"a": b"1"}, CUPY], ids=["no program", "a program"])
def test_check_does_not_know_what_is_in_layers_that_could_not_be_read(
    run: Run, registry: Registry, seen: dict[str, Any]
) -> None:
    made = image(seen, {"b": b"2"})
    made.layer_fields = [{}, {"urls": ["https://example.org/layer"]}]
    reference = registry.push(made)
    result = run("check", "--gpu", "T4", "--driver", "575.57.08", "--inspect", reference, "--json")
    answer = json.loads(result.stdout)
    assert (answer["verdict"], result.exit_code) == ("unknown", 1)
    assert "was not read, it is foreign" in messages(answer, "unknown")
    assert "nothing in the image uses a GPU" not in messages(answer, "unknown")


def test_an_incompatible_image_remains_so_whatever_an_unread_layer_contains(run: Run, registry: Registry) -> None:
    made = image(CUPY, {"b": b"2"})
    made.layer_fields = [{}, {"urls": ["https://example.org/layer"]}]
    assert checked(run, registry.push(made))["verdict"] == "incompatible"


def test_check_reads_what_is_given_before_it_reads_the_image(run: Run, registry: Registry) -> None:
    reference = registry.push(image({"a": b"1"}))
    before = len(registry.seen)
    result = run("check", "--gpu", "T4", "--driver", "418.8x", "--cuda", "twelve", "--inspect", reference)
    assert result.exit_code == 2
    assert '--driver: "418.8x"' in result.stderr
    assert '--cuda: "twelve"' in result.stderr
    assert len(registry.seen) == before


def test_what_is_given_counts_for_an_image_without_a_program(run: Run, registry: Registry) -> None:
    answer = checked(run, registry.push(image({"a": b"1"})), "--cuda", "12.4")
    assert answer["verdict"] == "incompatible"
    assert "nothing in the image uses a GPU" not in json.dumps(answer)


def test_requirements_count_for_an_image_without_a_program(run: Run, registry: Registry) -> None:
    answer = checked(run, registry.push(image({"a": b"1"}, env=["NVIDIA_REQUIRE_CUDA=cuda>=12.4"])))
    assert answer["verdict"] == "compatible_with_warning"
    assert "the image requires cuda>=12.4" in messages(answer, "warn")


def test_a_build_for_the_cpu_runs_and_uses_no_gpu(run: Run, registry: Registry) -> None:
    files = {f"{SITE}/jaxlib-0.4.30.dist-info/METADATA": "Name: jaxlib\n\n"}
    answer = checked(run, registry.push(image(files)))
    assert answer["verdict"] == "compatible_with_warning"
    assert messages(answer, "warn").startswith("jaxlib 0.4.30: built for the CPU only")


def test_check_reads_the_image_of_the_hosts_processor(run: Run, registry: Registry) -> None:
    made = image({"a": b"1"}, architecture="arm64")
    answer = checked(run, registry.push(made), "--cpu-arch", "aarch64")
    assert answer["verdict"] == "compatible"


@pytest.mark.slow
def test_the_note_on_which_cuda_counts_is_omitted_if_an_option_gives_it(run: Run, registry: Registry) -> None:
    reference = registry.push(image(CUPY, labels={"com.nvidia.cuda.version": "10.1"}))
    assert "the latter counts" in json.dumps(checked(run, reference))
    assert "the latter counts" not in json.dumps(checked(run, reference, "--cuda", "10.1"))


def test_sizes_and_ages_are_for_people() -> None:
    now = datetime(2026, 11, 21, tzinfo=UTC)
    assert [amount(count) for count in (0, 999, 1500, 2_500_000, 3_210_000_000)] == [
        "0 B", "999 B", "1.5 kB", "2.5 MB", "3.21 GB",
    ]  # fmt: skip
    assert age(now - timedelta(days=1), now) == "2026-11-20, 1 day ago"
    assert age(datetime(1970, 1, 1, tzinfo=UTC), now) == "1970-01-01 (set by the build)"
    assert age(None, now) == "not stated"


def test_an_image_that_was_read_is_answered_from_its_content_without_its_registry(
    run: Run, registry: Registry, tmp_path: Path
) -> None:
    reference = registry.push(image(CUPY))
    found = json.loads(run("inspect", "--deep", "--json", reference).stdout)
    pinned = f"{reference.rpartition(':')[0]}@{found['digest']}"
    unread = f"{reference.rpartition(':')[0]}@sha256:{'a' * 64}"
    registry.close()
    host = ("check", "--gpu", "T4", "--driver", "535.183.01", "--json")
    answer = json.loads(run(*host, "--image", pinned).stdout)
    assert answer["basis"] == f"what was read of {found['digest']}"
    assert any("sm_70" in finding["message"] for finding in answer["findings"])
    assert json.loads(run(*host, "--image", unread).stdout)["basis"] == "its name"
    images, pools = tmp_path / "images.jsonl", tmp_path / "pools.jsonl"
    images.write_text(
        "".join(json.dumps({"name": name, "image": each}) + "\n" for name, each in (("a", pinned), ("b", unread)))
    )
    pools.write_text('{"name": "t4", "gpu": "T4", "driver": "535.183.01"}\n')
    cells = json.loads(run("matrix", "--images", str(images), "--pools", str(pools), "--json").stdout)["answers"]
    assert [(each["image"], each["basis"]) for each in cells] == [("a", answer["basis"]), ("b", "its name")]
    assert cells[0]["verdict"] == answer["verdict"]
    batch = tmp_path / "batch.jsonl"
    batch.write_text(json.dumps({"gpu": "T4", "driver": "535.183.01", "image": pinned}) + "\n")
    assert json.loads(run("check", "--batch", str(batch)).stdout) == {**answer, "id": "1"}
    arm = json.loads(run(*host, "--image", pinned, "--cpu-arch", "arm64").stdout)
    assert arm["basis"] == "its name"  # what was read is for another processor
