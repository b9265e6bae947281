"""A matrix as one self-contained HTML page, from the template page.html.j2."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from cli.matrix.grid import Column, Grid, Reason, Row
from cli.matrix.uses import seats_of, users_of, uses_in_words
from cli.words import NO_GPU, counted
from compat import Severity
from compat.values.fact import Fact
from platforms.templates import rendered

_MANY: Final = 8  # with this many pools, column heads are vertical and cells show only the sign
_LABELS: Final = {
    "compute_capability": "compute capability",
    "gpu_class": "class",
    "container_toolkit": "container toolkit",
    "instance_type": "instance type",
    "ami_release": "AMI release",
    "kernel_module": "kernel module",
    "cpu_arch": "CPU",
    "host_glibc": "glibc",
    "os": "system",
}


def matrix_html(grid: Grid, *, made: str = "") -> str:
    """The page. `made` is its last line, such as its author and date."""
    more = list(dict.fromkeys(name for column in grid.columns for name, _ in column.more))

    def users_on(row: Row, pools: Iterable[str]) -> Iterator[tuple[str, str]]:
        """Who uses an image on these pools, each with the pools if there are several."""
        listed = tuple(pools)
        for use in grid.used_by(row, *listed):
            on = [pool for pool in listed if use in grid.used_by(row, pool)] if len(listed) > 1 else []
            yield next(uses_in_words([use])), ", ".join(on)

    def cells(column: Column) -> list[str]:
        return [column.gpu, column.driver, *(dict(column.more).get(name, "") for name in more)]

    return rendered(
        Path(__file__).with_name("page.html.j2"),
        grid=grid,
        made=made,
        is_dense=len(grid.columns) > _MANY,
        rows=[(row, number, grid.reasons(row, number)) for number, row in enumerate(grid.rows, 1)],
        heads=[_LABELS.get(name, name) for name in ("pool", "GPU", "driver", *more)],
        cells=cells,
        users_on=users_on,
        facts_of=_facts_of,
        reason_by_pool=lambda reasons: {pool: reason for reason in reasons for pool in reason.pools},
        links=_links,
        note=Severity.NOTE,
        no_gpu=NO_GPU,
        counted=counted,
        users_of=users_of,
        seats_of=seats_of,
        uses_in_words=uses_in_words,
    )


def _facts_of(reasons: Iterable[Reason]) -> dict[tuple[str, Fact], dict[str, None]]:
    """The facts of several reasons by rule, each once with its messages."""
    facts: dict[tuple[str, Fact], dict[str, None]] = {}
    for finding in (finding for reason in reasons for finding in reason.answer.findings):
        facts.setdefault((finding.rule, finding.fact), {})[finding.message] = None
    return facts


def _links(source: str) -> Iterator[tuple[str, str, str]]:
    """Address, shown text and remark of each source, GitHub repositories included; no address: it is no link."""
    for part in dict.fromkeys(part.strip() for part in source.split(" ; ")):
        address, _, rest = part.partition(" ")
        shown = address.partition("://")[2].removesuffix("/")
        if re.fullmatch(r"github:[\w.-]+/[\w.-]+", address):
            shown, address = address, f"https://github.com/{address.removeprefix('github:')}"
        yield (address, shown, rest) if re.match(r"https?://[\w.-]+(/|$)", address) else ("", part, "")
