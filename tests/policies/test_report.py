"""What the pack writes is what a reader of Pulumi's events reads, whatever the names and sentences in it."""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from policies import report
from policies.finding import Finding, Level
from policies.report import NAMED, Places, for_people, message, places, read

LINES = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Zl", "Zp"]), min_size=1).map(str.strip)
SENTENCES = LINES.filter(bool) | st.sampled_from(
    ["could not be proved: x", 'finding/1 {"rule":"P-RUN"}', "P-RUN: x: y"]
)
NAMES = st.text(st.characters(codec="utf-8"), min_size=1).filter(str.strip) | st.sampled_from(
    ["Deployment a/b", "profile a: b of hub c", "x, y", "job 3 places", "web and 3 more", "P-RUN: x", "a:", "a\nb"]
)
WHY = LINES.filter(bool).map(lambda text: report.line("why", text))
FINDINGS = st.builds(
    lambda first, whys, level, remedy: Finding("\n".join([first, *whys]), level, remedy),
    SENTENCES,
    st.lists(WHY, max_size=3),
    st.sampled_from(Level),
    LINES,
)
DESCRIPTION = "Refuses workloads that cannot run or that take GPUs they did not request."
TOLD = message("P-PIN", "Deployment web", Finding("containers[0].image x has no digest"), "Write a digest.")


@given(NAMES, FINDINGS, st.sampled_from(["", "Change it."]), st.sampled_from(["", f"{DESCRIPTION}\n"]))
def test_a_message_is_read_as_it_was_written(subject: str, finding: Finding, remedy: str, above: str) -> None:
    written = message("P-SIZE", subject, finding, remedy)
    assert read(f"{above}{written.reported}\n") == written
    assert for_people(f"{above}{written.reported}\n") == f"{above}{written.text}"


@given(st.lists(NAMES, min_size=2, max_size=70), FINDINGS)
@example([f"job {number}" for number in range(NAMED + 1)], Finding("its size is not known", Level.UNPROVED))
@example([f"job {number}" for number in range(NAMED)], Finding("it is slow", Level.WARN))
def test_places_are_read_as_they_were_written(names: list[str], finding: Finding) -> None:
    messages = [message("P-PIN", name, finding, "Write a digest.") for name in names]
    written = places(messages[0], [each.subject for each in messages])
    found = read(written.reported)
    assert found == written
    assert isinstance(found, Places)
    assert len(found.subjects) + found.more == len(names)
    assert {each.finding for each in messages} == {found.finding}


def test_a_message_ends_with_one_short_line_for_programs() -> None:
    *_, last = TOLD.reported.splitlines()
    assert last == '  finding/1 {"rule":"P-PIN","level":"refuse","subject":"Deployment web","finding":"9ca0bd01"}'


@given(SENTENCES)
def test_what_the_pack_did_not_write_is_no_message_of_it(text: str) -> None:
    assert read(f"can't run policy 'x': {text}") is None


@pytest.mark.parametrize(
    "last",
    [
        "",
        "  finding/2 {}",
        "  finding/1 ",
        "  finding/1 []",
        "  finding/1 {}",
        '  finding/1 {"rule":"P-PIN","level":"refuse"}',
        '  finding/1 {"rule":"P-PIN","level":"maybe","subject":"x","finding":"0"}',
        '  finding/1 {"rule":["P-PIN"],"level":"warn","subject":"x","finding":"0"}',
        '  finding/1 {"rule":"P-PIN","level":"warn","subjects":"x","more":0,"finding":"0"}',
        '  finding/1 {"rule":"P-PIN","level":"warn","subject":"x","finding":"0"} and more',
        f"  finding/1 {'[' * 100_000}",
    ],
)
def test_a_line_that_is_not_ours_is_not_read(last: str) -> None:
    assert read(f"{TOLD.text}\n{last}") is None


def test_a_message_in_which_the_engine_hid_a_name_is_shown_as_it_came() -> None:
    """The engine replaces what its configuration encrypts, wherever it stands."""
    told = read(TOLD.reported.replace("Deployment web:", "Deployment [secret]:"))
    assert told is not None
    assert told.text == f"P-PIN: Deployment web: {TOLD.text.replace('web', '[secret]')}"


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("its images have 0.7 GB; hub, ml are read later", "its images have 1.3 GB; ml, hub are read later", True),
        ("whether it runs on pool a is not known", "whether it runs on pool b is not known", False),
        ("it may run\n  why: driver 418.88\n  who: C", "it may run\n  why: driver 418.88\n  who: D", True),
        ("it may run\n  why: driver 418.88", "it may run\n  why: driver 470.82.01", False),
    ],
)  # fmt: skip
def test_an_open_question_is_the_same_with_other_amounts_and_for_other_people(
    one: str, other: str, *, is_same: bool
) -> None:
    questions = [message("P-RUN", "x", Finding(text, Level.UNPROVED)).question for text in (one, other)]
    assert (len(set(questions)) == 1) is is_same
    assert json.loads(message("P-RUN", "x", Finding(one, Level.UNPROVED)).reported.rpartition("finding/1 ")[2])[
        "question"
    ]
