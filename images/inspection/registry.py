"""The registry client: manifests, configs and blobs by HTTP. Its session is the product's only use of the network.

Docker Hub, NGC, GHCR, Quay, ECR, Artifact Registry and plain registries speak one protocol (OCI distribution-spec
1.1); what differs between them is how they want to be asked, which is in `authorisation.py`.
"""

from __future__ import annotations

import logging
import os
import random
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final, Self

import httpx
import stamina

from compat.hub import HUB, OFFICIAL
from images.inspection.authorisation import Authorisation, advice, is_loopback
from images.inspection.credentials import Login
from images.inspection.faults import InspectError
from images.inspection.manifest import INDEXES, MANIFESTS, SCHEMA_1, Descriptor, Document, document
from images.inspection.sources import Budget, check_document, checked, too_big
from images.inspection.surroundings import check_network, proxy_variables
from images.references import ImageReference

_ACCEPT: Final = ", ".join((*INDEXES, *MANIFESTS, "application/vnd.docker.distribution.manifest.v1+prettyjws"))
_HUB_HOST: Final = "registry-1.docker.io"
_TAG: Final = "latest"  # where none is given
_PIECE: Final = 1 << 18
_REDIRECTS: Final = 5
_TRANSIENT: Final = frozenset({408, 429, 500, 502, 503, 504})
_CODES_SHOWN: Final = 60
_TOKEN_ANSWER: Final = 1 << 20

# stamina tells of every wait at level WARNING, which Python prints where nobody has set up logging.
logging.getLogger("stamina").addHandler(logging.NullHandler())


@dataclass(frozen=True, slots=True)
class Patience:
    """How often and how long a request is tried again. Times in seconds."""

    attempts: int = 5
    first_wait_s: float = 0.25
    longest_wait_s: float = 8.0
    longest_retry_after_s: float = 60.0
    """A registry that wants us to wait longer gets its answer printed instead."""
    total_s: float = 150.0
    read_s: float = 30.0


@dataclass(slots=True)
class Counters:
    """What a session has sent and got, for people who want to know what an answer cost."""

    requests: int = 0
    authentications: int = 0
    retries: int = 0
    bytes_read: int = 0


class _TransientError(Exception):
    """Worth another try. `retry_after_s` is what the registry asked for; `said` is for the user if it was the last."""

    def __init__(self, said: InspectError, retry_after_s: float | None = None) -> None:
        super().__init__(type(said).__name__)
        self.said = said
        self.retry_after_s = retry_after_s


