"""Arguments written from models: what the text of a TypedDict has of a model, and what it leaves out."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from tools.typed_dicts import Key, Module, Shape, texts
from workloads.arguments import Argument, ImageReference


class Road(BaseModel):
    """A way on land."""

    kind: Literal["road"] = Field(description="On land.")
    lanes: int = Field(2, description="lanes in all, quoted: 2")
    name: str = Field(description="What it is called.")


class Canal(BaseModel):
    """A way on water."""

    kind: Literal["canal"] = Field(description="On water.")
    locks: tuple[str, ...] | None = Field(None, description="Its locks; none: as on the map.")
    name: str = Field(description="What it is called.")


class Trip(BaseModel):
    """A trip."""

    way: Road | Canal = Field(description="Where it goes.")
    image: ImageReference = Field(description="A picture.")
    days: Annotated[float, Argument("int", is_required=True)] = Field(1, description="Days.")
    pool: str = ""


def written(*shapes: Shape) -> str:
    return texts([Module("components.trips", "Trip", shapes)], "tools/trips.py")["components/trips.py"]


def keys_of(source: str, name: str) -> dict[str, Any]:
    """Key → its type and its text, of a TypedDict in a module."""
    lines = source.partition(f"class {name}(TypedDict):")[2].partition("\n\n\n")[0].splitlines()[3:]
    return {
        kind.partition(":")[0].strip(): (kind.partition(": ")[2], text.strip().strip('"'))
        for kind, text in zip(lines[::2], lines[1::2], strict=True)
    }


WAY = Shape("Way", (Road, Canal), "Any way.")


def test_several_kinds_become_one_mapping_that_requires_what_all_require() -> None:
    assert keys_of(written(WAY), "Way") == {
        "kind": ("str", "road: On land. canal: On water."),
        "name": ("str", "What it is called."),
        "lanes": ("NotRequired[int]", "road: Lanes in all: 2. Default: 2."),
        "locks": ("NotRequired[Sequence[str]]", "canal: Its locks; default: as on the map."),
    }


def test_marks_and_keys_of_the_component_come_before_what_the_model_says() -> None:
    also = (Key("tags", "Mapping[str, str]", "Its tags."),)
    source = written(WAY, Shape("TripArgs", (Trip,), also=also, without=frozenset({"pool"})))
    assert keys_of(source, "TripArgs") == {
        "way": ("Way", "Where it goes."),
        "image": ("pulumi.Input[str]", "A picture."),
        "days": ("int", "Days."),
        "tags": ("NotRequired[Mapping[str, str]]", "Its tags."),
    }
    assert "from collections.abc import Mapping, Sequence\n" in source
    assert "import pulumi\n" in source


def test_a_module_imports_what_another_one_has() -> None:
    modules = [
        Module("components.ways", "ways", (WAY,)),
        Module("components.trips", "Trip", (Shape("TripArgs", (Trip,), without=frozenset({"pool"})),)),
    ]
    assert "from components.ways import Way\n" in texts(modules, "here")["components/trips.py"]
