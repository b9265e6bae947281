"""The kinds of values in a stack file: each parsed once, each refused with words that help.

YAML lies about versions (470.10 is the number 470.1), so they are quoted strings.
"""

import re
from datetime import date, datetime
from typing import Annotated

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PlainSerializer,
    PlainValidator,
    ValidationInfo,
    WithJsonSchema,
)

from components.compat.names import UnknownGpu, find_gpu
from components.compat.tables import GpuModel, UnknownFact, native_cuda
from components.compat.versions import DriverVersion, VersionError
from components.labels import NVIDIA_PREFIX, OWN_PREFIX
from components.references import ImageReference
from components.stack.converted import days
from components.stack.faults import Misfit
from components.stack.node_names import NodeNameError, expand


def _quoted(value: object, info: ValidationInfo) -> object:
    if isinstance(value, int | float):
        raise Misfit("is a number; YAML reads 470.10 as 470.1", f'quote it: {info.field_name}: "{value}"')
    return value


def _driver(value: object, info: ValidationInfo) -> DriverVersion:
    if not isinstance(_quoted(value, info), str):
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
        raise Misfit("is older than every CUDA of the tables", fix) from None
    return driver


def _gpu(value: object) -> GpuModel:
    if not isinstance(value, str):
        raise Misfit("is not a GPU name", "write a name such as GeForce GTX 1080 Ti")
    try:
        return find_gpu(value)
    except UnknownGpu as error:
        near = f"did you mean {' or '.join(error.suggestions)}? " if error.suggestions else ""
        raise Misfit(error.reason, f"{near}Known models: components/compat/data/gpu_model.csv") from None


def _name(value: str) -> str:
    if len(value) > 63 or not re.fullmatch(r"[a-z]([-a-z0-9]*[a-z0-9])?", value):
        raise Misfit("is not a name", "use small letters, digits and dashes, a letter first, 63 characters at most")
    return value


def _namespace(value: str) -> str:
    if value == "default" or value.startswith("kube-"):
        raise Misfit("is a namespace of Kubernetes itself", "choose another: we make and destroy it")
    return _name(value)


def _toolkit(value: str) -> str:
    if not re.fullmatch(r"\d+\.\d+\.\d+(-rc\.\d+)?", value, re.ASCII):
        meant = re.search(r"(?<![\d.])\d+\.\d+\.\d+(?![\d.])", value)
        fix = f'write container_toolkit: "{meant[0]}"' if meant else "write what nvidia-ctk --version prints"
        raise Misfit("is not a container toolkit version such as 1.17.8", fix)
    return value


def _nodes_entry(value: str) -> str:
    try:
        expand(value)
    except NodeNameError as error:
        raise Misfit(error.reason, error.fix) from None
    return value


def _image_reference(value: str) -> str:
    try:
        ImageReference.parse(value)
    except ValueError as error:
        raise Misfit(str(error), "write registry/repository:tag or registry/repository@sha256:…") from None
    return value


def _replaceable(value: str) -> str:
    return value if re.fullmatch(r"https?://[^\s/@]+(/\S*)?", value) else _image_reference(value)


def _registry(value: str) -> str:
    head = value.partition("/")[0]
    try:
        reference = ImageReference.parse(f"{value}/x")
    except ValueError:
        reference = None
    if reference is None or reference.registry != head or reference.tag or reference.digest:
        raise Misfit("is not a registry", "write host[:port] and a folder: registry.example.edu/gpu-commons")
    return value


def _https(value: str) -> str:
    if not re.fullmatch(r"https://[^\s/@?#]+[^\s]*", value):
        raise Misfit("is not an https address", "write https://host/path, without user name or password")
    return value


