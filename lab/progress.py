"""Output while the engine works: one line for each changing resource, from the engine's events. Pure.

Unchanged and read resources get no line. Errors, warnings and findings of the policy pack are shown in full as soon as
they arrive; an image that differs from its spec gets one line at the end.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final

from cli.engine_values import NOTHING, differences, elided, mapping, place, shown, text, without_secrets
from imaging.build.building import CHECKED_LABEL
from imaging.build.buildkit import Buildx, Client
from imaging.build.faults import advice
from policies.report import for_people

IMAGE: Final = "gpu-commons:index:GpuImage"
BUILD: Final = "docker-build:index:Image"
SECRET: Final = "kubernetes:core/v1:Secret"  # noqa: S105 - a type
LEFT_OUT: Final = "nothing"  # a substitute's replacement
OF_FILES: Final = "the files it is built from changed"
DOCKER: Final = Buildx(("docker", "buildx"))
LAST_LINES: Final = 15  # of a failed build
WIDTH: Final = 160  # of a resource's changes
WORTH_SHOWING_S: Final = 2
_MARKUP: Final = re.compile(r"<\{%.*?%\}>")


class Mode(Enum):
    """Whether the engine reports what it did or what it would do."""

    UPDATE = "update"
    PREVIEW = "preview"


# For each operation that changes something: sign, what was done, what would be done.
_WORDS: Final[Mapping[str, tuple[str, str, str]]] = {
    "create": ("+", "created", "create"),
    "update": ("~", "updated", "update"),
    "replace": ("±", "replaced", "replace"),
    "delete": ("-", "deleted", "delete"),
    "import": ("=", "imported", "import"),
}
# A replacement is shown once, with its new half.
_HALVES: Final = {"create-replacement": "replace", "import-replacement": "replace"}
_BUILDS: Final = ("create", "update", "replace")


@dataclass(slots=True)
class _Resource:
    """What is known of a resource under change."""

    op: str
    type: str
    name: str
    started: float
    metadata: Mapping[str, Any]
    status: deque[str] = field(default_factory=lambda: deque(maxlen=LAST_LINES))  # status lines, newest last


@dataclass(slots=True)
class Progress:
    """Turns events into lines. `notices` is what to print at the very end."""

    mode: Mode
    builder: Client = DOCKER  # the client that builds, for advice
    output_of: Callable[[str], Sequence[str]] = lambda _: ()  # the last failed build of a tag, from the builder
    notices: list[str] = field(default_factory=list)
    reported: list[str] = field(default_factory=list)  # errors and warnings, verbatim
    has_error: bool = False
    _running: dict[str, _Resource] = field(default_factory=dict)
    _images: dict[str, Mapping[str, Any]] = field(default_factory=dict)  # inputs of those without a notice yet
    _failed: dict[str, _Resource] = field(default_factory=dict)
    _replaced: dict[str, _Resource] = field(default_factory=dict)
    _errors: dict[str, str] = field(default_factory=dict)

    def take(self, event: Mapping[str, Any]) -> list[str]:
        """The lines for this event."""
        at = float(event.get("timestamp") or 0)
        steps = {"resourcePreEvent": self._begins, "resOutputsEvent": self._ends, "resOpFailedEvent": self._fails}
        for kind, step in steps.items():
            if body := mapping(event.get(kind)):
                return step(mapping(body.get("metadata")), at)
        words = {"diagnosticEvent": self._says, "policyEvent": _policy, "summaryEvent": self._is_over}
        for kind, lines_for in words.items():
            if body := mapping(event.get(kind)):
                return lines_for(body)
        return []

    def waits_for(self, now: float) -> str:
        """What the engine has worked on for longest, and its latest status line."""
        busy = [each for each in self._running.values() if not each.type.startswith(("gpu-commons:", "pulumi:"))]
        if not busy:
            return ""
        longest = min(busy, key=lambda each: each.started)
        last = f": {elided(longest.status[-1], WIDTH // 2)}" if longest.status else ""
        return f"  … {_kind(longest.type)} {longest.name}, {now - longest.started:.0f} s{last}"

    def _begins(self, metadata: Mapping[str, Any], at: float) -> list[str]:
        urn, kind, op = (text(metadata.get(key)) for key in ("urn", "type", "op"))
        inputs = mapping(mapping(metadata.get("new")).get("inputs"))
        if kind == IMAGE and (inputs.get("substitutes") or mapping(inputs.get("facts")).get("missing")):
            self._images[urn] = inputs
        op = _HALVES.get(op, op)
        if op in _WORDS:
            self._running[urn] = _Resource(op, kind, urn.rpartition("::")[2], at, metadata)
        return []

    def _ends(self, metadata: Mapping[str, Any], at: float) -> list[str]:
        urn, op = text(metadata.get("urn")), text(metadata.get("op"))
        if op == "replace":  # its new half may follow; some previews have none
            if resource := self._running.get(urn):
                self._replaced[urn] = resource
            return []
        if _HALVES.get(op, op) not in _WORDS or (resource := self._running.pop(urn, None)) is None:
            return []
        self._replaced.pop(urn, None)
        return [self._line(resource, at)]

    def _line(self, resource: _Resource, at: float) -> str:
        sign, done, would = _WORDS[resource.op]
        is_build = resource.type == BUILD and resource.op in _BUILDS
        if is_build:
            done, would = ("checked", "check") if _checked(resource) else ("built", "build")
        word = done if self.mode is Mode.UPDATE else would
        took = at - resource.started
        is_timed = self.mode is Mode.UPDATE and (is_build or took >= WORTH_SHOWING_S)
        seconds = f" ({took:.0f} s)" if is_timed else ""
        changed = _changed(resource) if resource.op in ("update", "replace") else ""
        return f"  {sign} {word:<8} {_kind(resource.type)} {resource.name}{seconds}{changed and f': {changed}'}"

    def _fails(self, metadata: Mapping[str, Any], at: float) -> list[str]:
        urn = text(metadata.get("urn"))
        resource = self._running.pop(urn, None)
        if resource is None:
            return []
        self._failed[urn] = resource
        if resource.type == BUILD:
            tags = mapping(mapping(resource.metadata.get("new")).get("inputs")).get("tags") or [""]
            if lines := self.output_of(_checked(resource) or text(tags[0])):
                resource.status = deque(lines, maxlen=LAST_LINES)
        line = f"  ✗ failed   {_kind(resource.type)} {resource.name} ({at - resource.started:.0f} s)"
        # Most plug-ins give a reason before the engine does; otherwise it may still come.
        return [line, *(self._last_words(urn) if urn in self._errors else []), *self._advice(resource, urn)]

    def _says(self, body: Mapping[str, Any]) -> list[str]:
        severity = text(body.get("severity")).partition("#")[0]
        urn = text(body.get("urn"))
        message = without_secrets(_MARKUP.sub("", for_people(text(body.get("message")))).strip("\n"))
        # Whatever an error cancelled is not at fault itself.
        is_cancelled = severity == "error" and self.has_error and "context canceled" in message
        if severity == "debug" or is_cancelled or not message.strip():
            return []
        if body.get("ephemeral"):
            if (resource := self._running.get(urn)) is not None:
                resource.status.extend(message.splitlines())
            return []
        if severity == "info":
            if urn in self._images and _is_about(message, self._images[urn]):
                self.notices.append(_notice(urn.rpartition("::")[2], self._images.pop(urn)))
                return []
            if urn.count("::") >= 3 and urn.split("::")[2].endswith(BUILD):
                return []  # the whole output of a failed build, whose end is shown
            return _block(_named(urn), message)
        self.has_error |= severity == "error"
        self.reported.append(message)
        if severity == "error":
            self._errors[urn] = f"{self._errors.get(urn, '')}\n{message}"
        return [*_block(f"{severity}: {_named(urn)}", message), *self._last_words(urn)]

    def _last_words(self, urn: str) -> list[str]:
        """The end of a failed build's output, if no error has quoted it."""
        resource = self._failed.pop(urn, None)
        if resource is None or not resource.status or resource.status[-1].strip() in self._errors.get(urn, ""):
            return []
        return ["    the last lines:", *(f"    | {without_secrets(line)}" for line in resource.status)]

    def _advice(self, resource: _Resource, urn: str) -> list[str]:
        """What to do about a build that failed for a known reason."""
        known = (
            advice(tuple(resource.status), self._errors.get(urn, ""), self.builder) if resource.type == BUILD else ""
        )
        return [f"    {known}"] if known else []

    def _is_over(self, body: Mapping[str, Any]) -> list[str]:
        lines = [self._line(resource, resource.started) for resource in self._replaced.values()]
        self._replaced.clear()
        for urn in list(self._failed):
            lines += self._last_words(urn)
        counts = mapping(body.get("resourceChanges"))
        column = 1 if self.mode is Mode.UPDATE else 2
        parts = [f"{counts[op]} {words[column]}" for op, words in _WORDS.items() if counts.get(op)]
        if self.mode is Mode.PREVIEW:
            parts = [f"{part.partition(' ')[0]} to {part.partition(' ')[2]}" for part in parts]
        parts.append(f"{counts.get('same', 0)} unchanged")
        return [*lines, f"  {', '.join(parts)} in {body.get('durationSeconds', 0)} s"]


