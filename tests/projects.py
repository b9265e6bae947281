"""Projects for labs of their own: this one by link, with other stack files, and with tiny images more."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

PROJECT = Path(__file__).parents[1]
TINY = Path(__file__).parent / "faults" / "images" / "tiny"

Files = Mapping[str, bytes]  # where it lies in the image → what it holds


@contextmanager
def linked_project(
    stacks: Mapping[str, Mapping[str, Any]], images: Mapping[str, Files] | None = None
) -> Iterator[Path]:
    """This project by link, with these stacks in place of its own, and these images beside its own."""
    with tempfile.TemporaryDirectory(prefix="gc-") as name:
        folder = Path(name)
        _link_all(PROJECT, folder, {"stacks", ".git", *({"images"} if images else ())})
        if images:
            (folder / "images").mkdir()
            _link_all(PROJECT / "images", folder / "images", set())
        for image, files in (images or {}).items():
            write_image(folder / "images" / image, files)
        (folder / "stacks").mkdir()
        for stack, content in stacks.items():
            write_stack(folder, stack, content)
        yield folder


def write_stack(project: Path, stack: str, content: Mapping[str, Any]) -> None:
    (project / "stacks" / f"Pulumi.{stack}.yaml").write_text(yaml.safe_dump(content, sort_keys=False))


def write_image(folder: Path, files: Files) -> None:
    """The tiny image under the folder's name, with these files in it."""
    folder.mkdir()
    spec = yaml.safe_load((TINY / "image.yaml").read_text())
    sources = {target.strip("/").replace("/", "_"): target for target in files}
    spec["files"] += [{"source": each, "target": target} for each, target in sources.items()]
    spec["name"] = folder.name
    (folder / "image.yaml").write_text(yaml.safe_dump(spec))
    for source, target in sources.items():
        (folder / source).write_bytes(files[target])
    for name in ("python3", "verify.py"):
        (folder / name).write_bytes((TINY / name).read_bytes())
    let_in = sorted([*sources, "python3", "verify.py"])
    (folder / ".dockerignore").write_text("".join(f"{line}\n" for line in ("*", *(f"!{name}" for name in let_in))))


def _link_all(source: Path, target: Path, left_out: set[str]) -> None:
    for entry in source.iterdir():
        if entry.name not in left_out:
            (target / entry.name).symlink_to(entry)
