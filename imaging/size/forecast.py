"""Forecasts the size of an image before its build, with the source, and its start time. Pure.

There are three sources, in this order: the registry, if the tag already has the same content; the last build, with
the spec's changes since; the spec alone, which gives a lower bound (`imaging.size.expected`).
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self

from fleet.machines import Rates
from imaging.size.estimate import MB, Origin, Size, amount, cold_start
from imaging.size.expected import Expected


@dataclass(frozen=True, slots=True)
class Megabytes:
    """A size as people read it: MB of 10⁶ bytes, rounded to a tenth."""

    compressed: float
    unpacked: float

    @classmethod
    def of(cls, size: Size) -> Self:
        return cls(round(size.compressed / MB, 1), round(size.unpacked / MB, 1))

    @classmethod
    def read(cls, value: Any) -> Self | None:
        """From the result of `plain`, else None."""
        if not isinstance(value, Mapping):
            return None
        compressed, unpacked = value.get("compressed_mb"), value.get("unpacked_mb")
        if not isinstance(compressed, int | float) or not isinstance(unpacked, int | float):
            return None
        return cls(compressed, unpacked)

    def plain(self) -> dict[str, float]:
        return {"compressed_mb": self.compressed, "unpacked_mb": self.unpacked}


@dataclass(frozen=True, slots=True)
class Deployed:
    """A stack's outputs on the image that it deployed last."""

    size: Megabytes
    by_spec: Megabytes | None  # lower bound of the spec it was built from

    @classmethod
    def read(cls, sizes: Any) -> Self | None:
        """From the output of `sizes_of`; None if the image was not measured."""
        size = Megabytes.read(sizes)
        return cls(size, Megabytes.read(sizes.get("by_spec"))) if size else None


def sizes_of(digest: str, size: Size | None, by_spec: Size | None, deployed: Any) -> dict[str, Any]:
    """Sizes of an image for a stack's outputs; `deployed` is the result of the last deployment.

    While the digest stays, `before` and `change_mb` stay too: they describe the last change of the image.
    """
    sizes: dict[str, Any] = {"digest": digest}
    if size:
        sizes |= Megabytes.of(size).plain()
    if by_spec:
        sizes["by_spec"] = Megabytes.of(by_spec).plain()
    last = deployed if isinstance(deployed, Mapping) else {}
    if last.get("digest") == digest:
        return sizes | {key: last[key] for key in ("before", "change_mb") if key in last}
    if not last.get("digest"):  # the first time, or outputs of a version without digests
        return sizes
    sizes["before"] = {key: last[key] for key in ("digest", "compressed_mb", "unpacked_mb") if key in last}
    if size and (before := Megabytes.read(last)):
        sizes["change_mb"] = round(sizes["compressed_mb"] - before.compressed, 1)
    return sizes


@dataclass(frozen=True, slots=True)
class Forecast:
    """The expected size of an image, if known, and a sentence with it and its source."""

    size: Size | None
    says: str
    degree: str = ""  # how exact the size is: "", "about " or "at least "


def forecast(
    expected: Expected,
    *,
    registry: Size | None = None,
    deployed: Deployed | None = None,
    base: Size | None = None,
) -> Forecast:
    """Expected size. `registry`: the same content under its tag; `base`: the parent image, if known."""
    spec = expected.size if expected.counted else None
    if registry:
        exact = "" if registry.origin is Origin.IMAGE else "about "
        weighs = f"{amount(registry.compressed)} compressed, {exact}{amount(registry.unpacked)} unpacked"
        return Forecast(registry, f"{weighs} (the registry has this content already){_against(registry, deployed)}")
    if deployed and (spec is None) == (deployed.by_spec is None):
        return _from_last_build(expected, spec, deployed)
    last = f"; last deployed {amount(round(deployed.size.compressed * MB))}" if deployed else ""
    if spec:
        return _from_spec(expected, spec, base, last)
    return Forecast(None, f"its size is not known before that (not counted: {_listed(expected)}){last}")


def _from_last_build(expected: Expected, spec: Size | None, deployed: Deployed) -> Forecast:
    last = f"as last deployed: {amount(round(deployed.size.compressed * MB))}"
    if spec is None or deployed.by_spec is None:
        why = f"{last}; nothing is known of what changes: {_listed(expected)}"
        return _about(deployed.size.compressed * MB, deployed.size.unpacked * MB, why)
    now = Megabytes.of(spec)
    compressed = now.compressed - deployed.by_spec.compressed
    unpacked = now.unpacked - deployed.by_spec.unpacked
    wheels = f"{_signed(compressed)} of wheels by the spec" if compressed or unpacked else "with the same wheels"
    return _about(
        max((deployed.size.compressed + compressed) * MB, spec.compressed),
        max((deployed.size.unpacked + unpacked) * MB, spec.unpacked),
        f"{last}, {wheels}; everything else unchanged",
    )


def _about(compressed: float, unpacked: float, why: str) -> Forecast:
    size = Size(round(compressed), round(unpacked), Origin.LAST_BUILD, compression="zstd")
    says = f"about {amount(size.compressed)} compressed, {amount(size.unpacked)} unpacked ({why})"
    return Forecast(size, says, "about ")


def _from_spec(expected: Expected, spec: Size, base: Size | None, last: str) -> Forecast:
    wheels = sum(each.wheels for each in expected.counted)
    counted = f"{wheels} wheels" + (f" and a base of {amount(base.compressed)}" if base else "")
    without = [each.what for each in expected.not_counted if not (base and each.is_base)]
    size = Size(
        spec.compressed + (base.compressed if base else 0),
        spec.unpacked + (base.unpacked if base else 0),
        Origin.SPEC,
        compression="zstd",
    )
    says = f"at least {amount(size.compressed)} compressed, {amount(size.unpacked)} unpacked (from the spec: {counted}"
    return Forecast(size, f"{says}; not counted: {', '.join(without)}){last}", "at least ")


def _listed(expected: Expected) -> str:
    return ", ".join(each.what for each in expected.not_counted)


def _against(size: Size, deployed: Deployed | None) -> str:
    if deployed is None:
        return ""
    change = Megabytes.of(size).compressed - deployed.size.compressed
    return f"; {_signed(change)} relative to what was deployed last"


def _signed(megabytes: float) -> str:
    return ("-" if megabytes < 0 else "+") + amount(round(abs(megabytes) * MB))


@dataclass(frozen=True, slots=True)
class Speed:
    """Rates per second of a pool's nodes. Planned: not measured there."""

    pool: str
    rates: Rates
    are_planned: bool


def first_starts(found: Forecast, speeds: Iterable[Speed]) -> Iterator[str]:
    """Time of a first start, one line for equally fast pools; none if the size is unknown."""
    if found.size is None:
        return
    pools: dict[tuple[Rates, bool], list[str]] = {}
    for speed in speeds:
        pools.setdefault((speed.rates, speed.are_planned), []).append(speed.pool)
    for (rates, are_planned), names in pools.items():
        start = cold_start(found.size, rates)
        planned = "; the rates are planning figures" if are_planned else ""
        degree = found.degree or "about "
        yield (
            f"first start on a node of {', '.join(dict.fromkeys(names))}:"
            f" {degree}{start.total_s:.0f} s ({start.reason}{planned})"
        )
