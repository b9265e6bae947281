"""Which image runs on which pool, before and after: the changed cells of the matrix."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import compat
from cli.engine_values import known_text, names_of, texts, without_secrets
from cli.review.commons import Commons, Image, Pool
from compat import Answer, Case, CaseError, Severity, Verdict
from fleet.pools import read_node

# Cases for an image name, if its spec is available and agrees with these facts; else None.
SpecCases = Callable[[str, Mapping[str, Any]], tuple[Case, ...] | None]
Answers = Mapping[tuple[str, str], Answer]  # by image label and pool name
_WORST_FIRST = [Verdict.INCOMPATIBLE, Verdict.UNKNOWN, Verdict.WITH_WARNING, Verdict.COMPATIBLE]


@dataclass(frozen=True, slots=True)
class Cell:
    """One image on one pool. `before` is None if either is new."""

    image: str  # the image's label
    pool: str
    before: Verdict | None
    after: Verdict
    reason: str
    remedy: str
    uses: tuple[str, ...]  # profiles and jobs that may start it there
    back: str = ""  # deployed versions of the image that run there; empty if going back does not help

    @property
    def is_broken(self) -> bool:
        """A profile or job starts it there, and it does not run."""
        return self.after is Verdict.INCOMPATIBLE and bool(self.uses)


@dataclass(frozen=True, slots=True)
class Cells:
    """The changed cells, worst first, and what could not be compared."""

    changed: tuple[Cell, ...] = ()
    early: tuple[Cell, ...] = ()  # run on the pool as declared, but not on its nodes as they are now
    not_compared: tuple[str, ...] = ()
    pairs: int = 0  # image-pool pairs after the change; without `fresh` if there were pairs before
    running: int = 0  # how many of them run
    fresh: tuple[tuple[str, str], ...] = ()  # image-pool pairs that are new and simply run
    has_before: bool = False  # there were pairs before

    @property
    def broken(self) -> tuple[Cell, ...]:
        return tuple(cell for cell in self.changed if cell.is_broken)


def cells_of(old: Commons, new: Commons, spec_cases: SpecCases) -> Cells:
    """Cells whose verdict changed, and those of new images and pools that do not simply run."""
    was = {part.name: was_part(part, old) for part in new.parts.values()}
    moved = [part for part in new.parts.values() if not (there := was[part.name]) or hardware(there) != hardware(part)]
    facts = {key: image.facts for key, image in old.images.items()}
    if not moved and all(facts.get(key) == image.facts for key, image in new.images.items()):
        return Cells()
    reader = _Reader(spec_cases)
    rows = reader.rows(new.images.values())
    after = compat.matrix(rows, reader.columns(new.parts.values())).answers
    old_rows = reader.rows(old.images.values())
    before = compat.matrix(old_rows, reader.columns(old.parts.values())).answers
    # Nodes that become a separate part of their pool also have an answer from before.
    known = {(image, name): before.get((image, part.name)) for name, part in was.items() if part for image, _ in before}
    before = {**before, **{pair: answer for pair, answer in known.items() if answer}}
    as_they_are = [replace(part, name=each.name) for each in moved if (part := was[each.name])]
    early = compat.matrix(rows, reader.columns(as_they_are)).answers
    # The first remedy is to undo the change of the image: its old versions ran on these very pools.
    ran = compat.matrix(old_rows, reader.columns(new.pools.values())).answers
    cells = [_with_way_back(cell, ran, old, new) for cell in _changed(before, after, new)]
    cells.sort(key=lambda cell: (not cell.is_broken, _WORST_FIRST.index(cell.after), cell.image, cell.pool))
    fresh = {pair for pair in after if before and pair not in before and after[pair].verdict is Verdict.COMPATIBLE}
    standing = [answer for pair, answer in after.items() if pair not in fresh]
    return Cells(
        changed=tuple(cells),
        early=tuple(_early(early, after, new)),
        not_compared=tuple(dict.fromkeys(map(without_secrets, reader.problems))),
        pairs=len(standing),
        running=sum(answer.verdict.runs for answer in standing),
        fresh=tuple(sorted(fresh)),
        has_before=bool(before),
    )


def was_part(part: Pool, old: Commons) -> Pool | None:
    """These nodes before the change: the part with their name and one of them, else the first one's part."""
    named = old.parts.get(part.name)
    if named is not None and (set(named.nodes) & set(part.nodes) or not (named.nodes and part.nodes)):
        return named
    same = (each for each in old.parts.values() if each.whole == part.whole and {*part.nodes[:1]} & {*each.nodes})
    return next(same, named)


