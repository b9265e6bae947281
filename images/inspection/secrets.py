"""Values of variables and labels that look like secrets: people bake them into images, and we shall not repeat them."""

from __future__ import annotations

import re
from typing import Final

from components.problems import is_secret

HIDDEN: Final = "(not shown)"
_VALUE: Final = re.compile(
    r"\b(?:gh[pousr]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{15,}|hf_\w{20,}|A[KS]IA[0-9A-Z]{16}|xox[abp]-[\w-]{10,}"
    r"|sk-[\w-]{20,}|npm_\w{30,}|pypi-\w{30,}|eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]*)|-----BEGIN [A-Z ]*PRIVATE KEY"
)
_IN_URL: Final = re.compile(r"(?<=://)[^/@\s:]*:(?!\$)[^/@\s]+(?=@)")
# A name, and what follows it: `--token=…`, `ARG PASSWORD …`. What follows may be a name itself.
_ASSIGNED: Final = re.compile(r"(?<![\w-])([\w-]+)(?=\s*[=\s]\s*(?![\s=])(\S+))")
_HARMLESS: Final = re.compile(r"|true|false|yes|no|none|\d{1,5}|/[\w./-]*|https?://[^@\s]*", re.IGNORECASE)


def hide(name: str, value: str) -> str:
    """The value, or a stand-in for it. Paths, switches and small numbers stay: `USE_TOKEN=false`."""
    return HIDDEN if is_secret(name) and not is_harmless(value) else hide_in(value)


def is_harmless(value: str) -> bool:
    """Is it a path, an address, a switch or a small number, whatever its name says?"""
    return _HARMLESS.fullmatch(value.strip()) is not None


def hide_in(text: str) -> str:
    """A text with tokens of known forms and passwords in addresses taken out."""
    return _IN_URL.sub("…", _VALUE.sub(HIDDEN, text))


def hide_in_command(text: str) -> str:
    """A command line or build step, without values that follow a telling name: `--token=…`, `ARG PASSWORD=…`."""
    plain, shown, end = hide_in(text), [], 0
    for match in _ASSIGNED.finditer(plain):
        if match.start(2) >= end and is_secret(match[1]) and not is_harmless(match[2]):
            shown += [plain[end : match.start(2)], HIDDEN]
            end = match.end(2)
    return "".join([*shown, plain[end:]])
