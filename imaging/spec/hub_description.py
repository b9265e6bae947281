"""Description of an image beside a hub's profile. Loads nothing else of the specs."""

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
    """Content of an image as built here. Texts are empty if nothing was stated."""

    model_config = FORM
    title: NonEmpty = ""
    cuda_lines: tuple[NonEmpty, ...] = ()
    """10.1, lowest first: of the environments actually built."""
    frameworks: tuple[NonEmpty, ...] = ()
    """TensorFlow 2.3.4"""
    packages: tuple[NonEmpty, ...] = ()
    """NumPy 2.4.6: packages of the image's spec and its parents', its own first."""
    stands_on: NonEmpty = ""
    """jupyter/datascience-notebook: a base with programs of its own; empty for a plain one."""
    missing: tuple[NonEmpty, ...] = ()
    """Parts of the spec that this site cannot get: frameworks first, then other packages."""
    missing_reason: NonEmpty = ""
    """Why, as worded by the site's substitutes; empty if nothing is missing."""
