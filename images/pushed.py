"""Facts of an image that a registry has: read once with all its layers, and from then on known by digest."""

from __future__ import annotations

import os
from collections.abc import Mapping

from images.inspection.facts import ImageContents
from images.inspection.faults import InspectError
from images.inspection.opening import open_session, read_reference
from images.inspection.reading import DEFAULT_PLATFORM, from_store, inspect
from images.inspection.store import Store, store_folder


def read_pushed(reference: str, environment: Mapping[str, str] = os.environ) -> ImageContents:
    """All that is known of `repository@digest`, with the user's own credentials. Raises InspectError."""
    parsed = read_reference(reference)
    with open_session(environment, with_login=True, connections=4) as session:
        image = session.image(parsed, reference)
        store = Store(store_folder(environment))
        return inspect(image, deep=True, pinned=parsed.digest or "", store=store).contents


def known(reference: str, environment: Mapping[str, str] = os.environ) -> ImageContents | None:
    """What was read before of `repository@digest`; never asks a registry. None without a digest or an entry.

    Of an index it is the image for the platform of our nodes.
    """
    _, at, digest = reference.partition("@")
    store = Store(store_folder(environment))
    try:
        found = from_store(reference, store, digest, DEFAULT_PLATFORM, deep=False) if at else None
    except InspectError:  # it is for another platform: not what our nodes run
        return None
    return found.contents if found else None
