"""Comments on changes, findings and values that no recording has, from streams made by hand."""

from __future__ import annotations

import base64
import datetime as dt
import gzip
import html.parser
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from hypothesis import given
from hypothesis import strategies as st
from rows import each_row

from cli.comment import _price, _spec_cases
from cli.engine_events import StreamError, read_stream
from cli.engine_values import HIDDEN, shown, without_secrets
from cli.markdown_escape import code, escaped
from cli.review.document import Review, Sources, review_of
from cli.review.findings import Waiver
from cli.review.markdown import LIMIT, review_markdown
from imaging.spec.compat_cases import cases_of
from imaging.spec.load import load_named
from imaging.spec.plan import pinned
from policies import finding as policies
from policies import report
from policies.evaluate import message
from policies.model import Rule
from policies.rules.index import ALL_RULES

sys.path.insert(0, str(Path(__file__).parent))  # for previews.py: folders of tests are no packages here
import previews
from previews import HUB, IMAGE, JOB, POOL, step

Run = Callable[..., Result]
TODAY = dt.date(2026, 11, 21)
SOURCES = Sources(lambda name, facts: None, _price, TODAY)  # noqa: ARG005 - no spec is at hand


def review(*events: previews.Event, base: bytes | None = None, **more: Any) -> Review:
    found = read_stream(previews.stream(*events, **more))
    return review_of(found, read_stream(base) if base is not None else None, SOURCES)


def there(name: str = "there") -> previews.Event:
    """A resource that does not change."""
    return step(POOL, name, previews.pool(name), previews.pool(name))


def markdown(*events: previews.Event, **more: Any) -> str:
    return review_markdown(review(*events, **more), TODAY)


# --- nothing looks green that was not proved


def test_without_a_pack_the_comment_says_loudly_that_nothing_was_proved() -> None:
    lines = [
        line
        for line in previews.stream(step(POOL, "a", None, previews.pool("a"))).split(b"\n")
        if b"policy" not in line
    ]
    result = review_of(read_stream(b"\n".join(lines)), None, SOURCES)
    text = review_markdown(result, TODAY)
    assert text.splitlines()[1] == "### ⛔ made: NOT PROVED"
    assert "nothing was proved" in text
    assert result.verdict.outcome.exit_code == 1


def test_the_pack_of_somebody_else_proves_nothing_of_ours() -> None:
    events = [
        line.replace(b'"policyPackName":"gpu-commons"', b'"policyPackName":"other"')
        for line in previews.stream().split(b"\n")
    ]
    result = review_of(read_stream(b"\n".join(events)), None, SOURCES)
    assert result.verdict.headline == "NOT PROVED"
    assert "did not run (only other did)" in result.verdict.reasons[0]


def test_a_pack_that_was_loaded_and_looked_at_nothing_proves_nothing() -> None:
    lines = [line for line in previews.stream().split(b"\n") if b"policyAnalyze" not in line]
    assert review_of(read_stream(b"\n".join(lines)), None, SOURCES).verdict.headline == "NOT PROVED"


def test_a_failure_without_a_reason_is_a_failure() -> None:
    result = review(there(), result="failed")
    assert result.verdict.headline == "the preview failed"
    assert result.verdict.outcome.exit_code == 1


def test_the_engines_own_doubt_takes_the_verdict() -> None:
    given_ = previews.stream().replace(b'"maybeCorrupt":false', b'"maybeCorrupt":true')
    assert review_of(read_stream(given_), None, SOURCES).verdict.outcome.exit_code == 2


# --- findings


REFUSED = "P-HOST: profile ml of hub datahub: no pool can host it. Change the selector."
LATER = "P-PIN: Job batch/smoke: could not be proved: containers[0].image is not known yet: it is built by this update."


@each_row(
    ("text", "level", "code_", "counted"),
    [
        (REFUSED, "mandatory", 1, "1 finding refuses this change"),
        (LATER, "advisory", 0, "1 finding could not be decided in a preview"),
        ("P-SIZE: job x: 4.10 GB is above 4.00 GB. Make it smaller.", "advisory", 0, "Advice: `P-SIZE` job x: 4.10 GB"),
        (
            "P-AGE: stack: which card is not known, and it depends on a label.",
            "advisory",
            0,
            "Advice: `P-AGE` stack: which",
        ),
    ],
)
def test_a_finding_weighs_as_its_policy_says(text: str, level: str, code_: int, counted: str) -> None:
    changed = step(POOL, "a", previews.pool("a"), previews.pool("a", "580.95.05"))
    result = review(changed, previews.message(text, level))
    assert result.verdict.outcome.exit_code == code_
    assert counted in review_markdown(result, TODAY)


OPEN = [
    "P-DRIVER: job x: could not be proved: the rule failed (KeyError).",
    "P-GPU: job x: could not be proved: containers[0].resources: the GPU request is not known yet.",
    "P-HOST: profile ml of hub datahub: could not be proved: which pools can host it depends on nodeSelector.",
    "P-NODRIVER: job x: could not be proved: parts of a driver may be in what was not read of ml: /opt is too big.",
    "P-PIN: Deployment datahub/hub: could not be proved: containers[0].image is not known yet: it is built then.",
    "P-ROOM: pool v100: could not be proved: its images have 0.4 GB or more; what ml has is read after the build.",
    "P-RUN: job x: could not be proved: ml does not run on pool v100 (driver 418.88)\n  why: CUDA 12.4 needs more",
    "P-SIZE: job x: could not be proved: ml has 0.16 GB or more by its spec; what it has is read after the build.",
    "P-START: job x: could not be proved: how long its pull takes is decided by a selector.",
]


@each_row("text", OPEN)
def test_what_a_rule_could_not_prove_is_undecided_whatever_its_words(text: str) -> None:
    changed = step(POOL, "a", previews.pool("a"), previews.pool("a", "580.95.05"))
    result = review(changed, previews.message(text, "advisory"))
    assert [finding.level.value for finding in result.findings] == ["undecided"]
    assert result.verdict.headline.endswith("1 finding could not be decided")
    assert result.sign == "attention"
    rule, about, body = re.fullmatch(r"(\S+): (.*?): could not be proved: (.*)", text, re.DOTALL).groups()  # type: ignore[union-attr]
    assert f"- Not decided: `{rule}` {about}: {escaped(body.splitlines()[0])}\n" in review_markdown(result, TODAY)


