"""Who has which GPUs, as a table and as data. Pure."""

import datetime as dt
from collections.abc import Sequence
from typing import Any, Final

from cli.top.holdings import Holding, State
from cli.words import Paint, counted

_TONES: Final = {State.FREE: "good", State.WAITING: "warn", State.SHARED: "quiet"}
_GAP: Final = "  "


def top_data(stack: str, holdings: Sequence[Holding], problems: Sequence[str], now: dt.datetime) -> dict[str, Any]:
    """For programs. `gpu` is the index of a GPU of a Docker host; a cluster has counts only."""
    return {
        "stack": stack,
        "at": _iso(now),
        "gpus": [
            {
                "state": each.state.value,
                "pool": each.pool or None,
                "node": each.node or None,
                "gpu": each.index,
                "count": each.gpus,
                "holder": each.holder or None,
                "user": each.user or None,
                "hub": each.hub or None,
                "since": _iso(each.since) if each.since else None,
            }
            for each in holdings
        ],
        "unanswered": [*problems],
    }


def top_text(stack: str, holdings: Sequence[Holding], *, now: dt.datetime, paint: Paint) -> str:
    """A line of sums, then a row for each holding."""
    rows = [_row(each, now) for each in holdings]
    has_index = any(each.index is not None for each in holdings)
    head = ("POOL", "HOST" if has_index else "NODE", "GPU" if has_index else "GPUS", "HOLDER", "USER", "HUB", "SINCE")
    wide = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    lines = [f"{stack}: {_sums(holdings)}"]
    if rows:
        lines += ["", paint(_line(head, wide), "strong")]
        lines += [
            paint(text, tone) if (tone := _TONES.get(each.state)) else text
            for each, row in zip(holdings, rows, strict=True)
            for text in [_line(row, wide)]
        ]
    return "\n".join(lines) + "\n"


def _line(cells: Sequence[str], wide: Sequence[int]) -> str:
    return _GAP.join(f"{cell:<{width}}" for cell, width in zip(cells, wide, strict=True)).rstrip()


def _row(each: Holding, now: dt.datetime) -> tuple[str, ...]:
    gpu = str(each.gpus if each.index is None else each.index)
    holder = each.holder if each.state is State.HELD else f"{each.state.value} {each.holder}".rstrip()
    since = age(now - each.since) if each.since else ""
    return each.pool or "-", each.node or "-", gpu, holder, each.user, each.hub, since


def _sums(holdings: Sequence[Holding]) -> str:
    if not holdings:
        return "no GPUs"
    sums = {state: sum(each.gpus for each in holdings if each.state is state) for state in State}
    waiting = sums.pop(State.WAITING)
    parts = [f"{number} {state.value}" for state, number in sums.items() if number]
    text = f"{counted(sum(sums.values()), 'GPU')}: {', '.join(parts)}" if parts else "no GPUs"
    return text + (f"; {waiting} pending" if waiting else "")


def age(passed: dt.timedelta) -> str:
    """`45 s`, `12 min`, `3 h 5 min`, `2 d 4 h`."""
    minutes, seconds = divmod(max(int(passed.total_seconds()), 0), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    units = [(days, "d"), (hours, "h"), (minutes, "min"), (seconds, "s")]
    first = next((place for place, (number, _) in enumerate(units) if number), len(units) - 1)
    # After minutes, a smaller unit adds nothing.
    shown = units[first : first + 2] if first < 2 else units[first : first + 1]
    return " ".join(f"{number} {unit}" for number, unit in shown if number) or "0 s"


def _iso(moment: dt.datetime) -> str:
    return moment.astimezone(dt.UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
