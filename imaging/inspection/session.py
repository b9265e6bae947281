"""HTTP with tokens and retries: the product's only use of the network."""

import logging
import os
import random
import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final, Self, TypeVar

import httpx
import stamina

from imaging.inspection.authorisation import Authorisation, is_loopback
from imaging.inspection.credentials import Login
from imaging.inspection.faults import InspectError
from imaging.inspection.network_environment import check_network
from imaging.inspection.registry_errors import TransientError, error_of, refused, unreachable
from imaging.inspection.sources import gathered

_PIECE: Final = 1 << 18
_REDIRECTS: Final = 5
_TOKEN_ANSWER: Final = 1 << 20
_Answer = TypeVar("_Answer")

# stamina logs every wait at level WARNING, which Python prints if logging is not configured.
logging.getLogger("stamina").addHandler(logging.NullHandler())


@lru_cache(8)
def _trust(_file: str | None, _folder: str | None) -> ssl.SSLContext:
    """Certificate authorities, by the variables that name them: reading them takes some 40 ms."""
    return httpx.create_ssl_context()


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Number and duration of retries. Times in seconds."""

    attempts: int = 5
    first_wait_s: float = 0.25
    longest_wait_s: float = 8.0
    longest_retry_after_s: float = 60.0
    """If a registry requires a longer wait, we print its answer instead."""
    total_s: float = 150.0
    read_s: float = 30.0


@dataclass(slots=True)
class Counters:
    """Requests and bytes of a session, for people who ask what an answer cost."""

    requests: int = 0
    bytes_read: int = 0


@dataclass(slots=True)
class Session:
    """Connections and tokens, shared by all images of a run and by its threads. Close it, or use `with`."""

    find_login: Callable[[str], Login | None] = lambda registry: None  # noqa: ARG005
    retries: RetryPolicy = field(default_factory=RetryPolicy)
    connections: int = 16
    counters: Counters = field(default_factory=Counters)
    _client: httpx.Client = field(init=False, repr=False)
    _authorisations: dict[str, Authorisation] = field(init=False, default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        """Open the pool. Certificates are always checked; SSL_CERT_FILE and the proxy variables count."""
        check_network(os.environ)
        self._client = httpx.Client(
            verify=_trust(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")),
            timeout=httpx.Timeout(self.retries.read_s, connect=min(10.0, self.retries.read_s), pool=None),
            limits=httpx.Limits(max_connections=self.connections, max_keepalive_connections=self.connections),
            follow_redirects=False,
            headers={"User-Agent": "gpu-commons", "Accept-Encoding": "identity"},
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def authorisation(self, registry: str) -> Authorisation:
        """Authorisation for this registry; shared by all its images."""
        found = Authorisation(registry, lambda: self.find_login(registry), self._ask_for_token)
        return self._authorisations.setdefault(registry, found)

    @contextmanager
    def get(
        self, url: str, headers: Mapping[str, str], authorisation: str | None, name: str
    ) -> Iterator[httpx.Response]:
        """One answer, redirects followed; its body is not read yet. Transport errors are `TransientError`."""
        given = dict(headers) | ({"Authorization": authorisation} if authorisation else {})
        request = self._client.build_request("GET", url, headers=given)
        answer = self._send(request, name)
        try:
            for _ in range(_REDIRECTS):
                if answer.next_request is None:
                    break
                answer.close()
                # httpx has removed `Authorization` for redirects to another host: blob stores get no token.
                following = answer.next_request
                if following.url.scheme != "https" and not is_loopback(following.url.host):
                    raise InspectError(
                        name, "is redirected to an address that is not https", "report it to its operator"
                    )
                answer = self._send(following, name)
            if answer.next_request is not None:
                raise InspectError(
                    name, f"is redirected more than {_REDIRECTS} times", "report it to the operator of the registry"
                )
            yield answer
        finally:
            answer.close()

    def _send(self, request: httpx.Request, name: str) -> httpx.Response:
        try:
            answer = self._client.send(request, stream=True)
        except httpx.HTTPError as error:
            raise TransientError(unreachable(name, request.url.host, error)) from None
        if answer.headers.get("content-encoding", "identity") != "identity":
            answer.close()
            raise InspectError(
                name,
                f"{request.url.host} compresses its answers although it was asked not to",
                "report it to the operator of the registry",
            )
        return answer

    def pieces(self, answer: httpx.Response, name: str) -> Iterator[bytes]:
        """The body as it comes."""
        try:
            for piece in answer.iter_raw(_PIECE):
                self.counters.bytes_read += len(piece)
                yield piece
        except httpx.HTTPError as error:
            raise TransientError(unreachable(name, answer.url.host, error)) from None

    def read(
        self,
        url: str,
        headers: Mapping[str, str],
        name: str,
        words: Callable[[httpx.Response], InspectError],
        *,
        most: int,
    ) -> tuple[bytes, httpx.Response]:
        """A small file, retried if that may help; with `most` 0 only its headers.

        `words` makes the error for a refusal.
        """

        def once() -> tuple[bytes, httpx.Response]:
            with self.get(url, headers, None, name) as answer:
                self.counters.requests += 1
                if answer.status_code not in {200, 206}:
                    raise error_of(answer, words(answer))
                too_much = InspectError(name, f"{answer.url.host} sends too much", "report it to its operator")
                pieces = self.pieces(answer, name) if most else ()
                return gathered(pieces, most, too_much), answer

        try:
            return self.trying(once)
        except TransientError as error:
            raise error.fault from None

    def _ask_for_token(self, method: str, url: str, options: Mapping[str, Any]) -> httpx.Response:
        host = httpx.URL(url).host
        endless = InspectError(host, "sends an endless token", "report it to the operator of the registry")

        def once() -> httpx.Response:
            try:
                with self._client.stream(method, url, **options) as answer:
                    problem = error_of(answer, refused(host, host, answer.status_code, "", answer.headers, True))
                    if isinstance(problem, TransientError):
                        raise TransientError(problem.fault)
                    return httpx.Response(
                        answer.status_code, content=gathered(answer.iter_raw(), _TOKEN_ANSWER, endless)
                    )
            except httpx.HTTPError as error:
                raise TransientError(unreachable(host, host, error)) from None

        return self.trying(once)

    def trying(self, act: Callable[[], _Answer]) -> _Answer:
        """Its answer, retried after growing, jittered waits or those that the registry requests.

        Raises the last TransientError, and any other error at once.
        """
        retries = self.retries

        def another(error: Exception) -> bool | float:
            if not isinstance(error, TransientError):
                return False
            if error.retry_after_s is None:
                return True
            if error.retry_after_s > retries.longest_retry_after_s:
                return False
            # Threads that were refused together must not retry together.
            return error.retry_after_s + random.uniform(0, retries.first_wait_s)  # noqa: S311

        caller = stamina.RetryingCaller(
            attempts=retries.attempts,
            timeout=retries.total_s,
            wait_initial=retries.first_wait_s,
            wait_max=retries.longest_wait_s,
            wait_jitter=retries.first_wait_s,
        )
        return caller.on(another)(act)
