"""The hadolint rules that we pass on, their wording, and reasons to drop the others: hadolint_rules.csv.

Rules that it lacks are passed on with a link to their page, including ShellCheck's and new ones.
"""

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Final

with Path(__file__).with_suffix(".csv").open(newline="", encoding="utf-8") as _file:
    _ROWS: Final = list(csv.DictReader(_file))


def _column(name: str) -> dict[str, str]:
    """What a column says of each rule."""
    return {row["rule"]: row[name] for row in _ROWS if row[name]}


OURS: Final[Mapping[str, str]] = _column("ours")  # one of our rules finds the same mistake and knows more about it
LEFT_OUT: Final[Mapping[str, str]] = _column("left_out")
# Dropped for an instruction with a finding of one of these rules of ours.
BEATEN_BY: Final = {rule: tuple(ours.split(";")) for rule, ours in _column("beaten_by").items()}
FIXES: Final[Mapping[str, str]] = _column("fix")
# DL4006 requires pipefail for every pipe. If only these feed it, nothing important can fail unseen.
SAFE_FEEDERS: Final = frozenset({"echo", "printf", "yes", "find"})