def _checked(resource: _Resource) -> str:
    """The tag of the image that a build only checks; empty for one that pushes."""
    inputs = mapping(mapping(resource.metadata.get("new")).get("inputs"))
    return text(mapping(inputs.get("labels")).get(CHECKED_LABEL))


def _kind(of: str) -> str:
    """`kubernetes:apps/v1:StatefulSet` is a StatefulSet; for our types, the class."""
    return of.rpartition(":")[2] or of


def _named(urn: str) -> str:
    """The resource that a message is about; empty for the whole stack."""
    kind = urn.split("::")[2].rpartition("$")[2] if urn.count("::") >= 3 else ""
    return "" if not kind or kind == "pulumi:pulumi:Stack" else f"{_kind(kind)} {urn.rpartition('::')[2]}: "


def _block(head: str, message: str) -> list[str]:
    """A whole message, with a head before its first line."""
    first, *more = message.splitlines()
    return [f"  {head}{first}", *(f"    {line}".rstrip() for line in more)]


def _policy(body: Mapping[str, Any]) -> list[str]:
    level = "refused" if text(body.get("enforcementLevel")) == "mandatory" else "advice"
    pack, policy = text(body.get("policyPackName")), text(body.get("policyName"))
    message = without_secrets(_MARKUP.sub("", for_people(text(body.get("message")))).strip("\n"))
    return _block(f"{level} ({pack}, {policy}): {_named(text(body.get('resourceUrn')))}", message)


