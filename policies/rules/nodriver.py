"""P-NODRIVER: no image contains driver files; they come from its node."""

from collections.abc import Iterator, Sequence

from errors.problems import listing
from imaging.inspection.facts import DriverPart, ImageContents
from imaging.size.estimate import amount
from policies.finding import Finding, Level
from policies.model import Rule, Site, Workload
from policies.workload_images import ImageFacts, different_images

_SHOWN = 3


def check(workload: Workload, site: Site) -> Iterator[Finding]:
    """Libraries and kernel modules refuse; programs alone, and empty files left by mounts, warn.

    Only the runtime's own daemons may contain a driver.
    """
    for image in different_images(workload, site):
        deep = image.contents.deep if image.contents else None
        if deep is None:
            if image.is_own and image.reference is not None:
                unread = f"it is not known whether {image.name} contains parts of a driver: its layers were not read"
                yield Finding(unread, Level.UNPROVED, is_own=True)
        elif image.contents and deep.driver and not site.is_runtime_daemon(workload.daemon, image.text):
            yield _finding(image, image.contents, deep.driver, workload.words.node)
        elif deep.left_out:
            unread = f"what was not read of {image.name} may contain parts of a driver: {deep.left_out[0]}"
            yield Finding(unread, Level.UNPROVED, is_own=image.is_own)


def _finding(image: ImageFacts, contents: ImageContents, parts: Sequence[DriverPart], node: str) -> Finding:
    loaded = [part for part in parts if part.size and (".so" in part.path or ".ko" in part.path)]
    if loaded:
        why = f"they hide the {node}'s own, which match its kernel module"
        return Finding(
            f"{image.name} contains {amount(_bytes(parts))} of driver files: {_places(loaded, contents)}; {why}"
        )
    if any(part.size for part in parts):
        return Finding(f"{image.name} contains driver programs: {_places(parts, contents)}", Level.WARN)
    what = "empty files where a container with a GPU had its driver mounted"
    why = f"on a {node} with a different driver, programs may find them first"
    return Finding(f"{image.name} contains {what}: {_places(parts, contents)}; {why}", Level.WARN)


def _places(parts: Sequence[DriverPart], contents: ImageContents) -> str:
    """The first files, with kinds and layers."""
    files = listing([f"/{part.path} ({part.what})" for part in parts], most=_SHOWN)
    numbers = sorted({part.layer for part in parts})
    steps = [contents.layers[number].made_by if number < len(contents.layers) else "" for number in numbers]
    layers = [f"{number + 1}{f' ({step})' if step else ''}" for number, step in zip(numbers, steps, strict=True)]
    return f"{files}, from layer {listing(layers, most=_SHOWN)} of {len(contents.layers)}"


def _bytes(parts: Sequence[DriverPart]) -> int:
    return sum(part.size for part in parts)


RULE = Rule(
    id="P-NODRIVER",
    says="no image contains driver libraries or kernel modules: the container toolkit provides the node's",
    remedy="Remove the driver's packages in the step that installs them; cuda-compat may stay.",
    check=check,
)
