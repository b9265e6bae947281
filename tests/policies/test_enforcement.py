"""How strict the rules are: levels, waivers, unproved findings."""

from __future__ import annotations

import datetime as dt

import pytest
from rows import each_row

from policies.enforcement import Strictness, Waiver
from policies.finding import Finding, Level

TODAY = dt.date(2026, 11, 21)
JOB = "Job batch/smoke"


def waiver(until: dt.date = TODAY, rule: str = "P-START", resource: str = JOB) -> Waiver:
    return Waiver(rule, resource, "the nodes are warmed by hand", "platform team", until)


def level(
    given: Strictness, finding: Finding, *, rule: str = "P-START", resource: str = JOB, is_preview: bool = True
) -> Level:
    return given.applied(rule, resource, finding, today=TODAY, is_preview=is_preview).level


@pytest.mark.parametrize(("chosen", "own"), [(Level.WARN, Level.REFUSE), (Level.REFUSE, Level.WARN)])
def test_a_rule_may_be_softened_or_hardened_and_the_others_stay(chosen: Level, own: Level) -> None:
    site = Strictness(levels={"P-START": chosen})
    assert level(site, Finding("slow", own)) is chosen
    assert level(site, Finding("big", own), rule="P-SIZE") is own


def test_a_level_says_nothing_of_what_is_not_proved() -> None:
    site = Strictness(levels={"P-START": Level.REFUSE})
    assert level(site, Finding("unknown", Level.UNPROVED)) is Level.UNPROVED


@each_row(
    ("unproved", "is_own", "is_preview", "expected"),
    [
        (None, True, True, Level.UNPROVED),
        (None, True, False, Level.REFUSE),
        (None, False, False, Level.UNPROVED),
        (Level.WARN, True, False, Level.UNPROVED),
        (Level.REFUSE, False, True, Level.REFUSE),
    ],
)
def test_what_is_not_proved_refuses_where_it_could_have_been_read_or_where_the_site_wants_it(
    unproved: Level | None, *, is_own: bool, is_preview: bool, expected: Level
) -> None:
    finding = Finding("nothing was read of it", Level.UNPROVED, is_own=is_own)
    assert level(Strictness(unproved=unproved), finding, is_preview=is_preview) is expected


def test_a_waiver_lets_one_rule_through_for_one_resource_and_says_why() -> None:
    site = Strictness(waivers=(waiver(),))
    found = site.applied("P-START", JOB, Finding("it takes 900 s"), today=TODAY, is_preview=True)
    assert found.level is Level.WARN
    assert found.message == "waived until 2026-11-21 by platform team: the nodes are warmed by hand; it takes 900 s"
    assert level(site, Finding("x"), resource="Job batch/other") is Level.REFUSE
    assert level(site, Finding("x"), rule="P-SIZE") is Level.REFUSE


def test_a_waiver_ends_with_its_last_day() -> None:
    site = Strictness(waivers=(waiver(TODAY - dt.timedelta(days=1)),))
    assert level(site, Finding("it takes 900 s")) is Level.REFUSE
    assert list(site.waiver_notes(TODAY)) == [
        "no longer waived: P-START of Job batch/smoke, until 2026-11-20, by platform team: the nodes are warmed by hand"
    ]


def test_every_waiver_is_reported_in_every_run() -> None:
    assert list(Strictness(waivers=(waiver(),)).waiver_notes(TODAY)) == [
        "waived: P-START of Job batch/smoke, until 2026-11-21, by platform team: the nodes are warmed by hand"
    ]


def test_a_rule_that_is_none_is_a_problem_with_the_nearest_name() -> None:
    site = Strictness(levels={"P-STRAT": Level.WARN}, waivers=(waiver(rule="P-FOO"),))
    first, second = site.problems({"P-START", "P-SIZE"})
    assert (first.path, first.value) == ("policies.levels.P-STRAT", '"P-STRAT"')
    assert "did you mean P-START?" in first.fix
    assert second.path == "policies.waivers[0].rule"


def test_what_a_softened_rule_would_refuse_says_so_and_so_does_every_run() -> None:
    site = Strictness(levels={"P-START": Level.WARN, "P-BASE": Level.REFUSE})
    found = site.applied("P-START", JOB, Finding("it takes 900 s"), today=TODAY, is_preview=True)
    assert (found.level, found.message) == (Level.WARN, "the site only warns about this: it takes 900 s")
    advice = Finding("it takes 300 s", Level.WARN)
    assert site.applied("P-START", JOB, advice, today=TODAY, is_preview=True) == advice
    assert list(site.softened()) == ["the site only warns about what P-START refuses"]


def test_a_rule_that_only_advises_cannot_be_hardened_or_waived() -> None:
    site = Strictness(levels={"P-ROOM": Level.REFUSE}, waivers=(waiver(rule="P-ROOM"),))
    problems = list(site.problems({"P-START"}, {"P-ROOM"}))
    assert [problem.path for problem in problems] == ["policies.levels.P-ROOM", "policies.waivers[0].rule"]
    assert all("only advises" in problem.reason for problem in problems)
