"""The rest-json protocol: HTTP requests to operations of a service model and their parameters, and answers back.

The models are botocore's, which are AWS's own: https://smithy.io/2.0/aws/protocols/aws-restjson1-protocol.html.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from urllib.parse import parse_qs, unquote

import botocore.session
from botocore.validate import ParamValidator

from lab.aws_emulator.faults import ServiceFault

Values = dict[str, Any]
INVALID: Final = "InvalidParameterException"


@dataclass(frozen=True, slots=True)
class Call:
    """One parsed request: the operation's name and its valid parameters."""

    operation: str
    parameters: Values


class Protocol:
    """The operations of one service by method and path."""

    def __init__(self, service: str) -> None:
        self._model = botocore.session.Session().get_service_model(service)
        self.operations: tuple[str, ...] = tuple(self._model.operation_names)
        self._routes = [
            (operation.http["method"], _pattern(operation.http["requestUri"]), operation)
            for operation in map(self._model.operation_model, self.operations)
        ]

    def call(self, method: str, path: str, query: str, body: bytes) -> Call:
        """The call in a request; `path` is still escaped. Raises ServiceFault for one that AWS would refuse."""
        for expected, pattern, operation in self._routes:
            if expected == method and (match := pattern.fullmatch(path)):
                shape = operation.input_shape
                parameters = _body(body)
                for name, member in shape.members.items() if shape else ():
                    key = member.serialization.get("name", name)
                    place = member.serialization.get("location")
                    if place == "uri":
                        parameters[name] = unquote(match[key.replace("-", "_")])
                    elif place == "querystring" and (given := parse_qs(query).get(key)):
                        parameters[name] = _from_query(given, member.type_name)
                if shape and (mistakes := list(self.mistakes(parameters, shape))):
                    raise ServiceFault(INVALID, "; ".join(mistakes))
                return Call(operation.name, parameters)
        raise ServiceFault("UnknownOperationException", f"no operation answers {method} {path}", status=404)

    def mistakes(self, parameters: Values, shape: Any) -> Iterator[str]:
        """Mistakes in the parameters: those botocore finds, and those it leaves to the server."""
        report = ParamValidator().validate(parameters, shape)
        if report.has_errors():
            yield " ".join(report.generate_report().split())
            return
        yield from _beyond_botocore(parameters, shape, "")

    def output_mistakes(self, operation: str, answer: Values) -> list[str]:
        """Mistakes in an answer; a fault of the emulator."""
        shape = self._model.operation_model(operation).output_shape
        return [] if shape is None else list(self.mistakes(answer, shape))


def render(answer: Values) -> bytes:
    """The body of an answer; times are seconds since 1970, as in rest-json."""
    return json.dumps(answer, default=_seconds).encode()


def _seconds(value: object) -> float:
    if isinstance(value, datetime):
        return value.timestamp()
    raise TypeError(f"{type(value).__name__} is not in any answer")


def _pattern(uri: str) -> re.Pattern[str]:
    """`/tags/{resourceArn}` as a pattern; a client escapes slashes inside a label."""
    parts = re.split(r"\{([\w-]+)\+?\}", uri)
    texts = [
        re.escape(part) if not number % 2 else f"(?P<{part.replace('-', '_')}>[^/]+)"
        for number, part in enumerate(parts)
    ]
    return re.compile("".join(texts))


def _body(body: bytes) -> Values:
    if not body:
        return {}
    try:
        parsed = json.loads(body)
    except ValueError as error:
        raise ServiceFault("SerializationException", f"the body is not JSON: {error}") from error
    return dict(parsed) if isinstance(parsed, dict) else {}


def _from_query(given: list[str], kind: str) -> Any:
    if kind == "list":
        return given
    if kind == "boolean":
        return given[0] == "true"
    return int(given[0]) if kind in ("integer", "long") and given[0].isdigit() else given[0]


def _beyond_botocore(value: Any, shape: Any, path: str) -> Iterator[str]:
    """Enumerations, patterns and upper bounds: in the model, and not checked by the client."""
    if shape.type_name == "structure":
        for name, each in value.items():
            yield from _beyond_botocore(each, shape.members[name], f"{path}.{name}" if path else name)
    elif shape.type_name == "list":
        for index, each in enumerate(value):
            yield from _beyond_botocore(each, shape.member, f"{path}[{index}]")
    elif shape.type_name == "map":
        for key, each in value.items():
            yield from _beyond_botocore(each, shape.value, f"{path}[{key}]")
    elif (allowed := getattr(shape, "enum", None)) and value not in allowed:
        yield f"{path}: {value} is none of {', '.join(allowed)}"
    yield from _out_of_bounds(value, shape.metadata, path)


def _out_of_bounds(value: Any, bounds: Mapping[str, Any], path: str) -> Iterator[str]:
    if isinstance(value, str) and (pattern := bounds.get("pattern")) and not re.fullmatch(pattern, value):
        yield f"{path}: {value} does not match {pattern}"
    size = len(value) if isinstance(value, str | list | dict) else value
    highest = bounds.get("max")
    if highest is not None and isinstance(size, int | float) and size > highest:
        yield f"{path}: at most {highest}"
