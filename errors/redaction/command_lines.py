"""Finds secrets on command lines without a telling option: `-p x`, `curl -u bob:x`, `wandb login x`. Pure."""

import re
from collections.abc import Iterator
from typing import Final

from errors.redaction.written import Span, is_harmless

_WORD: Final = r"(?P<value>'[^'\n]+'|\"[^\"\n]+\"|[^\s'\",;|&]+)"
_REST: Final = r"(?:[^\n;|&]{,200}?\s)"  # of one command
_KNOWN: Final = tuple(
    re.compile(pattern + _WORD)
    for pattern in (
        rf"\b(?:login|logon)\s{_REST}??-p[ =]?",
        r"\bsshpass\s+-p[ ]?",
        rf"\b(?:mysql\w*|mariadb[\w-]*)\s{_REST}??-p(?=\S)",
        rf"\b(?:mongo\w*|ldap\w+|influx|psql|sqlcmd|cqlsh|rabbitmqadmin|mc)\s{_REST}??-(?:p|w|P) ?(?=\S)",
        rf"\bredis-cli\s{_REST}??-a ",
        r"\becho\s+(?:-n\s+)?(?=\S+\s*\|[^\n]{,200}--password-stdin)",
        rf"\bssh-keygen\s{_REST}??-[NP] ",
        rf"\bopenssl\s{_REST}??(?:-k |-pass(?:in|out)? pass:)",
        rf"\b(?:curl|wget|http|https)\s{_REST}??(?:-u|-U|--user|--proxy-user)[ =]?['\"]?[^\s:'\"]+:",
        r"--(?:proxy-)?user[ =]['\"]?[A-Za-z][^\s:'\"]*:(?!\d+(?:\s|$))",
        r"\b(?:wandb|comet|neptune)\s+login\s+(?:--relogin\s+)?(?!-)",
        r"\bhtpasswd\s+-\w*b\w*\s+\S+\s+\S+\s+",
        # After a user's name, `-p` is a password in every program.
        r"(?:^|\s)(?:-u|--user|--username)[ =]\S+\s+-p[ =]?",
    )
)
# Programs in which -p means something else: a partition, a port, parents, a patch.
_OTHER_P: Final = re.compile(
    r"(?:^|[\s;&|/])(?:sbatch|srun|salloc|squeue|sinfo|mkdir|cp|mv|rsync|tar|install|ps|git|patch|ssh|scp|nc|python[\d.]*"
    r"|grep|docker|podman|read|find|make|nmap|pytest|jupyter[\w-]*|nvidia-smi|tmux|sed|perl|wget|type|test|unzip)\s"
    r"[^\n;|&]{,300}$"
)
_BARE_P: Final = re.compile(rf"(?:^|\s)-p[ ]{_WORD}")


def command_spans(text: str) -> Iterator[Span]:
    """Spans of secrets on command lines, by the options of known programs."""
    for pattern in _KNOWN:
        for match in pattern.finditer(text):
            if not _is_plain(match["value"]):
                yield _unquoted(match)


def bare_option_spans(line: str) -> Iterator[Span]:
    """The word after a bare `-p` in a list of arguments, unless `-p` means something else in the program."""
    for match in _BARE_P.finditer(line):
        if not _is_plain(match["value"]) and not _OTHER_P.search(line[: match.start() + 1]):
            yield _unquoted(match)


def _is_plain(value: str) -> bool:
    """A port, path or another option: no secret."""
    bare = value.strip("\"'")
    return bool(re.fullmatch(r"[\d:./]+(?:/(?:tcp|udp))?|[-./~].*", bare)) or is_harmless(bare)


def _unquoted(match: re.Match[str]) -> Span:
    start, end = match.span("value")
    is_quoted = match["value"][0] in "\"'"
    return (start + 1, end - 1) if is_quoted else (start, end)
