"""`gpu-commons comment`: previews that an engine recorded, and broken streams."""

from __future__ import annotations

import datetime as dt
import json
import re
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import Result
from rows import each_row

from cli.review import consequences
from cli.review.document import comment_schema
from cli.review.findings import Level, Since
from cli.review.verdict import Outcome, Sign
from compat import Verdict

sys.path.insert(0, str(Path(__file__).parent))  # for previews.py: folders of tests are no packages here
import previews
from previews import POOL, step

Run = Callable[..., Result]
RECORDINGS = sorted(path.name.removesuffix(".jsonl.gz") for path in previews.RECORDINGS.iterdir())


IN_TERM = ("--date", "2020-11-16")  # the courses of dsmlp-fall are over since that winter


def data(run: Run, name: str, *options: str) -> dict[str, Any]:
    called = ("comment", "-", "--format", "json", *IN_TERM, *options)
    return dict(json.loads(run(*called, stdin=previews.recorded(name)).stdout))


def test_a_preview_that_changes_nothing_is_one_line(run: Run) -> None:
    result = run("comment", "-", stdin=previews.recorded("nothing"))
    assert result.exit_code == 0
    assert result.stdout == (
        "✅ dsmlp-fall: nothing changes. Policy pack gpu-commons 0.1.0 looked at every resource; 1 finding stands. "
        "<!-- gpu-commons comment: dsmlp-fall -->\n"
    )


@pytest.mark.slow
@each_row("name", [name for name in RECORDINGS if name not in {"nothing", "next", "first-driver"}])
def test_the_comment_of_a_recorded_preview(run: Run, golden: Callable[[str], Any], name: str) -> None:
    result = run("comment", "-", *IN_TERM, stdin=previews.recorded(name))
    golden(f"comment/{name}.md").equals(result.stdout)


@pytest.mark.slow
def test_the_upgrade_of_a_site_against_its_base_branch(run: Run, golden: Callable[[str], Any], tmp_path: Path) -> None:
    base = tmp_path / "base.jsonl"
    base.write_bytes(previews.recorded("nothing"))
    result = run("comment", "-", *IN_TERM, "--base", str(base), stdin=previews.recorded("next"))
    golden("comment/next.md").equals(result.stdout)


@pytest.mark.slow
@each_row(
    ("name", "verdict", "code"),
    [
        ("nothing", "unchanged", 0),
        ("driver", "fine", 0),
        ("next", "undecided", 0),
        ("fleet", "fine", 0),
        ("forgotten", "failed", 1),
        ("promises", "fine", 0),
        ("smaller", "fine", 0),
        ("first", "undecided", 0),
        ("image", "refused", 1),
        ("refused", "refused", 1),
        ("failed", "failed", 1),
        ("destroy", "not proved", 1),
        ("no-pack", "not proved", 1),
    ],
)
def test_verdict_and_exit_code_of_a_recorded_preview(run: Run, name: str, verdict: str, code: int) -> None:
    result = run("comment", "-", "--format", "json", stdin=previews.recorded(name))
    assert (json.loads(result.stdout)["verdict"], result.exit_code) == (verdict, code)


def test_a_driver_upgrade_names_pools_courses_and_seats(run: Run) -> None:
    pools = {each["name"]: each for each in data(run, "driver")["changes"]}
    rtx = pools["rtx2080ti"]
    assert rtx["details"] == [{"label": "driver", "before": "418.88", "after": "580.95.05", "is_list": False}]
    assert rtx["affected"]["profiles"] == [{"hub": "datahub", "name": "rtx2080ti"}]
    assert (rtx["affected"]["courses"], rtx["affected"]["seats"]) == (["Deep learning"], 120)
    assert pools["gtx1070ti"]["affected"]["courses"] == []


def test_a_driver_upgrade_says_what_is_known_of_sessions_and_what_is_assumed(run: Run) -> None:
    (consequence,) = data(run, "driver")["consequences"]
    assert "ends no session" in consequence["known"]
    assert "driver 580.95.05 on 15 nodes (119 GPUs)" in consequence["known"]
    assert "up to 112 sessions" in consequence["assumed"]


