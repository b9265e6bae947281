"""Reads build information that frameworks and toolkits write to files: as text, never run."""

import re
from collections.abc import Mapping
from functools import partial
from typing import Final

from imaging.inspection import limits
from imaging.inspection.facts import Statement
from imaging.inspection.finders.finder import MOST, THIS_LAYER, Sink, Text
from imaging.inspection.layers import Entry

Forms = Mapping[str, re.Pattern[bytes]]

# Path, author of the statement, and patterns for its facts.
_FORMS: Final[tuple[tuple[re.Pattern[str], str, Forms], ...]] = (
    (
        re.compile(r"(?:^|/)torch/version\.py$"),
        "torch",
        {
            "cuda": re.compile(rb"^cuda\s*(?::[^=\n]*)?=\s*['\"](\d+\.\d+)", re.MULTILINE),
            "without_cuda": re.compile(rb"^cuda\s*(?::[^=\n]*)?=\s*(None)\b", re.MULTILINE),
            "version": re.compile(rb"^__version__\s*=\s*['\"]([\w.+]+)", re.MULTILINE),
        },
    ),
    (
        re.compile(r"(?:^|/)tensorflow/python/platform/build_info\.py$"),
        "tensorflow",
        {
            "cuda": re.compile(rb"['\"]cuda_version['\"]\s*[,:]\s*['\"](\d+(?:\.\d+)*)"),
            "cudnn": re.compile(rb"['\"]cudnn_version['\"]\s*[,:]\s*['\"](\d+(?:\.\d+)*)"),
        },
    ),
    (
        re.compile(r"(?:^|/)cuda(?:-[\d.]+)?/version\.(?:json|txt)$"),
        "toolkit",
        {"cuda": re.compile(rb"CUDA (?:SDK\"\s*,\s*\"version\"\s*:\s*\"|Version )(\d+\.\d+(?:\.\d+)?)")},
    ),
)


class StatementFinder:
    def __init__(self) -> None:
        self.found: list[Statement] = []

    def open(self, entry: Entry) -> Sink | None:
        for path, of, forms in _FORMS:
            if path.search(entry.path) and len(self.found) < MOST:
                return Text(limits.TEXT_BYTES, partial(self._read, entry.path, of, forms))
        return None

    def _read(self, path: str, of: str, forms: Forms, text: bytes) -> None:
        for what, form in forms.items():
            if match := form.search(text):
                self.found.append(Statement(what, match[1].decode("ascii", "replace"), of, path, THIS_LAYER))
