"""Pages as a reader works through them: their blocks in order, as one shell session, and what a session gave.

A block of `sh` is typed. Others are read, or carry a note in an HTML comment on the line above their fence:

    <!-- file: gpus.json -->       the reader saves it under that name, in the folder where the session is
    <!-- not run: needs a GPU -->  a block of `sh` that is not typed; the prose above it says the same in these words
    <!-- ends with 1 -->           a command in it ends with that code, as the page explains
    <!-- example -->               a block of `text` that is not compared, because it differs from machine to machine

A block of `text` below one of `sh`, in the same section, is what that one prints. `…` stands for anything in a line,
and alone on a line for any number of lines.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_SOURCE: Final = "source /dev/stdin"
_FENCE = re.compile(r"(?P<notes>(?:^<!--[^\n]*-->\n)*)^```(?P<kind>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_NOTE = re.compile(r"<!-- (not run|file|ends with|example)(?:: | )?(.*?) ?-->")


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block. `above` is the paragraph that a reader sees before it, `section` the number of its heading."""

    line: int
    kind: str
    text: str
    notes: Mapping[str, str]
    above: str
    section: int

    @property
    def is_typed(self) -> bool:
        return self.kind == "sh" and "not run" not in self.notes

    @property
    def codes(self) -> set[int]:
        """Exit codes other than 0 that the page explains."""
        return {int(code) for code in self.notes.get("ends with", "").split()}


def blocks(page: str) -> Iterator[Block]:
    for found in _FENCE.finditer(page):
        before = page[: found.start()]
        prose = re.sub(r"^```.*?^```$", "\n", before, flags=re.MULTILINE | re.DOTALL)
        yield Block(
            line=page[: found.start("text")].count("\n"),
            kind=found["kind"],
            text=found["text"],
            notes=dict(_NOTE.findall(found["notes"])),
            above=prose.rstrip().rpartition("\n\n")[2],
            section=len(re.findall(r"^#+ ", prose, re.MULTILINE)),
        )


def unknown_notes(page: str) -> list[str]:
    """Comments above a fence that this module does not know: a misspelt one would be passed over."""
    comments = [line for found in _FENCE.finditer(page) for line in found["notes"].splitlines()]
    return [line for line in comments if not _NOTE.fullmatch(line)]


def script(page: str, results: Path, stands_for: Mapping[str, str], satisfied: Mapping[str, str]) -> str:
    """The page as a shell script. Of the block at line N, `results` gets N.out, and N.failed with codes and commands.

    `stands_for` replaces what readers replace with something of their own. A command in `satisfied` is left out.
    """
    parts = ["set -o pipefail -o errtrace"]
    for block in blocks(page):
        text = replaced(block.text, stands_for)
        if name := block.notes.get("file"):
            parts.append(f"mkdir -p {shlex.quote(str(Path(name).parent))}")
            parts.append(f"cat > {shlex.quote(name)} <<'END OF FILE'\n{text}END OF FILE")
        elif block.is_typed:
            typed = "\n".join(":" if _plain(line) in satisfied else line for line in text.splitlines())
            failed = shlex.quote(str(results / f"{block.line}.failed"))
            parts += [
                f"trap 'echo \"$? $BASH_COMMAND\" >> {failed}' ERR",
                f"{_SOURCE} <<'END OF BLOCK' > {shlex.quote(str(results / f'{block.line}.out'))} 2>&1",
                f"{typed}\nEND OF BLOCK",
                "trap - ERR",
            ]
    return "\n".join([*parts, f"touch {shlex.quote(str(results / 'end'))}", ""])


def commands(page: str) -> Iterator[str]:
    """Every line that is typed, without its comment."""
    for block in blocks(page):
        if block.is_typed:
            yield from filter(None, map(_plain, block.text.splitlines()))


def replaced(text: str, stands_for: Mapping[str, str]) -> str:
    for shown, real in stands_for.items():
        text = text.replace(shown, real)
    return text


def complaints(page: str, results: Path, stands_for: Mapping[str, str]) -> Iterator[str]:
    """What a reader would complain of after the session: commands that fail, and output that is another one."""
    typed: Block | None = None
    for block in blocks(page):
        if block.is_typed:
            typed = block
            yield from _failures(block, results)
        elif block.kind == "text" and typed and typed.section == block.section and "example" not in block.notes:
            printed = _read(results / f"{typed.line}.out")
            # As shown, too: a program may name the example itself.
            if not any(prints(text, printed) for text in (replaced(block.text, stands_for), block.text)):
                yield f"line {block.line}: the block of line {typed.line} prints something else:\n{printed}"
    if not (results / "end").exists():
        yield "the session ended before the page did"


def prints(expected: str, printed: str) -> bool:
    """Whether `expected` is in what was printed, with `…` for anything. How far lines are indented does not count."""
    lines = [".*" if line.strip() == "…" else _line(line) for line in expected.splitlines()]
    pattern = "\n".join(lines).replace("\n.*\n", "\n(?s:.*)").removeprefix(".*\n").removesuffix("\n.*")
    actual = "\n".join(line.strip() for line in printed.splitlines())
    return re.search(f"^{pattern}$", actual, re.MULTILINE) is not None


def _line(line: str) -> str:
    return ".*".join(re.escape(part) for part in line.strip().split("…"))


def _failures(block: Block, results: Path) -> Iterator[str]:
    printed = _read(results / f"{block.line}.out")
    failed = [line.split(" ", 1) for line in _read(results / f"{block.line}.failed").splitlines() if line[:1].isdigit()]
    reported: set[str] = set()  # a block ends with the code of its last command
    for code, command in failed:
        if int(code) not in block.codes and not (command.startswith(_SOURCE) and code in reported):
            what = "the block" if command.startswith(_SOURCE) else f"`{command}`"
            yield f"line {block.line}: {what} ended with {code}:\n{printed}"
            reported.add(code)
    for code in block.codes - {int(code) for code, _ in failed}:
        yield f"line {block.line}: nothing ended with {code}, as the page says:\n{printed}"


def _plain(line: str) -> str:
    return re.sub(r"\s+# .*", "", line).strip()


def _read(path: Path) -> str:
    return path.read_text(errors="replace") if path.exists() else ""
