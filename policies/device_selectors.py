"""Evaluates CEL selectors of device claims for a GPU as its driver would publish it. Pure.

Of Kubernetes' two extra CEL types, quantities and versions, only the comparison functions are implemented;
expressions with other functions cannot be evaluated.
Source: https://kubernetes.io/docs/reference/using-api/cel/
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, Final

from fleet.dra_devices import DRIVER, WHOLE_GPU, Device
from fleet.quantities import quantity
from fleet.unknown import UNKNOWN

MIB: Final = 2**20


class UnreadableError(ValueError):
    """Why a selector's result for a device is unknown."""


@functools.total_ordering
@dataclass(frozen=True, slots=True)
class _Ordered:
    """A quantity or a version."""

    value: Any

    def __lt__(self, other: _Ordered) -> bool:
        return bool(self.value < other.value)


def selects(expression: str, device: Device) -> bool | None:
    """Whether the selector matches the device; None if that depends on the GPU's reported memory.

    Raises UnreadableError for text that is not CEL or reads attributes not known to be published.
    """
    answers = {_evaluate(expression, device, mib) for mib in (device.memory_mib[0], device.memory_mib[-1])}
    return answers.pop() if len(answers) == 1 else None


def _evaluate(expression: str, device: Device, memory_mib: int) -> bool:
    from celpy.evaluation import CELEvalError  # noqa: PLC0415 - most stacks have no claim, and its import takes a while

    try:
        answer = _program(expression).evaluate(_context(device, memory_mib))
    except CELEvalError as error:
        raise UnreadableError(str(error.args[0]) if error.args else "it could not be evaluated") from None
    except (ValueError, TypeError, AttributeError) as error:
        raise UnreadableError(str(error)) from None
    return bool(answer)


@functools.lru_cache(256)
def _program(expression: str) -> Any:
    import celpy  # noqa: PLC0415
    from celpy.celparser import CELParseError  # noqa: PLC0415

    environment = celpy.Environment()
    try:
        return environment.program(environment.compile(expression), functions=_FUNCTIONS)
    except CELParseError:
        raise UnreadableError("it is not CEL") from None


def _context(device: Device, memory_mib: int) -> Any:
    from celpy import celtypes  # noqa: PLC0415

    def mapping(**values: Any) -> Any:
        return celtypes.MapType({celtypes.StringType(key): value for key, value in values.items()})

    attributes = mapping(
        type=celtypes.StringType(WHOLE_GPU),
        **({"productName": celtypes.StringType(device.product)} if device.product else {}),
        driverVersion=_version(device.driver_version),
        cudaDriverVersion=_version(device.cuda_version),
        cudaComputeCapability=_version(device.compute_capability),
    )
    return {
        "device": mapping(
            driver=celtypes.StringType(DRIVER),
            attributes=mapping(**{DRIVER: attributes}),
            capacity=mapping(**{DRIVER: mapping(memory=_Ordered(memory_mib * MIB))}),
        )
    }


def _version(text: Any) -> _Ordered:
    return _Ordered(tuple(int(part) for part in str(text).split(".")))


def _quantity(text: Any) -> _Ordered:
    found = quantity(str(text))
    if found is UNKNOWN:
        raise ValueError(f"{text} is not a quantity")
    return _Ordered(found)


def _compare(one: Any, other: Any) -> Any:
    from celpy import celtypes  # noqa: PLC0415

    return celtypes.IntType((one > other) - (one < other))


def _truth(value: bool) -> Any:  # noqa: FBT001 - an answer of CEL
    from celpy import celtypes  # noqa: PLC0415

    return celtypes.BoolType(value)


def _replace(text: Any, old: Any, new: Any) -> Any:
    from celpy import celtypes  # noqa: PLC0415

    return celtypes.StringType(str(text).replace(str(old), str(new)))


def _lower(text: Any) -> Any:
    from celpy import celtypes  # noqa: PLC0415

    return celtypes.StringType(str(text).lower())


_FUNCTIONS: Final[dict[str, Any]] = {
    "quantity": _quantity,
    "semver": _version,
    "compareTo": _compare,
    "isGreaterThan": lambda one, other: _truth(one > other),
    "isLessThan": lambda one, other: _truth(one < other),
    "replace": _replace,
    "lowerAscii": _lower,
}
