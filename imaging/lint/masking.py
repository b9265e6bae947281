"""Masks text that the Dockerfile grammar cannot read with as many bytes: lines and columns stay."""

from __future__ import annotations

import re
from typing import Final

# ${NAME#pattern} and similar: BuildKit knows them, the grammar does not. Masked with the same number of bytes.
_MODIFIER: Final = re.compile(rb"(\$\{\w+)([#%/][^{}\n]*)\}")
# `RUN [ -f x ] && …`: the grammar reads every bracket as the start of an exec form. Masked if it is none.
_BRACKET: Final = re.compile(
    rb"^[ \t]*(?:ONBUILD[ \t]+)?(?:RUN|CMD|ENTRYPOINT)(?:[ \t]++|[\\`][ \t]*\r?\n|--[^\s\\`]++)++\[",
    re.IGNORECASE | re.MULTILINE,
)
# `ENV PS1="# "`: a comment to the grammar, which then swallows the next line.
_VALUES: Final = re.compile(rb"^[ \t]*(?:ENV|LABEL|ARG)[ \t][^\n]*", re.IGNORECASE | re.MULTILINE)
_BLANK: Final = rb"(?:[ \t]|[\\`][ \t]*\r?\n)*+"
_EXEC_FORM: Final = re.compile(
    rb"\[" + _BLANK + rb'(?:"(?:[^"\\\n]|\\.)*+"' + _BLANK + rb"(?:," + _BLANK + rb")?)*+\]" + _BLANK + rb"\r?(?:\n|\Z)"
)


def masked(source: bytes) -> bytes:
    """The text for the grammar."""

    def modifier(match: re.Match[bytes]) -> bytes:
        return match[1] + b":-" + b"x" * (len(match[2]) - 2) + b"}" if len(match[2]) > 1 else match[0]

    def bracket(match: re.Match[bytes]) -> bytes:
        return match[0] if _EXEC_FORM.match(source, match.end() - 1) else match[0][:-1] + b"x"

    quiet = _VALUES.sub(lambda match: match[0].replace(b"#", b"x"), source)
    return _MODIFIER.sub(modifier, _BRACKET.sub(bracket, quiet))
