"""What the rules about an image's size, a node's disk and the first start refuse, warn of, and cannot prove."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from image_facts import contents, reference
from rows import each_row

from fleet.machines import Machine, Rates
from fleet.nodes import Node
from fleet.unknown import UNKNOWN
from imaging.size.estimate import GB, Origin, Size
from policies.evaluate import evaluate
from policies.finding import Level
from policies.model import Limits, Planned, Site, SizeWaiver

OURS = "registry.example.edu/gpu-commons"
ML = reference("scipy-ml-notebook")
TODAY = dt.date(2026, 11, 21)


def node(name: str, pool: str) -> Node:
    amounts = {"cpu": Decimal(32), "memory": Decimal(64 * 1024**3), "nvidia.com/gpu": Decimal(8)}
    return Node(name, pool, {"gpu-commons.org/pool": pool}, [], amounts)


def site(
    compressed: float | None,
    unpacked: float = 0,
    *,
    machines: Mapping[str, Machine] | None = None,
    waiver: SizeWaiver | None = None,
) -> Site:
    found = None if compressed is None else contents(compressed, unpacked)
    return Site(
        nodes=(node("n01", "gtx1080ti"), node("n02", "gtx1080ti"), node("n10", "gtx1070ti")),
        allowed_registries=("registry.example.edu",),
        own_registry=OURS,
        machines=machines or {pool: Machine(480, is_disk_assumed=True) for pool in ("gtx1080ti", "gtx1070ti")},
        limits=Limits(waivers={"scipy-ml-notebook": waiver} if waiver else {}),
        contents_of=lambda image: found if image == ML else None,
        today=TODAY,
    )


def profile(pool: str = "gtx1080ti", image: Any = ML, **hub: Any) -> dict[str, Any]:
    return {"profiles": [{"name": "ml", "image": image, "pool": pool, "gpus": 1}], "start_timeout_s": 300, **hub}


def messages(where: Site, inputs: Mapping[str, Any], rule: str, level: Level) -> list[str]:
    found = evaluate("gpu-commons:index:NotebookHub", "datahub", inputs, where, frozenset({level}))
    return [message for message in found if message.startswith(f"{rule}:")]


@each_row(("gb", "refused", "warned"), [(3.9, 0, 0), (4.1, 0, 1), (6.0, 0, 1), (6.1, 1, 0)])
def test_compressed_bytes_warn_above_4_gb_and_refuse_above_6(gb: float, refused: int, warned: int) -> None:
    where = site(gb, gb)
    assert len(messages(where, profile(), "P-SIZE", Level.REFUSE)) == refused
    assert len(messages(where, profile(), "P-SIZE", Level.WARN)) == warned


def test_a_refusal_names_the_image_its_size_the_limit_and_what_to_do() -> None:
    (message,) = messages(site(7.25, 15), profile(), "P-SIZE", Level.REFUSE)
    assert message == (
        "P-SIZE: profile ml of hub datahub: scipy-ml-notebook is 7.25 GB compressed: the limit is 6.00 GB. Make the "
        "image smaller (gpu-commons inspect --deep shows what is large), or give it a limit of its own in "
        "images[].limit with a reason and an end date."
    )


def test_a_limit_of_its_own_is_reported_until_it_ends_and_then_refuses() -> None:
    waiver = SizeWaiver(8 * GB, "PyTorch for CUDA 13", TODAY)
    (warned,) = messages(site(7.25, 15, waiver=waiver), profile(), "P-SIZE", Level.WARN)
    assert "allowed until 2026-11-21: PyTorch for CUDA 13" in warned
    ended = SizeWaiver(8 * GB, "PyTorch for CUDA 13", TODAY - dt.timedelta(days=1))
    (refused,) = messages(site(7.25, 15, waiver=ended), profile(), "P-SIZE", Level.REFUSE)
    assert "its own limit of 8.00 GB expired on 2026-11-20" in refused


def test_a_limit_of_ours_is_not_for_an_image_of_somebody_else_that_is_called_the_same() -> None:
    theirs = reference("scipy-ml-notebook", registry="registry.example.edu/other")
    where = site(None, waiver=SizeWaiver(8 * GB, "PyTorch for CUDA 13", TODAY))
    known = replace(where, contents_of={theirs: contents(7.25, 15)}.get)
    (refused,) = messages(known, profile(image=theirs), "P-SIZE", Level.REFUSE)
    assert "the limit is 6.00 GB" in refused


def test_even_its_own_limit_is_a_limit() -> None:
    waiver = SizeWaiver(7 * GB, "PyTorch for CUDA 13", TODAY)
    (refused,) = messages(site(7.25, 15, waiver=waiver), profile(), "P-SIZE", Level.REFUSE)
    assert "over even its own limit of 7.00 GB" in refused


def test_an_image_that_takes_more_than_a_quarter_of_a_disk_is_warned_of() -> None:
    machines = {"gtx1080ti": Machine(50), "gtx1070ti": Machine(480)}
    (warned,) = messages(site(3.9, 15, machines=machines), profile(), "P-SIZE", Level.WARN)
    assert "15.00 GB unpacked: more than 25% of the 50 GiB disk of a node of pool gtx1080ti" in warned
    assert not messages(site(3.9, 15, machines=machines), profile("gtx1070ti"), "P-SIZE", Level.WARN)


def test_an_image_that_cannot_fit_a_disk_is_refused_and_an_assumed_disk_is_called_so() -> None:
    machines = {"gtx1080ti": Machine(480), "gtx1070ti": Machine(20, is_disk_assumed=True)}
    where = site(5, 15, machines=machines)
    assert not messages(where, profile(), "P-DISK", Level.REFUSE)
    (refused,) = messages(where, profile("gtx1070ti"), "P-DISK", Level.REFUSE)
    assert refused.startswith(
        "P-DISK: profile ml of hub datahub: scipy-ml-notebook cannot fit the disk of n10 of pool gtx1070ti: 5.00 GB "
        "compressed plus 15.00 GB unpacked, but of 20 GiB (assumed by the stack file) the kubelet leaves 18.25 GB"
    )


def test_a_first_start_that_outlasts_the_hub_warns_by_planning_figures_and_refuses_by_stated_ones() -> None:
    planned = site(5, 15)
    assert not messages(planned, profile(), "P-START", Level.WARN)
    (warned,) = messages(planned, profile(start_timeout_s=200), "P-START", Level.WARN)
    assert "takes about 265 s" in warned
    assert (
        "pull 5.00 GB at 50 MB/s 100 s, unpack 15.00 GB (gzip) at 100 MB/s 150 s, start 15 s; the rates are" in warned
    )
    stated = {"gtx1080ti": Machine(480, rates=Rates(pull_mb_per_s=10), are_rates_planned=False)}
    (refused,) = messages(site(5, 15, machines=stated), profile(), "P-START", Level.REFUSE)
    assert "takes about 665 s" in refused
    assert "the hub gives up after 300 s" in refused


def test_a_volume_that_parallel_pulls_wait_for_is_warned_of() -> None:
    slow = Machine(480, slow_disk="parallel pulls want 600 MiB/s of the volume, which has 300: give it 600 MiB/s")
    (warned,) = messages(site(5, 15, machines={"gtx1080ti": slow}), profile(), "P-START", Level.WARN)
    assert "starts slowly: parallel pulls want 600 MiB/s of the volume, which has 300: give it 600 MiB/s" in warned


@pytest.mark.parametrize("rule", ["P-DISK", "P-START"])
def test_a_pool_that_an_unknown_value_may_keep_it_off_refuses_nothing_unless_all_are_alike(rule: str) -> None:
    slow = Machine(20, rates=Rates(pull_mb_per_s=10), are_rates_planned=False)
    hub = profile(pool=UNKNOWN)
    one = site(5, 15, machines={"gtx1080ti": slow, "gtx1070ti": Machine(480)})
    assert not messages(one, hub, rule, Level.REFUSE)
    (unproved,) = messages(one, hub, rule, Level.UNPROVED)
    assert unproved.endswith("whether it lands there depends on what is not known yet.")
    assert len(messages(one, profile(), rule, Level.REFUSE)) == 1
    both = site(5, 15, machines=dict.fromkeys(("gtx1080ti", "gtx1070ti"), slow))
    assert len(messages(both, hub, rule, Level.REFUSE)) == 2


def test_a_hub_that_states_no_time_out_has_its_default_and_an_unknown_one_proves_nothing() -> None:
    stated = {"gtx1080ti": Machine(480, rates=Rates(pull_mb_per_s=10), are_rates_planned=False)}
    silent = {key: value for key, value in profile().items() if key != "start_timeout_s"}
    (refused,) = messages(site(5, 15, machines=stated), silent, "P-START", Level.REFUSE)
    assert "the hub gives up after 600 s" in refused
    unknown = profile(start_timeout_s=UNKNOWN)
    assert not messages(site(5, 15, machines=stated), unknown, "P-START", Level.REFUSE)
    (unproved,) = messages(site(5, 15, machines=stated), unknown, "P-START", Level.UNPROVED)
    assert "start_timeout_s is not known yet" in unproved


def test_a_pre_puller_covers_nodes_that_are_there_and_a_node_that_joins_is_warned_of() -> None:
    stated = {"gtx1080ti": Machine(480, rates=Rates(pull_mb_per_s=10), are_rates_planned=False)}
    where = site(5, 15, machines=stated)
    assert messages(where, profile(), "P-START", Level.REFUSE)
    pre_pulled = profile(images_are_pre_pulled=True)
    assert not messages(where, pre_pulled, "P-START", Level.REFUSE)
    (warned,) = messages(where, pre_pulled, "P-START", Level.WARN)
    assert "takes about 665 s" in warned
    assert (
        "only helps on a node where it has finished, and a node that joins later lacks the image for about 650 s"
        in warned
    )
    assert not messages(site(1, 2), pre_pulled, "P-START", Level.WARN)


def test_facts_that_were_not_read_are_unproved_for_our_images_and_no_matter_for_others() -> None:
    (unproved,) = messages(site(None), profile(), "P-SIZE", Level.UNPROVED)
    assert "the size of scipy-ml-notebook is not known" in unproved


def test_an_update_refuses_an_own_image_that_nobody_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("policies.evaluate.is_preview", lambda: False)
    (refused,) = messages(site(None), profile(), "P-SIZE", Level.REFUSE)
    assert "the size of scipy-ml-notebook is not known" in refused
    assert not messages(site(None), profile(image=reference("other", registry="docker.io")), "P-SIZE", Level.REFUSE)
    foreign = f"registry.example.edu/other/tool@sha256:{'b' * 64}"
    assert not messages(site(None), profile(image=foreign), "P-SIZE", Level.UNPROVED)


def test_an_image_without_digest_and_name_is_nobodys_size() -> None:
    for level in Level:
        assert not messages(site(7, 20), profile(image=UNKNOWN), "P-SIZE", level)
        assert not messages(site(7, 20), profile(image=UNKNOWN), "P-DISK", level)


def planned(gb: float | None, unpacked: float = 0, **places: Any) -> Site:
    """A site whose image is built by this update; its spec says how big it will be at least."""
    size = None if gb is None else Size(round(gb * GB), round(unpacked * GB), Origin.SPEC, compression="zstd")
    return replace(
        site(None, **places),
        own_images=frozenset({"scipy-ml-notebook"}),
        planned_of=lambda name: Planned(size, "debian:bookworm") if name == "scipy-ml-notebook" else None,
    )


def to_build(**hub: Any) -> dict[str, Any]:
    inputs = profile(image=UNKNOWN, **hub)
    inputs["profiles"][0]["image_name"] = "scipy-ml-notebook"
    return inputs


def test_a_lower_bound_above_the_limit_refuses_before_the_build() -> None:
    (refused,) = messages(planned(6.1, 12), to_build(), "P-SIZE", Level.REFUSE)
    assert "scipy-ml-notebook is at least 6.10 GB compressed according to its spec: the limit is 6.00 GB" in refused
    assert not messages(planned(6.1, 12), to_build(), "P-SIZE", Level.UNPROVED)


def test_a_lower_bound_below_the_limit_proves_nothing_and_says_what_is_known() -> None:
    (unproved,) = messages(planned(3.2, 6), to_build(), "P-SIZE", Level.UNPROVED)
    assert "scipy-ml-notebook is at least 3.20 GB compressed according to its spec" in unproved
    assert "its actual size, read after the build, decides P-SIZE, P-DISK and P-START" in unproved
    assert not messages(planned(3.2, 6), to_build(), "P-SIZE", Level.REFUSE)
    assert not messages(planned(3.2, 6), to_build(), "P-SIZE", Level.WARN)
    (warned,) = messages(planned(4.2, 6), to_build(), "P-SIZE", Level.WARN)
    assert "at least 4.20 GB compressed according to its spec; images above 4.00 GB are slow to pull" in warned


def test_a_waiver_holds_for_a_lower_bound_too() -> None:
    where = planned(6.1, 12, waiver=SizeWaiver(8 * GB, "PyTorch for CUDA 13", TODAY))
    assert not messages(where, to_build(), "P-SIZE", Level.REFUSE)
    (warned,) = messages(where, to_build(), "P-SIZE", Level.WARN)
    assert (
        "at least 6.10 GB compressed according to its spec, over the limit of 6.00 GB; allowed until 2026-11-21"
        in warned
    )


def test_a_spec_that_tells_no_size_leaves_it_unproved() -> None:
    (unproved,) = messages(planned(None), to_build(), "P-SIZE", Level.UNPROVED)
    assert "this update builds it, and its spec gives no size" in unproved


def test_disk_and_start_are_refused_by_a_lower_bound_too() -> None:
    machines = {"gtx1080ti": Machine(20, rates=Rates(pull_mb_per_s=10), are_rates_planned=False)}
    where = planned(5, 15, machines=machines)
    (disk,) = messages(where, to_build(), "P-DISK", Level.REFUSE)
    assert "at least 5.00 GB compressed plus 15.00 GB unpacked" in disk
    (start,) = messages(where, to_build(), "P-START", Level.REFUSE)
    assert "takes at least 552 s" in start
    for rule in ("P-DISK", "P-START"):
        assert not messages(planned(0.1, 0.3, machines=machines), to_build(), rule, Level.REFUSE)
