"""What a preview requests from a registry: little, within seconds, and without an error if there is no answer."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from imaging.inspection.store import Store
from imaging.size.estimate import Origin
from imaging.size.measured import UNPACKED_RATIO
from imaging.size.pushed import read_pushed, size_of_tag

sys.path.insert(0, str(Path(__file__).parent))
import pytest
from made import digest, image
from registry_server import Fault, Registry

TINY = image({"opt/data": bytes(1000)}, {"opt/more": b"x" * 500})


def cache(store: Store) -> dict[str, str]:
    return {"XDG_CACHE_HOME": str(store.folder.parents[1]), "HOME": "/nonexistent"}


@pytest.mark.slow
def test_a_tag_that_is_there_has_its_size_for_two_requests_and_no_layer(registry: Registry, store: Store) -> None:
    found = size_of_tag(registry.push(TINY), cache(store))
    assert found is not None
    packed = sum(map(len, TINY.layers))
    assert (found.compressed, found.origin) == (packed, Origin.REGISTRY)
    assert abs(found.unpacked - packed * UNPACKED_RATIO) < 2
    assert len(registry.seen) == 2


@pytest.mark.slow
def test_what_was_read_before_on_this_machine_is_exact(registry: Registry, store: Store) -> None:
    tagged = registry.push(TINY)
    read_pushed(f"{tagged.removesuffix(':1.0')}@{digest(TINY.manifest)}", cache(store))
    before = len(registry.seen)
    found = size_of_tag(tagged, cache(store))
    assert found is not None
    assert found.origin is Origin.IMAGE
    assert len(registry.seen) == before + 1


@pytest.mark.slow
def test_no_such_tag_no_registry_and_one_that_fails_are_all_no_answer(registry: Registry, store: Store) -> None:
    reference = registry.push(TINY)
    assert size_of_tag(reference.replace(":1.0", ":2.0"), cache(store)) is None
    assert size_of_tag("127.0.0.1:9/team/tiny:1.0", cache(store)) is None
    registry.fail("*", Fault(status=503))
    registry.seen.clear()
    assert size_of_tag(reference, cache(store)) is None
    assert len(registry.seen) == 1


@pytest.mark.slow
def test_a_slow_registry_is_not_waited_for(registry: Registry, store: Store) -> None:
    reference = registry.push(TINY)
    registry.fail("/1.0", Fault(wait_s=8))
    began = time.monotonic()
    assert size_of_tag(reference, cache(store)) is None
    assert time.monotonic() - began < 6
