"""Values of variables and labels that look like secrets: people bake them into images, and we shall not repeat them."""

from __future__ import annotations

import re
from typing import Final

HIDDEN: Final = "(not shown)"
_NAME: Final = re.compile(
    r"secret|passw|passphrase|token|credential|api_?key|access_?key|private_?key|auth_?key", re.IGNORECASE
)
_VALUE: Final = re.compile(
    r"\b(?:gh[pousr]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{15,}|hf_\w{20,}|A[KS]IA[0-9A-Z]{16}|xox[abp]-[\w-]{10,}"
    r"|sk-[\w-]{20,}|npm_\w{30,}|pypi-\w{30,}|eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]*)|-----BEGIN [A-Z ]*PRIVATE KEY"
)
_IN_URL: Final = re.compile(r"(?<=://)[^/@\s:]*:[^/@\s]+(?=@)")
_ASSIGNED: Final = re.compile(
    r"([\w-]*(?:secret|passw|token|credential|api_?key|access_?key|private_?key)[\w-]*\s*[=\s]\s*)(?![\s=])(\S+)",
    re.IGNORECASE,
)
_HARMLESS: Final = re.compile(r"|true|false|yes|no|none|\d{1,5}|/[\w./-]*|https?://[^@\s]*", re.IGNORECASE)


def hide(name: str, value: str) -> str:
    """The value, or a stand-in for it. Paths, switches and small numbers stay: `TOKENIZERS_PARALLELISM=false`."""
    if _NAME.search(name) and not _HARMLESS.fullmatch(value.strip()):
        return HIDDEN
    return hide_in(value)


def hide_in(text: str) -> str:
    """A text with tokens of known forms and passwords in addresses taken out."""
    return _IN_URL.sub("…", _VALUE.sub(HIDDEN, text))


def hide_in_command(text: str) -> str:
    """A command line or build step, without values that follow a telling name: `--token=…`, `ARG PASSWORD=…`."""

    def hidden(match: re.Match[str]) -> str:
        return match[0] if _HARMLESS.fullmatch(match[2]) else f"{match[1]}{HIDDEN}"

    return _ASSIGNED.sub(hidden, hide_in(text))
