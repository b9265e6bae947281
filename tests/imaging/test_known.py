"""Facts that were read before are found again by the reference that a workload has."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from imaging.inspection.facts import VERSION, ImageContents, Published, Settings
from imaging.inspection.store import Store, store_folder
from imaging.size.pushed import known

AMD, ARM, INDEX = (f"sha256:{letter * 64}" for letter in "abc")
FACTS = ImageContents(VERSION, AMD, "", "linux/amd64", None, (), Settings())


def stored(tmp_path: Path) -> dict[str, str]:
    environment = {"XDG_CACHE_HOME": str(tmp_path)}
    store = Store(store_folder(environment))
    store.keep(FACTS)
    store.keep(replace(FACTS, digest=ARM, platform="linux/arm64"))
    store.keep(Published(VERSION, INDEX, (("linux/arm64", ARM), ("linux/amd64", AMD))))
    return environment


def test_an_image_is_known_by_its_digest_whatever_its_repository_and_tag(tmp_path: Path) -> None:
    environment = stored(tmp_path)
    assert known(f"registry.example.edu/a@{AMD}", environment) == FACTS
    assert known(f"b:1.2@{AMD}", environment) == FACTS


def test_an_index_is_known_by_the_image_that_our_nodes_run(tmp_path: Path) -> None:
    assert known(f"docker.io/library/busybox@{INDEX}", stored(tmp_path)) == FACTS


def test_an_image_only_for_arm64_is_known_as_such(tmp_path: Path) -> None:
    found = known(f"registry.example.edu/a@{ARM}", stored(tmp_path))
    assert found is not None
    assert (found.digest, found.platform) == (ARM, "linux/arm64")


def test_a_tag_and_what_was_never_read_are_not_known(tmp_path: Path) -> None:
    environment = stored(tmp_path)
    assert known("registry.example.edu/a:1", environment) is None
    assert known(f"registry.example.edu/a@sha256:{'d' * 64}", environment) is None
