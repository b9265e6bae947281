"""Values that follow from the answers: the fleet's GPUs, and an image per pool."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from cli.init.first_stack import PLANNED, Answers, Pool, node_entries


def completed(answers: Answers) -> Answers:
    """The answers with the GPU total and, for each pool, the project's newest image that runs there."""
    from fleet.node_names import expand_all  # noqa: PLC0415 - the list of commands needs no pydantic

    total = 0
    for pool in answers.pools:
        nodes = expand_all(node_entries(pool.given["nodes"]))
        total += len(nodes) * int(pool.given.get("gpus_per_node", 0))
    images = _images(answers.pools) if answers.hub else {}
    return replace(answers, total_gpus=total, images=images)


def _images(pools: Sequence[Pool]) -> dict[str, str]:
    from compat import Case, check_on  # noqa: PLC0415 - see above
    from fleet.pools import read_node  # noqa: PLC0415
    from imaging.spec.compat_cases import cases_of  # noqa: PLC0415
    from imaging.spec.load import IMAGES, load_family  # noqa: PLC0415
    from imaging.spec.problems import SPEC_FILE, SpecError  # noqa: PLC0415

    known: list[tuple[list[int], str, tuple[Case, ...]]] = []
    for file in sorted(IMAGES.glob(f"*/{SPEC_FILE}")):
        try:
            family = load_family(file.parent.name)
        except SpecError:
            continue  # a spec that is still being written
        if (cases := cases_of(family)) and "jupyterhub" in str([spec.python for spec in family]):
            lines = [line for spec in family for line in spec.cuda_lines]
            known.append(([int(part) for part in max(lines, default="0").split(".")], file.parent.name, cases))
    found: dict[str, str] = {}
    for pool in (pool for pool in pools if pool.has_gpus):
        toolkit = pool.given.get("container_toolkit", PLANNED["container_toolkit"])
        place = read_node(pool.given["gpu"], pool.given["driver"], toolkit)
        running = [
            (line, name)
            for line, name, cases in known
            if all(check_on(case, place, with_remedy=False).verdict.runs for case in cases)
        ]
        if running:
            found[pool.name] = max(running)[1]
    return found
