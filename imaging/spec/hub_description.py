"""What a hub shows about an image beside each profile. Loads nothing else of the specs."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BaseModel

from errors.faults import FORM, Misfit


def _not_empty(text: str) -> str:
    if not text.strip():
        raise Misfit("is empty", "write some text, or leave it out")
    return text


NonEmpty = Annotated[str, AfterValidator(_not_empty)]


class Contents(BaseModel):
    """What is in an image as it is built here. Texts are empty where nothing was said."""

    model_config = FORM
    title: NonEmpty = ""
    cuda_lines: tuple[NonEmpty, ...] = ()
    """10.1, lowest first: of the environments that are really there."""
    frameworks: tuple[NonEmpty, ...] = ()
    """TensorFlow 2.3.4"""
    packages: tuple[NonEmpty, ...] = ()
    """NumPy 2.4.6: what the image's spec and those that it stands on name, its own first."""
    stands_on: NonEmpty = ""
    """jupyter/datascience-notebook: a base that brings programs of its own; empty for a plain one."""
    missing: tuple[NonEmpty, ...] = ()
    """What the spec asks for and this site cannot reach: frameworks first, then other packages."""
    missing_reason: NonEmpty = ""
    """Why, in the words of the site's substitutes; empty where nothing is missing."""
