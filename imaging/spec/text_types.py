"""Text types of an image spec, each with its validation."""

import datetime as dt
import re
from collections.abc import Callable
from typing import Annotated, Final

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from errors.problems import has_password
from imaging.spec.pins import conda_pin, wheel_pin

NAME_PATTERN = r"[a-z0-9]+(-[a-z0-9]+)*"
# The NVIDIA container toolkit reads these as pod settings: an image that sets them sees GPUs not assigned to it.
VISIBILITY_VARIABLES: Final = frozenset({"NVIDIA_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"})
OWN_LABELS: Final = "org.gpu-commons."
OCI_LABELS: Final = "org.opencontainers.image."
OWN_OCI_LABELS: Final = frozenset(
    {"title", "description", "version", "created", "licenses", "base.name", "base.digest"}
)


def _parsed_by(parse: Callable[[str], object]) -> AfterValidator:
    """Accepts the texts that `parse` reads."""

    def check(text: str) -> str:
        parse(text)
        return text

    return AfterValidator(check)


def _cuda_line(text: str) -> str:
    if not re.fullmatch(r"[0-9]{1,2}\.[0-9]{1,2}", text):
        raise ValueError('is not a CUDA line such as "10.1"')
    return text


def _relative_path(text: str) -> str:
    if text.startswith("/") or ".." in text.split("/"):
        raise ValueError("is not a path inside the image's own folder")
    return text


def as_package(entry: object) -> object:
    return {"pypi": entry} if isinstance(entry, str) else entry


def _label(text: str) -> str:
    if text.startswith(OWN_LABELS) or text.removeprefix(OCI_LABELS) in OWN_OCI_LABELS:
        raise ValueError("is written by us from the other keys of the spec")
    return text


def _one_line(text: str) -> str:
    if re.search(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]", text):
        raise ValueError("has a line break or a control character, which is not one line of text")
    return text


def index_page(text: str) -> str:
    host, _, rest = text.removeprefix("https://").partition("/")
    if not re.fullmatch(r"[A-Za-z0-9.-]+(:[0-9]+)?", host) or has_password("?" + rest.partition("?")[2]):
        raise ValueError(
            "holds a user, a password or a token, or no host: write https://host/path, open to everybody who builds"
        )
    return text


def released(given: object) -> object:
    """A date, quoted or not: pydantic alone would read a number as seconds."""
    try:
        day = dt.date.fromisoformat(given) if isinstance(given, str) else None
    except ValueError:
        day = None
    if isinstance(given, dt.date) and not isinstance(given, dt.datetime):
        day = given
    if day is None or not 2000 <= day.year <= 2999:
        raise ValueError("is not a day of the years 2000 to 2999, such as 2026-11-20")
    return day


def _variable(text: str) -> str:
    if text in VISIBILITY_VARIABLES:
        raise ValueError("chooses GPUs, which is for the GPU request of the pod and never for an image")
    return text


Name = Annotated[str, Field(pattern=rf"^{NAME_PATTERN}$", max_length=63)]
KernelName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]*$", max_length=63)]
WheelPin = Annotated[str, _parsed_by(wheel_pin)]
CondaPin = Annotated[str, _parsed_by(conda_pin)]
CudaLine = Annotated[str, AfterValidator(_cuda_line)]
RelativePath = Annotated[str, AfterValidator(_relative_path)]
Variable = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$"), AfterValidator(_variable)]
Line = Annotated[str, AfterValidator(_one_line)]
Text = Annotated[str, Field(min_length=1), AfterValidator(_one_line)]
Folder = Annotated[str, Field(pattern=r"^(/[A-Za-z0-9][A-Za-z0-9_.-]*)+$")]
Port = Annotated[int, Field(ge=1, le=65535)]
Label = Annotated[str, Field(pattern=r"^[a-z0-9]+([._/-][a-z0-9]+)*$"), AfterValidator(_label)]
OsPackage = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9+.-]+(=[0-9A-Za-z.+~:-]+)?$")]


class Strict(BaseModel):
    """Refuses unknown keys and lax conversions: 10.1 without quotes is a number, not a version."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, defer_build=True)
