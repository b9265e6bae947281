"""Value types of a stack file: each parsed once and rejected with a helpful message.

YAML misreads versions (470.10 becomes the number 470.1), so they are quoted strings.
"""

import re
from datetime import date
from typing import Annotated, Final, TypeVar

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PlainSerializer,
    PlainValidator,
    ValidationInfo,
    WithJsonSchema,
)

from compat.evidence.drivers import UnknownFact, native_cuda
from compat.evidence.names.gpu_names import UnknownGpu, find_gpu
from compat.facts.rows import GpuModel
from compat.values.versions import DriverVersion, VersionError
from errors.converted import days, read_day
from errors.faults import Misfit, matching, quoted
from fleet.node_names import NodeNameError, expand_all
from workloads.names import Line

Entries = TypeVar("Entries", str, tuple[str, ...])
_FIRST_YEAR: Final = 2000
_LAST_YEAR: Final = 2999


def _driver(value: object, info: ValidationInfo) -> DriverVersion:
    if not isinstance(quoted(value, info), str):
        raise Misfit("is not a driver version such as 418.88", 'write it as nvidia-smi does: driver: "418.88"')
    try:
        driver = DriverVersion.parse(str(value))
        native_cuda(driver)
    except VersionError as error:
        meant = re.search(r"(?<![\d.])\d{3}\.\d{2,3}(?:\.\d{2})?(?![\d.])", str(value))
        fix = f'write driver: "{meant[0]}"' if meant else 'write it as nvidia-smi does: driver: "418.88"'
        raise Misfit(error.reason, fix) from None
    except UnknownFact:
        fix = "correct it: gpu-commons facts driver_branch lists the branches"
        raise Misfit("is older than any CUDA release in the tables", fix) from None
    return driver


def _gpu(value: object) -> GpuModel:
    if not isinstance(value, str):
        raise Misfit("is not a GPU name", "write a name such as GeForce GTX 1080 Ti")
    try:
        return find_gpu(value)
    except UnknownGpu as error:
        near = f"did you mean {' or '.join(error.suggestions)}? " if error.suggestions else ""
        raise Misfit(error.reason, f"{near}Known models: compat/facts/data/gpu_model.csv") from None


def _toolkit(value: str) -> str:
    if not re.fullmatch(r"\d{1,3}\.\d{1,3}\.\d{1,3}(-rc\.\d{1,3})?", value, re.ASCII):
        meant = re.search(r"(?<![\d.])\d+\.\d+\.\d+(?![\d.])", value)
        fix = f'write container_toolkit: "{meant[0]}"' if meant else "write what nvidia-ctk --version prints"
        raise Misfit("is not a container toolkit version such as 1.17.8", fix)
    return value


_glibc = matching(
    r"(?a)2\.\d{1,2}", "is not a version of glibc such as 2.17", "write what ldd --version prints at the end of a line"
)


def _nodes(value: Entries) -> Entries:
    """A name or range, or a list of them."""
    try:
        expand_all((value,) if isinstance(value, str) else value)
    except NodeNameError as error:
        raise Misfit(error.reason, error.fix) from None
    return value


def _day(value: object) -> date:
    day = read_day(value)
    if day is None:
        meant = " or ".join(f'"{day}"' for day in days(str(value)))
        raise Misfit("is not a day", f"write {meant or 'year, month and day: 2027-06-30'}")
    if not _FIRST_YEAR <= day.year <= _LAST_YEAR:
        raise Misfit("is out of range", f"write a day of the years {_FIRST_YEAR} to {_LAST_YEAR}")
    return day


Day = Annotated[date, BeforeValidator(_day)]
NodesEntry = Annotated[str, AfterValidator(_nodes)]
Nodes = Annotated[tuple[NodesEntry, ...], AfterValidator(_nodes)]
RuleId = Annotated[
    str,
    matching("P-[A-Z]+", "is not the id of a rule", "write what messages begin with: P-START"),
    WithJsonSchema({"type": "string", "pattern": "^P-[A-Z]+$"}),
]
ToolkitVersion = Annotated[str, BeforeValidator(quoted), AfterValidator(_toolkit)]
Glibc = Annotated[str, BeforeValidator(quoted), _glibc]
Driver = Annotated[
    DriverVersion,
    PlainValidator(_driver),
    PlainSerializer(str),
    WithJsonSchema({"type": "string", "pattern": r"^[1-9]\d{2}\.\d{2,3}(\.\d{2})?$"}),
]
Gpu = Annotated[GpuModel, PlainValidator(_gpu), PlainSerializer(str), WithJsonSchema({"type": "string"})]
Assumptions = Annotated[
    tuple[Line, ...],
    Field(description="Keys beside this one that are guesses, not facts; a refusal that relies on one says so."),
]
