"""Recognises secret variables, options, labels and keys by their names."""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import pairwise
from typing import Final

_SECRET_WORD: Final = re.compile(
    r"(?:^|_)(?:[A-Z0-9]*(?:PASS_?WORDS?|PASSWD|PASSPHRASE|SECRETS?|TOKEN|CREDENTIALS?|APIKEYS?|AUTHKEY|PRIVATEKEY)|PAT)"
    r"(?=_|$)"
    r"|(?:API|ACCESS|PRIVATE|SECRET|AUTH|ACCOUNT|DEPLOY|ENCRYPTION|CRYPT|SIGNING|STORAGE|MASTER|KAGGLE|SHARED|CLIENT|APPLICATION|CONSUMER)"
    r"_?KEYS?(?:_ID|_DATA)?$"
    r"|(?:^|_)(?:PASS|JWT)$|_(?:PW|PWD)$|^(?:BINDPW|ROOTPW|REQUIREPASS|MASTERAUTH)$"
    r"|(?:API|AUTH|ACCESS|BEARER|REFRESH)_TOKENS$"
)
# Of an environment variable: COOKIE_KEY, LDAPPASS; not a key that is public, or that sorts and selects.
_SECRET_VARIABLE: Final = re.compile(
    r"(?!(?:[A-Z0-9_]*_)?(?:GPG|PUBLIC|PRIMARY|FOREIGN|PARTITION|SORT|ORDER|GROUP|CACHE|ROUTING|INDEX|LOOKUP|TOPOLOGY|HOST"
    r"|LABEL|NODE|FEATURE|REGISTRY|OBJECT|BUCKET|MAP|HOT|METRIC)_KEYS?$)[A-Z0-9_]*_KEYS?"
    r"|(?![A-Z0-9_]*(?:BY|COM|TRES|SUR)PASS$)[A-Z0-9_]*PASS"
)
# These give the location or format of a secret, not its value.
_ABOUT_ONE: Final = re.compile(
    r"_(?:FILE|PATH|DIR|URL|URI|NAME|NAMES|TYPE|LENGTH|LIMIT|COUNT|TTL|HEADER|ENDPOINT|EXPIRY|VERSION|ENABLED|POLICY"
    r"|REF|CLASS|SECONDS|MODE|LIFETIME|EXPIRATION|DAYS|STDIN)$"
    r"|^(?:EXISTING|TLS|IMAGE_PULL|PULL)_SECRETS?$|^AUTOMOUNT_"
    # Of a language model.
    r"|(?:^|_)(?:EOS|BOS|PAD|UNK|SEP|CLS|MASK|STOP|IMAGE)_TOKENS?$|_TOKEN_ID$"
)
_SAYS_LITTLE: Final = frozenset({"key", "keys", "tokens", "pass", "pw", "pwd"})
# Keys below these tell Kubernetes where to find a secret.
_REFERENCES: Final = frozenset({"valueFrom", "secretKeyRef", "secretRef", "envFrom"})
_RULE: Final = re.compile(r"[A-Z]-[A-Z]+")  # one of our rule ids: D-SECRET
# Files whose whole content is secret, apart from those whose name says so: `db_password.txt`, `/run/secrets/x`.
_SECRET_FILE: Final = re.compile(
    r"(?:\.netrc|\.pgpass|\.my\.cnf|\.htpasswd|\.git-credentials|\.dockercfg|\.dockerconfigjson|kubeconfig|g?shadow"
    r"|id_(?:rsa|dsa|ecdsa|ed25519)|.+\.(?:key|keytab|p12|pfx|jks|kdbx|kubeconfig|htpasswd))"
)
_CONTENT: Final = re.compile(r"(?:source_?)?contents?(?:_?base64)?", re.IGNORECASE)
_PLACES_OF_A_FILE: Final = ("file", "path", "filename", "target", "destination")


@lru_cache(maxsize=8192)
def is_secret(name: str) -> bool:
    """Does a variable, label, option or key of this name hold a secret? Only this function decides it.

    NGC_API_KEY, clientSecret, --token and PGPASSWORD do; TOKEN_FILE, MAX_TOKENS and GPG_KEY do not.
    """
    words = _words(name)
    return (
        bool(_SECRET_WORD.search(words) or _SECRET_VARIABLE.fullmatch(name))
        and not _ABOUT_ONE.search(words)
        and not _RULE.fullmatch(name)
    )


@lru_cache(maxsize=8192)
def is_secret_file(path: str) -> bool:
    """Is the content of a file at this path, or of this name, a secret as a whole?"""
    *folders, name = path.split("/")
    stem = name.partition(".")[0] or name
    return bool(_SECRET_FILE.fullmatch(name)) or is_secret(stem) or any(map(is_secret, filter(None, folders)))


def is_secret_content(beside: Mapping[str, object], key: str) -> bool:
    """Is the value at this key the content of a file that is secret? `{file: /run/secrets/x, content: …}`"""
    places = (beside.get(place) for place in _PLACES_OF_A_FILE)
    return bool(_CONTENT.fullmatch(key)) and any(isinstance(place, str) and is_secret_file(place) for place in places)


def _words(name: str) -> str:
    return re.sub(r"[^A-Z0-9]+", "_", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).upper()).strip("_")


def is_in_secret(loc: Iterable[str | int]) -> bool:
    """Is the value at this path part of a secret? `auth: {tokens: …}` is one by two keys together."""
    keys = [step for step in loc if isinstance(step, str)]
    if keys and (_ABOUT_ONE.search(_words(keys[-1])) or not _REFERENCES.isdisjoint(keys)):
        return False
    return any(is_secret(key) or _SECRET_FILE.fullmatch(key) for key in keys) or any(
        key.lower() in _SAYS_LITTLE and is_secret(f"{before}_{key}") for before, key in pairwise(keys)
    )
