"""Previews of a stack file that somebody changes, without an engine: what the program would register."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any
from unittest import mock

from previews import HUB, IMAGE, JOB, POOL, Event, step, stream

import wiring
from settings.reading import Stack

RECORD = "gpu-commons:index:StackRecord"
RUNTIME = "gpu-commons:index:NvidiaRuntime"

Resources = dict[tuple[str, str], dict[str, Any]]


@mock.patch.object(wiring, "load_family", functools.cache(wiring.load_family))
def registered(stack: Stack) -> Resources:
    """Inputs of the components, by type and name, as `__main__` makes them."""
    refs: Any = {image.full_name: f"{stack.site.registry}/{image.full_name}@sha256:1" for image in stack.images}
    found: Resources = {(RECORD, "stack-file"): {**wiring.record_args(stack)}}
    found |= {(IMAGE, name): {**wiring.image_args(stack, name, None)} for name in refs}
    found |= {(POOL, pool.name): {**wiring.pool_args(pool)} for pool in wiring.managed_pools(stack)}
    if runtime := wiring.runtime_args(stack):
        found[RUNTIME, "nvidia"] = {**runtime}
    found |= {(HUB, hub.name): {**wiring.hub_args(stack, hub, refs)} for hub in stack.hubs}
    found |= {(JOB, job.name): {**wiring.job_args(stack, job, refs, job.namespace)} for job in stack.jobs}
    return found


def steps(old: Stack, new: Stack) -> Iterator[Event]:
    before, after = registered(old), registered(new)
    for kind, name in dict.fromkeys([*before, *after]):
        yield step(kind, name, before.get((kind, name)), after.get((kind, name)))


def preview(old: Stack, new: Stack, *events: Event, **more: Any) -> bytes:
    """The preview of a change from one stack file to the other."""
    return stream(*steps(old, new), *events, **more)
