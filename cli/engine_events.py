"""Reads the engine's events of one preview or update, as `pulumi preview --json` and `--event-log` write them."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from cli.engine_values import LONGEST_TEXT, elided, mapping, text

STACK: Final = "pulumi:pulumi:Stack"
OURS: Final = "gpu-commons:index:"
# What our components make, in the order of a comment.
_KINDS: Final = {
    "GpuNodePool": "pool",
    "DockerHost": "pool",
    "EksGpuNodeGroup": "pool",
    "FlatcarGpuNodeGroup": "pool",
    "GpuImage": "image",
    "NotebookHub": "hub",
    "DockerHub": "hub",
    "SlurmHub": "hub",
    "DockerGpuContainer": "container",
    "GpuJob": "job",
    "SlurmGpuJob": "job",
    "NvidiaRuntime": "runtime",
    "PrePuller": "pre-puller",
    "StackRecord": "record",
}
KINDS: Final = tuple(dict.fromkeys(_KINDS.values()))
COMMAND: Final = "PULUMI_ENABLE_STREAMING_JSON_PREVIEW=true pulumi preview --json"
_EVENT: Final = re.compile(rb'\{"sequence":\d+,"timestamp":\d+,"(\w+)"')
_START: Final = b'{"sequence":'
# The engine's debug messages are half of all lines; outputs matter only for the stack.
_PASSED_OVER: Final = frozenset({b"policyRemediateSummaryEvent", b"policyAnalyzeStackSummaryEvent", b"cancelEvent"})
_OF_THE_STACK: Final = b'"type":"pulumi:pulumi:Stack"'
_HEAD: Final = 2000  # how far into a line its type may be, in bytes
_DEBUG: Final = b'"severity":"debug"}}'
_CHANGES: Final = frozenset({"create", "update", "replace", "delete", "import"})
_PARTS_OF_A_REPLACEMENT: Final = frozenset({"create-replacement", "delete-replaced", "import-replacement"})


class StreamError(Exception):
    """The events cannot be read, or are others than were meant. The text is one sentence: the problem, what to do."""


@dataclass(frozen=True, slots=True)
class Step:
    """What happens to one resource. `old` and `new` are its inputs; None before creation and after removal."""

    urn: str
    type: str
    op: str
    old: Mapping[str, Any] | None
    new: Mapping[str, Any] | None
    keys: tuple[str, ...] = ()  # inputs that differ, according to the provider

    @property
    def name(self) -> str:
        return self.urn.rpartition("::")[2]

    @property
    def inputs(self) -> Mapping[str, Any]:
        """As they will be, or were at the end."""
        return self.new or self.old or {}

    @property
    def token(self) -> str:
        """The last part of its type."""
        return self.type.rpartition(":")[2]

    @property
    def kind(self) -> str:
        """What a component of ours makes; empty for anything else."""
        return _KINDS.get(self.token, "") if self.type.startswith(OURS) else ""

    @property
    def owners(self) -> tuple[str, ...]:
        """Its parents that are our components, outermost first."""
        parents = self.urn.split("::")[2].split("$")[:-1] if self.urn.count("::") >= 3 else ()
        return tuple(each.removeprefix(OURS) for each in parents if each.startswith(OURS))


@dataclass(frozen=True, slots=True)
class PolicyMessage:
    """What a pack's policy reported about a resource."""

    pack: str
    policy: str
    level: str  # mandatory, advisory
    urn: str
    message: str
    gave_up: bool  # it met a value that is not known yet; the message is the SDK's


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """A message of the program or the engine: error, warning or info."""

    severity: str
    urn: str
    message: str


@dataclass(slots=True)
class Stream:
    """What comments and summaries use of a run."""

    stack: str = ""
    config: Mapping[str, str] = field(default_factory=dict)
    steps: dict[str, Step] = field(default_factory=dict)  # by URN, in the order of the engine
    old_outputs: Mapping[str, Any] = field(default_factory=dict)
    new_outputs: Mapping[str, Any] = field(default_factory=dict)
    messages: list[PolicyMessage] = field(default_factory=list)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    packs: dict[str, str] = field(default_factory=dict)  # name → version of the packs that looked at a resource
    looked_at: set[str] = field(default_factory=set)  # URNs
    counts: Mapping[str, int] = field(default_factory=dict)  # resources by operation
    result: str = ""  # succeeded or failed; empty if the stream has no end
    is_update: bool = False
    is_corrupt: bool = False  # the engine's own doubt
    damaged: int = 0  # unreadable lines that begin like an event

    @property
    def is_whole(self) -> bool:
        """The engine's summary is there, and nothing before it is missing."""
        return bool(self.result) and not self.damaged and not self.is_corrupt

    @property
    def changed(self) -> Iterator[Step]:
        return (step for step in self.steps.values() if step.op in _CHANGES)

    @property
    def resources(self) -> int:
        """How many there are, without the stack itself."""
        return sum(step.type != STACK and step.op not in {"read", "discard"} for step in self.steps.values())


