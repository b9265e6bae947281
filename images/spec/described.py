"""What a hub shows about an image beside each profile. Loads nothing else of the specs."""

from __future__ import annotations

from pydantic import BaseModel

from messages.faults import FORM


class Contents(BaseModel):
    """What is in an image as it is built here. Texts are empty where nothing was said."""

    model_config = FORM
    title: str = ""
    cuda_lines: tuple[str, ...] = ()
    """10.1, lowest first: of the environments that are really there."""
    frameworks: tuple[str, ...] = ()
    """TensorFlow 2.3.4"""
    packages: tuple[str, ...] = ()
    """NumPy 2.4.6: what the image's spec and those that it stands on name, its own first."""
    stands_on: str = ""
    """jupyter/datascience-notebook: a base that brings programs of its own; empty for a plain one."""
    missing: tuple[str, ...] = ()
    """What the spec asks for and this site cannot reach: frameworks first, then other packages."""
    missing_reason: str = ""
    """Why, in the words of the site's substitutes; empty where nothing is missing."""
