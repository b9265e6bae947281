"""What people read while the engine works, from event logs that were recorded on a lab, and shortened."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from imaging.build.buildkit import Buildctl
from lab.progress import Mode, Progress
from policies.finding import Finding
from policies.report import message

if TYPE_CHECKING:
    from conftest import GoldenFile

RECORDED = Path(__file__).parent / "engine_events"
LOGS = sorted(path.stem for path in RECORDED.glob("*.jsonl"))
URN = "urn:pulumi:dsmlp-fall::gpu-commons::"
IMAGE = f"{URN}gpu-commons:index:GpuImage$docker-build:index:Image::hub-build"

TOLD = message("P-HOST", "profile ml", Finding("no pool can host it"))


def recorded(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (RECORDED / f"{name}.jsonl").read_text().splitlines()]


def lines_of(events: list[dict[str, Any]], mode: Mode = Mode.UPDATE) -> list[str]:
    progress = Progress(mode)
    return [line for event in events for line in progress.take(event)]


def step(kind: str, op: str, urn: str, at: int = 0, **metadata: Any) -> dict[str, Any]:
    found = {"op": op, "urn": urn, "type": urn.split("::")[2].rpartition("$")[2], **metadata}
    return {"timestamp": at, kind: {"metadata": found}}


def says(severity: str, message: str, urn: str = "", *, ephemeral: bool = False) -> dict[str, Any]:
    return {"diagnosticEvent": {"severity": severity, "message": message, "urn": urn, "ephemeral": ephemeral}}


def update(urn: str, old: dict[str, Any], new: dict[str, Any], op: str = "update") -> list[dict[str, Any]]:
    sides = {"old": {"inputs": old}, "new": {"inputs": new}}
    return [step("resourcePreEvent", op, urn, **sides), step("resOutputsEvent", op, urn)]


@pytest.mark.parametrize("name", LOGS)
def test_a_recorded_operation_reads_like_this(name: str, golden: Callable[[str], GoldenFile]) -> None:
    mode = Mode.PREVIEW if name.startswith("preview") else Mode.UPDATE
    progress = Progress(mode)
    lines = [line for event in recorded(name) for line in progress.take(event)]
    notices = [f"  at the end: {notice}" for notice in progress.notices]
    golden(f"progress/{name}.txt").equals("\n".join([*lines, *notices]) + "\n")


def test_with_nothing_to_change_there_is_a_handful_of_lines() -> None:
    progress = Progress(Mode.UPDATE)
    lines = [line for event in recorded("up-nothing") for line in progress.take(event)]
    assert lines[-1] == "  55 unchanged in 4 s"
    assert len(lines) == 3
    assert [notice.partition(":")[0] for notice in sorted(progress.notices)] == [
        "datahub-base-notebook",
        "hub",
        "proxy",
        "scipy-ml-notebook",
    ]
    assert all("\n" not in notice and len(notice) < 200 for notice in progress.notices)


def test_a_change_is_shown_with_old_and_new_value_and_a_secret_is_not() -> None:
    pool = f"{URN}gpu-commons:index:GpuNodePool::gtx1070ti"
    assert lines_of(update(pool, {"driver_version": "418.88"}, {"driver_version": "580.95.05"})) == [
        '  ~ updated  GpuNodePool gtx1070ti: driver_version: "418.88" → "580.95.05"'
    ]
    secret = f"{URN}kubernetes:core/v1:Secret::login"
    (line,) = lines_of(update(secret, {"data": {"word": "b2xk"}}, {"data": {"word": "bmV3"}}))
    assert line == "  ~ updated  Secret login: data.word"
    hub = f"{URN}gpu-commons:index:NotebookHub::datahub"
    (line,) = lines_of(update(hub, {"api_token": "one"}, {"api_token": "two"}))
    assert line == "  ~ updated  NotebookHub datahub: api_token: (secret)"


def test_many_changes_of_one_resource_stay_one_line() -> None:
    hub = f"{URN}gpu-commons:index:NotebookHub::datahub"
    old, new = ({f"setting_{number}": value for number in range(30)} for value in ("before", "after"))
    (line,) = lines_of(update(hub, old, new))
    assert len(line) < 240
    assert line.endswith("; and 25 more")


def test_a_preview_shows_what_would_be_done() -> None:
    pod = f"{URN}kubernetes:core/v1:Pod::a"
    summary = {"summaryEvent": {"resourceChanges": {"create": 1, "same": 4}, "durationSeconds": 2}}
    events = [step("resourcePreEvent", "create", pod), step("resOutputsEvent", "create", pod, at=9), summary]
    assert lines_of(events, Mode.PREVIEW) == ["  + create   Pod a", "  1 to create, 4 unchanged in 2 s"]


def test_a_build_is_one_line_with_its_duration() -> None:
    output = [says("info", f"#{number} RUN something", IMAGE, ephemeral=True) for number in range(200)]
    events = [step("resourcePreEvent", "create", IMAGE), *output, step("resOutputsEvent", "create", IMAGE, at=61)]
    assert lines_of(events) == ["  + built    Image hub-build (61 s)"]


def test_a_build_whose_files_changed_says_so_before_its_inputs() -> None:
    hashed = {"contextHash": {"diffKind": "update", "inputDiff": False}}
    sides = {"old": {"inputs": {"target": "a"}}, "new": {"inputs": {"target": "b"}}}
    for more, changed in (({}, ""), (sides, '; target: "a" → "b"')):
        begins = step("resourcePreEvent", "update", IMAGE, detailedDiff=hashed, **more)
        (line,) = lines_of([begins, step("resOutputsEvent", "update", IMAGE, at=9)])
        assert line == f"  ~ built    Image hub-build (9 s): the files it is built from changed{changed}"


def test_the_whole_output_of_a_build_that_failed_is_not_repeated() -> None:
    whole = says("info", "\n".join(f"#{number} DONE" for number in range(200)), IMAGE)
    failed = [step("resourcePreEvent", "update", IMAGE), whole, step("resOpFailedEvent", "update", IMAGE, at=5)]
    assert lines_of([*failed, whole, says("error", "failed to solve: exit code 1", IMAGE)]) == [
        "  ✗ failed   Image hub-build (5 s)",
        "  error: Image hub-build: failed to solve: exit code 1",
    ]


def test_a_build_that_only_checks_is_named_as_that() -> None:
    new = {"inputs": {"labels": {"org.gpu-commons.checks": "r/hub:1"}}}
    events = [step("resourcePreEvent", "create", IMAGE, new=new), step("resOutputsEvent", "create", IMAGE, at=71)]
    assert lines_of(events) == ["  + checked  Image hub-build (71 s)"]


@pytest.mark.parametrize("names", [{"tags": ["r/hub:1"]}, {"labels": {"org.gpu-commons.checks": "r/hub:1"}}])
def test_the_end_of_a_failed_build_comes_from_the_builder_where_the_plugin_lost_it(names: dict[str, object]) -> None:
    progress = Progress(Mode.UPDATE, output_of=lambda tag: [f"#7 of {tag}", "#7 E: no such package"])
    events = [
        step("resourcePreEvent", "update", IMAGE, new={"inputs": names}),
        says("info", "#6 CACHED", IMAGE, ephemeral=True),
        says("error", "failed to solve: exit code 1", IMAGE),
        step("resOpFailedEvent", "update", IMAGE, at=5),
    ]
    lines = [line for event in events for line in progress.take(event)]
    assert lines[-3:] == ["    the last lines:", "    | #7 of r/hub:1", "    | #7 E: no such package"]


@pytest.mark.parametrize(
    ("last", "error", "expected"),
    [
        (
            "#7 exporting",
            "failed to solve: failed to push r:1: connection refused",
            "the registry does not take the image: start it",
        ),
        (
            "#7 write /x: no space left on device",
            "failed to solve: exit code 1",
            "buildctl --addr unix:///b prune --all",
        ),
        (
            "#1 waiting for connection",
            "context deadline exceeded",
            "the builder at unix:///b does not answer: start it",
        ),
    ],
)
def test_a_build_that_failed_for_a_known_reason_says_what_to_do(last: str, error: str, expected: str) -> None:
    progress = Progress(Mode.UPDATE, Buildctl(Path("buildctl"), "unix:///b"))
    events = [
        step("resourcePreEvent", "update", IMAGE),
        says("info", last, IMAGE, ephemeral=True),
        says("error", error, IMAGE),
        step("resOpFailedEvent", "update", IMAGE, at=5),
    ]
    assert expected in [line for event in events for line in progress.take(event)][-1]


def test_a_build_that_failed_shows_its_last_lines_where_the_error_does_not() -> None:
    output = [says("info", f"#7 line {number}", IMAGE, ephemeral=True) for number in range(40)]
    failed = step("resOpFailedEvent", "create", IMAGE, at=12)
    for error, lines in (("failed to solve: exit code 1", 16), ("failed:\n#7 line 39", 0)):
        events = [step("resourcePreEvent", "create", IMAGE), *output, failed, says("error", error, IMAGE)]
        shown = lines_of(events)
        assert shown[0] == "  ✗ failed   Image hub-build (12 s)"
        assert shown[1].startswith("  error: Image hub-build: failed")
        quoted = [line for line in shown if "the last lines" in line or line.startswith("    | ")]
        assert len(quoted) == lines
        assert not quoted or quoted[-1] == "    | #7 line 39"


def test_an_error_that_comes_before_the_end_of_the_build_quotes_its_last_lines_once() -> None:
    begins, last = step("resourcePreEvent", "update", IMAGE), says("info", "#7 line 39\n", IMAGE, ephemeral=True)
    error, failed = says("error", "failed:\n#7 line 39", IMAGE), step("resOpFailedEvent", "update", IMAGE, at=5)
    summary = {"summaryEvent": {"resourceChanges": {"same": 1}, "durationSeconds": 5}}
    assert lines_of([begins, last, error, failed, summary]) == [
        "  error: Image hub-build: failed:",
        "    #7 line 39",
        "  ✗ failed   Image hub-build (5 s)",
        "  1 unchanged in 5 s",
    ]


def test_a_build_that_failed_without_a_message_shows_its_last_lines_at_the_end() -> None:
    events = [
        step("resourcePreEvent", "create", IMAGE),
        says("info", "#7 no space left on device", IMAGE, ephemeral=True),
        step("resOpFailedEvent", "create", IMAGE, at=12),
        {"summaryEvent": {"resourceChanges": {}, "durationSeconds": 12}},
    ]
    assert "    | #7 no space left on device" in lines_of(events)


def test_errors_and_warnings_come_in_full_and_without_the_engines_markup() -> None:
    progress = Progress(Mode.UPDATE)
    long = "first line\n" + "\n".join(f"line {number}" for number in range(100))
    lines = progress.take(says("warning", f"<{{%fg 3%}}>{long}<{{%reset%}}>\n", IMAGE))
    assert lines[0] == "  warning: Image hub-build: first line"
    assert len(lines) == 101
    assert not progress.has_error
    assert progress.take(says("error", "stack configuration: 1 problem", f"{URN}pulumi:pulumi:Stack::s")) == [
        "  error: stack configuration: 1 problem"
    ]
    assert progress.has_error


def test_what_an_error_has_cancelled_is_no_error_of_its_own() -> None:
    cancelled = says(
        "error", "failed to run remediation: context canceled", f"{URN}docker:index/volume:Volume::kernels"
    )
    why = says("error", "unable to pull image hub", f"{URN}docker:index/remoteImage:RemoteImage::hub")
    assert lines_of([why, cancelled]) == lines_of([why])
    assert "context canceled" in lines_of([cancelled])[0]


def test_a_refusal_of_the_pack_comes_in_full() -> None:
    body = {"policyPackName": "gpu-commons", "policyName": "workloads", "enforcementLevel": "mandatory"}
    event = {"policyEvent": {**body, "message": f"Why.\n{TOLD.reported}", "resourceUrn": IMAGE}}
    assert lines_of([event]) == [
        "  refused (gpu-commons, workloads): Image hub-build: Why.",
        "    P-HOST: profile ml: no pool can host it.",
    ]


def test_a_message_about_more_than_the_difference_from_the_spec_is_shown() -> None:
    urn = f"{URN}gpu-commons:index:GpuImage::hub"
    inputs = {"substitutes": [{"reference": "debian:12", "with": "lab", "reason": "away"}], "facts": {"missing": []}}
    progress = Progress(Mode.PREVIEW)
    progress.take(step("resourcePreEvent", "same", urn, new={"inputs": inputs}))
    assert progress.take(says("info", "about 100 MB more than before", urn)) == [
        "  GpuImage hub: about 100 MB more than before"
    ]
    assert progress.take(says("info", "debian:12 is replaced by lab: away", urn)) == []
    assert progress.notices == ["hub: a stand-in for debian:12"]


def test_a_busy_engine_shows_what_it_is_working_on() -> None:
    progress = Progress(Mode.UPDATE)
    assert progress.waits_for(100) == ""
    progress.take(step("resourcePreEvent", "create", f"{URN}gpu-commons:index:GpuImage::hub", at=30))
    progress.take(step("resourcePreEvent", "create", IMAGE, at=40))
    assert progress.waits_for(100) == "  … Image hub-build, 60 s"
    progress.take(says("info", "#9 RUN pip install", IMAGE, ephemeral=True))
    assert progress.waits_for(101) == "  … Image hub-build, 61 s: #9 RUN pip install"


def test_a_secret_in_an_error_or_a_refusal_is_hidden() -> None:
    error = says("error", "pulling from https://bob:hush42@nvcr.io: no access", IMAGE)
    body = {"policyPackName": "other", "policyName": "x", "enforcementLevel": "mandatory", "resourceUrn": IMAGE}
    refusal = {"policyEvent": {**body, "message": "variable HF_TOKEN=hush42 is refused"}}
    text = "\n".join(lines_of([error, refusal]))
    assert "hush42" not in text
    assert "https://(secret)@nvcr.io: no access" in text
    assert "HF_TOKEN=(secret) is refused" in text