def test_an_image_that_stops_running_is_a_red_cell_with_who_starts_it_there(run: Run) -> None:
    cells = {cell["pool"]: cell for cell in data(run, "image")["cells"]}
    assert {(cell["before"], cell["after"]) for cell in cells.values()} == {("compatible", "incompatible")}
    assert "CUDA 11.1 needs driver 450.80.02 or newer" in cells["rtx2080ti"]["reason"]
    assert cells["rtx2080ti"]["uses"] == ["profile rtx2080ti of datahub"]
    assert cells["gtx1070ti"]["uses"] == []


def test_a_refused_image_that_ran_gets_its_deployed_versions_as_the_nearest_way(run: Run) -> None:
    text = run("comment", "-", *IN_TERM, stdin=previews.recorded("image")).stdout
    refusal = text.partition("Refused: `P-RUN`")[2]
    back = "  - nearest: go back to torch==1.7.1+cu101 (CUDA 10.1, version 1.0.0 of the image), as deployed\n"
    assert refusal.index(back) < refusal.index("  - change: On gtx1080ti: Use torch")


def test_of_two_branches_without_a_state_only_differences_are_shown(run: Run, tmp_path: Path) -> None:
    base = tmp_path / "base.jsonl"
    base.write_bytes(previews.recorded("first"))
    comment = data(run, "first-driver", "--base", str(base))
    assert comment["compared_with"] == "the base branch"
    assert comment["resources"] == {"update": 18, "same": 37}
    assert [(each["kind"], each["name"]) for each in comment["changes"]] == [
        ("pool", "gtx1070ti"), ("pool", "gtx1080ti"), ("pool", "rtx2080ti"),
    ]  # fmt: skip
    assert {finding["since"] for finding in comment["findings"]} == {"standing", "resolved"}
    (resolved,) = [finding for finding in comment["findings"] if finding["since"] == "resolved"]
    assert "driver branch 418 reached its end of life" in resolved["text"]
    assert comment["verdict"] == "fine"  # what cannot be decided yet is so on the base branch too


def test_the_same_branch_twice_is_one_line(run: Run, tmp_path: Path) -> None:
    base = tmp_path / "base.jsonl"
    base.write_bytes(previews.recorded("first"))
    result = run("comment", str(base), "--base", str(base))
    assert result.stdout.count("\n") == 1
    assert "nothing changes" in result.stdout


def test_each_sentence_of_what_people_notice_makes_a_consequence() -> None:
    table = Path(consequences.__file__).with_name("consequences.toml")
    for row in tomllib.loads(table.read_text(encoding="utf-8")).values():
        assert consequences.Consequence(**row).known.endswith(".")


def test_the_schema_lists_the_values_that_the_code_has() -> None:
    top = comment_schema()["properties"]
    cell, finding = (top[name]["items"]["properties"] for name in ("cells", "findings"))
    assert top["verdict"]["enum"] == [each.value for each in Outcome]
    assert top["sign"]["enum"] == [each.value for each in Sign]
    assert cell["before"]["enum"] == [*(each.value for each in Verdict), None]
    assert cell["after"]["enum"] == [each.value for each in Verdict]
    assert finding["level"]["enum"] == [each.value for each in Level]
    assert finding["since"]["enum"] == [each.value or None for each in Since]


@pytest.mark.slow
@each_row("name", RECORDINGS)
def test_the_data_is_as_its_schema_says(run: Run, name: str) -> None:
    jsonschema.validate(data(run, name), comment_schema())


def test_costs_and_waivers_without_an_end_are_as_the_schema_says(run: Run) -> None:
    group = {"instanceTypes": ["g4dn.xlarge"], "scalingConfig": {"minSize": 1, "maxSize": 2}}
    nodes = step("aws:eks/nodeGroup:NodeGroup", "gpu", None, group)
    stdin = previews.stream(nodes, config={"policies": {"levels": {"P-START": "warn"}}})
    comment = json.loads(run("comment", "-", "--format", "json", stdin=stdin).stdout)
    assert comment["costs"]
    assert comment["waivers"]
    jsonschema.validate(comment, comment_schema())


