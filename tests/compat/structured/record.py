"""Answers of the engine to the structured questions: kept once, and asked again after a change.

python tests/compat/structured/record.py              # write answers.jsonl.gz
python tests/compat/structured/record.py compare      # ask again; exit 1 if an answer is another
python tests/compat/structured/record.py compare --verdicts
"""

# ruff: noqa: T201, E402 - a script that prints, and finds what is beside it
from __future__ import annotations

import argparse
import gzip
import json
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).resolve().parents[3])]
from compat import Answer, Case, CaseError, Remedy, check

ANSWERS: Final = Path(__file__).with_name("answers.jsonl.gz")
Record = dict[str, Any]
_NO_LONGER: Final = frozenset({"R-JETSON", "R-WSL", "R-NVENC"})


def answer_to(question: dict[str, str]) -> Record:
    """The answer as it is kept: verdict, rules with their severity, and the remedy; or the fields that are refused."""
    try:
        answer = check(Case(**question))
    except CaseError as error:
        return {"verdict": "error", "error": [f"{each.field}: {each.reason}" for each in error.problems]}
    return {"verdict": str(answer.verdict), "findings": _findings(answer), "remedy": _remedy(answer.remedy)}


def _findings(answer: Answer) -> list[str]:
    return sorted(f"{each.rule} {each.severity}" for each in answer.findings)


def _remedy(remedy: Remedy | None) -> Record | None:
    if remedy is None:
        return None
    ways: list[Any] = [remedy, *remedy.otherwise]
    return {"text": remedy.text, "changes": [[[each.field, each.to] for each in way.changes] for way in ways]}


def read() -> Iterator[Record]:
    """Kept questions with their answers."""
    with gzip.open(ANSWERS, "rt", encoding="utf-8") as file:
        yield from map(json.loads, file)


def write(records: Iterable[Record]) -> int:
    text = "".join(json.dumps(each, ensure_ascii=False, separators=(",", ":")) + "\n" for each in records)
    ANSWERS.write_bytes(gzip.compress(text.encode(), 9, mtime=0))
    return text.count("\n")


def difference(before: Record, after: Record, *, verdicts: bool = False) -> bool:
    names = ("verdict", "remedy") if verdicts else ("verdict", "findings", "remedy", "error")
    return any(before.get(name) != after.get(name) for name in names)


def shown(record: Record) -> str:
    """An answer in one line."""
    remedy = record.get("remedy")
    told = f" | {remedy['text']} {json.dumps(remedy['changes'])}" if remedy else ""
    said = record.get("findings") or record.get("error") or []
    return f"{record['verdict']} [{', '.join(said)}]{told}"


def _record() -> int:
    from questions import fields_of, questions  # noqa: PLC0415 - the tables that it reads may be gone later

    records = []
    for question in fields_of(questions()):
        id_ = question.pop("id")
        records.append({"id": id_, "question": question, **answer_to(question)})
    count = write(records)
    _coverage(records)
    print(f"{count} questions, {ANSWERS.stat().st_size} bytes")
    return 0


def _compare(*, verdicts: bool, only: str, every: int) -> int:
    groups: dict[tuple[str, str, str], list[Record]] = {}
    count = 0
    for number, before in enumerate(read()):
        if number % every or (only and not before["id"].startswith(only)):
            continue
        count += 1
        after = answer_to(before["question"])
        if not difference(before, after, verdicts=verdicts):
            continue
        key = (f"{before['verdict']} -> {after['verdict']}", _rules(before), _rules(after))
        groups.setdefault(key, []).append(before)
        print(f"question {before['id']}: {json.dumps(before['question'], ensure_ascii=False)}")
        print(f"  before {shown(before)}\n  after  {shown(after)}")
    for key, found in sorted(groups.items(), key=lambda each: -len(each[1])):
        print(f"{len(found):6} {key[0]}: {key[1]} => {key[2]}  ({', '.join(each['id'] for each in found[:3])})")
    different = sum(map(len, groups.values()))
    print(f"{count} questions, {different} different answers")
    return 1 if different else 0


