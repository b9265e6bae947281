"""Types for names, labels and texts that Kubernetes, JupyterHub and terminals accept.

Kubernetes rules follow its API: a DNS label (RFC 1123) for names also used as label or namespace, a DNS
subdomain for other object names, a qualified name for keys of labels and taints.
"""

import re
from typing import Annotated, Final

from pydantic import AfterValidator, Field, ValidationInfo, WithJsonSchema

from errors.faults import Misfit, is_lenient, matching
from fleet.labels import NVIDIA_PREFIX, OWN_PREFIX, OWNED_PREFIXES

_LABEL: Final = r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"
_SUBDOMAIN: Final = re.compile(rf"(?=.{{1,253}}$){_LABEL}(\.{_LABEL})*")
_KEY_NAME: Final = re.compile(r"[A-Za-z0-9]([-\w.]{0,61}[A-Za-z0-9])?", re.ASCII)
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
_LONGEST_ARGUMENT: Final = 131_071  # bytes: MAX_ARG_STRLEN in Linux


def _name(value: str, info: ValidationInfo) -> str:
    ends = "a letter or digit at both ends" if is_lenient(info) else "a letter first"
    if not re.fullmatch(_LABEL, value) or (value[0].isdigit() and not is_lenient(info)):
        fix = f"use lower-case letters, digits and dashes, {ends}, 63 characters at most"
        raise Misfit("is not a name", fix)
    return value


def _namespace(value: str, info: ValidationInfo) -> str:
    if value == "default" or value.startswith("kube-"):
        raise Misfit("is a namespace of Kubernetes itself", "choose another: the stack creates and deletes it")
    return _name(value, info)


_object_name = matching(
    _SUBDOMAIN,
    "is not a name of a Kubernetes object",
    "use lower-case letters, digits, dashes and dots, a letter or digit at both ends of each part, "
    "253 characters at most",
)
_data_key = matching(
    r"(?!\.{1,2}$)[-._A-Za-z0-9]{1,253}",
    "is not a key of a Secret",
    "use letters, digits, - _ and ., such as client-secret",
)
_label_value = matching(
    r"(?a)(?=.{0,63}$)([A-Za-z0-9]([-\w.]*[A-Za-z0-9])?)?",
    "is not a label value",
    "use letters, digits, - _ and . inside, 63 characters at most",
)


def _site_key(value: str) -> str:
    if value.startswith(OWNED_PREFIXES):
        raise Misfit("is not yours to set", f"keys under {NVIDIA_PREFIX} and {OWN_PREFIX} have an owner: use another")
    if value in _OF_THE_KUBELET:
        raise Misfit("is set by the kubelet of each node", "use a key of your own, such as example.edu/key")
    prefix, slash, name = value.rpartition("/")
    if not _KEY_NAME.fullmatch(name) or (slash and not _SUBDOMAIN.fullmatch(prefix)):
        fix = "write example.edu/key: a DNS name, a slash, and up to 63 letters, digits, - _ and ."
        raise Misfit("is not a label or taint key", fix)
    return value


_OF_THE_KUBELET: Final = frozenset(
    {f"{prefix}kubernetes.io/{key}" for prefix in ("", "beta.") for key in ("hostname", "os", "arch")}
)


def _line(value: str) -> str:
    return _printed(value, _CONTROL)


def _prose(value: str) -> str:
    return _printed(value, re.compile(rf"(?![\t\n\r]){_CONTROL.pattern}"))


def _printed(value: str, unwanted: re.Pattern[str]) -> str:
    if not value.strip():
        raise Misfit("is blank", "write some text")
    if found := unwanted.search(value):
        is_break = found[0] in "\r\n\t"
        reason = "has a line break or a tab" if is_break else f"holds a control character (U+{ord(found[0]):04X})"
        raise Misfit(reason, "write it on one line, with spaces" if is_break else "remove it")
    return value


def _user_name(value: str) -> str:
    if "/" in value or value != value.strip():
        raise Misfit("is not a user name for JupyterHub", "leave out slashes, and spaces around the name")
    return _line(value)


_scope = matching(
    r"[!#-\[\]-~]+",
    "is not a scope of OAuth",
    "write one scope for each entry, without spaces or quotes: [openid, email]",
)
_builder = matching(
    r"[A-Za-z][A-Za-z0-9._-]*", "is not the name of a buildx builder", "write a name that docker buildx ls prints"
)
_path = matching(
    r"(?!(.*/)?\.\.(/|$))/[^\s:,]{1,255}",
    "is not an absolute path",
    "write a path such as /data, without spaces, colons and ..",
)


def _argument(value: str) -> str:
    if "\0" in value:
        raise Misfit("holds a NUL character (U+0000)", "remove it: no program can be given one")
    if len(value.encode("utf-8", "replace")) > _LONGEST_ARGUMENT:
        raise Misfit(f"has more than {_LONGEST_ARGUMENT} bytes", "put the program into the image, and name it here")
    return value


def _command(value: tuple[str, ...]) -> tuple[str, ...]:
    if not value[0]:
        raise Misfit("begins with an empty string", "write the program first: [python, train.py]")
    return value


Name = Annotated[
    str, AfterValidator(_name), WithJsonSchema({"type": "string", "pattern": "^[a-z]([-a-z0-9]*[a-z0-9])?$"})
]
Namespace = Annotated[str, AfterValidator(_namespace)]
ObjectName = Annotated[str, _object_name]
DataKey = Annotated[str, _data_key]
SiteKey = Annotated[str, AfterValidator(_site_key)]
LabelValue = Annotated[str, _label_value]
Line = Annotated[str, Field(min_length=1, max_length=500), AfterValidator(_line)]
Prose = Annotated[str, Field(min_length=1, max_length=5000), AfterValidator(_prose)]
FilePath = Annotated[str, Field(min_length=1, max_length=4096), AfterValidator(_line)]
AbsolutePath = Annotated[str, _path]
UserName = Annotated[str, Field(min_length=1, max_length=255), AfterValidator(_user_name)]
Scope = Annotated[str, _scope]
Builder = Annotated[str, Field(min_length=1, max_length=128), _builder]
Command = Annotated[
    tuple[Annotated[str, AfterValidator(_argument)], ...], Field(min_length=1), AfterValidator(_command)
]