@each_row("rule", ALL_RULES, ids=lambda rule: rule.id)
@each_row(("level", "expected"), [(policies.Level.UNPROVED, "undecided"), (policies.Level.WARN, "advice")], ids=str)
def test_what_the_pack_writes_of_a_rule_weighs_in_the_comment_as_in_the_pack(
    rule: Rule, level: policies.Level, expected: str
) -> None:
    text = message(rule, "profile ml of hub h", policies.Finding("whether ml runs is not known", level)).reported
    (finding,) = review(previews.message(text, "advisory")).findings
    assert (finding.level, finding.rule, finding.about) == (expected, rule.id, "profile ml of hub h")


PLACES = [f"Deployment web-{number:02}" for number in range(40)]
NO_DIGEST = "containers of x have no digest: what runs can change"


def everywhere(places: list[str], first: int = 0) -> list[previews.Event]:
    """A finding of many places as the pack reports it: once for the first that it saw, then for all at the end."""
    full = report.message("P-PIN", places[first], policies.Finding(NO_DIGEST), "Write a digest.")
    together = report.places(full, sorted(places))
    return [
        previews.message(full.reported, name=f"web-{first}"),
        previews.message(together.reported, "advisory", f"gpu-commons-{first}", previews.STACK),
    ]


def test_a_finding_of_forty_places_is_one_refusal_with_all_of_them() -> None:
    result = review(there(), *everywhere(PLACES), result="failed")
    assert sorted(finding.about for finding in result.findings) == PLACES
    assert {finding.level.value for finding in result.findings} == {"refused"}
    assert "**1 finding refuses this change.**" in review_markdown(result, TODAY)
    lines = review_markdown(result, TODAY).splitlines()
    (bullet,) = [line for line in lines if line.startswith("- ") and "P-PIN" in line]
    assert bullet.startswith("- Refused: `P-PIN` Deployment web-00, ")
    assert bullet.endswith(f" more: {NO_DIGEST}. Write a digest.")


def test_a_place_that_joins_is_new_and_the_others_stand_whatever_their_order() -> None:
    base = previews.stream(*everywhere(PLACES[:-1], first=7), result="failed")
    result = review(*everywhere(PLACES), base=base, result="failed")
    assert {finding.about: finding.since.value for finding in result.findings} == {
        **dict.fromkeys(PLACES[:-1], "standing"),
        PLACES[-1]: "new",
    }


def test_places_that_the_pack_only_counts_are_counted() -> None:
    many = [f"Deployment web-{number:03}" for number in range(120)]
    result = review(there(), *everywhere(many), result="failed")
    assert len(result.findings) == len(many)
    assert "and 114 more: " in review_markdown(result, TODAY)


def test_something_else_that_is_undecided_of_the_same_workload_is_new() -> None:
    open_ = "P-RUN: job x: could not be proved: ml may or may not run on pool {}\n  why: {}\n  who: {}"
    base = previews.stream(previews.message(open_.format("a", "driver 418.88", "course C"), "advisory"))
    for pool, why, who, since in [
        ("a", "driver 418.88", "course D", "standing"),
        ("b", "driver 418.88", "course C", "new"),
        ("a", "driver 470.82.01", "course C", "new"),
    ]:
        changed = step(POOL, "a", previews.pool("a"), previews.pool("a", "580.95.05"))
        result = review(changed, previews.message(open_.format(pool, why, who), "advisory"), base=base)
        assert result.findings[0].since == since
        assert result.verdict.outcome == ("undecided" if since == "new" else "fine")


def test_what_is_undecided_stands_with_another_amount_and_in_another_order() -> None:
    room = (
        "P-ROOM: pool a: could not be proved: its images have at least {}; what {} really has is read after the build."
    )
    base = previews.stream(previews.message(room.format("0.74 GB", "hub, ml"), "advisory"))
    (finding,) = review(previews.message(room.format("1.30 GB", "ml, hub"), "advisory"), base=base).findings
    assert finding.since == "standing"


def test_findings_are_new_resolved_or_standing_against_the_base_branch() -> None:
    base = previews.stream(previews.message(REFUSED), previews.message(LATER, "advisory"), result="failed")
    fresh = "P-GPU: job x: env.NVIDIA_VISIBLE_DEVICES chooses GPUs. Take it away."
    result = review(there(), previews.message(fresh), previews.message(LATER, "advisory"), base=base, result="failed")
    assert [(each.rule, each.since.value) for each in result.findings] == [
        ("P-GPU", "new"), ("P-PIN", "standing"), ("P-HOST", "resolved"),
    ]  # fmt: skip
    text = review_markdown(result, TODAY)
    assert "1 new, 1 resolved, 1 as on the base branch." in text
    assert "<details><summary>1 as on the base branch</summary>" in text
    assert result.verdict.outcome.exit_code == 1


def test_a_finding_whose_numbers_alone_changed_stands() -> None:
    sizes = [
        "P-SIZE: job x: 4.10 GB is above 4.00 GB. Shrink it.",
        "P-SIZE: job x: 4.30 GB is above 4.00 GB. Shrink it.",
    ]
    base = previews.stream(previews.message(sizes[0], "advisory"))
    (finding,) = review(previews.message(sizes[1], "advisory"), base=base).findings
    assert finding.since == "standing"


def test_a_base_branch_that_proves_nothing_is_named_and_compared_with_nothing() -> None:
    cut = previews.stream().rpartition(b'{"sequence"')[0]
    result = review(previews.message(REFUSED), base=cut, result="failed")
    assert [each.since.value for each in result.findings] == [""]
    assert "new and resolved findings are not shown" in result.remarks[0]


def test_a_finding_that_says_the_same_of_many_is_reported_once() -> None:
    messages = [
        previews.message(
            f"P-PIN: profile p{n} of hub datahub: could not be proved: image is not known yet.", "advisory"
        )
        for n in range(9)
    ]
    text = markdown(*messages)
    assert text.count("`P-PIN`") == 1
    assert "and 3 more" in text


