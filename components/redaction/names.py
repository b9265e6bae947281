"""Which names are names of secrets: of variables, options, labels, keys."""

import re
from collections.abc import Iterable
from functools import lru_cache
from itertools import pairwise
from typing import Final

_SECRET_WORD: Final = re.compile(
    r"(?:^|_)(?:[A-Z0-9]*(?:PASSWORDS?|PASSWD|PASSPHRASE|SECRETS?|TOKEN|CREDENTIALS?|APIKEYS?|AUTHKEY|PRIVATEKEY)|PAT)"
    r"(?=_|$)"
    r"|(?:API|ACCESS|PRIVATE|SECRET|AUTH|ACCOUNT|DEPLOY|ENCRYPTION|SIGNING|STORAGE|MASTER|KAGGLE|SHARED|CLIENT)"
    r"_?KEYS?(?:_ID|_DATA)?$"
    r"|(?:^|_)(?:PASS|JWT)$|_(?:PW|PWD)$|^(?:BINDPW|ROOTPW|REQUIREPASS|MASTERAUTH)$"
    r"|(?:API|AUTH|ACCESS|BEARER|REFRESH)_TOKENS$"
)
# These say where a secret is, or how it is shaped, not what it is.
_ABOUT_ONE: Final = re.compile(
    r"_(?:FILE|PATH|DIR|URL|URI|NAME|NAMES|TYPE|LENGTH|LIMIT|COUNT|TTL|HEADER|ENDPOINT|EXPIRY|VERSION|ENABLED|POLICY"
    r"|REF|CLASS|SECONDS|MODE)$"
    r"|^(?:EXISTING|TLS|IMAGE_PULL|PULL)_SECRETS?$|^AUTOMOUNT_"
)
_SAYS_LITTLE: Final = frozenset({"key", "keys", "tokens", "pass", "pw", "pwd"})
_RULE: Final = re.compile(r"[A-Z]-[A-Z]+")  # an id of ours: D-SECRET


@lru_cache(maxsize=8192)
def is_secret(name: str) -> bool:
    """Does a variable, label, option or key of this name hold a secret? The one place that decides it.

    NGC_API_KEY, clientSecret, --token and PGPASSWORD do; TOKEN_FILE, MAX_TOKENS and GPG_KEY do not.
    """
    words = re.sub(r"[^A-Z0-9]+", "_", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).upper()).strip("_")
    return bool(_SECRET_WORD.search(words)) and not _ABOUT_ONE.search(words) and not _RULE.fullmatch(name)


def is_in_secret(loc: Iterable[str | int]) -> bool:
    """Does a value that lies there belong to a secret? `auth: {tokens: …}` is one by two keys together."""
    keys = [step for step in loc if isinstance(step, str)]
    return any(map(is_secret, keys)) or any(
        key.lower() in _SAYS_LITTLE and is_secret(f"{before}_{key}") for before, key in pairwise(keys)
    )
