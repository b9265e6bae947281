"""`python -m tools.token_forms gitleaks.toml VERSION DATE`: writes forms.csv from the rules of gitleaks.

It takes the rules for tokens with a distinctive format. It leaves out ambiguous formats, and the rules for names
(`acme… = 32 characters`): errors/redaction/names.py has ours.
"""

from __future__ import annotations

import csv
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

FORMS: Final = Path(__file__).parents[1] / "errors" / "redaction" / "forms.csv"
COLUMNS: Final = ("id", "words", "pattern", "source", "read_on")
SOURCE: Final = "https://github.com/gitleaks/gitleaks/blob/{}/config/gitleaks.toml"
_OF_NAMES: Final = (r"[\w.-]{0,50}?", r"(?:[ \t\w.-]{0,20})")
# Our pattern is wider, or other texts have the same format: short words, plain hexadecimal numbers.
_LEFT_OUT: Final = frozenset(
    {
        "curl-auth-header", "curl-auth-user", "kubernetes-secret-yaml", "nuget-config-password", "private-key",
        "sidekiq-sensitive-url", "jwt", "jwt-base64", "facebook-access-token", "freemius-secret-key",
        "sourcegraph-access-token",
    }
)  # fmt: skip
# What may follow a token: a comma or full stop must not expose it.
_END: Final = re.compile(r"\(\?:\[\\x60'\"\\s;\]\|\\\\\[nr\]\|\$(?:\|\\b)?\)$")


def rows(rules: list[dict[str, Any]], source: str, read_on: str) -> Iterator[dict[str, str]]:
    """One row for each format; a text without any of its lower-case `words` is not searched."""
    for rule in sorted(rules, key=lambda rule: str(rule["id"])):
        go = rule.get("regex", "")
        if not go or rule["id"] in _LEFT_OUT or any(part in go for part in _OF_NAMES) or not rule.get("keywords"):
            continue
        words = " ".join(sorted({word.lower() for word in rule["keywords"]}))
        pattern = _for_python(go)
        re.compile(pattern)
        yield {"id": rule["id"], "words": words, "pattern": pattern, "source": source, "read_on": read_on}


def _for_python(go: str) -> str:
    """Go allows flags in the middle, valid from there on; Python only at the start or in a group of their own."""
    go = _END.sub("(?![0-9A-Za-z])", go).replace(r"\z", r"\Z").replace("[[:alnum:]]", "[0-9A-Za-z]")
    start = "(?i)" if go.startswith("(?i)") else ""
    rest = go.removeprefix("(?i)")
    if start:
        return start + rest.replace("(?i)", "")
    before, flag, after = rest.partition("(?i)")
    if not flag:
        return rest
    depth = before.count("(") - before.count(r"\(") - (before.count(")") - before.count(r"\)"))
    return f"(?i){before}{after}" if depth else f"{before}(?i:{after})"


def main() -> None:
    rules, version, read_on = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    found = tomllib.loads(rules.read_text(encoding="utf-8"))["rules"]
    with FORMS.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows(found, SOURCE.format(version), read_on))


if __name__ == "__main__":
    main()
