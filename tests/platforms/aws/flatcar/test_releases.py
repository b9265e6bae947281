"""Releases of Flatcar: their kernels, their driver extensions, and what is not known of them."""

from __future__ import annotations

import datetime as dt

import pytest
from packaging.version import Version
from rows import each_row

from platforms.aws.flatcar.releases import Channel, Release, UnknownRelease, newest, release_of, releases


def test_a_release_tells_the_kernel_that_its_nodes_run() -> None:
    assert release_of("4593.2.5").kernel_release == "6.12.102-flatcar"
    assert release_of(" Flatcar 4230.2.4 ").kernel_release == "6.6.110-flatcar"


def test_two_releases_of_one_line_run_other_kernels() -> None:
    assert release_of("4593.2.4").kernel_release != release_of("4593.2.5").kernel_release


def test_a_release_that_is_not_in_the_table_is_unknown_and_never_its_neighbour() -> None:
    with pytest.raises(
        UnknownRelease, match=r'"4593\.2\.9" is not in the table .* kernel and drivers are not known'
    ) as found:
        release_of("4593.2.9")
    assert found.value.nearest[0].startswith("4593.2.")


@each_row("text", ["", "stable", "899.15.0", "4593.2", "4593.7.0", "4593.2.5-beta", "latest"])
def test_what_is_no_release_is_refused_with_one_that_is(text: str) -> None:
    with pytest.raises(UnknownRelease, match=r"is not a Flatcar release such as 4593\.2\.5; nearest: \d{4}\.\d\.\d"):
        release_of(text)


def test_extensions_came_with_4459() -> None:
    before, after = release_of("4230.2.4"), release_of("4459.2.0")
    assert before.sysext_branches == frozenset()
    assert before.sysext_drivers == ()
    assert after.sysext_branches == {535, 550, 570}
    assert [str(each) for each in after.sysext_drivers or ()] == ["535.261.03", "570.181"]


def test_where_nobody_looked_extensions_are_unknown_and_not_absent() -> None:
    beta = release_of("4790.1.0")
    assert beta.sysext_branches is None
    assert beta.sysext_drivers is None


def test_the_newest_release_of_a_channel_is_the_one_that_was_published_last() -> None:
    assert newest().version == "4593.2.5"
    assert newest(Channel.LTS).channel is Channel.LTS
    stable = releases(Channel.STABLE)
    assert [each.published for each in stable] == sorted(each.published for each in stable)
    assert {each.channel for each in stable} == {Channel.STABLE}


@pytest.mark.parametrize(
    ("version", "last"),
    [("4593.2.5", dt.date(2027, 5, 13)), ("4459.2.2", dt.date(2026, 9, 18)), ("4230.2.0", dt.date(2026, 3, 24))],
)
def test_a_machine_image_is_public_for_nine_months(version: str, last: dt.date) -> None:
    assert release_of(version).public_until == last


def test_a_machine_image_is_found_by_channel_and_version() -> None:
    assert release_of("4593.2.5").image_name() == "Flatcar-stable-4593.2.5-*"


@each_row("release", releases(), ids=lambda each: each.version)
def test_a_row_agrees_with_itself(release: Release) -> None:
    channel = {0: Channel.ALPHA, 1: Channel.BETA, 2: Channel.STABLE, 3: Channel.LTS}
    assert release.channel is channel[Version(release.version).release[1]]
    assert {each.branch for each in release.sysext_drivers or ()} <= (release.sysext_branches or set())
    assert release.origin.source.startswith(("github:", "https://"))
    assert release.origin.unverified <= {"sysext_branches", "sysext_drivers"}
