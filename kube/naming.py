"""One function that makes names valid, short and unique.

Requirements: a name is a DNS label (RFC 1035: a letter first, then letters, digits and dashes, no dash at the end),
because the strictest objects, Services, want that; it is never longer than the limit minus what others will append;
and two different inputs never share a name.
"""

import hashlib
import re

_HASH = 8  # hexadecimal digits: one clash in 2**32 pairs of names that had to be changed


def dns_label(*parts: str, max_length: int = 63, reserve: int = 0) -> str:
    """Join `parts` with dashes into a DNS label of at most `max_length - reserve` characters.

    What fits is kept as it is: `dns_label("datahub", "hub")` is `datahub-hub`. Whatever had to be changed or cut
    ends in a hash of the joined text. `reserve` leaves room for a suffix that somebody else appends.
    Raises ValueError for an empty name or for a limit without room for a letter and a hash.
    """
    limit = max_length - reserve
    text = "-".join(parts)
    if not text:
        raise ValueError("a name needs at least one character")
    if limit < _HASH + 2:
        raise ValueError(f"{limit} characters are too few for a name: at least {_HASH + 2} are needed")
    if len(text) <= limit and re.fullmatch(r"[a-z]([-a-z0-9]*[a-z0-9])?", text):
        return text
    readable = re.sub(r"[^a-z0-9]+", "-", text.lower()).lstrip("0123456789-")[: limit - _HASH - 1].strip("-")
    return f"{readable or 'x'}-{hashlib.sha256(text.encode()).hexdigest()[:_HASH]}"
