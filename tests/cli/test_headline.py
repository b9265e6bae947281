"""The first line of a comment: the impact in one sentence, behind a sign that says whether somebody has to act."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from rows import each_row

from cli.engine_events import read_stream
from cli.review.document import Sources, review_of
from cli.review.markdown import review_markdown
from compat.values.versions import DriverVersion

sys.path.insert(0, str(Path(__file__).parent))  # for previews.py: folders of tests are no packages here
import previews
from previews import HUB, IMAGE, POOL, step
from test_promises import FALL, TODAY, course, hub, markdown, put

SOURCES = Sources(lambda *_: None, lambda _: None, TODAY)
COURSE = {"name": "ml", "title": "ML", "seats": 30, "profiles": ["a"]}
USERS = previews.hub(previews.profile("a", "pool"), courses=[COURSE])
STAYS = step(HUB, "datahub", USERS, USERS)
UPGRADE = step(POOL, "pool", previews.pool("pool"), previews.pool("pool", "580.95.05"))
ML = previews.image("torch==2.4.0+cu124", cuda=["12.4"])


def comment(*events: previews.Event, base: bytes | None = None, **more: Any) -> str:
    stream = read_stream(previews.stream(*events, **more))
    return review_markdown(review_of(stream, read_stream(base) if base else None, SOURCES), TODAY)


def first(text: str) -> str:
    return text.splitlines()[1].removeprefix("### ")


def test_an_upgrade_of_a_driver_says_what_restarts_for_whom_and_what_to_install() -> None:
    pool = put(FALL, ("fleet", "pools", 0, "driver"), DriverVersion.parse("580.95.05"))
    assert first(markdown(FALL, pool)) == ("⚠️ made: 80 GPUs in 10 nodes restart; 300 seats; install driver 580.95.05")


def test_what_has_to_be_done_first_stands_right_under_the_headline() -> None:
    text = comment(UPGRADE, step(IMAGE, "ml", None, ML), STAYS)
    assert first(text) == "⚠️ made: 8 GPUs in 1 node restart; 30 seats; install driver 580.95.05 first"
    lines = [line for line in text.splitlines() if line]
    assert lines[2] == "#### Before the update"
    assert lines[3].startswith("- Before this update the nodes of pool need driver 580.95.05: until then ml does not")


@each_row(
    ("new", "line"),
    [
        (course(1, guaranteed_gpus=24), "✅ made: Deep learning: guaranteed GPUs 48 → 24 (120 seats)"),
        (course(0, seats=200), "✅ made: Introduction to machine learning: seats 180 → 200"),
        (hub(start_timeout_s=900), "✅ made: hub datahub: start time-out 10 min → 15 min (300 seats)"),
        (
            put(FALL, ("site", "allowed_registries"), FALL.site.allowed_registries[:-1]),
            "✅ made: site dsmlp: allowed registries − docker.io (300 seats)",  # noqa: RUF001
        ),
        (
            put(FALL, ("fleet", "pools", 1, "nodes"), ("n18", "n21", "n22")),
            "⚠️ made: n24 leaves rtx2080ti: 32 → 24 GPUs; 120 seats",
        ),
    ],
)
def test_a_change_of_a_decision_is_the_headline_with_its_seats(new: Any, line: str) -> None:
    assert first(markdown(FALL, new)) == line


def test_a_hub_that_restarts_needs_nobody_to_act() -> None:
    pods = [{"spec": {"template": {"metadata": {"annotations": {"config": side}}}}} for side in "ab"]
    at = f"{HUB}$kubernetes:apps/v1:StatefulSet"
    kind, body = step("kubernetes:apps/v1:StatefulSet", "datahub-hub", *pods)
    body["metadata"]["urn"] = previews.urn(at, "datahub-hub")
    for side in ("old", "new"):
        body["metadata"][side]["inputs"]["metadata"] = {"name": "hub"}
    assert first(comment((kind, body), STAYS)) == "✅ made: nobody can log in at datahub while it restarts (30 seats)"


def test_courses_that_may_want_more_than_there_is_take_the_green_sign() -> None:
    short = "P-TERM: stack: in week 2020-W47, ML and Other need 90 GPUs in total at their peak. Promise fewer."
    changed = step(POOL, "pool", previews.pool("pool", nodes=["n1"]), previews.pool("pool", nodes=["n1", "n2"]))
    advice = previews.message(short, "advisory")
    line = first(comment(changed, STAYS, advice))
    assert line.startswith("⚠️ made: pool pool: GPUs 8 → 16")
    assert line.endswith("; courses may want more GPUs than there are")
    # What the base branch has as well is not this change's.
    assert first(comment(changed, STAYS, advice, base=previews.stream(advice))).startswith("✅")


def test_nodes_that_still_wait_for_their_driver_are_reported_although_nothing_changes() -> None:
    outputs = ({}, {"drifted_nodes": {"pool": ["n01"], "other": []}})
    text = comment(STAYS, previews.stack_event(outputs=outputs))
    assert first(text) == "⚠️ made: 1 node of pool still waits for the declared driver"
    assert "- n01 of pool pool still reports another driver than the declared one: somebody has yet to" in text
    assert comment(STAYS, previews.stack_event()).startswith("✅ made: nothing changes.")


# --- what every build leaves open


LATER = "P-SIZE: profile a of hub datahub: could not be proved: ml has 0.16 GB or more; it is read after the build."
PULLS = previews.hub(previews.profile("a", "pool", reference=previews.UNKNOWN), courses=[COURSE])
BUILD = (
    step(IMAGE, "ml", previews.image(version="1"), previews.image(version="2")),
    step(HUB, "datahub", USERS, PULLS),
)


def test_what_waits_for_a_build_is_folded_and_takes_no_green_sign() -> None:
    text = comment(*BUILD, previews.message(LATER, "advisory"))
    assert first(text).startswith("✅ made: ")
    assert "could not be decided" not in text
    fold = "<details><summary>1 check waits for a build; the update decides before it touches what depends on it"
    assert text.index(fold) < text.index("- Not decided: `P-SIZE` profile a of hub datahub")
    assert "#### Findings" not in text


@pytest.mark.parametrize(
    ("events", "message"),
    [
        ((step(HUB, "datahub", USERS, {**USERS, "start_timeout_s": 5}),), LATER),  # nothing is built
        (BUILD, LATER.replace("P-SIZE", "P-RUN")),  # a spec says enough for that rule
        ((BUILD[0], STAYS), LATER),  # its image is known
    ],
)
def test_what_is_open_for_another_reason_is_not_folded(events: tuple[previews.Event, ...], message: str) -> None:
    text = comment(*events, previews.message(message, "advisory"))
    assert first(text).startswith("⚠️ made: ")
    assert first(text).endswith("1 finding could not be decided")
    assert "waits for a build" not in text


# --- nodes that leave


def test_people_whose_share_shrinks_are_named_with_what_is_left_for_them() -> None:
    text = markdown(FALL, put(FALL, ("fleet", "pools", 1, "nodes"), ("n18", "n21", "n22")))
    assert "| pool `rtx2080ti` | nodes: − `n24`<br>GPUs: `32` → `24` |" in text  # noqa: RUF001
    assert (
        "- n24 leaves pool rtx2080ti: 32 → 24 GPUs. Whose share shrinks: Deep learning (120 seats, 48 guaranteed GPUs):"
        " its pools have 104 GPUs instead of 112.\n"
    ) in text


def test_a_node_without_the_pools_taint_takes_any_pod() -> None:
    text = markdown(FALL, put(FALL, ("fleet", "pools", 1, "nodes"), ("n18", "n21")))
    assert "n22, n24 lose the labels of pool rtx2080ti and the taint that kept other pods away" in text
    assert "no longer starts there, but any other pod may" in text
    assert "To empty them: kubectl drain n22 n24." in text
    assert "nothing new lands there" not in text


def test_a_node_that_is_replaced_by_another_takes_nobodys_share() -> None:
    text = markdown(FALL, put(FALL, ("fleet", "pools", 1, "nodes"), ("n18", "n21", "n22", "n25")))
    assert "n24 leaves pool rtx2080ti, which has as much room as before." in text
    assert "share" not in text
