"""A review as one Markdown comment for GitHub and GitLab, within their length limits."""

import datetime as dt
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from cli.markdown_escape import code, escaped
from cli.review import page
from cli.review.document import Review

LIMIT: Final = 65_536  # GitHub refuses a longer comment; counted in bytes, which are never fewer than characters
_SHARE: Final = 7_000  # bytes of one block before the diff
_ALL_BLOCKS: Final = 50_000
_CELL: Final = 700  # characters of one cell or item before escaping
_DIFF_END: Final = "```\n\n</details>\n"
_FENCE: Final = re.compile(r"`{3,}")
_WHERE: Final = "The rest is in the log of the preview."


def review_markdown(review: Review, today: dt.date) -> str:
    """The whole comment with a final line feed. Always has its marker."""
    if (line := page.one_line(review)) is not None:
        return f"{escaped(line)} {review.marker}\n"
    head = f"{review.marker}\n### {escaped(_short(page.title(review)))}\n"
    parts, used = [head], len(head.encode())
    for block in page.blocks_of(review, today):
        text = _rendered(block, LIMIT - used if isinstance(block, page.Diff) else min(_SHARE, _ALL_BLOCKS - used))
        parts.append(text)
        used += len(text.encode())
    return "".join(parts)


def _rendered(block: page.Block, left: int) -> str:
    match block:
        case page.Heading(head):
            text = f"#### {escaped(head)}\n"
        case page.Paragraph(parts, is_strong):
            text = _within([f"\n**{_inline(parts)}**\n" if is_strong else f"\n{_inline(parts)}\n"], left)[1:]
        case page.Quote(quoted):
            text = _within([f"{_short(line, 400)}\n" for line in _fenced(quoted)], left - 20)
            text = f"```text\n{text}```\n"
        case page.Bullets(items, title):
            marked = ["- " + "\n  - ".join(map(_inline, lines)) + "\n" for lines in items]
            text = _within(marked, left - 200 if title else left, "- ")
            if title:
                text = f"<details><summary>{escaped(title)}</summary>\n\n{text}\n</details>\n"
        case page.Table(columns, rows):
            top = f"| {' | '.join(map(escaped, columns))} |\n|{'---|' * len(columns)}\n"
            cells = ([_inline(cell, in_table=True) for cell in row] for row in rows)
            text = _within([top, *(f"| {' | '.join(row)} |\n" for row in cells)], left)
        case page.Diff():
            return _diff(block, left)
    return f"\n{text}"


def _within(lines: Sequence[str], left: int, mark: str = "\n") -> str:
    """As many whole lines as fit, and how many are missing, after a mark."""
    used, taken = 0, []
    for line in lines:
        used += len(line.encode())
        if used > left - 120:
            break
        taken.append(line)
    missing = len(lines) - len(taken)
    return "".join([*taken, f"{mark}and {missing:,} more. {_WHERE}\n" if missing else ""])


def _inline(parts: page.Inline, *, in_table: bool = False) -> str:
    room, pieces = _CELL, []
    for part in parts:
        if part == page.BREAK:
            pieces.append("<br>" if in_table else " ")
            continue
        text = part.text if isinstance(part, page.Code) else part
        cut = _short(text, room)
        room -= len(cut)
        if isinstance(part, page.Code):
            pieces.append(code(cut, in_table=in_table))
        else:
            # Leading and trailing spaces separate it from its neighbours.
            pieces.append(f"{' ' * text.startswith(' ')}{escaped(cut)}{' ' * (len(cut) > 1 and cut.endswith(' '))}")
        if room <= 0:
            pieces.append("…")
            break
    return "".join(pieces).strip()


def _short(text: str, longest: int = 200) -> str:
    return text if len(text) <= longest else f"{text[: max(longest - 1, 0)]}…"


def _diff(block: page.Diff, left: int) -> str:
    head = f"\n<details><summary>{escaped(block.title)}</summary>\n\n```diff\n"
    room = left - len((head + _DIFF_END).encode()) - 200
    taken, more = list[str](), ""
    for lines in block.resources:
        text = "\n".join(_fenced(lines)) + "\n"
        room -= len(text.encode())
        if room < 0:
            more = f"… and more. {_WHERE}\n"
            break
        taken.append(text)
    return f"{head}{''.join(taken)}{more}{_DIFF_END}" if taken or more else ""


def _fenced(lines: Iterable[str]) -> Iterator[str]:
    """Lines that cannot end the fence around them or be more than lines."""
    for line in lines:
        printable = "".join(sign if sign.isprintable() else "·" for sign in line)
        yield _FENCE.sub(lambda match: "\N{ZERO WIDTH SPACE}".join(match[0]), printable)
