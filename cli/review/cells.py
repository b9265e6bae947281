"""Which image runs on which pool, before and after: the cells of the matrix that changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from cli.review.commons import Commons, Image, Pool
from cli.review.values import known_text, texts, without_secrets
from components import compat
from components.compat import Answer, Case, CaseError, Severity, Verdict
from components.compat.images import read_image
from components.compat.versions import VersionError

# Cases of an image by its name, where its spec is at hand and says what these facts say; else None.
SpecCases = Callable[[str, Mapping[str, Any]], tuple[Case, ...] | None]


@dataclass(frozen=True, slots=True)
class Cell:
    """One image on one pool. `before` is None where one of the two is new."""

    image: str
    pool: str
    before: Verdict | None
    after: Verdict
    reason: str
    remedy: str
    uses: tuple[str, ...]  # profiles and jobs that may start it there

    @property
    def is_broken(self) -> bool:
        """Somebody would start it there, and it does not run."""
        return self.after is Verdict.INCOMPATIBLE and bool(self.uses)


@dataclass(frozen=True, slots=True)
class Cells:
    """Those that changed, the worst first, and what could not be compared."""

    changed: tuple[Cell, ...] = ()
    not_told: tuple[str, ...] = ()
    pairs: int = 0  # of image and pool, after the change
    running: int = 0  # of them
    has_before: bool = False  # there were such pairs before it


def cells_of(old: Commons, new: Commons, spec_cases: SpecCases) -> Cells:
    """Cells whose verdict changed, and those of new images and pools that do not simply run."""
    images = [image for image in new.images.values() if old.images.get(image.name) != image or not old.images]
    moved = [pool for pool in new.pools.values() if not _is_alike(old.pools.get(pool.name), pool)]
    if not moved and not any(_differs(old.images.get(image.name), image) for image in images):
        return Cells()
    reader = _Reader(spec_cases)
    after = reader.matrix(new.images, new.pools)
    before = reader.matrix(old.images, old.pools)
    found = list(_changed(before, after, new))
    order = [Verdict.INCOMPATIBLE, Verdict.UNKNOWN, Verdict.WITH_WARNING, Verdict.COMPATIBLE]
    found.sort(key=lambda cell: (not cell.is_broken, order.index(cell.after), cell.image, cell.pool))
    running = sum(answer.verdict.runs for answer in after.values())
    problems = tuple(dict.fromkeys(map(without_secrets, reader.problems)))
    return Cells(tuple(found), problems, len(after), running, bool(before))


def _is_alike(old: Pool | None, new: Pool) -> bool:
    return old is not None and (old.gpu, old.driver, old.toolkit) == (new.gpu, new.driver, new.toolkit)


def _differs(old: Image | None, new: Image) -> bool:
    return old is None or old.facts != new.facts


def _changed(
    before: Mapping[tuple[str, str], Answer], after: Mapping[tuple[str, str], Answer], new: Commons
) -> Iterator[Cell]:
    for (image, pool), answer in after.items():
        was = before[image, pool].verdict if (image, pool) in before else None
        if was is answer.verdict or (was is None and answer.verdict is Verdict.COMPATIBLE):
            continue
        reason, remedy = map(without_secrets, (_reason(answer), answer.remedy.text if answer.remedy else ""))
        yield Cell(image, pool, was, answer.verdict, reason, remedy, new.uses(image, new.pools[pool]))


def _reason(answer: Answer) -> str:
    """The finding that decided; nothing where it simply runs."""
    if answer.verdict is Verdict.COMPATIBLE:
        return ""
    told = [finding for finding in answer.findings if finding.severity is not Severity.NOTE]
    return told[0].message if told else ""


class _Reader:
    """Turns names and facts into cases; what cannot be read is kept as a sentence."""

    def __init__(self, spec_cases: SpecCases) -> None:
        self.spec_cases = spec_cases
        self.problems: list[str] = []

    def matrix(self, images: Mapping[str, Image], pools: Mapping[str, Pool]) -> Mapping[tuple[str, str], Answer]:
        rows = [row for image in images.values() if (row := self._row(image)) is not None]
        columns = [column for pool in pools.values() if (column := self._column(pool)) is not None]
        return compat.matrix(rows, columns).answers

    def _row(self, image: Image) -> compat.Image | None:
        try:
            cases = self.spec_cases(image.name, {**image.facts, "base": image.base})
            row = compat.Image(image.name, cases if cases is not None else cases_of_facts(image.facts))
            compat.matrix([row], [compat.Pool("", Case(gpu="Tesla T4", driver="580.95.05"))])
        except CaseError as error:
            self.problems.append(f"image {image.name}: {_first(error)}")
            return None
        except ValueError as error:  # a pin that is none
            self.problems.append(f"image {image.name}: {error}")
            return None
        return row

    def _column(self, pool: Pool) -> compat.Pool | None:
        case = Case(gpu=pool.gpu, driver=pool.driver, container_toolkit=pool.toolkit, host="kubernetes")
        column = compat.Pool(pool.name, case)
        try:
            compat.matrix([compat.Image("", (Case(cuda="12.4"),))], [column])
        except CaseError as error:
            self.problems.append(f"pool {pool.name}: {_first(error)}")
            return None
        return column


def _first(error: CaseError) -> str:
    problem = error.problems[0]
    return (
        f"{problem.field} {problem.value!r} {problem.reason}" if problem.value else f"{problem.field} {problem.reason}"
    )


def cases_of_facts(facts: Mapping[str, Any]) -> tuple[Case, ...]:
    """What of an image uses a GPU, as its recorded facts tell: frameworks, CUDA lines, and a base that is not ours.

    Which framework uses which of several CUDA lines is not recorded; then the framework's own build decides.
    """
    from images.cases import cases_of_pins  # noqa: PLC0415 - pydantic comes with it: a quarter of a second

    image = _base_with_cuda(known_text(facts.get("base")))
    lines = texts(facts.get("cuda_lines"))
    line = lines[0] if len(lines) == 1 else ""
    pins = texts(facts.get("frameworks"))
    found = [case for pin in pins for case in cases_of_pins([pin], line)]
    cases = found or [Case(cuda=each) for each in lines]
    return tuple(dict.fromkeys(replace(case, image=image) for case in cases))


def _base_with_cuda(reference: str) -> str:
    """The base, where its name says that it has CUDA; others are no evidence of anything."""
    try:
        named = read_image(reference)
    except VersionError:
        return ""
    return reference if named.cudas and not named.gpu_free else ""


def broken(cells: Sequence[Cell]) -> tuple[Cell, ...]:
    return tuple(cell for cell in cells if cell.is_broken)
