"""Authenticates to registries: challenges, and tokens for one repository each, kept until they expire.

Source: https://distribution.github.io/distribution/spec/auth/token/ and .../auth/oauth/, RFC 9110 section 11.
"""

import ipaddress
import re
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import httpx

from imaging.inspection.credentials import Login
from imaging.inspection.faults import InspectError

_CHALLENGE: Final = re.compile(
    r"(?:^|,)\s*(bearer|basic)\b(.*?)(?=,\s*(?:bearer|basic)\b|$)", re.IGNORECASE | re.DOTALL
)
_PARAMETER: Final = re.compile(r'(\w+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s",]+))')
_DEFAULT_LIFE_S: Final = 60  # the protocol's default
_MARGIN_S: Final = 5
_CLIENT: Final = "gpu-commons"


@dataclass(frozen=True, slots=True)
class Challenge:
    """A 401's challenge."""

    scheme: str  # bearer, basic
    realm: str = ""
    service: str = ""
    scope: str = ""


def read_challenges(header: str) -> list[Challenge]:
    """The known schemes of a `WWW-Authenticate` header, bearer first."""
    found = []
    for scheme, rest in _CHALLENGE.findall(header[:8192]):
        given = {name.lower(): quoted or plain for name, quoted, plain in _PARAMETER.findall(rest)}
        found.append(
            Challenge(scheme.lower(), given.get("realm", ""), given.get("service", ""), given.get("scope", ""))
        )
    return sorted(found, key=lambda challenge: challenge.scheme != "bearer")


def is_loopback(host: str) -> bool:
    """This machine: plain HTTP crosses no network."""
    name = host.strip("[]")
    if name == "localhost":
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


@dataclass(slots=True)
class _Token:
    value: str = field(repr=False)
    ends: float


class Authorisation:
    """`Authorization` headers for one registry. Safe to use from several threads."""

    def __init__(
        self,
        registry: str,
        login: Callable[[], Login | None],
        ask: Callable[[str, str, Mapping[str, Any]], httpx.Response],
    ) -> None:
        """`login` is called once, and only if the registry requires it; `ask(method, url, options)` sends."""
        self._registry = registry
        self._find_login = login
        self._ask = ask
        self._login: Login | None = None
        self._has_looked = False
        self._is_basic = False
        self._tokens: dict[str, _Token] = {}
        self._locks: dict[str, threading.Lock] = {}
        self._lock = threading.Lock()

    def header(self, repository: str) -> str | None:
        """The header, if known; None at first, and once a token has expired."""
        if self._is_basic:
            login = self.login()
            return login.basic if login else None
        token = self._tokens.get(repository)
        return f"Bearer {token.value}" if token and token.ends > time.monotonic() else None

    def answer(self, repository: str, refused: str | None, header: str, where: str) -> bool:
        """Answer a challenge. False: there is nothing to try. `refused` is the header sent in vain."""
        with self._lock:
            lock = self._locks.setdefault(repository, threading.Lock())
        with lock:
            known = self.header(repository)
            if known is not None and known != refused:
                return True  # another thread was faster
            for challenge in read_challenges(header):
                if challenge.scheme == "bearer" and challenge.realm:
                    self._tokens[repository] = self._fetch_token(repository, challenge, where)
                    return True
                if challenge.scheme == "basic" and refused is None and self.login() is not None:
                    self._is_basic = True
                    return True
        return False

    def login(self) -> Login | None:
        with self._lock:
            if not self._has_looked:
                self._login = self._find_login()
                self._has_looked = True
            return self._login

    def _fetch_token(self, repository: str, challenge: Challenge, where: str) -> _Token:
        self._check_realm(challenge.realm, where)
        login = self.login()
        scope = challenge.scope or f"repository:{repository}:pull"
        wanted = {"service": challenge.service, "scope": scope} if challenge.service else {"scope": scope}
        if login and login.identity_token:
            form = {
                **wanted,
                "grant_type": "refresh_token",
                "refresh_token": login.identity_token,
                "client_id": _CLIENT,
            }
            answer = self._ask("POST", challenge.realm, {"data": form})
        else:
            headers = {"Authorization": login.basic} if login else {}
            url = str(httpx.URL(challenge.realm).copy_merge_params(wanted))  # NGC's realm has a query of its own
            answer = self._ask("GET", url, {"headers": headers})
        return self._read_token(answer, login is not None, where)

    def _read_token(self, answer: httpx.Response, with_login: bool, where: str) -> _Token:  # noqa: FBT001 - private
        if answer.status_code in {400, 401, 403}:
            raise InspectError(where, f"{self._registry} denies access", advice(self._registry, with_login))
        try:
            fields = answer.json() if answer.status_code == 200 else {}
            value = str(fields.get("token") or fields.get("access_token") or "")
            life_s = float(fields.get("expires_in") or _DEFAULT_LIFE_S)
        except (ValueError, TypeError, AttributeError, RecursionError):
            value, life_s = "", 0.0
        if not re.fullmatch(r"[\x21-\x7e]{1,65536}", value):
            raise InspectError(
                where,
                f"the token service of {self._registry} answered {answer.status_code} without a token",
                "try again later",
            )
        return _Token(value, time.monotonic() + max(min(life_s, 86400.0) - _MARGIN_S, 1.0))

    def _check_realm(self, realm: str, where: str) -> None:
        """Credentials cross the network only with TLS."""
        try:
            address = httpx.URL(realm)
        except httpx.InvalidURL:
            address = httpx.URL("")
        here = is_loopback(httpx.URL(f"https://{self._registry}").host)
        if address.scheme == "https" and address.host:
            return
        if address.scheme == "http" and here and is_loopback(address.host):
            return
        raise InspectError(
            where,
            f"{self._registry} sends us for a token to an address that is not https",
            "do not log in to this registry; report it to its operator",
        )


def advice(registry: str, with_login: bool) -> str:  # noqa: FBT001 - one caller each
    """Advice on a refusal."""
    if with_login:
        return f"the credentials for {registry} may have expired, or may not allow pulling: docker login {registry}"
    return f"check the name, or log in if it is private: docker login {registry}"
