"""Numeric types with the ranges that their consumers accept.

Kubernetes formats quantities with six digits ("1e+06Gi" is invalid), times and retries are int32 there, and
numbers above 2^53 change on their way through the engine.
"""

from typing import Annotated, Final

from pydantic import AfterValidator, Field

INT32: Final = 2**31 - 1
MOST_RETRIES: Final = 20  # per job, within two hours: Kubernetes soon waits six minutes before each


def _whole(value: float) -> float:
    return int(value) if float(value).is_integer() else value  # 32, not 32.0, in manifests and messages


Cores = Annotated[float, Field(ge=0.001, le=10_000), AfterValidator(_whole)]
Gib = Annotated[float, Field(ge=0.001, le=100_000), AfterValidator(_whole)]
GibOrNone = Annotated[float, Field(ge=0, le=100_000), AfterValidator(_whole)]
Gigabytes = Annotated[float, Field(ge=0.001, le=10_000), AfterValidator(_whole)]
MegabytesPerSecond = Annotated[float, Field(ge=0.1, le=1_000_000), AfterValidator(_whole)]
Share = Annotated[float, Field(ge=0.000_001, le=1), AfterValidator(_whole)]
Count = Annotated[int, Field(ge=0, le=1_000_000)]
Seats = Annotated[int, Field(ge=1, le=1_000_000)]
Seconds = Annotated[int, Field(ge=1, le=INT32)]
SecondsOrNever = Annotated[int, Field(ge=0, le=INT32)]
IdleSeconds = Annotated[int, Field(ge=60, le=INT32)]  # a freshly checked server is not idle at once
SecondsBetween = Annotated[int, Field(ge=10, le=INT32)]
Retries = Annotated[int, Field(ge=0, le=MOST_RETRIES)]
