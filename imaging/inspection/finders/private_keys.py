"""Finds private keys in the layers of an image. A key that a later layer removes can still be pulled."""

import re
from typing import Final

from imaging.inspection.facts import PrivateKey
from imaging.inspection.finders.finder import MOST, THIS_LAYER, Sink, Text
from imaging.inspection.layers import Entry

_NAMED: Final = re.compile(r"(?:^|/)(?:id_(?:rsa|dsa|ecdsa|ed25519)|ssh_host_\w+_key|[^/]+\.(?:pem|key))$")
_FOR_TESTS: Final = re.compile(r"(?:^|/)(?:tests?|testing|test_data|testdata|examples?|doc)/|-packages/")
_BEGINS: Final = re.compile(rb"^-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----", re.MULTILINE)
_LONGEST: Final = 64 << 10


class PrivateKeyFinder:
    """Those that packages bring for their own tests are left out: everybody has them."""

    def __init__(self) -> None:
        self.found: list[PrivateKey] = []

    def open(self, entry: Entry) -> Sink | None:
        if entry.size > _LONGEST or not _NAMED.search(entry.path) or _FOR_TESTS.search(entry.path):
            return None
        return Text(_LONGEST, lambda text: self._read(text, entry.path))

    def _read(self, text: bytes, path: str) -> None:
        if _BEGINS.search(text) and len(self.found) < MOST:
            self.found.append(PrivateKey(path, THIS_LAYER))
