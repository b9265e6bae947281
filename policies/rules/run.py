"""P-RUN: every image runs on every pool that it can land on with a GPU."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from compat import Case, Severity, Verdict
from compat.verdict.answer import BY_CONTENT, BY_NAME, BY_SPEC
from fleet.courses import Usage
from fleet.pools import PoolGpus
from fleet.unknown import Unknown
from imaging.spec.compat_cases import Use
from policies.finding import Finding, Level
from policies.model import Container, Rule, Site, Workload
from policies.report import line
from policies.scheduling import is_certain, possible_nodes
from policies.verdicts import (
    Outcome,
    affected,
    in_order,
    messages_of,
    outcomes,
    pools_with_drivers,
    reasons,
    remedy,
    uses_read,
    whole_pool,
)
from policies.workload_images import ImageFacts, image_facts

_COUNTS: Final = re.compile(r"NVIDIA_(?:REQUIRE_\w+|DISABLE_REQUIRE)|LD_LIBRARY_PATH|VLLM_ENABLE_CUDA_COMPATIBILITY")
_VERDICTS: Final = {
    Verdict.INCOMPATIBLE: (Level.REFUSE, Severity.REFUSE, "does not run on"),
    Verdict.WITH_WARNING: (Level.WARN, Severity.WARN, "runs with a warning on"),
    Verdict.UNKNOWN: (Level.UNPROVED, Severity.UNKNOWN, "may or may not run on"),
}


def check(workload: Workload, site: Site) -> Iterator[Finding]:
    """GPU containers, judged by the image's known contents, else its spec, else its name."""
    pools = possible_nodes(workload, site)
    for container in workload.containers:
        asks, image = container.asks_for_gpus, image_facts(container.image, site)
        is_no_reference = image.text is not None and image.reference is None
        if asks is False or is_no_reference:  # P-PIN refuses that without repeating it: it may contain a password
            continue
        uses, basis = _uses(image, site)
        uses = tuple(_with_variables(use, container) for use in uses)
        for finding in _findings(image.name, outcomes(uses, pools, site.gpus), site.gpus, basis):
            bad = {pool for _, pool, _ in finding.about}
            is_sure = asks is True and is_certain(bad, workload, site)
            level = finding.level if is_sure else Level.UNPROVED
            yield replace(finding, message=f"{image.text or image.name} {finding.message}", level=level)
        deep = image.contents.deep if image.contents else None
        if deep is not None and deep.left_out:
            message = f"parts of {image.text} that were not read may use a GPU: {deep.left_out[0]}"
            yield Finding(message, Level.UNPROVED, is_own=image.is_own)
        elif deep is None and image.is_own and image.reference and image.reference.digest:
            message = f"{image.text} is judged by its spec alone: its layers were not read"
            yield Finding(message, Level.UNPROVED, is_own=True)


def check_image(name: str, site: Site) -> Iterator[Finding]:
    """A stack image by its spec, for all its users: before the build, and only once."""
    usages = [usage for usage in site.usages if usage.image == name]
    if pools := site.alike(pool for usage in usages for pool in usage.pools):
        yield from _findings(name, outcomes(site.uses_of(name), pools, site.gpus), site.gpus, BY_SPEC, usages)


def _findings(
    image: str, found: Sequence[Outcome], gpus: Mapping[str, PoolGpus], basis: str, usages: Sequence[Usage] = ()
) -> Iterator[Finding]:
    """One finding per kind of verdict other than a plain yes; on each pool a use's worst counts."""
    for verdict, (level, severity, says) in _VERDICTS.items():
        bad = [each for each in found if each.answer.verdict is verdict]
        if not bad:
            continue
        pools = in_order(each.pool for each in bad)
        refused = {whole_pool(each, gpus) for each in pools}
        fine = [pool for pool in in_order(whole_pool(each.pool, gpus) for each in found) if pool not in refused]
        lines = [f"{says} {pools_with_drivers(pools, gpus)}", *reasons(bad, severity, pools, gpus)]
        if users := affected(usages, refused):
            lines.append(line("who", users))
        lines.append(line("judged by", basis))
        about = frozenset((image, each.pool, why) for each in bad for why in messages_of(each, severity) or ("",))
        yield Finding(
            "\n".join(lines), level, remedy(bad, fine) if verdict is Verdict.INCOMPATIBLE else "", about=about
        )


def _with_variables(use: Use, container: Container) -> Use:
    """What a container sets counts, where the image sets it too."""
    variables = () if isinstance(container.env, Unknown) else container.env
    known = [each for each in variables if isinstance(each.name, str) and isinstance(each.value, str)]
    texts = [f"{each.name}={each.value.replace(';', ',')}" for each in known if _COUNTS.fullmatch(each.name)]
    return replace(use, case=replace(use.case, env=";".join(filter(None, (use.case.env, *texts))))) if texts else use


def _uses(image: ImageFacts, site: Site) -> tuple[tuple[Use, ...], str]:
    """The image's uses of a GPU, and what they are known by."""
    read = image.contents
    if read is not None and read.deep is None and image.is_own and image.name in site.own_images:
        read = None  # its spec says more than a config
    if read is not None:
        return uses_read(read), f"{BY_CONTENT} it"
    if image.is_own and image.name in site.own_images:
        return site.uses_of(image.name), BY_SPEC
    return ((Use("", None, Case(image=image.text)),) if image.text else ()), BY_NAME


RULE = Rule(
    id="P-RUN",
    says="every image runs on every pool that it can land on with a GPU: driver, CUDA, code for the GPU, libraries",
    remedy="Run gpu-commons check with the image and the pool.",
    check=check,
    check_image=check_image,
)
