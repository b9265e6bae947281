"""A matrix as its reports need it: rows, columns, cells, and each reason once."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any

from cli.answers import body_data
from cli.matrix.uses import NO_USES, Uses, uses_data
from cli.words import ALL_SIGNS, NO_GPU, SIGNS, Sign, counted, is_fine
from compat import Answer, Case, Image, Matrix, Pool, Verdict
from compat.evidence.case import POOL_FIELDS
from fleet.courses import Usage


@dataclass(frozen=True, slots=True)
class Row:
    """An image and its GPU programs; an image without any runs anywhere."""

    name: str
    uses: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Column:
    """A pool: its GPU, its driver, and other known facts as pairs."""

    name: str
    gpu: str
    driver: str
    more: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Reason:
    """An answer that several pools share. `place` is unique on a page."""

    place: str
    pools: tuple[str, ...]
    sign: Sign
    answer: Answer
    uses: tuple[Usage, ...] = ()  # of the image on these pools, without duplicates

    @property
    def is_fine(self) -> bool:
        """It runs, and there is nothing else to report."""
        return is_fine(self.answer)


@dataclass(frozen=True, slots=True)
class Grid:
    """Images on pools."""

    title: str
    rows: tuple[Row, ...]
    columns: tuple[Column, ...]
    matrix: Matrix
    uses: Uses  # who uses an image on a pool; empty for two lists

    def used_by(self, row: Row, *pools: str) -> tuple[Usage, ...]:
        """Who uses an image on these pools, each once."""
        return tuple(dict.fromkeys(use for pool in pools for use in self.uses.get((row.name, pool), ())))

    def pools_by_use(self, row: Row) -> tuple[tuple[tuple[Usage, ...], tuple[str, ...]], ...]:
        """Pools grouped by their uses."""
        groups: dict[tuple[Usage, ...], list[str]] = {}
        for column in self.columns:
            groups.setdefault(self.used_by(row, column.name), []).append(column.name)
        return tuple((uses, tuple(pools)) for uses, pools in groups.items())

    def sign(self, row: Row, column: Column) -> Sign:
        """The sign of a cell."""
        return SIGNS[self.matrix.verdict(row.name, column.name)] if row.uses else NO_GPU

    def reasons(self, row: Row, number: int = 0) -> tuple[Reason, ...]:
        """Pools grouped by answer, worst first; `number` is the row's, from 1 on.

        All pools where it simply runs share one place on the page.
        """
        groups: dict[Answer, list[str]] = {}
        for column in self.columns:
            groups.setdefault(self.matrix.answers[row.name, column.name], []).append(column.name)
        return tuple(
            Reason(
                f"{number}-runs" if is_fine(answer) else f"{number}-{index}",
                tuple(pools),
                SIGNS[answer.verdict] if row.uses else NO_GPU,
                answer,
                self.used_by(row, *pools),
            )
            for index, (answer, pools) in enumerate(sorted(groups.items(), key=_worst_first), 1)
        )

    @property
    def counts(self) -> tuple[tuple[Sign, int], ...]:
        """How many cells have each sign, best first; unused signs are left out."""
        numbers = Counter(self.sign(row, column) for row in self.rows for column in self.columns)
        return tuple((sign, numbers[sign]) for sign in ALL_SIGNS if numbers[sign])

    @property
    def is_fine(self) -> bool:
        """Every image runs on every pool."""
        return all(self.matrix.verdict(row.name, column.name).runs for row in self.rows for column in self.columns)

    @property
    def summary(self) -> str:
        """The matrix in one sentence."""
        total = len(self.rows) * len(self.columns)
        numbers = {sign: number for sign, number in self.counts}  # noqa: C416 - by sign
        size = f"{counted(len(self.rows), 'image')} on {counted(len(self.columns), 'pool')}"
        if not total:
            return f"{size}: nothing to compare."
        bad, open_ = numbers.get(SIGNS[Verdict.INCOMPATIBLE], 0), numbers.get(SIGNS[Verdict.UNKNOWN], 0)
        if not (bad or open_):
            return f"{size}: every image runs on every pool."
        parts = [f"{bad:,} {'does' if bad == 1 else 'do'} not run"] if bad else []
        parts += [f"{open_:,} {'is' if open_ == 1 else 'are'} unknown"] if open_ else []
        return f"{size}: of {counted(total, 'pair')}, {' and '.join(parts)}."


def _worst_first(group: tuple[Answer, object]) -> int:
    return -group[0].verdict.rank


def grid_of(title: str, images: Sequence[Image], pools: Sequence[Pool], matrix: Matrix, uses: Uses = NO_USES) -> Grid:
    """What the reports show of a matrix and its inputs."""
    rows = tuple(Row(image.name, tuple(dict.fromkeys(map(what, image.cases)))) for image in images)
    return Grid(title, rows, tuple(map(_column, pools)), matrix, uses)


def grid_data(grid: Grid) -> dict[str, Any]:
    """The matrix as docs/reference/matrix.schema.json describes it."""
    return {
        "title": grid.title,
        "images": [{"name": row.name, "uses": row.uses} for row in grid.rows],
        "pools": [
            {"name": column.name, "gpu": column.gpu, "driver": column.driver, **dict(column.more)}
            for column in grid.columns
        ],
        "answers": list(_answers(grid)),
    }


def _answers(grid: Grid) -> Iterator[dict[str, Any]]:
    bodies: dict[Answer, dict[str, Any]] = {}
    for row in grid.rows:
        for column in grid.columns:
            answer = grid.matrix.answers[row.name, column.name]
            if answer not in bodies:
                bodies[answer] = body_data(answer)
            used_by = uses_data(grid.used_by(row, column.name))
            yield {"image": row.name, "pool": column.name, **bodies[answer], "used_by": used_by}


def what(case: Case) -> str:
    """The part of an image that a case describes, in a few words."""
    if case.framework:
        version = f" {case.framework_version}" if case.framework_version else ""
        build = f" ({case.build})" if case.build else ""
        cuda = f", CUDA {case.cuda}" if case.cuda else ""
        return f"{case.framework}{version}{build}{cuda}"
    words = [case.image, f"CUDA {case.cuda}" if case.cuda else "", case.build, case.sm_list, case.ptx]
    return ", ".join(filter(None, words)) or f"cuDNN {case.cudnn}"


def _column(pool: Pool) -> Column:
    case = pool.host.shown
    gpu = case.gpu or case.instance_type or f"compute capability {case.compute_capability}"
    shown = {"gpu", "driver"} if case.gpu else {"driver"}
    names = [field.name for field in fields(Case) if field.name in POOL_FIELDS and field.name not in shown]
    more = tuple((name, getattr(case, name)) for name in names if getattr(case, name))
    return Column(pool.name, gpu, case.driver, more)
