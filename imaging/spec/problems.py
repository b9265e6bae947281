"""Mistakes in an image's spec, and the file's name in messages."""

from collections.abc import Iterable
from pathlib import Path

from errors import UserError
from errors.problems import Problem, first_ones

SPEC_FILE = "image.yaml"


class SpecError(UserError):
    """All mistakes of an image's spec."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(first_ones(self.problems)))


def place(folder: Path) -> str:
    return f"images/{folder.name}/{SPEC_FILE}"
