"""GpuImage: an image built from a spec, pushed and identified by digest."""

import asyncio
import functools
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NotRequired, TypedDict, cast

import pulumi
import pulumi_docker_build as docker_build

from errors.problems import Problem, nearest, show
from fleet.machines import Rates
from imaging.build.building import CHECKED_LABEL, LEVELS, content_tag, dockerfiles
from imaging.build.instructions import CA_CONTEXT
from imaging.build.labels import installed_pins
from imaging.build.render import VERIFYING_CONTEXT, build_arguments, stage_of, verify_stage_of
from imaging.inspection.conclusions import judge
from imaging.inspection.facts import ImageContents
from imaging.inspection.faults import InspectError
from imaging.references import ImageReference
from imaging.size.estimate import Origin
from imaging.size.expected import Expected, expected
from imaging.size.forecast import Deployed, Megabytes, Speed, first_starts, forecast, sizes_of
from imaging.size.measured import size_of
from imaging.size.pushed import known, read_pushed, size_of_tag
from imaging.spec.load import IMAGES, VERIFYING, load_family, load_sizes
from imaging.spec.model import ImageSpec
from imaging.spec.plan import NOTHING, Plan, Substitute, kernel_pins, plan_image
from imaging.spec.problems import SpecError
from imaging.spec.runtime import runtime_words
from imaging.spec.targets import kind_of


@dataclass(frozen=True, slots=True)
class Unbuilt:
    """An image before its build. `tag` is looked up in its registry, unless None."""

    name: str
    root: str  # the external base image
    expected: Expected
    tag: str | None


def tell_forecast(
    image: pulumi.Resource,
    unbuilt: Unbuilt,
    digest: pulumi.Output[str],
    deployed: pulumi.Output[Any],
    speeds: Sequence[Speed],
) -> pulumi.Output[bool]:
    """Log one message if the engine does not know the digest and so will build the image; returns whether it did.

    For previews. The program waits for the answer before it ends.
    """

    async def tell() -> bool:
        if await digest.is_known():
            return False
        registry, base = await asyncio.gather(
            asyncio.to_thread(size_of_tag, unbuilt.tag) if unbuilt.tag else _nothing(),
            asyncio.to_thread(known, unbuilt.root),
        )
        found = forecast(
            unbuilt.expected,
            registry=registry,
            deployed=Deployed.read(await deployed.future()),
            base=size_of(base) if base else None,
        )
        lines = [f"{unbuilt.name} will be built: {found.says}", *first_starts(found, speeds)]
        pulumi.log.info("\n".join(lines), image)
        return True

    return pulumi.Output.from_input(tell())


async def _nothing() -> None:
    return None


_COMPRESSIONS = {"zstd": docker_build.CompressionType.ZSTD, "gzip": docker_build.CompressionType.GZIP}

# `with` is a Python keyword, so this cannot be a class.
ImageSubstitute = TypedDict("ImageSubstitute", {"reference": str, "with": str, "reason": str})
"""A reference the site cannot reach, its replacement (`with`: an image by digest; `nothing` for a package
source such as `conda-forge`, whose packages are left out and listed) and the reason."""


class ImagePool(TypedDict):
    """A pool whose nodes will start an image, and their speed."""

    pool: str
    """Name of the pool."""
    pull_mb_per_s: NotRequired[float]
    """Pull rate of one node in MB/s; default: a planning figure, 50."""
    disk_mb_per_s: NotRequired[float]
    """Write rate of a node's disk in MB/s; default: a planning figure, 400."""
    rates_are_planned: NotRequired[bool]
    """The rates were not measured on this pool; default: true if neither is given."""


