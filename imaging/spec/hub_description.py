"""Description of an image beside a hub's profile. Loads nothing else of the specs."""

from typing import Annotated

from pydantic import AfterValidator, BaseModel, Field

from errors.faults import FORM, Misfit


def _not_empty(text: str) -> str:
    if not text.strip():
        raise Misfit("is empty", "write some text, or leave it out")
    return text


NonEmpty = Annotated[str, AfterValidator(_not_empty)]


class Contents(BaseModel):
    """Content of an image as built here, for users who choose one. Texts are empty if nothing was stated."""

    model_config = FORM
    title: NonEmpty = Field("", description="Title of the image.")
    cuda_lines: tuple[NonEmpty, ...] = Field(
        (), description='CUDA lines of the environments that were built, lowest first: "10.1".'
    )
    frameworks: tuple[NonEmpty, ...] = Field((), description="Frameworks with their versions: TensorFlow 2.3.4.")
    packages: tuple[NonEmpty, ...] = Field(
        (), description="Packages of the image's spec and its parents', its own first, with versions: NumPy 2.4.6."
    )
    stands_on: NonEmpty = Field(
        "", description="Base image with programs of its own: jupyter/datascience-notebook; none: a plain one."
    )
    missing: tuple[NonEmpty, ...] = Field(
        (), description="Parts of the spec that this site cannot get: frameworks first, then other packages."
    )
    missing_reason: NonEmpty = Field("", description="Why they are missing, as the site's substitutes word it.")
