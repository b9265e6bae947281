"""What the pack writes is what a reader of Pulumi's events reads, whatever the names and sentences in it."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from policies import report
from policies.finding import Finding, Level
from policies.report import NAMED, Places, message, places, read

LINES = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Zl", "Zp"]), min_size=1).map(str.strip)
SENTENCES = LINES.filter(lambda line: line and not line.startswith("could not be proved: "))
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
# The last subject that is named ends as the list itself does.
ENDS_LIKE_THE_LIST = [*(f"job {number}" for number in range(NAMED - 1)), "web and 3 more", "a", "b"]


@given(NAMES, FINDINGS, st.sampled_from(["", "Change it."]), st.sampled_from(["", f"{DESCRIPTION}\n"]))
def test_a_message_is_read_as_it_was_written(subject: str, finding: Finding, remedy: str, above: str) -> None:
    written = message("P-SIZE", subject, finding, remedy)
    assert read(above + written.text, is_refused=finding.level is Level.REFUSE) == written


@given(st.lists(NAMES, min_size=2, max_size=70), FINDINGS)
@example(ENDS_LIKE_THE_LIST, Finding("its size is not known", Level.UNPROVED))
@example(ENDS_LIKE_THE_LIST[:NAMED], Finding("it is slow", Level.WARN))
def test_places_are_read_as_they_were_written(names: list[str], finding: Finding) -> None:
    messages = [message("P-PIN", name, finding, "Write a digest.") for name in names]
    written = places(messages[0], [each.subject for each in messages])
    found = read(written.text, is_refused=False)
    assert found == written
    assert isinstance(found, Places)
    assert len(found.subjects) + found.more == len(names)
    assert all(map(found.repeats, messages))


@given(SENTENCES)
def test_what_the_pack_did_not_write_is_no_message_of_it(text: str) -> None:
    assert read(f"can't run policy 'x': {text}", is_refused=False) is None