class GpuImageArgs(TypedDict):
    """Arguments of GpuImage."""

    image: str
    """Folder of image.yaml, below `images`."""
    repository: str
    """Push target: registry and name, without tag."""
    target: NotRequired[str]
    """Image of the spec to build: `gateway-client`, `kernel` or `batch`; default: the server image."""
    base: NotRequired[pulumi.Input[str]]
    """For an image based on another of ours: the base's `ref`."""
    builder: NotRequired[str]
    """buildx builder; default: the current one."""
    substitutes: NotRequired[Sequence[ImageSubstitute]]
    """Substitutes for this site. Entries for other images are ignored."""
    ca_bundle: NotRequired[str]
    """PEM file on the build machine, for sites that inspect TLS. It is mounted while packages are downloaded and
    enters neither a layer nor the state. Its folder becomes a build context: give the file its own."""
    compression: NotRequired[str]
    """`zstd` (default; Docker 23, containerd 1.5 and later) or `gzip`."""
    build_on_preview: NotRequired[bool]
    """Also build in previews, without pushing; default false."""
    read_back: NotRequired[bool]
    """Read all layers of the pushed image as soon as its digest is known (default true). Facts are stored by digest on
    the machine that runs Pulumi, where policies find them; with false, sizes and facts stay unknown."""
    images: NotRequired[str]
    """Folder of image folders; default: gpu-commons' own."""
    lands_on: NotRequired[Sequence[ImagePool]]
    """Pools whose nodes will start it: the preview of a build reports the first start time on each."""
    deployed: NotRequired[pulumi.Input[Mapping[str, Any]]]
    """The output `sizes` at the last deployment, for example from a stack's own outputs; changes are reported against
    it. It decides nothing and is not recorded as an input."""