@pytest.mark.slow
@each_row("name", RECORDINGS)
def test_a_recording_names_nothing_of_the_machine_that_made_it(name: str) -> None:
    text = previews.recorded(name).decode()
    assert not re.search(r"/(?:root/(?!\.)|tmp/|work/|home/(?!jovyan))|127\.0\.0\.1:5\d{3}", text)


@pytest.mark.slow
@each_row("name", [name for name in RECORDINGS if name != "nothing"])
@each_row("share", [0.1, 0.5, 0.9, 0.999])
def test_a_stream_that_was_cut_short_is_never_a_pass(run: Run, name: str, share: float) -> None:
    whole = previews.recorded(name)
    end = min(int(len(whole) * share), whole.index(b'"summaryEvent"'))
    result = run("comment", "-", stdin=whole[:end])
    assert result.exit_code == 2
    assert "✅" not in result.stdout
    assert "no verdict" in result.stdout
    assert "<!-- gpu-commons comment: " in result.stdout
    assert "What changes" not in result.stdout


@pytest.mark.slow
def test_text_between_the_events_is_passed_over(run: Run) -> None:
    noise = [b"Downloading plugin kubernetes v4.34.2", b"", b"{not json", b"\x1b[1mresource\x1b[0m plugin \xff\xfe"]
    lines = previews.recorded("driver").split(b"\n")
    mixed = b"\n".join(line for index, event in enumerate(lines) for line in (noise[index % 4], b"plugin: " + event))
    clean = run("comment", "-", stdin=previews.recorded("driver"))
    assert run("comment", "-", stdin=mixed).stdout == clean.stdout


def test_what_powershell_writes_is_read(run: Run) -> None:
    stdin = previews.recorded("driver").decode().encode("utf-16")
    assert run("comment", "-", stdin=stdin).stdout == run("comment", "-", stdin=previews.recorded("driver")).stdout


DIGEST = json.dumps({"steps": [{"op": "same"}], "changeSummary": {"same": 1}}, indent=4).encode()


@each_row(
    ("stdin", "why"),
    [
        (b"", "the file is empty"),
        (b" \n\n", "the file is empty"),
        (DIGEST, "digest of `pulumi preview --json`, which has no policy events"),
        (b"error: no Pulumi project found\n", "no line is an event of Pulumi's engine"),
        (b"\x00\x01\x02", "no line is an event"),
        (previews.stream() * 2, "the events of 2 runs"),
        (previews.stream(("summaryEvent", {"isPreview": False, "result": "succeeded"})), "of an update that ran"),
    ],
)
def test_what_is_no_preview_is_one_sentence_and_a_comment_that_is_not_green(run: Run, stdin: bytes, why: str) -> None:
    result = run("comment", "-", "--stack", "dsmlp-fall", stdin=stdin)
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    assert why in result.stderr
    assert result.stdout.startswith("<!-- gpu-commons comment: dsmlp-fall -->\n### ⛔ dsmlp-fall: no verdict\n")


def test_a_preview_that_did_not_reach_its_program_has_failed_and_says_why(run: Run) -> None:
    stdin = b"\n".join(previews.lines([previews.warning("unable to load the program: no such file", "error"), FAILED]))
    result = run("comment", "-", "--stack", "dsmlp-fall", stdin=stdin)
    assert result.exit_code == 1
    assert "### ❌ dsmlp-fall: the preview failed" in result.stdout
    assert "The preview failed before any resource: nothing was compared and nothing was proved." in result.stdout
    assert "unable to load the program: no such file" in result.stdout