def _changed(resource: _Resource) -> str:
    """Inputs that changed, from what to what, as far as one line allows."""
    old, new = (mapping(mapping(resource.metadata.get(side)).get("inputs")) for side in ("old", "new"))
    hides = ("data", "stringData") if resource.type == SECRET else ()
    keys = [*(resource.metadata.get("diffs") or ()), *mapping(resource.metadata.get("detailedDiff"))]
    # Not an input, and so on neither side.
    parts = [OF_FILES] if resource.type == BUILD and "contextHash" in keys else []
    for loc, before, after in differences(old, new):
        where = place(loc)
        if loc and loc[0] in hides:
            parts.append(where)
        elif any(isinstance(value, str) and "\n" in value for value in (before, after)):
            parts.append(f"{where} (text)")
        elif before is NOTHING:
            parts.append(f"{where} = {_short(after, loc)}")
        elif after is NOTHING:
            parts.append(f"without {where}")
        else:
            sides = dict.fromkeys((_short(before, loc), _short(after, loc)))
            parts.append(f"{where}: {' → '.join(sides)}")
    if not parts:
        parts = list(dict.fromkeys(key for key in keys if isinstance(key, str)))
    return _as_far_as_it_fits(parts)


def _short(value: object, loc: Sequence[str | int]) -> str:
    return shown(value, tuple(loc), longest=60)


def _as_far_as_it_fits(parts: Sequence[str]) -> str:
    line = ""
    for number, part in enumerate(parts):
        longer = f"{line}; {part}" if line else elided(part, WIDTH)
        if len(longer) > WIDTH:
            return f"{line}; and {len(parts) - number} more"
        line = longer
    return line


def _is_about(message: str, inputs: Mapping[str, Any]) -> bool:
    """Whether a message covers everything in which an image differs from its spec."""
    return all(reference in message for reference, _ in _substitutes(inputs)) and all(
        name in message for name in _missing(inputs)
    )


def _notice(name: str, inputs: Mapping[str, Any]) -> str:
    """How an image differs from its spec, in one line."""
    substitutes = _substitutes(inputs)
    replaced = [reference for reference, by in substitutes if by != LEFT_OUT]
    left_out = [reference for reference, by in substitutes if by == LEFT_OUT]
    missing = _missing(inputs)
    parts = [f"a stand-in for {', '.join(replaced)}"] if replaced else []
    parts += [f"nothing from {', '.join(left_out)}"] if left_out else []
    parts += [f"{len(missing)} packages missing" if len(missing) > 1 else f"{missing[0]} missing"] if missing else []
    return f"{name}: {'; '.join(parts)}"


def _substitutes(inputs: Mapping[str, Any]) -> list[tuple[str, str]]:
    entries = inputs.get("substitutes")
    found = [mapping(each) for each in entries] if isinstance(entries, list) else []
    return [(text(each.get("reference")), text(each.get("with"))) for each in found]


def _missing(inputs: Mapping[str, Any]) -> list[str]:
    names = mapping(inputs.get("facts")).get("missing")
    return [text(name) for name in names] if isinstance(names, list) else []
