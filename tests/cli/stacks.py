"""Previews of a stack file that somebody changes, without an engine: what the program would register."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any
from unittest import mock

from previews import HUB, IMAGE, JOB, POOL, Event, step, stream
from stack_inputs import hub_args, image_args, job_args, pool_args, record_args, runtime_args

from settings import resolve
from settings.reading import Stack

RECORD = "gpu-commons:index:StackRecord"
RUNTIME = "gpu-commons:index:NvidiaRuntime"

Resources = dict[tuple[str, str], dict[str, Any]]


@mock.patch.object(resolve, "load_family", functools.cache(resolve.load_family))
def registered(stack: Stack) -> Resources:
    """Inputs of the components, by type and name, as `__main__` makes them."""
    refs: Any = {image.full_name: f"{stack.site.registry}/{image.full_name}@sha256:1" for image in stack.images}
    found: Resources = {(RECORD, "stack-file"): {**record_args(stack)}}
    found |= {(IMAGE, name): {**image_args(stack, name)} for name in refs}
    found |= {(POOL, pool.name): {**pool_args(pool)} for pool in resolve.managed_pools(stack)}
    if runtime := runtime_args(stack):
        found[RUNTIME, "nvidia"] = {**runtime}
    found |= {(HUB, hub.name): {**hub_args(stack, hub, refs)} for hub in stack.hubs}
    found |= {(JOB, job.name): {**job_args(stack, job, refs)} for job in stack.jobs}
    return found


def steps(old: Stack, new: Stack) -> Iterator[Event]:
    before, after = registered(old), registered(new)
    for kind, name in dict.fromkeys([*before, *after]):
        yield step(kind, name, before.get((kind, name)), after.get((kind, name)))


def preview(old: Stack, new: Stack, *events: Event, **more: Any) -> bytes:
    """The preview of a change from one stack file to the other."""
    return stream(*steps(old, new), *events, **more)
