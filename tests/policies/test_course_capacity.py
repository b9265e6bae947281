"""P-TERM: promises and peaks of courses against the fleet."""

from __future__ import annotations

import datetime as dt
from typing import Any

from compat import Case, read_host
from fleet.courses import Choice, Course
from fleet.pools import PoolGpus
from imaging.spec.compat_cases import Use
from policies.evaluate import evaluate
from policies.finding import Level
from policies.from_settings import site_of
from policies.model import Site
from policies.stacks import DEFAULT_STACKS
from settings.reading import load_stack

POOLS = {"gtx": "GeForce GTX 1080 Ti", "rtx": "GeForce RTX 2080 Ti"}


def course(title: str = "Deep learning", pools: tuple[str, ...] = ("gtx",), **changes: Any) -> Course:
    given: dict[str, Any] = {
        "seats": 100,
        "peak_share": 0.1,
        "guaranteed": 10,
        "borrowable": None,
        "gpus_per_session": 1,
        "first_day": dt.date(2026, 9, 28),
        "last_day": dt.date(2026, 12, 11),
        "choices": (Choice("ml", pools),),
    }
    return Course(title.lower().replace(" ", "-"), title, **{**given, **changes})


def messages(*courses: Course, cuda: str = "10.1", level: Level = Level.REFUSE) -> list[str]:
    where = Site(
        nodes=(),
        allowed_registries=(),
        gpus={pool: PoolGpus(read_host(Case(gpu=gpu, driver="418.88"))) for pool, gpu in POOLS.items()},
        room={"gtx": 80, "rtx": 32},
        courses=courses,
        uses_of=lambda _: (Use("server", None, Case(cuda=cuda)),),
    )
    found = evaluate("pulumi:pulumi:Stack", "s", {}, where, frozenset({level}))
    return [message.removeprefix("P-TERM: stack: ") for message in found if message.startswith("P-TERM")]


def test_promises_that_fit_say_nothing() -> None:
    assert messages(course(guaranteed=80)) == messages(course(guaranteed=80), level=Level.WARN) == []


def test_a_course_is_not_promised_more_than_its_pools_have() -> None:
    (message,) = messages(course(guaranteed=81))
    assert message.startswith(
        "Deep learning is promised 81 GPUs, but the pools that run its images (gtx) have 80. Promise fewer GPUs"
    )


def test_a_course_whose_image_does_not_run_is_reported_by_p_run_alone() -> None:
    assert messages(course(guaranteed=81), cuda="10.2") == []
    assert len(messages(course(guaranteed=81), cuda="10.1")) == 1


def test_two_courses_of_the_same_weeks_share_and_those_of_others_do_not() -> None:
    one, other = course("One", guaranteed=50), course("Other", guaranteed=50)
    (message,) = messages(one, other)
    assert message.startswith(
        "in weeks 2026-W40 to 2026-W50, One and Other are promised 100 GPUs in total, but the pools that run their "
        "images (gtx) have 80."
    )
    later = course("Other", guaranteed=50, first_day=dt.date(2027, 1, 4), last_day=dt.date(2027, 3, 12))
    assert not messages(one, later)


def test_only_the_weeks_in_which_both_are_there_are_reported() -> None:
    overlap = course("Other", guaranteed=50, first_day=dt.date(2026, 12, 7), last_day=dt.date(2027, 3, 12))
    (message,) = messages(course("One", guaranteed=50), overlap)
    assert message.startswith("in week 2026-W50, One and Other ")


def test_a_course_that_may_go_elsewhere_makes_room_for_one_that_may_not() -> None:
    assert not messages(course("One", ("gtx", "rtx"), guaranteed=50), course("Other", guaranteed=60))


def test_a_peak_above_what_a_course_may_take_is_a_warning_with_its_sum() -> None:
    (message,) = messages(course(peak_share=0.5, borrowable=20), level=Level.WARN)
    assert message.startswith(
        "Deep learning needs 50 GPUs at its peak (100 seats, 50% of them at once, 1 each), but it may use 30"
        " (10 guaranteed, 20 borrowed), so some sessions wait."
    )
    assert not messages(course(peak_share=0.3, borrowable=20), level=Level.WARN)


def test_peaks_of_all_courses_together_are_a_warning() -> None:
    (message,) = messages(course("One", peak_share=0.5), course("Other", peak_share=0.5), level=Level.WARN)
    assert "One and Other need 100 GPUs in total at their peak" in message


def test_a_course_without_gpus_needs_none() -> None:
    assert not messages(course(gpus_per_session=0, guaranteed=0, choices=()), level=Level.WARN)


def test_what_is_assumed_is_called_so() -> None:
    (message,) = messages(course(guaranteed=81, is_assumed=True))
    assert "(assumed by the stack file)" in message


def test_the_reference_stacks_term_fits_its_fleet() -> None:
    in_term = dt.date(2020, 10, 5)
    where = site_of(load_stack(DEFAULT_STACKS / "Pulumi.dsmlp-fall.yaml"), today=in_term)
    assert [each.guaranteed for each in where.courses] == [36, 48]
    assert [each.gpus_per_session for each in where.courses] == [1, 1]
    found = evaluate("pulumi:pulumi:Stack", "s", {}, where, frozenset(Level))
    assert [message for message in found if message.startswith("P-TERM")] == []