def _rules(record: Record) -> str:
    return ", ".join(dict.fromkeys(each for each in record.get("findings") or ["(error)"]))


def _coverage(records: Sequence[Record]) -> None:
    """Rules by the severities of their findings, verdicts, and questions by part."""
    from compat.rules import ALL_RULES  # noqa: PLC0415 - as in _record

    found = Counter(each for record in records for each in record.get("findings", ()))
    severities = ("note", "warn", "unknown", "refuse")
    print(f"{'rule':14}" + "".join(f"{each:>9}" for each in severities))
    rules = dict.fromkeys([*(rule.id for rule in ALL_RULES), *sorted(each.split()[0] for each in found)])
    for rule in rules:
        if rule not in _NO_LONGER or any(each.startswith(f"{rule} ") for each in found):
            print(f"{rule:14}" + "".join(f"{found[f'{rule} {each}']:9}" for each in severities))
    for title, counted in (
        ("verdict", Counter(record["verdict"] for record in records)),
        ("part", Counter(record["id"].rpartition("-")[0] for record in records)),
    ):
        print(f"{title}: " + ", ".join(f"{name} {count}" for name, count in counted.items()))
    _rows(records)


def _rows(records: Sequence[Record]) -> None:
    """Rows of each table that the questions name, as the values of their columns stand in fields of a question."""
    from questions import table  # noqa: PLC0415 - as in _record

    texts = [record["question"] for record in records]
    columns = {
        "gpu_model": ("model", ("gpu",)),
        "gpu_arch": ("compute_capability", ("compute_capability",)),
        "driver_branch": ("branch", ("driver",)),
        "cuda_driver": ("cuda_version", ("cuda",)),
        "ec2_gpu_instances": ("instance_type", ("instance_type",)),
        "eks_ami": ("release", ("ami_release",)),
        "gpu_operator": ("operator_version", ("operator",)),
        "container_toolkit": ("version", ("container_toolkit",)),
        "framework": ("version", ("framework_version", "build", "image")),
        "framework_floor": ("framework", ("framework", "build")),
        "framework_library": ("framework", ("framework", "build")),
        "image_example": ("reference", ("image",)),
        "image_repository": ("repository", ("image",)),
        "image_tag": ("tag", ("image",)),
        "require": ("clause", ("env",)),
        "cudnn": ("cudnn_version", ("cudnn",)),
        "glibc": ("glibc", ("image_glibc", "host_glibc", "image")),
        "forward_compat": ("host_branch", ("driver",)),
    }
    for name, (column, fields) in columns.items():
        values = {text[field] for text in texts for field in fields if field in text}
        joined = "\n".join(values)
        cells = [row[column].partition(" ")[0] if name == "cudnn" else row[column] for row in table(name)]
        named = {
            cell: cell in joined or _is_named(cell, values, whole=name != "image_repository") for cell in set(cells)
        }
        reached, missed = (
            sum(named[cell] for cell in cells),
            [cell for cell in dict.fromkeys(cells) if not named[cell]][:6],
        )
        rows = cells
        print(f"{name:20} {reached:5} of {len(rows):5}" + (f"  not: {', '.join(missed)}" if missed else ""))


def _is_named(cell: str, values: set[str], *, whole: bool) -> bool:
    """Does a question name a cell that may hold `*`?"""
    form = f"*{cell}" if whole else f"{cell}:*"
    return "*" in cell and any(fnmatchcase(value, form) for value in values)


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", nargs="?", choices=("record", "compare"), default="record")
    parser.add_argument("--verdicts", action="store_true", help="look at verdicts and remedies only")
    parser.add_argument("--only", default="", metavar="PART", help="only questions whose id starts so")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only each N-th question")
    given = parser.parse_args(words)
    start = time.monotonic()
    result = (
        _record() if given.task == "record" else _compare(verdicts=given.verdicts, only=given.only, every=given.every)
    )
    print(f"{time.monotonic() - start:.1f} s")
    return result


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