class GpuImage(pulumi.ComponentResource):
    """An image from `images/<image>/image.yaml`: Dockerfile rendered, built by BuildKit, checked, pushed.

    The check is the stage `verify`, which runs the image's verify.py: an image that fails it is not pushed.

    The content of the spec (base, CUDA lines, packages) is a separate input, `facts`, so a preview shows what a change
    of the spec means, and policies read it before the build. Its source is `origin`: "spec".
    If the site replaces a base or leaves out packages, the preview prints it, and the image has the labels
    `org.gpu-commons.lab.substitute` and `org.gpu-commons.lab.missing`.

    The image is rebuilt when its Dockerfile, build context, parent digest or a build argument changes. It
    stays in the registry after it leaves the stack: a running server may still need it.
    Invalid arguments raise one SpecError that lists all of them.
    """

    ref: pulumi.Output[str]
    """`repository@digest`; unknown in a preview that would build."""
    tag: pulumi.Output[str]
    """`repository:tag`; the tag is a hash of the build inputs, for people browsing registries."""
    compressed_bytes: pulumi.Output[int | None]
    """Bytes in the registry, all layers; None if the image is not read back."""
    unpacked_bytes: pulumi.Output[int | None]
    """Bytes of the unpacked layers on a node."""
    facts: pulumi.Output[Mapping[str, Any] | None]
    """Content found in the image: its programs that use a GPU, with CUDA line and machine code."""
    sizes: pulumi.Output[Mapping[str, Any]]
    """For a stack's outputs, in MB of 10⁶ bytes: `digest`, `compressed_mb`, `unpacked_mb`; `by_spec`, the lower bound
    from the spec; `before`, digest and sizes of the image it replaced; and `change_mb`, the difference in
    compressed MB. The last two stay until the next change, so that an unchanged image shows no change."""

    def __init__(self, name: str, args: GpuImageArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        folder = Path(args.get("images") or IMAGES)
        family = load_family(args["image"], images=folder)
        if problems := _argument_problems(name, args, family):
            raise SpecError(problems)
        substitutes = [_substitute(entry) for entry in args.get("substitutes") or ()]
        chosen = load_family(args["image"], images=folder, target=args.get("target"))
        plan = plan_image(chosen, substitutes=substitutes)
        used = [_as_argument(substitute) for substitute in plan.substitutes]
        sizes = {spec.name: load_sizes(folder / spec.name, spec) for spec in chosen}
        expectation = expected(chosen, sizes, substitutes)
        super().__init__(
            "gpu-commons:index:GpuImage",
            name,
            # Arguments that only affect preview messages are left out: changing them does not change the image.
            {**args, "substitutes": used, "facts": _facts(plan, expectation), "lands_on": None, "deployed": None},
            opts,
        )
        if message := _departures(plan):
            pulumi.log.info(message, self)
        bundle = Path(args["ca_bundle"]) if args.get("ca_bundle") else None
        texts = dockerfiles(family, substitutes=substitutes, ca_bundle=bundle)
        tag = f"{args['repository']}:{content_tag(family, folder, texts)}"
        compression = args.get("compression") or "zstd"
        site = {CA_CONTEXT: {"location": _near(bundle.parent)}} if bundle else {}
        from_spec = functools.partial(
            docker_build.Image,
            push=False,  # it would make previews skip the build with a warning; an export pushes too
            dockerfile={"inline": texts[0]},
            build_args={
                **build_arguments(family[0]),
                **({"BASE": args["base"]} if args.get("base") is not None else {}),
            },
            platforms=[docker_build.Platform.LINUX_AMD64],
            builder={"name": args["builder"]} if args.get("builder") else None,
            build_on_preview=bool(args.get("build_on_preview")),
        )
        location = _near(folder / args["image"])
        # Both are retained: the plug-in would look for the check's image in a Docker engine to delete it there.
        checked = from_spec(
            f"{name}-check",
            exports=[{"cacheonly": {}}],
            context={"location": location, "named": {**site, VERIFYING_CONTEXT: {"location": _near(VERIFYING)}}},
            labels={CHECKED_LABEL: tag},  # by which its log is found
            target=verify_stage_of(plan.spec),
            opts=pulumi.ResourceOptions(parent=self, retain_on_delete=True),
        )
        built = from_spec(
            f"{name}-build",
            exports=[
                {
                    "registry": {
                        "oci_media_types": True,
                        "compression": _COMPRESSIONS[compression],
                        "compression_level": LEVELS[compression],
                        # Otherwise a builder reuses layers that another stack compressed with zstd.
                        "force_compression": True if compression == "gzip" else None,
                    }
                }
            ],
            tags=[tag],
            context={"location": location, "named": site or None},
            target=stage_of(plan.spec)
            if kind_of(plan.spec)
            else None,  # without one: the last stage, the spec's own image
            opts=pulumi.ResourceOptions(parent=self, retain_on_delete=True, depends_on=[checked]),
        )
        # Not the provider's own `ref`, which includes the first tag.
        digest = built.digest.apply(_digest)
        ref = digest.apply(lambda known: f"{args['repository']}@{known}")
        read_back = args.get("read_back", True)
        contents: pulumi.Output[ImageContents | None] = ref.apply(
            lambda pushed: pulumi.Output.from_input(_read_back(pushed, is_wanted=read_back))
        )
        # Resources that use the image wait until it was read: policies then know it before the first workload.
        self.ref = pulumi.Output.all(ref, contents).apply(lambda both: both[0])
        self.tag = pulumi.Output.from_input(tag)
        self.compressed_bytes = contents.apply(lambda read: size_of(read).compressed if read else None)
        self.unpacked_bytes = contents.apply(lambda read: size_of(read).unpacked if read else None)
        self.facts = contents.apply(lambda read: _facts_read(read) if read else None)
        deployed = pulumi.Output.from_input(args.get("deployed"))
        by_spec = expectation.size if expectation.counted else None
        self.sizes = pulumi.Output.all(digest, contents, deployed).apply(
            lambda known: sizes_of(known[0], size_of(known[1]) if known[1] else None, by_spec, known[2])
        )
        if pulumi.runtime.is_dry_run():
            unbuilt = Unbuilt(plan.spec.full_name, plan.root, expectation, tag if read_back else None)
            speeds = [_speed(pool) for pool in args.get("lands_on") or ()]
            tell_forecast(self, unbuilt, digest, deployed, speeds)
        self.register_outputs(
            {
                "ref": self.ref,
                "tag": self.tag,
                "compressed_bytes": self.compressed_bytes,
                "unpacked_bytes": self.unpacked_bytes,
                "facts": self.facts,
                "sizes": self.sizes,
            }
        )


def _digest(found: str) -> pulumi.Input[str]:
    """The digest from the provider. It may be "" in a preview in which only files changed."""
    return found or pulumi.Output.from_input(cast("str", pulumi.UNKNOWN))


def _argument_problems(name: str, args: GpuImageArgs, family: Sequence[ImageSpec]) -> list[Problem]:
    problems = []
    parent = family[0].base.image
    if parent and args.get("base") is None:
        fix = f"pass the ref of the GpuImage of {parent}"
        problems.append(Problem(f"{name}.base", "", f"is missing: {args['image']} stands on our {parent}", fix))
    if not parent and args.get("base") is not None:
        fix = "leave it out, or name the parent in the spec as base.image"
        problems.append(Problem(f"{name}.base", "", f"is given, but the spec of {args['image']} names its base", fix))
    try:
        reference = ImageReference.parse(args["repository"])
        if reference.tag or reference.digest:
            fix = "take tag and digest away: they come from the content"
            problems.append(Problem(f"{name}.repository", show(args["repository"]), "is more than a repository", fix))
    except ValueError as error:
        fix = "write registry and name, such as registry.example.edu/gpu-commons/hub"
        problems.append(Problem(f"{name}.repository", show(args["repository"]), str(error), fix))
    bundle = args.get("ca_bundle")
    if bundle and not Path(bundle).is_file():
        fix = "name a PEM file of the machine that builds, or leave it out"
        problems.append(Problem(f"{name}.ca_bundle", show(bundle), "is not a file here", fix))
    compression = args.get("compression") or "zstd"
    if compression not in _COMPRESSIONS:
        advice = nearest(compression, _COMPRESSIONS, what="compression")
        problems.append(Problem(f"{name}.compression", show(compression), "is not a compression", advice))
    return problems


def _facts(plan: Plan, expectation: Expected) -> Mapping[str, Any]:
    """The content of the spec, short enough for a preview. `expected` is a lower bound of its size."""
    spec = plan.spec
    bound = Megabytes.of(expectation.size).plain() if expectation.counted else None
    return {
        "origin": Origin.SPEC.value,
        "version": spec.version,
        "base": spec.base.image or plan.root,
        "cuda_lines": list(spec.cuda_lines),
        "frameworks": list(spec.frameworks),
        "packages": installed_pins(plan),
        "kernels": {kernel.name: list(kernel_pins(kernel)) for kernel in plan.kernels},
        "missing": list(plan.missing),
        **({"runtime": words} if (words := runtime_words(spec.runtime)) else {}),
        "expected": {**bound, "origin": Origin.SPEC.value} if bound else None,
    }


async def _read_back(reference: str, *, is_wanted: bool) -> ImageContents | None:
    if not is_wanted:
        return None
    try:
        return await asyncio.to_thread(read_pushed, reference)  # keeps the event loop free for engine messages
    except InspectError as error:
        raise pulumi.RunError(f"the image that was pushed cannot be read back: {error}") from None


def _facts_read(contents: ImageContents) -> Mapping[str, Any]:
    """The facts that `check` uses, short enough for a preview."""
    judged = judge(contents)
    return {
        "origin": Origin.IMAGE.value,
        "system": contents.deep.system if contents.deep else "",
        "programs": {program.name or "CUDA": dict(program.fields) for program in judged.programs},
        "remarks": [remark.says for remark in judged.remarks],
    }


def _departures(plan: Plan) -> str:
    """Differences from the spec on this site, for the preview; empty if none."""
    lines = []
    for substitute in plan.substitutes:
        what = "is left out" if substitute.replacement == NOTHING else f"is replaced by {substitute.replacement}"
        lines.append(f"{substitute.reference} {what}: {substitute.reason}")
    if plan.missing:
        lines.append(f"not in this image: {', '.join(plan.missing)}")
    return "\n".join([f"{plan.spec.full_name} is not what its spec asks for:", *lines]) if lines else ""


def _near(path: Path) -> str:
    """Relative if it is inside the project, so that every clone has the same state."""
    absolute = path.resolve()
    here = Path.cwd()
    return os.path.relpath(absolute, here) if absolute.is_relative_to(here) else str(absolute)


def _speed(pool: ImagePool) -> Speed:
    stated = {name: float(pool[name]) for name in ("pull_mb_per_s", "disk_mb_per_s") if pool.get(name) is not None}
    return Speed(pool["pool"], Rates(**stated), pool.get("rates_are_planned", not stated))


def _substitute(entry: ImageSubstitute) -> Substitute:
    return Substitute(entry["reference"], entry["with"], entry["reason"])


def _as_argument(substitute: Substitute) -> ImageSubstitute:
    return {"reference": substitute.reference, "with": substitute.replacement, "reason": substitute.reason}