def test_a_message_of_several_lines_keeps_them() -> None:
    text = markdown(
        there(), previews.message("P-RUN: image ml: does not run\n  why: CUDA 10.2\n  who: course ML"), result="failed"
    )
    assert "- Refused: `P-RUN` image ml: does not run\n  - why: CUDA 10.2\n  - who: course ML\n" in text


def test_the_message_of_a_foreign_pack_is_shown_whole() -> None:
    text = markdown(there(), previews.message("a: b", policyPackName="other", policyName="tags"), result="failed")
    assert "`other tags` datahub: What is refused" in text


@each_row(
    "line", ["", '\n  finding/0 {"rule":"P-HOST","level":"refuse","subject":"x"}', '\n  finding/1 {"rule":"P-HOST"}']
)
@each_row(("level", "shown"), [("mandatory", "Refused"), ("advisory", "Advice")])
def test_a_message_of_our_pack_without_a_line_that_we_know_is_shown_as_it_is(line: str, level: str, shown: str) -> None:
    text = previews.message("x")[1]["message"].replace("x", f"{REFUSED}{line}")
    policy = {"policyName": "workloads", "enforcementLevel": level, "resourceUrn": previews.urn(HUB, "datahub")}
    changed = step(POOL, "a", previews.pool("a"), previews.pool("a", "580.95.05"))
    comment = markdown(changed, ("policyEvent", {**previews.PACK, **policy, "message": text}))
    assert f"- {shown}: `gpu-commons workloads` datahub: P-HOST: profile ml of hub datahub: no pool can" in comment


def test_the_line_for_programs_is_not_shown() -> None:
    assert "finding/1" in previews.message(REFUSED)[1]["message"]
    comment = markdown(there(), previews.message(REFUSED), previews.message(LATER, "advisory"), result="failed")
    assert "finding/1" not in comment


# --- changes


def test_the_order_of_the_engine_does_not_matter() -> None:
    lines = previews.recorded("image").split(b"\n")
    last = [line for line in lines if b'"summaryEvent"' in line or b"pulumi:pulumi:Stack" in line[:300]]
    others = [line for line in lines if line not in last]
    results = [review_of(read_stream(b"\n".join([*some, *last])), None, SOURCES) for some in (others, others[::-1])]
    assert review_markdown(results[0], TODAY) == review_markdown(results[1], TODAY)


def test_an_upgrade_that_breaks_nothing_says_so() -> None:
    ml = previews.image("torch==1.7.1+cu101", cuda=["10.1"])
    changed = step(POOL, "pool", previews.pool("pool", "418.88"), previews.pool("pool", "580.95.05"))
    assert "Nothing changes: 1 of 1 pair of image and pool run, as before." in markdown(
        changed, step(IMAGE, "ml", ml, ml)
    )


def test_a_node_that_moves_a_profile_that_comes_and_a_pool_that_goes_are_each_one_entry() -> None:
    old = previews.hub(previews.profile("a", "left"))
    new = previews.hub(previews.profile("a", "left"), previews.profile("b", "left", gpus=2))
    text = markdown(
        step(POOL, "left", previews.pool("left", nodes=["n1"]), previews.pool("left", nodes=["n1", "n2"])),
        step(POOL, "right", previews.pool("right", nodes=["n2"]), None),
        step(HUB, "datahub", old, new),
    )
    assert "| pool `left` | nodes: \\+ `n2`<br>GPUs: `8` → `16` |" in text
    assert (
        "| pool `right` (removed) | 1 node with 8 GeForce RTX 2080 Ti each, driver 418.88 | nobody in this stack |"
        in text
    )
    assert "profile b: \\+ `title: B, image: ml, GPUs: 2, pool: left`" in text
    assert "n2 moves from pool right to left." in text


@pytest.mark.parametrize(
    ("effect", "sentence"),
    [
        ("NoSchedule", "Nothing new starts on the 1 node of a without tolerating exam=yes:NoSchedule; what runs there"),
        (
            "NoExecute",
            "Whatever does not tolerate exam=yes:NoExecute is evicted on the 1 node of a at once, sessions included.",
        ),
    ],
)
def test_a_taint_says_what_becomes_of_sessions(effect: str, sentence: str) -> None:
    taint = {"key": "exam", "value": "yes", "effect": effect}
    assert sentence in markdown(step(POOL, "a", previews.pool("a"), previews.pool("a", taints=[taint])))


def test_a_pool_is_called_by_its_name_and_not_by_its_resource() -> None:
    taint = {"key": "exam", "value": "yes", "effect": "NoExecute"}
    old, new = previews.pool("a"), previews.pool("a", "580.95.05", taints=[taint])
    mine = previews.hub(previews.profile("lab", "a"))
    text = markdown(step(POOL, "nodes-of-a", old, new), step(HUB, "datahub", mine, mine))
    assert "exam=yes:NoExecute is evicted on the 1 node of a at once" in text
    assert "| pool `a` |" in text
    assert "driver 580.95.05" in text
    assert "nodes-of-a" not in text.partition("<details>")[0]


def test_what_refuses_a_change_comes_before_the_change() -> None:
    changed = step(POOL, "a", previews.pool("a"), previews.pool("a", "580.95.05"))
    text = markdown(changed, previews.message(REFUSED), result="failed")
    assert text.index("#### Findings") < text.index("#### What changes")


def test_a_profile_whose_pool_goes_is_reported() -> None:
    mine = previews.hub(previews.profile("a", "right"))
    text = markdown(step(POOL, "right", previews.pool("right"), None), step(HUB, "datahub", mine, mine))
    assert "Profile a of datahub asks for pool right, which is removed." in text


@pytest.mark.parametrize(
    ("kind", "old", "new", "cells"),
    [
        ("gpu-commons:index:CourseQuota", {"gpus": 8}, {"gpus": 16}, "| course quota `ml` | GPUs: `8` → `16` |"),
        (
            "kubernetes:core/v1:ResourceQuota", {"spec": {"hard": {"requests.nvidia.com/gpu": "8"}}},
            {"spec": {"hard": {"requests.nvidia.com/gpu": "16"}}}, "| resource quota `ml` |",
        ),
    ],
)  # fmt: skip
def test_a_quota_is_a_separate_change(kind: str, old: Any, new: Any, cells: str) -> None:
    assert cells in markdown(step(kind, "ml", old, new))