FAILED: previews.Event = ("summaryEvent", {"isPreview": True, "result": "failed", "resourceChanges": {}})
LONG = 100_000_000  # bytes of one line
LINES: dict[str, tuple[Callable[[], bytes], int, str]] = {
    "no event": (lambda: b"x" * LONG, 2, "no verdict"),
    "an event without an end": (
        lambda: b'{"sequence":0,"timestamp":1,"summaryEvent":{"' + b"a" * LONG,
        2,
        "no verdict",
    ),
    "a value": (lambda: changed_to("word=1 " * (LONG // 7)), 0, "✅ made: pool a"),
    "a text": (lambda: changed_to("a line\n" * (LONG // 8)), 0, "✅ made: pool a"),
    "a message": (
        lambda: previews.stream(previews.message("P-GPU: job " + "x:" * (LONG // 2))),
        1,
        "1 finding refuses",
    ),
}


def changed_to(value: str) -> bytes:
    return previews.stream(step(POOL, "a", {"gpu": "a\nb"}, {"gpu": value}))


@pytest.mark.slow
@pytest.mark.parametrize("what", LINES)
def test_a_line_of_100_mb_has_its_comment(run: Run, what: str) -> None:
    made, code, expected = LINES[what]
    result = run("comment", "-", stdin=made())
    assert result.exit_code == code
    assert expected in result.stdout
    is_short = len(result.stdout) < 2000
    assert is_short


@pytest.mark.parametrize("form", ["markdown", "text", "json"])
def test_a_value_that_is_nested_without_end_is_one_sentence(run: Run, form: str) -> None:
    changed = previews.stream(step(POOL, "a", {"gpu": "OLD"}, {"gpu": "NEW"}))
    for name in (b"OLD", b"NEW"):
        changed = changed.replace(b'"%s"' % name, b"[" * 1000 + b'"%s"' % name + b"]" * 1000)
    result = run("comment", "-", "--format", form, stdin=changed)
    assert result.exit_code == 2
    assert result.stderr == "error: <stdin>: a value of a resource is nested too deeply to be read\n"
    assert "no verdict" in result.stdout


def test_one_damaged_event_takes_the_verdict(run: Run) -> None:
    lines = previews.recorded("nothing").split(b"\n")
    at = next(index for index, line in enumerate(lines) if b'"resourcePreEvent"' in line and b"GpuNodePool" in line)
    lines[at] = lines[at][:100]
    result = run("comment", "-", stdin=b"\n".join(lines))
    assert result.exit_code == 2
    assert "1 event of the stream cannot be read" in result.stderr


def test_another_stack_than_the_one_that_was_meant_is_refused(run: Run) -> None:
    result = run("comment", "-", "--stack", "cupy", stdin=previews.recorded("nothing"))
    assert result.exit_code == 2
    assert "the events are about the stack dsmlp-fall, and --stack says cupy" in result.stderr
    assert "✅" not in result.stdout


def test_a_base_of_another_stack_or_without_events_takes_the_verdict(run: Run, tmp_path: Path) -> None:
    base = tmp_path / "base.jsonl"
    for content, message in ((previews.stream(), "about the stack made"), (b"", "the file is empty")):
        base.write_bytes(content)
        result = run("comment", "-", "--base", str(base), "--stack", "dsmlp-fall", stdin=previews.recorded("nothing"))
        assert result.exit_code == 2
        assert f"--base {base}: " in result.stderr
        assert message in result.stderr
        assert result.stdout.startswith("<!-- gpu-commons comment: dsmlp-fall -->")
        assert "no verdict" in result.stdout
        assert "✅" not in result.stdout


def test_a_file_that_is_not_there_is_a_usage_error(run: Run) -> None:
    result = run("comment", "nowhere.jsonl")
    assert result.exit_code == 2
    assert "nowhere.jsonl" in result.stderr


def test_the_terminal_gets_the_same_in_lines(run: Run) -> None:
    result = run("comment", "-", "--format", "text", stdin=previews.recorded("driver"))
    assert result.exit_code == 0
    assert "|" not in result.stdout
    assert "  pool rtx2080ti\n    change: driver: 418.88 → 580.95.05\n" in result.stdout
    assert '+   driver_version: "580.95.05"' in result.stdout


def test_the_marker_is_the_same_whatever_the_preview_says(run: Run) -> None:
    found = {
        re.findall(r"<!-- .*? -->", run("comment", "-", stdin=previews.recorded(name)).stdout)[0]
        for name in ("nothing", "driver", "failed", "no-pack")
    }
    assert found == {"<!-- gpu-commons comment: dsmlp-fall -->"}


def test_a_waiver_is_shown_with_its_last_day(run: Run) -> None:
    (waiver,) = data(run, "fleet")["waivers"]
    assert (waiver["subject"], waiver["until"]) == ("image scipy-ml-notebook", "2026-12-20")
    assert dt.date.fromisoformat(waiver["until"])
