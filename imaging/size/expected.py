"""Lower bound of an image's size before the build, from its spec and the sizes of its wheels only.

A wheel is a zip file and a layer is one stream of zstd: their sizes differ by a factor. It was measured by unpacking
the locked wheels of `hub` (37.6 MB in 65 files) and `cupy-notebook` (320.9 MB in 108), compiling them as the build
does, and packing them with zstd, level 3:

    wheels                             unpacked / wheel    layer / wheel
    CuPy 14.2, NVRTC, CUDA runtime     2.33                0.886
    the others of cupy-notebook        3.90                1.08 (0.85 without byte code)
    hub                                4.99                1.03 (0.74 without byte code)
    PyTorch 2.7.1 and its CUDA 12.6    1.86                0.835, and 0.825 without the small ones among them

The last is a layer of the pushed `scipy-ml-notebook-cu126`: 3.08 GB in 32 wheels, 2.57 GB packed, 5.72 GB
unpacked. Its small wheels are mostly machine code too and unpack to about 2, so we use 1.8 for the big ones: the sum
is then a lower bound of that layer as well. For the rest, we use the lowest of each kind.
Pure, but for `expected_of`, which reads specs, locks and size files.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from imaging.size.estimate import MB, Origin, Size
from imaging.spec.load import IMAGES, load_named, load_sizes
from imaging.spec.model import ImageSpec
from imaging.spec.parts import Layout
from imaging.spec.plan import Plan, Substitute, plan_image
from imaging.spec.wheels import SERVER, WheelSize, other_pins

_BIG: Final = 50 * MB  # bigger wheels are mostly machine code
_BIG_PACKED: Final = 0.82
_BIG_UNPACKED: Final = 1.8
_SMALL_PACKED: Final = 1.03
_SMALL_UNPACKED: Final = 3.9

Sizes = Mapping[str, Sequence[WheelSize] | None]  # by image; None: no size file, or one older than the lock


@dataclass(frozen=True, slots=True)
class Counted:
    """Counted wheels of one image."""

    image: str
    wheels: int
    wheel_bytes: int


@dataclass(frozen=True, slots=True)
class NotCounted:
    """A part of unknown size before the build. `what` is its name; as text it has details."""

    what: str
    rest: str = ""
    is_base: bool = False

    def __str__(self) -> str:
        return self.what + self.rest


@dataclass(frozen=True, slots=True)
class Expected:
    """A lower bound of an image's size, with the parts counted and not counted."""

    size: Size
    counted: tuple[Counted, ...]
    not_counted: tuple[NotCounted, ...]
    remarks: tuple[str, ...]


@cache
def expected_of(name: str, images: Path = IMAGES, substitutes: tuple[Substitute, ...] = ()) -> Size | None:
    """The lower bound of an image by its full name, from the files in its folder; None if nothing can be counted.

    Read once per run. Raises SpecError for a spec with mistakes, as `load_family` and `plan_image` do.
    """
    family = load_named(name, images=images)
    found = expected(family, {spec.name: load_sizes(images / spec.name, spec) for spec in family}, substitutes)
    return found.size if found.counted else None


def expected(family: Sequence[ImageSpec], sizes: Sizes, substitutes: Sequence[Substitute] = ()) -> Expected:
    """Size of `family[0]` with all its parents (`imaging.spec.load.load_family`).

    Packages that the site's substitutes leave out are not in the image and not counted.
    """
    plans = [plan_image(family[start:], substitutes=substitutes) for start in range(len(family))]
    there: set[tuple[str, str, str, str]] = set()
    counted, packed, unpacked = [], 0.0, 0.0
    for plan in reversed(plans):
        name, built = plan.spec.name, _environments(plan)
        # A parent's packages are not installed again; a kernel has its own environment.
        new = {
            (name if size.environment else SERVER, size.environment, size.name, size.version): size
            for size in sizes.get(name) or ()
            if size.environment in built
        }
        own = [size.bytes for key, size in new.items() if key not in there]
        there |= set(new)
        counted.append(Counted(name, len(own), sum(own)))
        packed += sum(number * (_BIG_PACKED if number >= _BIG else _SMALL_PACKED) for number in own)
        unpacked += sum(number * (_BIG_UNPACKED if number >= _BIG else _SMALL_UNPACKED) for number in own)
    return Expected(
        size=Size(round(packed), round(unpacked), Origin.SPEC, compression="zstd"),
        counted=tuple(each for each in reversed(counted) if each.wheels),
        not_counted=tuple(_not_counted(plans, sizes)),
        remarks=tuple(_remarks(plans)),
    )


def _environments(plan: Plan) -> frozenset[str]:
    """Environments built here: kernels, and the server's unless the site omits all its packages."""
    is_whole = plan.spec.python is not None and plan.packages == plan.spec.python.packages
    return frozenset([*(kernel.name for kernel in plan.kernels), *([SERVER] if is_whole else [])])


def _not_counted(plans: Sequence[Plan], sizes: Sizes) -> Iterator[NotCounted]:
    specs = [plan.spec for plan in plans]
    yield NotCounted(f"base {plans[-1].root.partition('@')[0]}", is_base=True)
    if os_packages := sorted({package for spec in specs for package in spec.os_packages}):
        yield NotCounted("OS packages", f" {', '.join(os_packages)}, and what they need")
    if files := [file.source for spec in specs for file in spec.files]:
        yield NotCounted("files", f" {', '.join(files)}")
    for plan, spec in zip(plans, specs, strict=True):
        if _environments(plan) and sizes.get(spec.name) is None:
            yield NotCounted(f"wheels of {spec.name}", f": gpu-commons image sizes {spec.name} asks how big they are")
        for kernel in plan.kernels:
            cuda = kernel.cuda.packages if kernel.cuda and kernel.cuda.source.value == "conda" else ()
            conda = ", ".join((f"python={kernel.python}", *cuda, *kernel.conda))
            yield NotCounted(f"kernel {kernel.name}", f": {conda} from conda-forge, and what all its pins need")
        if others := other_pins(plan.kernels):
            yield NotCounted(", ".join(others), ", which the package index does not have")
        if spec.node:
            yield NotCounted("Node packages", f" of {spec.node.lock}")


def _remarks(plans: Sequence[Plan]) -> Iterator[str]:
    if plans[-1].layout is Layout.JUPYTER and any(plan.packages for plan in plans):
        yield "the server's packages come from conda-forge and are counted as the wheels of the lock"
