"""What an image will weigh at least, from its spec and the sizes of its wheels alone, before anything is built.

A wheel is a zip file and a layer is one stream of zstd, so a factor lies between them. It was measured by unpacking
the locked wheels of `hub` (37.6 MB in 65 files) and `cupy-notebook` (320.9 MB in 108), compiling them as the build
does, and packing them with zstd, level 3:

    wheels                             unpacked / wheel    layer / wheel
    CuPy 14.2, NVRTC, CUDA runtime     2.33                0.886
    the others of cupy-notebook        3.90                1.08 (0.85 without byte code)
    hub                                4.99                1.03 (0.74 without byte code)

Stacks of 3 GB unpack to less, 1.85 (`images.measured`). The lowest of each kind is taken: the sum is a lower bound.
Pure, but for `expected_of`, which reads specs, locks and size files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from images.estimate import MB, Size
from images.load import IMAGES, load_family, load_sizes
from images.measured import UNPACKED_RATIO
from images.origin import Origin
from images.plan import Substitute, pinned, plan_image
from images.spec import ImageSpec, Layout
from images.wheels import SERVER, WheelSize, other_pins

_BIG: Final = 50 * MB  # from here on a wheel is mostly machine code
_BIG_PACKED: Final = 0.88
_SMALL_PACKED: Final = 1.03
_SMALL_UNPACKED: Final = 3.9

Sizes = Mapping[str, Sequence[WheelSize] | None]  # by image; None: there is no size file, or it is older than the lock


@dataclass(frozen=True, slots=True)
class Counted:
    """Wheels of one image that were counted."""

    image: str
    wheels: int
    wheel_bytes: int


@dataclass(frozen=True, slots=True)
class Expected:
    """A lower bound of an image's size, what it is the sum of, and what is not in it."""

    size: Size
    counted: tuple[Counted, ...]
    not_counted: tuple[str, ...]
    remarks: tuple[str, ...]


@cache
def expected_of(name: str, images: Path = IMAGES, substitutes: tuple[Substitute, ...] = ()) -> Size | None:
    """The lower bound of the image called `name`, from what lies in its folder; None where nothing can be counted.

    Read once in a run. Raises SpecError for a spec with mistakes, as `load_family` and `plan_image` do.
    """
    family = load_family(name, images=images)
    found = expected(family, {spec.name: load_sizes(images / spec.name, spec) for spec in family}, substitutes)
    return found.size if found.counted else None


def expected(family: Sequence[ImageSpec], sizes: Sizes, substitutes: Sequence[Substitute] = ()) -> Expected:
    """What `family[0]` weighs with all that it stands on (`images.load.load_family`).

    What the site's substitutes leave out is not in the image, so it is not counted.
    """
    there: set[tuple[str, str, str, str]] = set()
    counted, packed, unpacked = [], 0.0, 0.0
    for start in reversed(range(len(family))):
        spec, plan = family[start], plan_image(family[start:], substitutes=substitutes)
        built = {kernel.name for kernel in plan.kernels}
        if spec.python and plan.packages == spec.python.packages:  # else the site leaves all of them out
            built.add(SERVER)
        # What a parent has already is not installed again; a kernel has an environment of its own.
        new = {
            (spec.name if size.environment else SERVER, size.environment, size.name, size.version): size
            for size in sizes.get(spec.name) or ()
            if size.environment in built
        }
        own = [size.bytes for key, size in new.items() if key not in there]
        there |= set(new)
        counted.append(Counted(spec.name, len(own), sum(own)))
        packed += sum(number * (_BIG_PACKED if number >= _BIG else _SMALL_PACKED) for number in own)
        unpacked += sum(number * (UNPACKED_RATIO if number >= _BIG else _SMALL_UNPACKED) for number in own)
    return Expected(
        size=Size(round(packed), round(unpacked), Origin.SPEC, compression="zstd"),
        counted=tuple(each for each in reversed(counted) if each.wheels),
        not_counted=tuple(_not_counted(family, sizes)),
        remarks=tuple(_remarks(family)),
    )


def _not_counted(family: Sequence[ImageSpec], sizes: Sizes) -> Iterator[str]:
    yield f"base {pinned(family[-1]).partition('@')[0]}"
    if os_packages := sorted({package for spec in family for package in spec.os_packages}):
        yield f"OS packages {', '.join(os_packages)}, and what they need"
    for spec in family:
        if (spec.python or spec.kernels) and sizes.get(spec.name) is None:
            yield f"wheels of {spec.name}: gpu-commons image sizes {spec.name} asks how big they are"
        for kernel in spec.kernels:
            cuda = kernel.cuda.packages if kernel.cuda and kernel.cuda.source.value == "conda" else ()
            conda = ", ".join((f"python={kernel.python}", *cuda, *kernel.conda))
            yield f"kernel {kernel.name}: {conda} from conda-forge, and what all its pins need"
        if others := other_pins(spec):
            yield f"{', '.join(others)}, which the package index does not have"
        if spec.node:
            yield f"Node packages of {spec.node.lock}"


def _remarks(family: Sequence[ImageSpec]) -> Iterator[str]:
    if family[-1].base.layout is Layout.JUPYTER and any(spec.python for spec in family):
        yield "the server's packages come from conda-forge and are counted as the wheels of the lock"
