"""The fields of a case, described for the options of `check` and for the published schema."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from compat.evidence.case import CLASSES, COMPAT, FIELDS, HOSTS, MODULES, SYSTEMS
from compat.facts import csv_files


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a case. `choices` is empty if any text is allowed."""

    name: str
    metavar: str
    text: str
    choices: tuple[str, ...] = ()

    @property
    def option(self) -> str:
        return "--" + self.name.replace("_", "-")


_TEXTS: Final = {
    row["field"]: (row["placeholder"], row["description"]) for row in csv_files.rows("fields", Path(__file__).parent)
}
_CHOICES: Final = {
    "gpu_class": CLASSES,
    "host": HOSTS,
    "cuda_compat": COMPAT,
    "os": SYSTEMS,
    "kernel_module": MODULES,
}


def case_fields() -> Iterator[Field]:
    """Every field of a case, in order; a field that is not described here has only its name."""
    for name in FIELDS:
        metavar, text = _TEXTS.get(name, ("TEXT", ""))
        yield Field(name, metavar, text, _CHOICES.get(name, ()))