def test_packages_of_an_image_are_shown_by_what_moved_came_and_went() -> None:
    old, new = previews.image("torch==1.7.1+cu101", cuda=["10.1"]), previews.image("torch==1.7.1+cu101", cuda=["10.1"])
    old["facts"]["packages"], new["facts"]["packages"] = (
        ["numpy==2.4.6", "scipy==1.17.1"],
        ["numpy==2.4.7", "jax==0.4.1"],
    )
    text = markdown(step(IMAGE, "ml", old, new))
    assert "numpy: `2.4.6` → `2.4.7`<br>packages: − `scipy==1.17.1`, \\+ `jax==0.4.1`" in text  # noqa: RUF001


def test_the_size_of_an_image_is_shown_with_its_change_where_both_are_known() -> None:
    sizes = ({"image_sizes": {"ml": {"compressed_mb": 240.0}}}, {"image_sizes": {"ml": {"compressed_mb": 250.5}}})
    changed = step(IMAGE, "ml", previews.image(version="1"), previews.image(version="2"))
    assert "size: `240.0 MB` → `250.5 MB (+10.5 MB)`" in markdown(changed, previews.stack_event(outputs=sizes))


def test_lower_bounds_of_a_size_are_marked_as_such() -> None:
    old, new = (previews.image(expected={"compressed_mb": size}) for size in (200.0, 260.0))
    assert "size: `at least 200.0 MB by its spec` → `at least 260.0 MB by its spec` |" in markdown(
        step(IMAGE, "ml", old, new)
    )


def test_before_a_build_a_lower_bound_of_the_size_is_shown() -> None:
    old, new = (previews.image(expected={"compressed_mb": size}) for size in (200.0, 260.0))
    sizes = ({"image_sizes": {"ml": {"compressed_mb": 240.0}}}, {"image_sizes": {"ml": previews.UNKNOWN}})
    assert "size: `240.0 MB` → `known after the build, at least 260.0 MB by its spec`" in markdown(
        step(IMAGE, "ml", old, new), previews.stack_event(outputs=sizes)
    )


def test_everybody_behind_a_base_image_is_affected_by_it() -> None:
    child = previews.image(base="base")
    users = previews.hub(
        previews.profile("a", "pool"), courses=[{"name": "c", "title": "C", "seats": 30, "profiles": ["a"]}]
    )
    text = markdown(
        step(
            IMAGE,
            "base",
            {**previews.image(version="1"), "image": "base"},
            {**previews.image(version="2"), "image": "base"},
        ),
        step(IMAGE, "ml", child, child),
        step(HUB, "datahub", users, users),
    )
    assert "| image `base` | version: `1` → `2` | hub datahub: profile a<br>course C (30 seats) |" in text


def test_a_job_that_is_replaced_ends_its_run() -> None:
    old = {"image_name": "ml", "pool": "a", "gpus": 1, "cpu": 1}
    assert "a run in progress ends" in markdown(step(JOB, "smoke", old, {**old, "cpu": 2}))


def test_nodes_that_cost_money_are_priced_by_the_month() -> None:
    def group(most: int) -> dict[str, Any]:
        return {"instanceTypes": ["g4dn.xlarge"], "scalingConfig": {"minSize": 1, "maxSize": most}}

    text = markdown(step("aws:eks/nodeGroup:NodeGroup", "gpu", group(2), group(4)))
    assert re.search(r"\| `gpu` \| 1–2 × g4dn.xlarge \| 1–4 × g4dn.xlarge \| \\?\+0 to \+768 \|", text), text  # noqa: RUF001
    assert "prices of 2026-07-20" in text
    unknown = markdown(step("aws:ec2/instance:Instance", "gpu", None, {"instanceType": "g99.huge"}))
    assert "no price is known" in unknown


def test_an_image_stops_running_on_a_pool_whose_driver_goes_back() -> None:
    ml = previews.image("torch==2.4.0+cu124", cuda=["12.4"])
    users = previews.hub(previews.profile("a", "pool"))
    result = review(
        step(POOL, "pool", previews.pool("pool", "580.95.05"), previews.pool("pool", "470.82.01")),
        step(IMAGE, "ml", ml, ml), step(HUB, "datahub", users, users),
    )  # fmt: skip
    (cell,) = result.cells.changed
    assert (cell.before, cell.after, cell.uses) == ("compatible", "incompatible", ("profile a of datahub",))
    assert result.verdict.headline.startswith("ml will not run where this stack starts it; 8 GPUs in 1 node restart")
    assert result.verdict.reasons[0] == "ml will not run on pool, where this stack starts it."


def test_an_image_that_this_change_broke_may_go_back_to_its_deployed_versions() -> None:
    old, new = previews.image("torch==1.7.1+cu101", cuda=["10.1"]), previews.image("torch==1.8.1+cu111", cuda=["11.1"])
    users = previews.hub(previews.profile("a", "pool"))
    pool = previews.pool("pool")
    text = markdown(step(POOL, "pool", pool, pool), step(IMAGE, "ml", old, new), step(HUB, "h", users, users))
    (way,) = [line for line in text.splitlines() if line.startswith("- `ml`: ")]
    assert way.startswith(
        "- `ml`: Go back to torch==1.7.1+cu101 (CUDA 10.1, version 1.0.0 of the image), as deployed, or use torch "
    )


def test_what_never_ran_there_is_no_way_back() -> None:
    old, new = previews.image("torch==2.4.0+cu124", cuda=["12.4"]), previews.image("torch==2.4.1+cu124", cuda=["12.4"])
    users = previews.hub(previews.profile("a", "pool"))
    sides = previews.pool("pool", "580.95.05"), previews.pool("pool")
    text = markdown(step(POOL, "pool", *sides), step(IMAGE, "ml", old, new), step(HUB, "h", users, users))
    assert "does not run" in text
    assert "Go back to" not in text


