"""A case as people and programs write it: its text fields, and their reader.

`host.py` reads the fields of the host, `image.py` those of the image; nothing after them sees a text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields, replace
from typing import Generic, TypeVar

from compat.values.fact import THE_CASE, Fact
from compat.values.findings import Change, Finding, Severity
from compat.values.versions import VersionError

HOSTS = ("bare", "docker", "kubernetes", "apptainer", "wsl")
CLASSES = ("datacenter", "workstation", "geforce", "jetson")
SYSTEMS = ("linux", "windows", "l4t")
MODULES = ("open", "proprietary")
COMPAT_FIRST = "first"  # the image's loader finds the compat package before the driver's libraries
COMPAT = ("yes", COMPAT_FIRST, "no", "unknown")


@dataclass(frozen=True, slots=True)
class Problem:
    """One field that cannot be read. `fix` is what to write instead."""

    field: str
    value: str
    reason: str
    fix: str

    def __str__(self) -> str:
        return f'{self.field}: "{self.value}" {self.reason}' + (f"; {self.fix}" if self.fix else "")


class CaseError(ValueError):
    """A case that cannot be read; all its problems at once."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = tuple(problems)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One question: will this image run on that GPU? Fields are free text; an empty field means unknown."""

    id: str = field(default="", compare=False)  # not part of the question
    gpu: str = ""
    compute_capability: str = ""
    gpu_class: str = ""
    driver: str = ""
    host: str = ""
    container_toolkit: str = ""
    image: str = ""
    cuda: str = ""
    framework: str = ""
    framework_version: str = ""
    build: str = ""
    sm_list: str = ""
    ptx: str = ""
    compressed: str = ""
    cudnn: str = ""
    cuda_compat: str = ""
    cpu_arch: str = ""
    os: str = ""
    instance_type: str = ""
    ami_release: str = ""
    kernel_module: str = ""
    operator: str = ""
    env: str = ""
    image_glibc: str = ""
    host_glibc: str = ""

    def with_changes(self, changes: Iterable[Change]) -> Case:
        """The case after the changes of a remedy."""
        changed = {change.field: change.to for change in changes}
        return replace(self, **changed) if changed else self


FIELDS = tuple(each.name for each in fields(Case))
# Fields that describe the host; all others describe the image.
POOL_FIELDS = (
    "gpu",
    "compute_capability",
    "gpu_class",
    "driver",
    "host",
    "container_toolkit",
    "os",
    "cpu_arch",
    "instance_type",
    "ami_release",
    "kernel_module",
    "operator",
    "host_glibc",
)


# --- reading the fields

Read = TypeVar("Read")
Value = TypeVar("Value")

UNREAD = "CASE"  # instead of a rule id, if a field or a whole case cannot be read
_ABSENT = Fact("a field that cannot be read counts as one that is not given", THE_CASE, "")
_SHOWN = 80  # characters of a value in a message


@dataclass(frozen=True, slots=True)
class OpenField:
    """An open field with more than one candidate; `missing` says what would settle it."""

    field: str
    missing: str


@dataclass(frozen=True, slots=True)
class Reading(Generic[Value]):
    """Possible meanings of a part of a case; none if there are problems. `passed_over` fields were not read."""

    values: tuple[Value, ...]
    notes: tuple[Finding, ...] = ()
    open: tuple[OpenField, ...] = ()
    problems: tuple[Problem, ...] = ()
    passed_over: tuple[str, ...] = ()


class Reader:
    """Collects problems while reading, so that a user sees all at once.

    A lenient reader notes a field that it cannot read, and continues as if the field were absent. A stack file is read
    strictly: there, it is a mistake.
    """

    def __init__(self, *, lenient: bool = False) -> None:
        self._is_lenient = lenient
        self.problems: list[Problem] = []
        self.passed_over: list[Problem] = []
        self.notes: list[Finding] = []
        self.open: list[OpenField] = []

    def read(self, field: str, text: str, read: Callable[[str], Read], *, is_essential: bool = False) -> Read | None:
        """Read the field; None if it is empty, or, with a noted problem, if it cannot be read."""
        if not text:
            return None
        try:
            return read(text)
        except VersionError as error:
            self.problem(field, text, error.reason, is_essential=is_essential)
            return None

    def one_of(self, field: str, text: str, allowed: tuple[str, ...]) -> str:
        """The field in lower case: one of the allowed words, or empty."""
        word = text.lower()
        if word and word not in allowed:
            self.problem(field, text, f"is not one of {', '.join(allowed)}")
            return ""
        return word

    def problem(self, field: str, text: str, reason: str, fix: str = "", *, is_essential: bool = False) -> None:
        """Note a problem. Without an essential field, such as the GPU, there is no answer."""
        found = Problem(field, text[:_SHOWN], reason, fix)
        if is_essential or not self._is_lenient:
            self.problems.append(found)
            return
        self.passed_over.append(found)
        self.notes.append(Finding(UNREAD, Severity.NOTE, f"{found}: it counts as not given", _ABSENT))

    def essential(self) -> None:
        """Fields that were passed over were essential: without them there is no answer."""
        self.problems += self.passed_over

    def done(self, values: tuple[Value, ...]) -> Reading[Value]:
        passed_over = tuple(each.field for each in self.passed_over)
        return Reading(
            () if self.problems else values, tuple(self.notes), tuple(self.open), tuple(self.problems), passed_over
        )
