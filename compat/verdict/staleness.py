"""Age of the tables that become outdated: new drivers and machine images appear every few weeks."""

import datetime as dt
from dataclasses import replace
from functools import cache
from types import MappingProxyType
from typing import Final

from compat.evidence.case import Case
from compat.facts import csv_files
from compat.values.fact import Fact
from compat.values.findings import Answer, Finding, Severity

AGED: Final = "TABLES"  # instead of a rule id
_FRESH: Final = dt.timedelta(days=60)
_TABLES: Final = MappingProxyType(
    {"drivers": ("driver_branch", "cuda_driver"), "machine images": ("eks_ami",)},
)


def aged(answer: Answer, case: Case, today: dt.date) -> Answer:
    """The answer, with a note if its tables were last read more than 60 days ago."""
    note = age_note(today, on_aws=bool(case.instance_type or case.ami_release))
    return answer if note is None else replace(answer, findings=(*answer.findings, note))


def age_note(today: dt.date, *, on_aws: bool = False) -> Finding | None:
    """Date of the last reading of the driver tables, and with `on_aws` the machine images; None while recent."""
    for of, names in _TABLES.items() if on_aws else [("drivers", _TABLES["drivers"])]:
        read = max(_newest(name) for name in names)
        if today - read > _FRESH:
            days = (today - read).days
            message = f"the tables of {of} were last read on {read}, {days} days ago: newer {of} are not in them"
            fact = Fact(f"newest date in {', '.join(names)}", f"compat/facts/data/{names[0]}.csv", read.isoformat())
            return Finding(AGED, Severity.NOTE, message, fact)
    return None


@cache
def _newest(name: str) -> dt.date:
    return dt.date.fromisoformat(max(row["collected"] for row in csv_files.rows(name)))