def test_a_fleet_of_another_stack_is_read_from_the_configuration() -> None:
    def fleet(driver: str) -> dict[str, Any]:
        pool = {"name": "a", "gpu": "GeForce RTX 2080 Ti", "gpus_per_node": 8, "driver": driver}
        return {"fleet": {"managed_by": "other", "pools": [{**pool, "container_toolkit": "1.17.0", "nodes": ["n1"]}]}}

    ml = step(IMAGE, "ml", previews.image("torch==2.4.0+cu124"), previews.image("torch==2.4.0+cu124"))
    assert review(ml, config=fleet("470.82.01")).cells.changed == ()  # it does not run there, as before
    base = previews.stream(ml, config=fleet("580.95.05"))
    (cell,) = review(ml, base=base, config=fleet("470.82.01")).cells.changed
    assert (cell.before, cell.after) == ("compatible", "incompatible")


def test_an_unknown_gpu_is_reported_and_hides_no_other_cell() -> None:
    ml = previews.image("torch==2.4.0+cu124", cuda=["12.4"])
    result = review(
        step(POOL, "odd", previews.pool("odd", gpu="Voodoo 2"), previews.pool("odd", "470.82.01", gpu="Voodoo 2")),
        step(POOL, "pool", previews.pool("pool", "580.95.05"), previews.pool("pool", "470.82.01")),
        step(IMAGE, "ml", ml, ml),
    )
    assert [cell.pool for cell in result.cells.changed] == ["pool"]
    assert "pool odd: gpu 'Voodoo 2'" in result.cells.not_compared[0]


def target(name: str, *frameworks: str, cuda: str) -> dict[str, Any]:
    return {**previews.image(*frameworks, cuda=[cuda]), "target": name}


def test_each_target_of_a_spec_has_its_own_row_and_none_hides_another() -> None:
    old, new = previews.image("torch==1.7.1+cu101", cuda=["10.1"]), previews.image("torch==2.4.0+cu124", cuda=["12.4"])
    batch = target("batch", "torch==1.7.1+cu101", cuda="10.1")
    users = previews.hub(previews.profile("a", "pool"), previews.profile("b", "pool", "ml-batch"))
    there_ = step(POOL, "pool", previews.pool("pool"), previews.pool("pool"))
    result = review(
        there_, step(IMAGE, "ml", old, new), step(IMAGE, "ml-batch", batch, batch), step(HUB, "h", users, users)
    )
    assert [(cell.image, cell.after, cell.uses) for cell in result.cells.changed] == [
        ("ml", "incompatible", ("profile a of h",))
    ]
    assert result.verdict.reasons[0] == "ml will not run on pool, where this stack starts it."
    assert result.cells.pairs == 2
    broken = target("batch", "torch==2.4.0+cu124", cuda="12.4")
    result = review(
        there_, step(IMAGE, "ml", old, old), step(IMAGE, "ml-batch", batch, broken), step(HUB, "h", users, users)
    )
    assert [(cell.image, cell.uses) for cell in result.cells.changed] == [("ml-batch", ("profile b of h",))]


def placed(name: str, place: str, *frameworks: str, cuda: str) -> dict[str, Any]:
    """Inputs of a GpuImage with another name in the program and its own registry."""
    return {**previews.image(*frameworks, cuda=[cuda]), "image": name, "repository": f"{place}.example.edu/{name}"}


def test_two_images_of_one_spec_have_a_row_each_and_only_those_who_start_one_are_named() -> None:
    old = {place: placed("ml", place, "torch==1.7.1+cu101", cuda="10.1") for place in ("east", "west")}
    new = placed("ml", "west", "torch==2.4.0+cu124", cuda="12.4")
    users = previews.hub(
        previews.profile("a", "pool", reference="east.example.edu/ml@sha256:1"),
        previews.profile("b", "pool", reference="west.example.edu/ml@sha256:2"),
    )
    changed = (step(IMAGE, "east", old["east"], old["east"]), step(IMAGE, "west", old["west"], new))
    there_ = step(POOL, "pool", previews.pool("pool"), previews.pool("pool"))
    result = review(there_, *changed, step(HUB, "h", users, users))
    (cell,) = result.cells.changed
    assert (cell.image, cell.after, cell.uses) == ("ml (west)", "incompatible", ("profile b of h",))
    assert result.cells.pairs == 2
    (only,) = result.changes
    assert [profile.name for profile in only.affected.profiles] == ["b"]
    # Before a build nobody knows a reference: whoever starts an image of that name may start this one.
    users = previews.hub(previews.profile("a", "pool"))
    (cell,) = review(there_, *changed, step(HUB, "h", users, users)).cells.changed
    assert cell.uses == ("profile a of h",)


def test_an_image_with_another_name_in_the_program_is_known_by_that_of_its_spec() -> None:
    old, new = (
        {**placed("ml", "east", "torch==1.7.1+cu101", cuda="10.1"), "facts": {"version": each}} for each in ("1", "2")
    )
    sides = [previews.hub(previews.profile("a", "pool", reference=f"r/ml@sha256:{n}")) for n in (1, 2)]
    text = markdown(step(IMAGE, "notebook", old, new), step(HUB, "h", *sides))
    assert "| image `notebook` | version: `1` → `2` | hub h: profile a |" in text
    assert "| hub `h` | uses the new ml |" in text


UPGRADE = step(POOL, "pool", previews.pool("pool", "418.88"), previews.pool("pool", "580.95.05"))


def test_an_image_that_needs_the_new_driver_says_that_nodes_need_it_first() -> None:
    new = previews.image("torch==2.4.0+cu124", cuda=["12.4"])
    users = previews.hub(previews.profile("a", "pool"))
    text = markdown(UPGRADE, step(IMAGE, "ml", None, new), step(HUB, "h", users, users))
    assert (
        "#### Before the update\n\n"
        "- Before this update the nodes of pool need driver 580.95.05: until then ml does not run there (CUDA 12.4 "
        "needs driver 525.60.13 or newer; this one is 418.88), and profile a of h will start it.\n"
    ) in text
    alone = markdown(UPGRADE, step(IMAGE, "ml", None, new))  # nobody starts it
    assert "Before this update" not in alone


def test_a_new_image_that_runs_is_listed_beside_those_that_run_as_before() -> None:
    old, new = previews.image("torch==1.7.1+cu101", cuda=["10.1"]), previews.image("torch==2.4.0+cu124", cuda=["12.4"])
    text = markdown(UPGRADE, step(IMAGE, "old", old, old), step(IMAGE, "new", None, new))
    assert "Nothing changes: 1 of 1 pair of image and pool run, as before.\n\nNew: ml (new) runs on pool.\n" in text