def read_stream(data: bytes) -> Stream:
    """Events of one run; text between them is skipped.

    An incomplete stream is read as far as it goes. Raises StreamError for input without events or of several runs.
    """
    stream, lines, previews = Stream(), 0, 0
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):  # PowerShell's `>`
        data = data.decode("utf-16", errors="replace").encode()
    for line in data.split(b"\n"):
        start = line.find(_START)
        if start < 0:
            continue
        lines += 1
        line = line[start:].rstrip()  # noqa: PLW2901 - what an installer printed before it
        if (kind := _EVENT.match(line)) and _is_passed_over(kind[1], line):
            continue
        try:
            event = orjson.loads(line)
        except orjson.JSONDecodeError:
            stream.damaged += 1
            continue
        previews += "preludeEvent" in event
        _take(stream, event)
    if not lines:
        raise StreamError(_not_events(data))
    if previews > 1:
        raise StreamError(f"these are the events of {previews} runs; write each preview to a file of its own")
    return stream


def _is_passed_over(kind: bytes, line: bytes) -> bool:
    if kind == b"diagnosticEvent":
        return line.endswith(_DEBUG)
    if kind == b"resOutputsEvent":
        return _OF_THE_STACK not in line[:_HEAD] and line.endswith(b"}")
    return kind in _PASSED_OVER


def _not_events(data: bytes) -> str:
    shown = data[:4096].lstrip(b"\xef\xbb\xbf \t\r\n")
    if not shown:
        return f"there are no events: the file is empty; write them with {COMMAND}"
    if shown.startswith(b"{") and any(key in data for key in (b'"steps"', b'"changeSummary"')):
        return (
            f"this is the digest of `pulumi preview --json`, which has no policy events; write the stream: {COMMAND} "
            "(a CLI that still prints a digest is too old: use 3.259 or newer)"
        )
    return f"no line is an event of Pulumi's engine; write them with {COMMAND}"


def _take(stream: Stream, event: Mapping[str, Any]) -> None:
    for kind, body in ((key, value) for key, value in event.items() if isinstance(value, Mapping)):
        match kind:
            case "preludeEvent":
                config = mapping(body.get("config"))
                stream.config = {key: value for key, value in config.items() if isinstance(value, str)}
            case "resourcePreEvent":
                _take_step(stream, mapping(body.get("metadata")))
            case "resOutputsEvent":
                _take_outputs(stream, mapping(body.get("metadata")))
            case "policyEvent":
                stream.messages.append(_message(body))
            case "policyAnalyzeSummaryEvent" if pack := text(body.get("policyPackName")):
                stream.packs[pack] = text(body.get("policyPackVersion"))
                stream.looked_at.add(text(body.get("resourceUrn")))
            case "diagnosticEvent":
                _take_diagnostic(stream, body)
            case "summaryEvent":
                _take_summary(stream, body)


def _take_step(stream: Stream, metadata: Mapping[str, Any]) -> None:
    urn, kind, op = (text(metadata.get(key)) for key in ("urn", "type", "op"))
    if not urn or urn.count("::") < 3:
        return
    if kind.startswith("pulumi:providers:") and "::default" in urn:
        return  # the engine's own: they appear only in its log, and it does not count them
    stream.stack = stream.stack or urn.split("::")[0].rpartition(":")[2]
    _take_outputs(stream, metadata)
    seen = stream.steps.get(urn)
    if op in _PARTS_OF_A_REPLACEMENT:
        if seen is not None and seen.op == "replace":
            return
        op = "replace"
    differs = (*(metadata.get("diffs") or ()), *mapping(metadata.get("detailedDiff")))
    keys = tuple(dict.fromkeys(key for key in differs if isinstance(key, str)))
    old, new = (
        mapping(state.get("inputs")) if isinstance(state := metadata.get(side), Mapping) else None
        for side in ("old", "new")
    )
    if op == "replace" and seen is not None and seen.op == "replace":  # its halves, if no event covers the whole
        old, new, keys = old or seen.old, new or seen.new, keys or seen.keys
    stream.steps[urn] = Step(urn, kind, op, old, new, keys)


def _take_outputs(stream: Stream, metadata: Mapping[str, Any]) -> None:
    if metadata.get("type") == STACK:
        old, new = (mapping(mapping(metadata.get(side)).get("outputs")) for side in ("old", "new"))
        stream.old_outputs, stream.new_outputs = old or stream.old_outputs, new or stream.new_outputs


def _message(body: Mapping[str, Any]) -> PolicyMessage:
    policy, message = text(body.get("policyName")), text(body.get("message"))
    return PolicyMessage(
        pack=text(body.get("policyPackName")),
        policy=policy,
        level=text(body.get("enforcementLevel")),
        urn=text(body.get("resourceUrn")),
        message=elided(message, LONGEST_TEXT),
        # The SDKs have no field for it, only this sentence: pulumi_policy/policy.py, at UnknownValueError.
        gave_up=message.startswith(f"can't run policy '{policy}' "),
    )


def _take_diagnostic(stream: Stream, body: Mapping[str, Any]) -> None:
    severity = text(body.get("severity")).partition("#")[0]
    if severity in {"error", "warning", "info"} and (message := text(body.get("message")).strip()):
        stream.diagnostics.append(Diagnostic(severity, text(body.get("urn")), elided(message, LONGEST_TEXT)))


def _take_summary(stream: Stream, body: Mapping[str, Any]) -> None:
    stream.is_update |= body.get("isPreview") is False
    counts = mapping(body.get("resourceChanges"))
    stream.counts = {key: value for key, value in counts.items() if isinstance(value, int)}
    stream.result = text(body.get("result")) or "succeeded"
    stream.is_corrupt = body.get("maybeCorrupt") is True
