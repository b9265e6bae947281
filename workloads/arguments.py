"""Parses a component's plain arguments into a model and reports all problems at once. Pure."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final, TypeVar

from pydantic import AfterValidator, BaseModel, Field

from errors.agreements import disagreements, readable, validated
from errors.faults import LENIENT, Misfit
from errors.problems import Fault, Problem, SettingsError, path_text, show

Model = TypeVar("Model", bound=BaseModel)


# Mappings with user-defined keys: None is a mistake there, not an omitted key.
OWN_KEYS: Final = frozenset({"annotations", "core_node_selector", "env", "node_selector"})


def plain(value: Any) -> Any:
    """As Python users mean it: 3.0, as hosted components receive it, is 3; None is an omitted key."""
    if isinstance(value, Mapping):
        return {
            key: inner if key in OWN_KEYS and isinstance(inner, Mapping) else plain(inner)
            for key, inner in value.items()
            if inner is not None
        }
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return tuple(map(plain, value))
    return int(value) if isinstance(value, float) and value.is_integer() else value


def stated(values: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments for a component: those with a value, with lists, as the engine has no tuples."""
    return {key: _with_lists(value) for key, value in values.items() if value is not None}


def _with_lists(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _with_lists(inner) for key, inner in value.items()}
    return [_with_lists(inner) for inner in value] if isinstance(value, list | tuple) else value


def read(
    model: type[Model],
    owner: str,
    name: str,
    raw: Mapping[str, Any],
    also: Callable[[Model], Iterator[Fault]] = lambda _: iter(()),
) -> Model:
    """The model of plain arguments. `owner` heads the message: NotebookHub datahub; `also`: checks beside the model's.

    Raises SettingsError with every problem.
    """
    faults: list[Fault] = []
    found = validated(model, raw, faults, context=LENIENT)
    known = {fault.loc for fault in faults}
    faults += [each for each in (*disagreements(found), *readable(also(found))) if each.loc not in known]
    if faults:
        raise SettingsError(_problem(fault, owner, name) for fault in faults)
    return found


def _problem(fault: Fault, owner: str, name: str) -> Problem:
    path = path_text((name, *fault.loc))
    return Problem(path, show(fault.value, fault.loc), fault.reason, fault.fix, file=owner)


def _image(value: object) -> object:
    """An image that may be an output: only its absence is visible here."""
    if isinstance(value, str) and not value:
        raise Misfit("is empty", "give an image by digest, such as the `ref` of a GpuImage")
    return value


@dataclass(frozen=True, slots=True)
class Argument:
    """Marks a key that components' users see in another way than the model; tools/component_arguments.py reads it."""

    type: str = ""  # empty: the model's
    is_required: bool | None = None  # None: if the model has no default


OutputText = Annotated[Any, Argument("pulumi.Input[str]")]  # may be another resource's output
IMAGE: Final = "image by digest, such as the `ref` of a GpuImage"
IMAGE_NAME: Final = "Name of the image as people know it; policies look up its facts by it."
ImageReference = Annotated[OutputText, AfterValidator(_image), Field(description=IMAGE)]