def test_a_profile_that_takes_another_image_is_shown_with_both_names() -> None:
    sides = [previews.hub(previews.profile("a", "pool", name, reference=f"r/{name}@sha256:1")) for name in ("ml", "dl")]
    assert "| hub `h` | profile a, image: `ml` → `dl` |" in markdown(step(HUB, "h", *sides))


def test_facts_about_the_image_of_a_profile_are_shown_at_the_image() -> None:
    old, new = ({**previews.image(), "facts": {"version": each}} for each in "12")
    sides = [
        previews.hub(previews.profile("a", "pool", reference=f"r/ml@sha256:{n}", contents={"cuda": [f"1{n}.0"]}))
        for n in (1, 2)
    ]
    assert "| hub `h` | uses the new ml |" in markdown(step(IMAGE, "ml", old, new), step(HUB, "h", *sides))


def facts_of(full_name: str, **more: Any) -> dict[str, Any]:
    spec = load_named(full_name)[0]
    lines, frameworks = list(spec.cuda_lines), list(spec.frameworks)
    base = spec.base.image or pinned(spec)
    return {"version": spec.version, "base": base, "cuda_lines": lines, "frameworks": frameworks, **more}


@pytest.mark.parametrize("name", ["cupy-notebook", "cupy-notebook-batch", "scipy-ml-notebook"])
def test_the_spec_at_hand_is_read_where_it_says_the_same_of_the_image_and_its_base(name: str) -> None:
    assert _spec_cases(name, facts_of(name)) == cases_of(load_named(name))
    assert _spec_cases(name, facts_of(name, base="docker.io/nvidia/cuda:11.8.0-runtime-ubuntu22.04")) is None
    assert _spec_cases(name, facts_of(name, version="0.0.1")) is None


def test_a_base_that_the_site_replaces_is_the_one_of_the_spec() -> None:
    seen: list[Any] = []

    def spec_cases(name: str, facts: Any) -> None:  # noqa: ARG001 - the same for every image
        seen.append(facts["base"])

    instead = {"reference": "quay.io/jupyter/base:1", "with": "registry.example.edu/base@sha256:0", "reason": "offline"}
    ml = {**previews.image("torch==2.4.0+cu124", base=instead["with"]), "substitutes": [instead]}
    stream = read_stream(previews.stream(step(POOL, "a", None, previews.pool("a")), step(IMAGE, "ml", None, ml)))
    review_of(stream, None, Sources(spec_cases, _price, TODAY))
    assert seen == ["quay.io/jupyter/base:1"]


@each_row(("gpus", "uses"), [(0, ()), (1, ("job j",)), (8, ("job j",)), (9, ())])
def test_only_who_gets_gpus_of_a_pool_starts_an_image_on_them(gpus: int, uses: tuple[str, ...]) -> None:
    ml = previews.image("torch==2.4.0+cu124", cuda=["12.4"])
    job = {"image_name": "ml", "pool": "pool", "gpus": gpus}
    users = previews.hub({**previews.profile("cpu", ""), "gpus": 0})
    result = review(
        step(POOL, "pool", previews.pool("pool", "580.95.05"), previews.pool("pool", "470.82.01")),
        step(IMAGE, "ml", ml, ml), step(JOB, "j", job, job), step(HUB, "h", users, users),
    )  # fmt: skip
    assert [cell.uses for cell in result.cells.changed] == [uses]
    assert result.verdict.outcome.exit_code == bool(uses)


# --- waivers


@each_row(
    ("until", "state"),
    [(TODAY, "expires today"), (dt.date(2026, 11, 22), "expires in 1 day"), (dt.date(2026, 11, 20), "expired"),
     (dt.date(2027, 6, 30), ""), (None, "its last day cannot be read")],
)  # fmt: skip
def test_a_waiver_says_when_it_ends(until: dt.date | None, state: str) -> None:
    assert Waiver("image ml", "up to 8 GB", "exam", "", until).state(TODAY) == state


def test_waivers_of_rules_and_of_images_are_listed_and_the_packs_note_on_them_is_not_repeated() -> None:
    waiver = {"rule": "P-START", "resource": "profile ml of hub datahub", "reason": "warmed by hand", "owner": "ops"}
    config = {
        "policies": {"waivers": [{**waiver, "until": "2020-06-30"}]},
        "images": [{"name": "ml", "limit": {"compressed_gb": 8, "reason": "exam", "until": "2099-12-20"}}],
    }
    note = "P-WAIVER: stack: no longer waived: P-START of profile ml of hub datahub, until 2020-06-30, by ops: by hand."
    changed = step(POOL, "a", previews.pool("a"), previews.pool("a", "580.95.05"))
    result = review(changed, previews.message(note, "advisory"), config=config)
    text = review_markdown(result, TODAY)
    assert result.findings == ()
    assert "| profile ml of hub datahub | what P-START refuses | 2020-06-30, expired | warmed by hand (ops) |" in text
    assert "| image ml | up to 8 GB compressed | 2099-12-20 | exam |" in text


def test_a_waiver_names_the_target_that_it_is_for() -> None:
    limit = {"compressed_gb": 8, "reason": "exam", "until": "2099-12-20"}
    (waiver,) = review(config={"images": [{"name": "ml", "target": "batch", "limit": limit}]}).waivers
    assert waiver.subject == "image ml-batch"


def test_a_rule_that_only_warns_here_is_reported_once_and_without_an_end() -> None:
    note = "P-WAIVER: stack: the site only warns of P-START."
    changed = step(POOL, "a", previews.pool("a"), previews.pool("a", "580.95.05"))
    levels = {"P-START": "warn", "P-HOST": "refuse"}
    result = review(changed, previews.message(note, "advisory"), config={"policies": {"levels": levels}})
    assert result.findings == ()
    assert "| everything | what P-START refuses | never expires | the site only warns about it |" in (
        text := review_markdown(result, TODAY)
    )
    assert "P-HOST" not in text


# --- secrets


