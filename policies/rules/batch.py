"""P-BATCH: a Slurm job relies on nothing its nodes may lack, and requests no unused GPU."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from errors.problems import listing
from fleet.unknown import UNKNOWN
from platforms.slurm.batch_script import options_of
from platforms.slurm.site_model import is_inside
from policies.finding import Finding, Level
from policies.model import Rule, Site, Workload
from policies.shapes import is_list, text

# Linter rules about what a job needs on its node.
_LINT_RULES: Final = frozenset({"D-NV", "D-HOST"})
_MODULE: Final = re.compile(
    r"(?:^|[\s;&|'\"(])(?P<command>module\s+(?:load|add|switch|swap)\s+[\w./+-]+|load\s+module\s+[\w./+-]+|ml\s+(?:load\s+)?\w[\w.+-]*/[\w./+-]+)",
    re.MULTILINE,
)
_CHOSEN: Final = re.compile(r"\b(?P<setting>(?:CUDA|NVIDIA)_VISIBLE_DEVICES=['\"]?[\w,:.-]+)")
_IMAGE: Final = re.compile(r"(?<![\w.])/[^\s'\":;]+\.(?:sif|simg|img)\b")


def check(workload: Workload, site: Site) -> Iterator[Finding]:
    """The job's text and GPU count."""
    inputs = workload.job_inputs
    script = inputs.get("text")
    if script is UNKNOWN:
        yield Finding("its text is not known yet: it may load modules or bind folders of the node", Level.UNPROVED)
    elif content := text(script):
        yield from _of_text(content, site)
        yield from _of_time(content, inputs, site)
    gpus = inputs.get("gpus")
    if isinstance(gpus, int) and gpus > 0:
        yield from _of_gpus(gpus, inputs, site)


def _of_text(script: str, site: Site) -> Iterator[Finding]:
    # The shell grammar loads slowly, and most stacks have no Slurm job.
    from imaging.lint.check import lint  # noqa: PLC0415
    from imaging.lint.recipe import Kind, LintContext, LintError, Role  # noqa: PLC0415

    try:
        report = lint(script.encode(), "job.sbatch", LintContext(Role.BATCH), kind=Kind.SCRIPT)
        linted = [each for each in report.all if each.rule in _LINT_RULES and not each.is_of_module]
    except LintError as error:
        yield Finding(f"its text cannot be parsed: {error}", Level.UNPROVED)
        linted = []
    for each in linted:
        yield Finding(f"line {each.line} of its text: {each.message}", remedy=f"{each.fix}.")
    for command in dict.fromkeys(each["command"] for each in _MODULE.finditer(script)):
        yield Finding(
            f"{command!r}: what it runs depends on a module of the site, and on what was loaded before",
            remedy="Put what the module provides into the image: the node only provides the driver.",
        )
    for setting in dict.fromkeys(each["setting"] for each in _CHOSEN.finditer(script)):
        yield Finding(f"{setting} chooses GPUs in place of Slurm", remedy="Remove it, and request GPUs with gpus.")
    for path in dict.fromkeys(_IMAGE.findall(script)):
        if folder := next((each for each in site.scratch if is_inside(path, each)), ""):
            yield Finding(
                f"its image {path} is in {folder}, which is purged",
                remedy="Name an image of the stack: SlurmSite keeps it in site.slurm.image_store, by its digest.",
            )


def _of_time(script: str, inputs: Mapping[str, Any], site: Site) -> Iterator[Finding]:
    """Slurm rejects a job longer than every partition allows, and never starts it on one that allows less."""
    pools, minutes = inputs.get("pools"), options_of(script).get("time", "")
    for pool in pools if is_list(pools) and minutes.isdigit() else ():
        longest = site.longest_min.get(text(pool))
        if longest and int(minutes) > longest:
            yield Finding(
                f"it asks for {minutes} minutes, but pool {pool} only allows {longest}",
                remedy=f"Ask for at most {longest} minutes, or choose another pool.",
            )


def _of_gpus(gpus: int, inputs: Mapping[str, Any], site: Site) -> Iterator[Finding]:
    pools, image = inputs.get("pools"), inputs.get("image_name")
    named = [each for each in pools if isinstance(each, str)] if is_list(pools) else []
    if whole := [each for each in named if site.whole_nodes.get(each, 0) > gpus]:
        has = listing(sorted({str(site.whole_nodes[each]) for each in whole}))
        yield Finding(
            f"it asks for {gpus} of the {has} GPUs of a node, but {listing(whole)} gives whole "
            "nodes, so the other GPUs stay idle",
            Level.WARN,
            "Choose a pool whose nodes are shared, or use all GPUs of the node.",
        )
    if isinstance(image, str) and image in site.own_images and not site.uses_of(image):
        yield Finding(
            f"it asks for {gpus} GPU{'' if gpus == 1 else 's'}, but nothing in image {image} uses a GPU",
            Level.WARN,
            "Write gpus: 0, or add software that uses GPUs to the image.",
        )


RULE = Rule(
    id="P-BATCH",
    says="the text of a Slurm job loads no modules, binds no CUDA from its node, keeps no image in scratch, chooses no "
    "GPUs itself, and requests neither more time than its pools allow nor GPUs that nothing uses",
    remedy="Put what it needs into the image, and request GPUs with gpus.",
    check=check,
)
