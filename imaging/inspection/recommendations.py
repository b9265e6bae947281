"""Recommends changes to an image: the remarks of `inspect`, by the kind in its output. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from errors.problems import listing
from fleet.driver_key import DRIVER_KEY_LABEL

if TYPE_CHECKING:
    from imaging.inspection.cuda_evidence import Evidence
    from imaging.inspection.facts import Contents, ImageContents

REMARKS: Final = MappingProxyType(
    {
        "secret-in-config": "The config of the image names a variable that looks like a secret: everybody can read it.",
        "private-key": "A layer has a private key: everybody who can pull the image has it.",
        "driver-inside": "Parts of an NVIDIA driver are in the image; they hide those of the host.",
        "cuda-twice": "Libraries of CUDA are in the image more than once.",
        "two-cudas": "One environment has packages of two CUDA majors: a program that uses both loads two runtimes.",
        "label-disagrees": "A label or variable names a CUDA other than the one in the image.",
        "caches": "Caches of package managers or compilers were left in the image.",
        "waste": "A layer has files that a later layer replaces or removes; they are pulled all the same.",
    }
)
_COPIES_TOLD: Final = 10_000_000  # bytes
_CACHES_TOLD: Final = 20_000_000
_WASTE_TOLD: Final = 50_000_000


@dataclass(frozen=True, slots=True)
class Remark:
    """A recommended change to the image."""

    kind: str
    says: str
    fix: str
    size: int = 0


def remarks(contents: ImageContents, lines: Mapping[str, str], written: Sequence[Evidence]) -> Iterator[Remark]:
    """`lines`: CUDA lines of the found programs, by name; `written`: labels and environment."""
    yield from _of_settings(contents)
    if contents.deep is not None:
        is_driver = DRIVER_KEY_LABEL in dict(contents.settings.labels)
        yield from _of_layers(contents.deep, lines, written, is_driver=is_driver)


def _of_settings(contents: ImageContents) -> Iterator[Remark]:
    if contents.settings.secrets:
        names = listing(contents.settings.secrets)
        yield Remark(
            "secret-in-config",
            f"the config has what looks like a secret in {names}; everybody who can pull the image can read it",
            "revoke it, and give it to the container when it starts",
        )


def _of_layers(
    deep: Contents, lines: Mapping[str, str], written: Sequence[Evidence], *, is_driver: bool
) -> Iterator[Remark]:
    if deep.private_keys:
        paths = listing([f"{each.path} (layer {each.layer + 1})" for each in deep.private_keys], most=3)
        yield Remark(
            "private-key",
            f"layers have private keys: {paths}; everybody who can pull the image has them, removed later or not",
            "replace the keys, build without them, and give new ones to the container when it starts",
        )
    if deep.driver and not is_driver:
        paths = listing([f"{each.path} ({each.what})" for each in deep.driver], most=3)
        yield Remark(
            "driver-inside",
            f"the image has parts of a driver: {paths}; they hide those of the host, which the kernel needs",
            "leave the driver out of the image: the container toolkit brings the host's",
            sum(each.size for each in deep.driver),
        )
    extra = sum(each.extra_bytes for each in deep.copies)
    if extra >= _COPIES_TOLD:
        names = listing(
            [f"lib{each.name} in {listing([_folder(path) for path in each.paths], most=2)}" for each in deep.copies],
            most=3,
        )
        yield Remark(
            "cuda-twice",
            f"CUDA is in the image twice: {names}",
            "start from a base image without CUDA: wheels bring theirs",
            extra,
        )
    from imaging.inspection.environments import majors  # noqa: PLC0415 - explaining a remark needs no models

    for environment, by_major in majors(deep).items():
        whose = " and ".join(f"CUDA {major} ({what})" for major, what in sorted(by_major.items()))
        yield Remark(
            "two-cudas",
            f"the environment /{environment} has {whose}: a program that uses both loads two runtimes, each with "
            "needs of its own",
            "take builds for one CUDA, or give each a kernel with an environment of its own",
        )
    wrong = [each for each in written if lines and not any(each.agrees(line) for line in lines.values())]
    if wrong:
        has = listing([f"{name} is for {line}" for name, line in lines.items()])
        yield Remark(
            "label-disagrees",
            f"{wrong[0].what} means CUDA {wrong[0].value}, and {has}",
            "correct it: others read it, and so may the container toolkit",
        )
    yield from _of_bytes(deep)


def _of_bytes(deep: Contents) -> Iterator[Remark]:
    cached = sum(each.size for each in deep.caches)
    if cached >= _CACHES_TOLD:
        places = listing([f"{each.path} ({each.what})" for each in deep.caches], most=3)
        yield Remark(
            "caches", f"caches are in the image: {places}", "use cache mounts, or remove them in the same step", cached
        )
    wasted = sum(each.wasted_bytes for each in deep.layers)
    if wasted >= _WASTE_TOLD:
        numbers = [str(number + 1) for number, each in enumerate(deep.layers) if each.wasted_bytes * 20 > wasted]
        yield Remark(
            "waste",
            f"layer {', '.join(numbers)} has files that a later layer replaces or removes; they are still pulled",
            "remove them in the step that makes them, or copy the result into a new stage",
            wasted,
        )


def _folder(path: str) -> str:
    return "/" + path.rpartition("/")[0]