@pytest.mark.parametrize(
    "value",
    [
        "[secret]",
        {"ciphertext": "[secret]"},
        {"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270", "plaintext": "hunter2"},
    ],
)
def test_what_the_engine_hides_stays_hidden(value: Any) -> None:
    old, new = {"plain": "a", "hidden": "[secret]"}, {"plain": "b", "hidden": value}
    text = markdown(step("other:index:Thing", "x", old, new))
    assert "hunter2" not in text
    assert "plain" in text


@each_row(
    ("inputs", "secret"),
    [
        ({"password": "hunter2xyz"}, "hunter2xyz"),
        ({"env": [{"name": "DB_PASSWORD", "value": "hunter2xyz"}]}, "hunter2xyz"),
        ({"url": "https://user:hunter2xyz@example.edu"}, "hunter2xyz"),
        ({"text": "line one\ntoken=hunter2xyz\nline three"}, "hunter2xyz"),
        ({"note": "use ghp_abcdefghijklmnop1234"}, "ghp_abcdefghijklmnop1234"),
        ({"key": "-----BEGIN RSA PRIVATE KEY-----\nMIIEhunter2xyz\n-----END RSA PRIVATE KEY-----"}, "hunter2xyz"),
        ({"nested": {"client_secret": {"value": "hunter2xyz"}}}, "hunter2xyz"),
        ({"args": ["--user", "bob", "--password", "hunter2xyz"]}, "hunter2xyz"),
        ({"command": ["sh", "-c", "mysql -uroot -phunter2xyz -h db"]}, "hunter2xyz"),
        ({"text": "a: 1\nclient_secret: |\n  hunter2xyz\n"}, "hunter2xyz"),
        ({"env": [{"name": "AWS_SECRET_ACCESS_KEY", "value": "hunter2xyz"}]}, "hunter2xyz"),
        ({"set": [{"key": "api_key", "value": "hunter2xyz"}]}, "hunter2xyz"),
        ({"objects": [{"kind": "Secret", "stringData": {"plain": "hunter2xyz"}}]}, "hunter2xyz"),
        ({"values": {"auth": {"tokens": ["hunter2xyz"]}}}, "hunter2xyz"),
        ({"log": '{"auths": {"nvcr.io": {"auth": "hunter2xyz"}}}'}, "hunter2xyz"),
        ({"uploads": [{"file": "/run/secrets/db", "content": "hunter2xyz"}]}, "hunter2xyz"),
        ({"uploads": [{"file": "/etc/ssl/hub.key", "contentBase64": "hunter2xyz"}]}, "hunter2xyz"),
        ({"uploads": [{"file": "/root/.netrc", "content": "hunter2xyz"}]}, "hunter2xyz"),
        ({"uploads": [{"file": "/etc/app.env", "content": "DB_PASSWORD=hunter2xyz"}]}, "hunter2xyz"),
        ({"files": [{"path": "/etc/db_password.txt", "contents": "hunter2xyz"}]}, "hunter2xyz"),
        ({"data": {"tls.key": "hunter2xyz"}}, "hunter2xyz"),
        ({"data": {".dockerconfigjson": "hunter2xyz"}}, "hunter2xyz"),
        ({"envs": ["DB_PASSWORD=hunter2xyz", "A=1"]}, "hunter2xyz"),
    ],
)
def test_no_secret_reaches_a_comment(inputs: dict[str, Any], secret: str) -> None:
    thing = "gpu-commons:index:Thing"  # shown in the table and in the diff
    changed = json.loads(json.dumps(inputs).replace(secret, f"{secret}2"))
    comments = [markdown(step(thing, "x", inputs, changed)), markdown(step(thing, "x", {}, inputs))]
    assert not [text for text in comments if secret in text]
    assert all("| thing `x` |" in text for text in comments)


@each_row("packed", [base64.b64encode, lambda content: base64.b64encode(gzip.compress(content, mtime=0))])
def test_no_secret_reaches_a_comment_in_base64(packed: Callable[[bytes], bytes]) -> None:
    old, new = ({"userData": packed(f"#cloud-config\npassword: {word}\n".encode()).decode()} for word in ("one", "two"))
    text = markdown(step("gpu-commons:index:Thing", "x", old, new))
    assert old["userData"][-12:] not in text
    assert new["userData"][-12:] not in text
    assert "| thing `x` |" in text


@each_row(
    ("inputs", "shown"),
    [
        ({"uploads": [{"file": "/etc/app.toml", "content": "ninety1"}]}, "ninety1"),
        ({"command": ["python", "train.py", "--epochs", "ninety1"]}, "ninety1"),
        ({"args": ["--token-file", "/run/ninety1"]}, "/run/ninety1"),
        ({"objects": [{"kind": "ConfigMap", "data": {"plain": "ninety1"}}]}, "ninety1"),
        ({"ca": "-----BEGIN CERTIFICATE-----\nMIIBninety1\n-----END CERTIFICATE-----"}, "MIIBninety1"),
        ({"auth": {"existingSecret": "ninety1"}}, "ninety1"),
        ({"values": {"max": {"tokens": ["ninety1"]}}}, "ninety1"),
    ],
)
def test_what_is_no_secret_is_shown_in_a_comment(inputs: dict[str, Any], shown: str) -> None:
    changed = json.loads(json.dumps(inputs).replace("ninety1", "ninety2"))
    text = markdown(step("other:index:Thing", "x", changed, inputs))
    assert shown in text
    assert shown.replace("ninety1", "ninety2") in text


@each_row("key", ["packages", "missing", "cuda_lines"])
@each_row("pin", ["tool @ https://bob:hunter2xyz{}@example.edu/x.whl", "ghp_hunter2xyz1234567{}"])
def test_no_secret_reaches_a_comment_through_a_list_of_names(key: str, pin: str) -> None:
    first, second = (pin.format(end) for end in ("a", "b"))
    sides = [previews.image(**{"cuda" if key == "cuda_lines" else key: []}) for _ in range(3)]
    for side, pins in zip(sides, ([], [first], [second]), strict=True):
        side["facts"][key] = pins
    none, one, two = sides
    comments = [markdown(step(IMAGE, "ml", *pair)) for pair in ((none, one), (one, two), (two, none))]
    assert not [text for text in comments if "hunter2xyz" in text]
    assert all("image `ml`" in text for text in comments)


