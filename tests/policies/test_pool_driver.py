"""P-DRIVER: drivers of pools against their GPUs and the calendar."""

from __future__ import annotations

import datetime as dt

from rows import each_row

from compat import Case, read_host
from fleet.pools import PoolGpus
from policies.evaluate import evaluate
from policies.finding import Level
from policies.model import Site


def messages(level: Level, today: dt.date = dt.date(2026, 11, 21), **pools: Case) -> list[str]:
    where = Site(
        nodes=(),
        allowed_registries=(),
        gpus={name: PoolGpus(read_host(case)) for name, case in pools.items()},
        today=today,
    )
    found = evaluate("pulumi:pulumi:Stack", "s", {}, where, frozenset({level}))
    return [message.removeprefix("P-DRIVER: stack: ") for message in found if message.startswith("P-DRIVER")]


def test_a_driver_that_no_longer_knows_a_gpu_is_refused_once_for_all_pools() -> None:
    pascal = Case(gpu="GTX 1080 Ti", driver="595.45.04")
    (message,) = messages(Level.REFUSE, one=pascal, two=pascal, fine=Case(gpu="RTX 2080 Ti", driver="595.45.04"))
    assert message.startswith("pools one, two: driver 595.45.04 no longer supports GeForce GTX 1080 Ti")
    assert "https://" in message


def test_a_gpu_that_needs_the_open_module_is_refused_with_the_other() -> None:
    blackwell = Case(gpu="RTX 5090", driver="580.95.05", kernel_module="proprietary")
    (message,) = messages(Level.REFUSE, new=blackwell)
    assert message.startswith("pool new: GeForce RTX 5090 needs the open kernel modules")


def test_a_driver_that_drives_its_gpus_is_not_refused_for_images_that_nobody_named() -> None:
    assert messages(Level.REFUSE, old=Case(gpu="GTX 1080 Ti", driver="418.88")) == []


@each_row(
    ("driver", "today", "expected"),
    [
        ("418.88", dt.date(2026, 11, 21), "driver branch 418 reached its end of life in 2022-03"),
        ("580.95.05", dt.date(2026, 11, 21), ""),
        ("580.95.05", dt.date(2028, 4, 30), "driver branch 580 is supported until 2028-06"),
        ("580.95.05", dt.date(2028, 6, 30), "driver branch 580 is supported until 2028-06"),
        ("580.95.05", dt.date(2028, 7, 1), "driver branch 580 reached its end of life in 2028-06"),
    ],
)
def test_the_end_of_a_branch_is_reported_when_it_is_over_or_near(driver: str, today: dt.date, expected: str) -> None:
    found = messages(Level.WARN, today, a=Case(gpu="GTX 1080 Ti", driver=driver))
    assert len(found) == bool(expected)
    assert all(message.startswith(f"pool a: {expected} (") for message in found)