@dataclass(slots=True)
class Session:
    """Connections and tokens, shared by all images of a run and by its threads. Close it, or use `with`."""

    find_login: Callable[[str], Login | None] = lambda registry: None  # noqa: ARG005
    patience: Patience = field(default_factory=Patience)
    connections: int = 16
    counters: Counters = field(default_factory=Counters)
    _client: httpx.Client = field(init=False, repr=False)
    _authorisations: dict[str, Authorisation] = field(init=False, default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        """Open the pool. Certificates are always checked; SSL_CERT_FILE and the proxy variables count."""
        check_network(os.environ)
        self._client = httpx.Client(
            timeout=httpx.Timeout(self.patience.read_s, connect=min(10.0, self.patience.read_s), pool=None),
            limits=httpx.Limits(max_connections=self.connections, max_keepalive_connections=self.connections),
            follow_redirects=False,
            headers={"User-Agent": "gpu-commons", "Accept-Encoding": "identity"},
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def image(self, reference: ImageReference, name: str = "") -> RegistryImage:
        """One image. `name` is what starts messages; the reference if it is empty."""
        registry = reference.registry
        try:
            httpx.URL(f"https://{registry}/")
        except httpx.InvalidURL:
            raise InspectError(
                name or str(reference), "names a host that cannot be", "check its name and port"
            ) from None
        if registry not in self._authorisations:
            found = Authorisation(registry, lambda: self.find_login(registry), self._ask_for_token)
            self._authorisations.setdefault(registry, found)
        return RegistryImage(self, registry, reference, name or str(reference), self._authorisations[registry])

    @contextmanager
    def get(
        self, url: str, headers: Mapping[str, str], authorisation: str | None, name: str
    ) -> Iterator[httpx.Response]:
        """One answer, redirects followed; its body is not read yet. Transport errors are `_TransientError`."""
        given = dict(headers) | ({"Authorization": authorisation} if authorisation else {})
        request = self._client.build_request("GET", url, headers=given)
        answer = self._send(request, name)
        try:
            for _ in range(_REDIRECTS):
                if answer.next_request is None:
                    break
                answer.close()
                # httpx has taken `Authorization` out where the next one is another host: blob stores get no token.
                following = answer.next_request
                if following.url.scheme != "https" and not is_loopback(following.url.host):
                    raise InspectError(name, "is redirected to an address that is not https", "tell whoever runs it")
                answer = self._send(following, name)
            if answer.next_request is not None:
                raise InspectError(
                    name, f"is redirected more than {_REDIRECTS} times", "tell whoever runs the registry"
                )
            yield answer
        finally:
            answer.close()

    def _send(self, request: httpx.Request, name: str) -> httpx.Response:
        try:
            answer = self._client.send(request, stream=True)
        except httpx.HTTPError as error:
            raise _TransientError(unreachable(name, request.url.host, error)) from None
        if answer.headers.get("content-encoding", "identity") != "identity":
            answer.close()
            raise InspectError(
                name, f"{request.url.host} packs its answers although asked not to", "tell whoever runs the registry"
            )
        return answer

    def pieces(self, answer: httpx.Response, name: str) -> Iterator[bytes]:
        """The body as it comes."""
        try:
            for piece in answer.iter_raw(_PIECE):
                self.counters.bytes_read += len(piece)
                yield piece
        except httpx.HTTPError as error:
            raise _TransientError(unreachable(name, answer.url.host, error)) from None

    def read(
        self,
        url: str,
        headers: Mapping[str, str],
        name: str,
        words: Callable[[httpx.Response], InspectError],
        *,
        most: int,
    ) -> tuple[bytes, httpx.Response]:
        """A small file, tried again where that may help; with `most` 0 its headers alone. `words` tells a refusal."""
        try:
            for attempt in self.tries():
                with attempt, self.get(url, headers, None, name) as answer:
                    self.counters.requests += 1
                    _accept(answer, words)
                    content = bytearray()
                    for piece in self.pieces(answer, name) if most else ():
                        content += piece
                        if len(content) > most:
                            raise InspectError(name, f"{answer.url.host} sends too much", "tell whoever runs it")
                    return bytes(content), answer
        except _TransientError as error:
            raise error.said from None
        raise AssertionError  # the last attempt raises

    def _ask_for_token(self, method: str, url: str, options: Mapping[str, Any]) -> httpx.Response:
        self.counters.authentications += 1
        host = httpx.URL(url).host
        for attempt in self.tries():
            with attempt:
                try:
                    with self._client.stream(method, url, **options) as answer:
                        if answer.status_code in _TRANSIENT:
                            raise _TransientError(refused(host, host, answer.status_code, "", answer.headers, True))
                        length = 0
                        parts = []
                        for piece in answer.iter_raw():
                            length += len(piece)
                            if length > _TOKEN_ANSWER:
                                raise InspectError(host, "sends an endless token", "tell whoever runs the registry")
                            parts.append(piece)
                        return httpx.Response(answer.status_code, content=b"".join(parts))
                except httpx.HTTPError as error:
                    raise _TransientError(unreachable(host, host, error)) from None
        raise AssertionError  # the last attempt raises

    def tries(self) -> Iterator[Any]:
        """Attempts with growing, jittered waits, or those that the registry asked for; the last error comes out."""
        patience = self.patience

        def another(error: Exception) -> bool | float:
            if not isinstance(error, _TransientError):
                return False
            if error.retry_after_s is None:
                self.counters.retries += 1
                return True
            if error.retry_after_s > patience.longest_retry_after_s:
                return False
            self.counters.retries += 1
            # Threads that were sent away together shall not come back together.
            return error.retry_after_s + random.uniform(0, patience.first_wait_s)  # noqa: S311

        return iter(
            stamina.retry_context(
                on=another,
                attempts=patience.attempts,
                timeout=patience.total_s,
                wait_initial=patience.first_wait_s,
                wait_max=patience.longest_wait_s,
                wait_jitter=patience.first_wait_s,
            )
        )


@dataclass(slots=True)
class RegistryImage:
    """One image of a registry, as a `Source`."""

    session: Session
    registry: str
    reference: ImageReference
    name: str
    authorisation: Authorisation
    budget: Budget = field(init=False)

    def __post_init__(self) -> None:
        self.budget = Budget(self.name)

    def root(self) -> Document:
        wanted = self.reference.digest or self.reference.tag or _TAG
        content, headers = self._document(f"manifests/{wanted}", {"Accept": _ACCEPT})
        found = document(content, headers.get("content-type", ""))
        promised = self.reference.digest or headers.get("docker-content-digest", found.digest)
        # The digest of schema 1 leaves its signatures out; it is refused by its name later.
        if promised.startswith("sha256:") and promised != found.digest and not found.media_type.startswith(SCHEMA_1):
            check_document(self.name, Descriptor(digest=promised, size=len(content)), content)
        return found

    def document(self, wanted: Descriptor, *, is_manifest: bool) -> Document:
        kind = "manifests" if is_manifest else "blobs"
        headers = {"Accept": wanted.media_type or _ACCEPT} if is_manifest else {}
        content, _ = self._document(f"{kind}/{wanted.digest}", headers)
        check_document(self.name, wanted, content)
        return document(content, wanted.media_type)

    @contextmanager
    def blob(self, wanted: Descriptor) -> Iterator[Iterator[bytes]]:
        pieces = self._blob_pieces(wanted)
        try:
            yield checked(self.name, "layer", wanted, pieces)
        except _TransientError as error:
            raise error.said from None
        finally:
            pieces.close()

    def _document(self, path: str, headers: Mapping[str, str]) -> tuple[bytes, httpx.Headers]:
        try:
            for attempt in self.session.tries():
                with attempt, self._get(path, headers) as answer:
                    if int(answer.headers.get("content-length", "0") or 0) > 1_000_000:
                        raise too_big(self.name)
                    content = self.budget.gather(self.session.pieces(answer, self.name))
                    return content, answer.headers
        except _TransientError as error:
            raise error.said from None
        raise AssertionError  # the last attempt raises

    def _blob_pieces(self, wanted: Descriptor) -> Generator[bytes]:
        """All pieces of a blob. Where the connection breaks, reading goes on from there with a range request."""
        at = 0
        failures = 0
        while True:
            began = at
            try:
                for piece in self._blob_from(wanted, at):
                    at += len(piece)
                    yield piece
            except _TransientError as error:
                failures = 1 if at > began else failures + 1
                if failures >= self.session.patience.attempts:
                    raise error.said from None
                self.session.counters.retries += 1
                time.sleep(self.session.patience.first_wait_s * failures)
            else:
                return

    def _blob_from(self, wanted: Descriptor, at: int) -> Iterator[bytes]:
        headers = {"Range": f"bytes={at}-"} if at else {}
        with self._opened(f"blobs/{wanted.digest}", headers) as answer:
            skip = at if answer.status_code == 200 else 0  # a registry that knows no ranges begins anew
            for piece in self.session.pieces(answer, self.name):
                if skip < len(piece):
                    yield piece[skip:]
                skip = max(0, skip - len(piece))

    @contextmanager
    def _opened(self, path: str, headers: Mapping[str, str]) -> Iterator[httpx.Response]:
        """An answer that has been waited for; its body may still break."""
        for attempt in self.session.tries():
            with attempt:
                context = self._get(path, headers)
                answer = context.__enter__()
                break
        try:
            yield answer
        finally:
            context.__exit__(None, None, None)

    @contextmanager
    def _get(self, path: str, headers: Mapping[str, str]) -> Iterator[httpx.Response]:
        """An answer of 200 or 206 after whatever authentication it takes; else InspectError or `_TransientError`."""
        url = f"{self._base}/{path}"
        for is_last in (False, True):
            sent = self.authorisation.header(self._repository)
            with self.session.get(url, headers, sent, self.name) as answer:
                if answer.status_code == 401 and not is_last:
                    self.session.counters.authentications += 1
                    challenge = ", ".join(answer.headers.get_list("www-authenticate"))
                    answer.close()
                    if self.authorisation.answer(self._repository, sent, challenge, self.name):
                        continue
                self.session.counters.requests += 1
                if answer.status_code in {200, 206}:
                    yield answer
                    return
                self._refuse(answer)

    def _refuse(self, answer: httpx.Response) -> None:
        has_login = self.authorisation.login() is not None if answer.status_code in {401, 403} else False
        tag = "" if self.reference.digest else self.reference.tag or _TAG
        said = refused(self.name, self.registry, answer.status_code, tag, answer.headers, has_login)
        if answer.status_code in _TRANSIENT:
            raise _TransientError(said, retry_after_s(answer.headers, datetime.now(UTC)))
        raise said

    @property
    def _repository(self) -> str:
        name = self.reference.repository
        return f"{OFFICIAL}{name}" if self.registry == HUB and "/" not in name else name

    @property
    def _base(self) -> str:
        host = _HUB_HOST if self.registry == HUB else self.registry
        scheme = "http" if is_loopback(httpx.URL(f"https://{host}").host) else "https"
        return f"{scheme}://{host}/v2/{self._repository}"


def _accept(answer: httpx.Response, words: Callable[[httpx.Response], InspectError]) -> None:
    if answer.status_code in _TRANSIENT:
        raise _TransientError(words(answer), retry_after_s(answer.headers, datetime.now(UTC)))
    if answer.status_code not in {200, 206}:
        raise words(answer)


def retry_after_s(headers: Mapping[str, str], now: datetime) -> float | None:
    """Seconds that a registry wants us to wait; None where it does not say, or says what cannot be read."""
    text = headers.get("retry-after", "").strip()
    if text.isascii() and text.isdigit():
        return float(text)
    try:
        return max(0.0, (parsedate_to_datetime(text) - now).total_seconds())
    except (TypeError, ValueError):
        return None


def refused(  # noqa: PLR0913, PLR0917 - one message from all that is known
    name: str,
    registry: str,
    status: int,
    tag: str,
    headers: Mapping[str, str],
    has_login: bool,  # noqa: FBT001
) -> InspectError:
    """The one sentence for an answer that is no image."""
    if status in {401, 403}:
        return InspectError(name, f"{registry} gives no access ({status})", advice(registry, has_login))
    if status == 404:
        missing = f"tag {tag}" if tag else "such digest"
        return InspectError(
            name,
            f"{registry} has no such repository, or no {missing} in it",
            "check the spelling, and that the image was pushed",
        )
    if status == 429:
        wait = retry_after_s(headers, datetime.now(UTC))
        later = f"try again in {wait:.0f} s" if wait else "try again later"
        return InspectError(
            name, f"{registry} lets us ask no more for now (429)", f"{later}; docker login raises the limit"
        )
    if status >= 500 or status == 408:
        return InspectError(name, f"{registry} has a fault of its own ({status})", "try again later")
    return InspectError(name, f"{registry} answered {status}", "check the reference; a registry answers 200")


def unreachable(name: str, host: str, error: httpx.HTTPError) -> InspectError:
    """The text of an httpx error has no address in it; those of blob stores are as good as a password."""
    if isinstance(error, httpx.TimeoutException):
        return InspectError(name, f"{host} does not answer", "check the network, or try again later")
    if "CERTIFICATE_VERIFY_FAILED" in str(error):
        return InspectError(
            name, f"the certificate of {host} is not trusted", "let SSL_CERT_FILE name the authority that signed it"
        )
    proxies = proxy_variables(os.environ)
    way = f", and the proxy in {proxies[0]}" if proxies else ""
    return InspectError(
        name,
        f"{host} cannot be reached: {str(error)[:_CODES_SHOWN] or 'no answer'}",
        f"check the name and the network{way}",
    )
