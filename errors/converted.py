"""Corrects values with units, such as `20%`, `16Gi` or `10m`, to the plain number that a setting needs. Pure.

The suffix of a key gives its unit (memory_gib, idle_s, peak_share), the schema its type. None if the value is
ambiguous: a guess would be worse than no advice.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from typing import Final

_NUMBER: Final = r"(?P<number>\d+(?:[.,]\d+)?|[.,]\d+)"
_BYTES: Final = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4, "P": 5}
_SECONDS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_GIB: Final = 2**30
_YES: Final = frozenset({"yes", "y", "on", "true", "enabled", "1"})
_NO: Final = frozenset({"no", "n", "off", "false", "disabled", "none", "0"})
_DAYS: Final = (
    "%Y-%m-%d",
    "%Y/%m/%d",
    "%Y.%m.%d",
    "%Y%m%d",
    "%d.%m.%Y",
    "%d %b %Y",
    "%d %B %Y",
    "%b %d %Y",
    "%B %d %Y",
)


def converted(key: str, kind: str, value: object) -> str | None:
    """The correct value for a key; `kind` is the type in its schema. None if it is not known."""
    if kind == "array":
        return _items(value)
    if kind == "boolean":
        word = str(value).strip().lower()
        return "true" if word in _YES else "false" if word in _NO else None
    if kind not in {"integer", "number"} or isinstance(value, bool):
        return None
    amount = _amount(key, value) if isinstance(value, str) else _share_of(key, value)
    if amount is None or (kind == "integer" and amount != int(amount)):
        return None
    return f"{round(amount, 6 if key.endswith('_share') else 2):g}" if amount < 1e6 else f"{amount:.0f}"


def read_day(value: object) -> date | None:
    """Read a date from a stack file: text, or the engine's form of an unquoted date. None for anything else."""
    # The engine reads an unquoted date as a time, and passes it on as Go prints times.
    text = str(value).removesuffix(" 00:00:00 +0000 UTC")
    match = re.fullmatch(r"(\d{4})-(\d{1,2})-(\d{1,2})", text, re.ASCII)
    try:
        return date(*map(int, match.groups())) if match else None
    except ValueError:  # 2027-02-30
        return None


def days(text: str) -> tuple[str, ...]:
    """Dates that a text may mean, in stack file notation: two if day and month could be swapped."""
    plain = re.sub(r"(?<=\d)(?:st|nd|rd|th)\b", "", " ".join(text.replace(",", " ").split()))
    plain = re.sub(r"[T ]\d\d:\d\d.*$", "", plain)
    if match := re.fullmatch(r"(\d{1,2})[/-](\d{1,2})[/-](\d{4})", plain):
        first, second, year = match.groups()
        either = [f"{year}-{month}-{day}" for month, day in ((first, second), (second, first))]
        return tuple(dict.fromkeys(day for each in either if (day := _day(each, ("%Y-%m-%d",)))))
    found = _day(plain, _DAYS)
    return (found,) if found else ()


def _day(text: str, forms: Sequence[str]) -> str | None:
    for form in forms:
        try:
            return datetime.strptime(text, form).date().isoformat()  # noqa: DTZ007 - a date has no time zone
        except ValueError:
            continue
    return None


def _items(value: object) -> str | None:
    """`n01-n12, n14` as a list."""
    if isinstance(value, str) and re.fullmatch(r"[\w./:@-]+(?:[,\s]+[\w./:@-]+)*", value.strip()):
        parts = re.split(r"[,\s]+", value.strip())
        return f"[{', '.join(parts)}]"
    return None


def _share_of(key: str, value: object) -> float | None:
    """20 instead of 0.2."""
    is_percent = key.endswith("_share") and isinstance(value, int | float) and value in range(2, 101)
    return float(value) / 100 if is_percent and isinstance(value, int | float) else None


def _amount(key: str, text: str) -> float | None:
    text = text.strip()
    for ending, read in _BY_ENDING.items():
        if key.endswith(ending):
            return _plain(text) or read(text)
    return _count(key, text)


def _count(key: str, text: str) -> float | None:
    """`8x`, `8 GPUs`, `1,200`, and half a core as Kubernetes writes it."""
    if key == "cpu" and (match := re.fullmatch(r"(\d+)m", text)):
        return int(match[1]) / 1000
    if re.fullmatch(r"\d{1,3}(,\d{3})+", text):
        return float(text.replace(",", ""))
    words = r"(?:x|\s*(?:gpus?|cores?|cpus?|seats?|people|nodes?))"
    match = re.fullmatch(rf"(?:x\s*)?{_NUMBER}\s*{words}?", text, re.IGNORECASE)
    return _number(match["number"]) if match else None


def _number(text: str) -> float:
    return float(text.replace(",", "."))


def _plain(text: str) -> float | None:
    return _number(text) if re.fullmatch(_NUMBER, text) else None


def _share(text: str) -> float | None:
    if match := re.fullmatch(rf"{_NUMBER}\s*%", text):
        return _number(match["number"]) / 100
    if match := re.fullmatch(r"(\d+)\s*/\s*([1-9]\d*)", text):
        return int(match[1]) / int(match[2])
    return None


def _in_bytes(text: str, unit: int) -> float | None:
    """Kubernetes writes Gi and G, people GiB and GB."""
    match = re.fullmatch(rf"{_NUMBER}\s*(?P<power>[KMGTP])(?P<binary>i?)B?", text, re.IGNORECASE)
    return _number(match["number"]) * _factor(match) / unit if match else None


def _factor(match: re.Match[str]) -> int:
    base = 1024 if match["binary"] else 1000
    return int(base ** _BYTES[match["power"].upper()])


def _rate(text: str) -> float | None:
    pattern = rf"{_NUMBER}\s*(?P<power>[KMGT])(?P<binary>i?)(?P<unit>B|bit|b)(?:/s|ps|/sec)?"
    match = re.fullmatch(pattern, text)
    if match is None:
        return None
    return _number(match["number"]) * _factor(match) / (1 if match["unit"] == "B" else 8) / 10**6


def _seconds(text: str) -> float | None:
    """`90s`, `10m`, `1h30m`, `2 days`, `00:10:00`."""
    if match := re.fullmatch(r"(\d+):(\d\d):(\d\d)", text):
        return int(match[1]) * 3600 + int(match[2]) * 60 + int(match[3])
    part = r"(\d+(?:\.\d+)?)\s*(s|m|h|d|w)(?:ec(?:ond)?s?|in(?:ute)?s?|ours?|rs?|ays?|eeks?)?"
    text = text.lower()
    if not re.fullmatch(rf"(?:{part}\s*)+", text):
        return None
    return sum(float(number) * _SECONDS[unit] for number, unit in re.findall(part, text))


_BY_ENDING: Final[Mapping[str, Callable[[str], float | None]]] = {
    "_share": _share,
    "_gib": lambda text: _in_bytes(text, _GIB),
    "_gb": lambda text: _in_bytes(text, 10**9),
    "_mb_per_s": _rate,
    "_s": _seconds,
}


def is_bare(value: object) -> bool:
    """A number in quotes, without any other mistake."""
    return isinstance(value, str) and bool(re.fullmatch(r"\d+(\.\d+)?|true|false", value.strip()))
