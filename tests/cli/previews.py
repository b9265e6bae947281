"""Event streams of previews: recorded ones, and made ones in the same form."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from policies import report
from policies.finding import Finding, Level

RECORDINGS = Path(__file__).parent / "recordings"
STACK = "pulumi:pulumi:Stack"
POOL = "gpu-commons:index:GpuNodePool"
HUB = "gpu-commons:index:NotebookHub"
IMAGE = "gpu-commons:index:GpuImage"
JOB = "gpu-commons:index:GpuJob"
UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
PACK = {"policyPackName": "gpu-commons", "policyPackVersion": "0.1.0"}

_OURS = re.compile(r"(P-[A-Z]+): (.*?): (could not be proved: )?(.*)", re.DOTALL)

Inputs = Mapping[str, Any]
Event = tuple[str, Inputs]  # kind and body


def recorded(name: str) -> bytes:
    """The whole stream of tests/cli/recordings/NAME.jsonl.gz, as an engine wrote it: see record.py."""
    return gzip.decompress((RECORDINGS / f"{name}.jsonl.gz").read_bytes())


def urn(kind: str, name: str, stack: str = "made") -> str:
    return f"urn:pulumi:{stack}::gpu-commons::{kind}::{name}"


def step(kind: str, name: str, old: Inputs | None, new: Inputs | None, op: str = "", stack: str = "made") -> Event:
    """One resource; what happens to it follows from its inputs."""
    found = op or ("create" if old is None else "delete" if new is None else "same" if old == new else "update")
    at = urn(kind, name, stack)
    states = {side: None if inputs is None else {"inputs": inputs} for side, inputs in (("old", old), ("new", new))}
    return "resourcePreEvent", {"metadata": {"op": found, "urn": at, "type": kind, "detailedDiff": None, **states}}


def look(kind: str, name: str, stack: str = "made") -> Event:
    """The pack has looked at a resource."""
    return "policyAnalyzeSummaryEvent", {"resourceUrn": urn(kind, name, stack), **PACK}


def message(text: str, level: str = "mandatory", name: str = "datahub", kind: str = HUB, **more: str) -> Event:
    """A policy's message, as the SDK sends it: below the policy's own description.

    `RULE: SUBJECT: FINDING` is what the pack would report with these words for people; other texts stay as they are.
    """
    told = _OURS.fullmatch(text) if "policyPackName" not in more and report.read(text) is None else None
    if told is not None:
        rule, subject, unproved, body = told.groups()
        weight = Level.UNPROVED if unproved else Level.REFUSE if level == "mandatory" else Level.WARN
        text = report.message(rule, subject, Finding(body.removesuffix("."), weight)).reported
    body = {"policyName": "workloads", "enforcementLevel": level, "resourceUrn": urn(kind, name), **PACK, **more}
    return "policyEvent", {**body, "message": f"What is refused (P-PIN: images are pinned).\n{text}\n"}


def warning(text: str, severity: str = "warning") -> Event:
    return "diagnosticEvent", {"severity": severity, "message": text, "prefix": f"{severity}: ", "color": "never"}


def stack_event(op: str = "same", outputs: tuple[Inputs, Inputs] = ({}, {}), name: str = "made") -> Event:
    sides = {side: {"inputs": {}, "outputs": found} for side, found in zip(("old", "new"), outputs, strict=True)}
    at = urn(STACK, f"gpu-commons-{name}", name)
    return "resOutputsEvent", {"metadata": {"op": op, "urn": at, "type": STACK, **sides}}


def lines(events: Iterable[Event]) -> Iterator[bytes]:
    for number, (kind, body) in enumerate(events):
        yield json.dumps({"sequence": number, "timestamp": 1795286450, kind: body}, separators=(",", ":")).encode()


def stream(*events: Event, result: str = "succeeded", config: Inputs | None = None, stack: str = "made") -> bytes:
    """A whole stream: the stack, these events, a pack that looked, and the summary."""
    stated = {f"gpu-commons:{key}": json.dumps(value) for key, value in (config or {}).items()}
    every: list[Event] = [
        ("policyLoadEvent", {}),
        ("preludeEvent", {"config": stated}),
        step(STACK, f"gpu-commons-{stack}", {}, {}, stack=stack),
        *events,
        look(STACK, f"gpu-commons-{stack}", stack),
        ("summaryEvent", {"isPreview": True, "result": result, "resourceChanges": {}, "maybeCorrupt": False}),
    ]
    return b"\n".join([*lines(every), b""])


def pool(name: str, driver: str = "418.88", nodes: Iterable[str] = ("n01",), **more: Any) -> dict[str, Any]:
    """Inputs of a GpuNodePool."""
    return {
        "pool": name,
        "gpu": "GeForce RTX 2080 Ti",
        "gpus_per_node": 8,
        "driver_version": driver,
        "container_toolkit_version": "1.7.0",
        "node_names": [*nodes],
        **more,
    }


def hub(*profiles: Inputs, **more: Any) -> dict[str, Any]:
    """Inputs of a NotebookHub."""
    return {"hub_image_name": "hub", "proxy_image_name": "proxy", "profiles": [*profiles], **more}


def profile(name: str, pool_: str = "", image: str = "ml", reference: str = "", **more: Any) -> dict[str, Any]:
    words = {"name": name, "title": name.upper(), "image_name": image, **({"image": reference} if reference else {})}
    return {**words, "gpus": 1, "pool": pool_, **more}


def image(*frameworks: str, cuda: Iterable[str] = (), **more: Any) -> dict[str, Any]:
    """Inputs of a GpuImage."""
    facts = {"version": "1.0.0", "base": "docker.io/library/debian:bookworm", "cuda_lines": [*cuda], **more}
    return {
        "image": "ml",
        "facts": {**facts, "frameworks": [*frameworks], "packages": [], "kernels": {}, "missing": []},
    }


def big(resources: int) -> bytes:
    """A preview that changes everything in a stack of that many resources: pools, hubs, images, Kubernetes objects."""
    pools = resources // 20
    nodes = [f"n{number:05}" for number in range(resources)]
    events: list[Event] = []
    for index in range(pools):
        mine = nodes[index * 8 : index * 8 + 8]
        name = f"pool{index}"
        events.append(step(POOL, name, pool(name, nodes=mine), pool(name, "580.95.05", nodes=mine)))
        profiles = [profile(f"p{number}", name) for number in range(4)]
        courses = [{"name": f"c{index}", "title": f"Course {index}", "seats": 40, "profiles": ["p0"]}]
        events.append(step(HUB, f"hub{index}", hub(courses=courses), hub(*profiles, courses=courses)))
        events.append(
            message(f"P-HOST: profile p0 of hub hub{index}: no pool can host it ({'x' * 200})", name=f"hub{index}")
        )
    events += [
        step(IMAGE, f"image{number}", image("torch==1.7.1+cu101"), image("torch==2.4.0+cu124")) for number in range(20)
    ]
    for index in range(resources - 2 * pools - 20):
        labels = {f"label-{number}": "x" * 40 for number in range(60)}
        old = {"metadata": {"name": f"object-{index}", "labels": labels}, "data": {"text": "line\n" * 100}}
        new = {**old, "data": {"text": "line\n" * 99 + f"{index}\n"}}
        at = step("kubernetes:core/v1:ConfigMap", f"object-{index}", old, new)
        events += [at, ("resOutputsEvent", at[1]), look("kubernetes:core/v1:ConfigMap", f"object-{index}")]
        events.append(("diagnosticEvent", {"message": "registering resource " * 8, "severity": "debug"}))
    return stream(*events, result="failed")
