"""Facts of pushed images: read once with all layers, then cached by digest."""

import os
from collections.abc import Mapping

from imaging.inspection.facts import ImageContents
from imaging.inspection.faults import InspectError
from imaging.inspection.image_locations import open_session, registry_image
from imaging.inspection.manifest import Platform
from imaging.inspection.reading import DEFAULT_PLATFORM, from_store, inspect
from imaging.inspection.store import Store, store_folder
from imaging.size.estimate import Size
from imaging.size.measured import size_of

_OTHER = Platform(os="linux", architecture="arm64")
_ASKED_WITHIN_S = 3.0  # a preview does not wait for a slow or unreachable registry


def read_pushed(reference: str, environment: Mapping[str, str] = os.environ) -> ImageContents:
    """All facts of `repository@digest`, with the user's own credentials. Raises InspectError."""
    with open_session(environment, with_login=True, connections=4) as session:
        image = registry_image(session, reference)
        store = Store(store_folder(environment))
        return inspect(image, deep=True, pinned=image.reference.digest or "", store=store).contents


def known(reference: str, environment: Mapping[str, str] = os.environ) -> ImageContents | None:
    """Cached facts of `repository@digest`; contacts no registry. None without a digest or an entry.

    For an index, the image for our nodes' platform; an image for arm64 only says so.
    """
    _, at, digest = reference.partition("@")
    store = Store(store_folder(environment))
    for platform in (DEFAULT_PLATFORM, _OTHER) if at else ():
        try:
            found = from_store(reference, store, digest, platform, deep=False)
        except InspectError:  # it is for another platform
            continue
        return found.contents if found else None
    return None


def size_of_tag(reference: str, environment: Mapping[str, str] = os.environ) -> Size | None:
    """Size of `repository:tag` in a registry; None if it is missing, or without an answer within seconds.

    Reads manifest and config, no layer. Uses the facts if this machine has read the layers before.
    """
    try:
        with open_session(environment, with_login=True, connections=1, within_s=_ASKED_WITHIN_S) as session:
            store = Store(store_folder(environment))
            return size_of(inspect(registry_image(session, reference), store=store).contents)
    except InspectError:
        return None