def test_the_content_of_a_kubernetes_secret_is_hidden_whatever_its_keys() -> None:
    old, new = ({"stringData": {"plain": value}} for value in ("hunter2", "hunter3"))
    text = markdown(step("kubernetes:core/v1:Secret", "s", old, new))
    assert "hunter" not in text
    assert f"stringData.plain: {HIDDEN}" in text


@each_row(
    ("text", "cleaned"),
    [
        ("password=hunter2 and more", f"password={HIDDEN} and more"),
        ("api_token: abcdef", f"api_token: {HIDDEN}"),
        ("Job datahub/hub-credentials: image is not known", "Job datahub/hub-credentials: image is not known"),
        ("repository@sha256:abc and n01=n02", "repository@sha256:abc and n01=n02"),
        ("Bearer abcdefgh123456", f"Bearer {HIDDEN}"),
    ],
)
def test_free_text_loses_what_looks_like_a_secret_and_nothing_else(text: str, cleaned: str) -> None:
    assert without_secrets(text) == cleaned


def test_a_value_that_is_not_known_yet_is_marked_as_such() -> None:
    assert shown(previews.UNKNOWN) == "(known after the update)"
    assert previews.UNKNOWN not in markdown(step("other:index:Thing", "x", {"a": "1"}, {"a": previews.UNKNOWN}))


# --- text of others


HOSTILE = [
    "@team look", "see #123 and GH-7 and org/repo#9", "!42 ~bug %1.0 &3 $4", "<script>alert(1)</script>", "<!-- x -->",
    "![x](https://evil.example/p.png)", "[click](javascript:alert(1))", "a | b", "`code`", "***bold***", "- item",
    "1. item", "# head",
    "> quote", "</details>", "```\nend", "line\r\nbreak", "\N{RIGHT-TO-LEFT OVERRIDE}abc", "&lt;b&gt;",
    "https://example.edu/a|b", "mailto:x@example.edu", "<img src=x onerror=alert(1)>",
]  # fmt: skip


@each_row("text", HOSTILE)
def test_a_message_of_others_stays_text(text: str) -> None:
    comment = markdown(there(), previews.message(f"P-GPU: job {text}: {text}. Change it."), result="failed")
    findings = comment.partition("#### Findings")[2].partition("<details>")[0]
    assert "@team" not in findings
    assert not re.search(r"(?<!\u200b)#\d|GH-7", findings.replace("\u200b", "\u200b"))
    assert not Tags.of(comment) - {"details", "summary", "br"}
    assert "\N{RIGHT-TO-LEFT OVERRIDE}" not in comment
    assert findings.strip().count("\n- ") == 0  # one item, whatever it holds


class Tags(html.parser.HTMLParser):
    """Names of the HTML elements that a renderer would see."""

    def __init__(self) -> None:
        super().__init__()
        self.found: set[str] = set()

    def handle_starttag(self, tag: str, attrs: object) -> None:  # noqa: ARG002 - the base class asks for it
        self.found.add(tag)

    @classmethod
    def of(cls, text: str) -> set[str]:
        parser = cls()
        parser.feed(re.sub(r"(`+).*?\1", "", text))
        return parser.found


def test_code_holds_backticks_and_bars() -> None:
    assert code("a`b``c", in_table=True) == "```a`b``c```"
    assert code("a|b", in_table=True) == "`a\\|b`"
    assert escaped("https://example.edu/a_b_c is fine_ly *put*") == "https://example.edu/a_b_c is fine\\_ly \\*put\\*"


@given(st.text(max_size=300))
def test_no_text_makes_a_second_line_or_a_mention(text: str) -> None:
    result = escaped(text)
    assert "\n" not in result
    assert not re.search(r"(?<![\w/])@\w", re.sub(r"https?://\S+", "", result))
    assert "<" not in result


# --- size


@pytest.mark.slow
def test_a_comment_is_never_longer_than_github_takes(run: Run) -> None:
    result = run("comment", "-", stdin=previews.big(5000))
    assert result.exit_code == 1
    assert len(result.stdout.encode()) <= LIMIT
    assert "more. The rest is in the log of the preview." in result.stdout
    assert result.stdout.rstrip().endswith("</details>")


@pytest.mark.slow
@given(
    st.lists(st.text(alphabet=st.sampled_from("a|`<>&@#*_\n\U0001f4a5é"), min_size=1), min_size=1, max_size=12),
    st.integers(1, 3000),
)
def test_no_message_and_no_value_makes_it_longer(texts: list[str], times: int) -> None:
    long = [text * times for text in texts]
    events = [previews.message(f"P-GPU: job x: {text}", name=str(index)) for index, text in enumerate(long)]
    events += [step(POOL, str(index), previews.pool("a"), previews.pool(text)) for index, text in enumerate(long)]
    events += [previews.warning(text) for text in long]
    text = markdown(*events, result="failed")
    assert len(text.encode()) <= LIMIT
    assert text.count("<details>") == text.count("</details>")
    assert len(re.findall(r"^```", text, re.MULTILINE)) == 2 * text.count("```diff")


@pytest.mark.slow
@given(st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=5) | st.just(previews.UNKNOWN),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3), max_leaves=12,
))  # fmt: skip
def test_inputs_of_any_shape_give_a_comment(value: Any) -> None:
    keys = (
        "pool",
        "node_names",
        "gpus_per_node",
        "gpu",
        "driver_version",
        "profiles",
        "courses",
        "facts",
        "image",
        "taints",
    )
    odd = dict.fromkeys(keys, value)
    for kind in (POOL, HUB, IMAGE, JOB, "gpu-commons:index:PrePuller", "aws:eks/nodeGroup:NodeGroup"):
        assert "made" in markdown(step(kind, "x", None, odd), step(kind, "y", odd, {}), step(kind, "z", {}, odd))


@given(st.binary(max_size=400))
def test_no_bytes_are_a_pass(data: bytes) -> None:
    for given_ in (data, b'{"sequence":0,"timestamp":1,"' + data, previews.stream()[: len(data)] + data):
        assert not passes(given_)


def passes(data: bytes) -> bool:
    try:
        return review_of(read_stream(data), None, SOURCES).verdict.outcome.exit_code == 0
    except StreamError as error:
        return "\n" in str(error)  # one sentence
