"""Interface of image sources: registries, directories and archives support the same three calls."""

import hashlib
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Protocol

from imaging.inspection import limits
from imaging.inspection.faults import InspectError
from imaging.inspection.manifest import Descriptor, Document


class Source(Protocol):
    """One image somewhere."""

    @property
    def name(self) -> str:
        """As the user wrote it; prefixes messages."""

    def root(self) -> Document:
        """The manifest or index of the reference, its digest already checked if the reference has one."""

    def document(self, wanted: Descriptor, *, is_manifest: bool) -> Document:
        """A manifest or config: small, whole, its digest checked."""

    def blob(self, wanted: Descriptor) -> AbstractContextManager[Iterator[bytes]]:
        """A layer, piece by piece; if it can be read to the end without an error, its digest is right."""


class Budget:
    """Counts the bytes of documents, so that no registry can exceed an image's limit."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._left = limits.DOCUMENTS_BYTES

    def gather(self, pieces: Iterable[bytes]) -> bytes:
        """All pieces as one; raises InspectError once there are too many."""
        content = gathered(pieces, self._left, too_big(self._name))
        self._left -= len(content)
        return content


def gathered(pieces: Iterable[bytes], most: int, too_much: InspectError) -> bytes:
    """All pieces as one; raises `too_much` as soon as they are more than `most` bytes."""
    content = bytearray()
    for piece in pieces:
        content += piece
        if len(content) > most:
            raise too_much
    return bytes(content)


def too_big(name: str) -> InspectError:
    return InspectError(
        name,
        f"has more than {limits.DOCUMENTS_BYTES:,} bytes of manifest and config",
        "an image has a few thousand: ask its publisher",
    )


def check_document(name: str, wanted: Descriptor, content: bytes) -> None:
    """Raises InspectError unless this matches the descriptor."""
    list(checked(name, "the manifest or config", wanted, (content,)))


def checked(name: str, what: str, wanted: Descriptor, pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The pieces as they come; raises InspectError if size or digest differ from the promised ones."""
    algorithm, _, digest = wanted.digest.partition(":")
    state = hashlib.new(algorithm)
    count = 0
    for piece in pieces:
        count += len(piece)
        if count > wanted.size:
            raise InspectError(
                name, f"{what} {short(wanted.digest)} is longer than the {wanted.size:,} bytes promised", _BROKEN
            )
        state.update(piece)
        yield piece
    if count < wanted.size:
        raise InspectError(
            name, f"{what} {short(wanted.digest)} ended after {count:,} of {wanted.size:,} bytes", _BROKEN
        )
    if state.hexdigest() != digest:
        raise InspectError(
            name,
            f"{what} does not match its digest: expected {short(wanted.digest)}, got {state.hexdigest()[:12]}",
            _BROKEN,
        )


_BROKEN = "the stored or transferred content is damaged: try again, then push the image again"


def short(digest: str) -> str:
    """`sha256:0123456789ab`: enough to find it, short enough to read."""
    algorithm, _, value = digest.partition(":")
    return f"{algorithm}:{value[:12]}"