def hardware(pool: Pool) -> tuple[str, str, str]:
    return pool.gpu, pool.driver, pool.toolkit


def _changed(before: Answers, after: Answers, new: Commons) -> Iterator[Cell]:
    for pair, answer in after.items():
        was = before[pair].verdict if pair in before else None
        if was is not answer.verdict and not (was is None and answer.verdict is Verdict.COMPATIBLE):
            remedy = without_secrets(answer.remedy.text if answer.remedy else "")
            yield Cell(*pair, was, answer.verdict, _reason(answer), remedy, _uses(*pair, new))


def _with_way_back(cell: Cell, ran: Answers, old: Commons, new: Commons) -> Cell:
    """If this change broke an image, its nearest remedy is the deployed version."""
    there = ran.get((cell.image, cell.pool))
    if not cell.is_broken or there is None or not there.verdict.runs:
        return cell
    had, has = (next((each for each in side.images.values() if each.label == cell.image), None) for side in (old, new))
    if had is None or has is None or had.facts == has.facts:
        return cell
    return replace(cell, back=without_secrets(_as_it_was(had, has)))


def _as_it_was(old: Image, new: Image) -> str:
    """`go back to torch==1.7.1+cu101 (CUDA 10.1, version 1.0.0), which is deployed and runs there`."""
    had, has = (texts(side.facts.get("frameworks")) for side in (old, new))
    lines = texts(old.facts.get("cuda_lines"))
    version = known_text(old.facts.get("version"))
    what = [each for each in had if each not in has] or [f"version {version}" if version else "what it had"]
    beside = [f"CUDA {names_of(lines)}"] if lines else []
    if version and what[0] != f"version {version}":
        beside.append(f"version {version} of the image")
    return f"go back to {names_of(what)}" + (f" ({', '.join(beside)})" if beside else "") + ", as deployed"


def _early(now: Answers, after: Answers, new: Commons) -> Iterator[Cell]:
    """Cells that people may use before the nodes are as declared: the change only sets their labels."""
    for pair, answer in sorted(now.items(), key=lambda cell: cell[0]):
        if not answer.verdict.runs and pair in after and after[pair].verdict.runs and (uses := _uses(*pair, new)):
            yield Cell(*pair, answer.verdict, after[pair].verdict, _reason(answer), "", uses)


def _uses(label: str, pool: str, commons: Commons) -> tuple[str, ...]:
    images = (image for image in commons.images.values() if image.label == label)
    return tuple(use for image in images for use in commons.uses(image, commons.parts[pool]))


def _reason(answer: Answer) -> str:
    """The message of the deciding finding; empty if it simply runs."""
    if answer.verdict is Verdict.COMPATIBLE:
        return ""
    messages = (finding.message for finding in answer.findings if finding.severity is not Severity.NOTE)
    return without_secrets(next(messages, ""))


@dataclass(slots=True)
class _Reader:
    """Turns names and facts into cases; reports what it cannot read as a sentence."""

    spec_cases: SpecCases
    problems: list[str] = field(default_factory=list)

    def rows(self, images: Iterable[Image]) -> list[compat.Image]:
        from imaging.spec.compat_cases import cases_of_facts  # noqa: PLC0415 - brings pydantic: a quarter of a second

        rows = []
        for image in images:
            try:
                cases = self.spec_cases(image.name, {**image.facts, "base": image.base})
                lines, pins = (texts(image.facts.get(key)) for key in ("cuda_lines", "frameworks"))
                if cases is None:
                    cases = cases_of_facts(known_text(image.facts.get("base")), lines, pins)
                row = compat.Image(image.label, cases)
                compat.matrix([row], [compat.Pool("", read_node("Tesla T4", "580.95.05"))])
                rows.append(row)
            except ValueError as error:  # a CaseError, or not a valid pin
                self.problems.append(f"image {image.label}: {_first(error)}")
        return rows

    def columns(self, pools: Iterable[Pool]) -> list[compat.Pool]:
        """Columns of the GPU nodes; the others have no cell."""
        columns = []
        for pool in (each for each in pools if each.gpus_per_node != 0):
            try:
                node = read_node(pool.gpu, pool.driver, pool.toolkit, host=pool.runtime, glibc=pool.glibc)
                columns.append(compat.Pool(pool.name, node))
            except CaseError as error:
                self.problems.append(f"pool {pool.name}: {_first(error)}")
        return columns


def _first(error: ValueError) -> str:
    if not isinstance(error, CaseError):
        return str(error)
    problem = error.problems[0]
    return " ".join([problem.field, *([repr(problem.value)] if problem.value else []), problem.reason])
