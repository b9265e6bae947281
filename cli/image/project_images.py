"""Images of this project, as commands name them."""

from pathlib import Path

from imaging.spec.load import IMAGES, load_family
from imaging.spec.model import ImageSpec
from imaging.spec.problems import SPEC_FILE


def folder_of(name: str) -> Path:
    """An image by its name in this project or by the path of its folder."""
    path = Path(name)
    return IMAGES / name if path.name == name and not (path / SPEC_FILE).is_file() else path.resolve()


def family_of(name: str, target: str | None = None) -> tuple[ImageSpec, ...]:
    """The image and its bases. Raises SpecError."""
    folder = folder_of(name)
    return load_family(folder.name, images=folder.parent, target=target)