def _certificates(value: str) -> str:
    import ssl  # noqa: PLC0415 - few stacks have certificates

    if "PRIVATE KEY" in value:
        raise Misfit("holds a private key", "take it out of the file, and out of its history: only certificates belong")
    try:
        ssl.create_default_context(cadata=value)
    except ssl.SSLError:
        fix = "write the text with its lines BEGIN CERTIFICATE and END CERTIFICATE as a block: ca_certificates: |"
        raise Misfit("is not a list of PEM certificates", fix) from None
    return value


def _day(value: object) -> date:
    # An engine that reads a day without quotes takes it for a time, and hands it over as Go prints times.
    text = str(value).removesuffix(" 00:00:00 +0000 UTC")
    try:
        return datetime.strptime(text, "%Y-%m-%d").date()  # noqa: DTZ007 - a day has no zone
    except ValueError:
        meant = " or ".join(f'"{day}"' for day in days(text))
        raise Misfit("is not a day", f"write {meant or 'year, month and day: 2027-06-30'}") from None


def _label_value(value: str) -> str:
    if len(value) > 63 or not re.fullmatch(r"([A-Za-z0-9]([-\w.]*[A-Za-z0-9])?)?", value, re.ASCII):
        raise Misfit("is not a label value", "use letters, digits, - _ and . inside, 63 characters at most")
    return value


def _site_key(value: str) -> str:
    if value.startswith((NVIDIA_PREFIX, OWN_PREFIX)):
        raise Misfit("is not yours to set", f"keys under {NVIDIA_PREFIX} and {OWN_PREFIX} have an owner: use another")
    prefix, slash, name = value.rpartition("/")
    if not re.fullmatch(r"[A-Za-z0-9]([-\w.]{0,61}[A-Za-z0-9])?", name, re.ASCII) or (
        slash and not re.fullmatch(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?", prefix)
    ):
        raise Misfit("is not a label or taint key", "write example.edu/key")
    return value


def _rule_id(value: str) -> str:
    if not re.fullmatch(r"P-[A-Z]+", value):
        raise Misfit("is not the id of a rule", "write what messages begin with: P-START")
    return value


def _whole(value: float) -> float:
    return int(value) if float(value).is_integer() else value  # 32, not 32.0, in manifests and messages


Name = Annotated[
    str, AfterValidator(_name), WithJsonSchema({"type": "string", "pattern": "^[a-z]([-a-z0-9]*[a-z0-9])?$"})
]
Namespace = Annotated[str, AfterValidator(_namespace)]
Text = Annotated[str, Field(min_length=1)]
Amount = Annotated[float, Field(gt=0), AfterValidator(_whole)]
Count = Annotated[int, Field(ge=0)]
Seconds = Annotated[int, Field(ge=1)]
Day = Annotated[date, BeforeValidator(_day)]
Nodes = Annotated[str, AfterValidator(_nodes_entry)]
Reference = Annotated[str, AfterValidator(_image_reference)]
Replaceable = Annotated[str, AfterValidator(_replaceable)]
Registry = Annotated[str, AfterValidator(_registry)]
Url = Annotated[str, AfterValidator(_https)]
Certificates = Annotated[Text, AfterValidator(_certificates)]
RuleId = Annotated[str, AfterValidator(_rule_id), WithJsonSchema({"type": "string", "pattern": "^P-[A-Z]+$"})]
SiteKey = Annotated[str, AfterValidator(_site_key)]
LabelValue = Annotated[str, AfterValidator(_label_value)]
ToolkitVersion = Annotated[str, BeforeValidator(_quoted), AfterValidator(_toolkit)]
Driver = Annotated[
    DriverVersion,
    PlainValidator(_driver),
    PlainSerializer(str),
    WithJsonSchema({"type": "string", "pattern": r"^[1-9]\d{2}\.\d{2,3}(\.\d{2})?$"}),
]
Gpu = Annotated[GpuModel, PlainValidator(_gpu), PlainSerializer(str), WithJsonSchema({"type": "string"})]
Assumptions = Annotated[
    tuple[Text, ...],
    Field(description="Keys beside this one that are guesses, not facts: no policy refuses on them without saying so."),
]
