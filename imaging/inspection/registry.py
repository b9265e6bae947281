"""The registry client: manifests, configs and blobs by HTTP.

Docker Hub, NGC, GHCR, Quay, ECR, Artifact Registry and plain registries speak one protocol (OCI distribution-spec
1.1); they differ in authentication, which is in `authorisation.py`.
"""

import time
from collections.abc import Generator, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Final, NoReturn

import httpx

from compat.evidence.names.image_name import HUB, OFFICIAL
from imaging.inspection import limits
from imaging.inspection.authorisation import Authorisation, is_loopback
from imaging.inspection.faults import InspectError
from imaging.inspection.manifest import INDEXES, MANIFESTS, SCHEMA_1, Descriptor, Document, document
from imaging.inspection.registry_errors import TransientError, error_of, refused
from imaging.inspection.session import Session
from imaging.inspection.sources import Budget, check_document, checked, too_big
from imaging.references import ImageReference

_ACCEPT: Final = ", ".join((*INDEXES, *MANIFESTS, "application/vnd.docker.distribution.manifest.v1+prettyjws"))
_HUB_HOST: Final = "registry-1.docker.io"
_TAG: Final = "latest"  # if none is given


@dataclass(slots=True)
class RegistryImage:
    """One image of a registry, as a `Source`."""

    session: Session
    reference: ImageReference
    name: str = ""  # prefix of messages; the reference if empty
    authorisation: Authorisation = field(init=False)
    budget: Budget = field(init=False)

    def __post_init__(self) -> None:
        self.name = self.name or str(self.reference)
        try:
            httpx.URL(f"https://{self.registry}/")
        except httpx.InvalidURL:
            raise InspectError(self.name, "names an invalid host", "check its name and port") from None
        self.authorisation = self.session.authorisation(self.registry)
        self.budget = Budget(self.name)

    @property
    def registry(self) -> str:
        return self.reference.registry

    def root(self) -> Document:
        wanted = self.reference.digest or self.reference.tag or _TAG
        content, headers = self._document(f"manifests/{wanted}", {"Accept": _ACCEPT})
        found = document(content, headers.get("content-type", ""))
        promised = self.reference.digest or headers.get("docker-content-digest", found.digest)
        # The digest of schema 1 excludes its signatures; schema 1 is refused by name later.
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
        except TransientError as error:
            raise error.fault from None
        finally:
            pieces.close()

    def _document(self, path: str, headers: Mapping[str, str]) -> tuple[bytes, httpx.Headers]:
        def once() -> tuple[bytes, httpx.Headers]:
            with self._get(path, headers) as answer:
                if int(answer.headers.get("content-length", "0") or 0) > limits.DOCUMENTS_BYTES:
                    raise too_big(self.name)
                return self.budget.gather(self.session.pieces(answer, self.name)), answer.headers

        try:
            return self.session.trying(once)
        except TransientError as error:
            raise error.fault from None

    def _blob_pieces(self, wanted: Descriptor) -> Generator[bytes]:
        """All pieces of a blob. After a broken connection, reading continues with a range request."""
        at = 0
        failures = 0
        while True:
            began = at
            try:
                for piece in self._blob_from(wanted, at):
                    at += len(piece)
                    yield piece
            except TransientError as error:
                failures = 1 if at > began else failures + 1
                if failures >= self.session.retries.attempts:
                    raise error.fault from None
                time.sleep(self.session.retries.first_wait_s * failures)
            else:
                return

    def _blob_from(self, wanted: Descriptor, at: int) -> Iterator[bytes]:
        headers = {"Range": f"bytes={at}-"} if at else {}
        with self._opened(f"blobs/{wanted.digest}", headers) as answer:
            skip = at if answer.status_code == 200 else 0  # a registry without ranges starts again
            for piece in self.session.pieces(answer, self.name):
                if skip < len(piece):
                    yield piece[skip:]
                skip = max(0, skip - len(piece))

    @contextmanager
    def _opened(self, path: str, headers: Mapping[str, str]) -> Iterator[httpx.Response]:
        """An answer, after retries; its body may still break."""
        with ExitStack() as opened:
            yield self.session.trying(lambda: opened.enter_context(self._get(path, headers)))

    @contextmanager
    def _get(self, path: str, headers: Mapping[str, str]) -> Iterator[httpx.Response]:
        """An answer of 200 or 206 after any needed authentication; else InspectError or `TransientError`."""
        url = f"{self._base}/{path}"
        for is_last in (False, True):
            sent = self.authorisation.header(self._repository)
            with self.session.get(url, headers, sent, self.name) as answer:
                if answer.status_code == 401 and not is_last:
                    challenge = ", ".join(answer.headers.get_list("www-authenticate"))
                    answer.close()
                    if self.authorisation.answer(self._repository, sent, challenge, self.name):
                        continue
                self.session.counters.requests += 1
                if answer.status_code in {200, 206}:
                    yield answer
                    return
                self._refuse(answer)

    def _refuse(self, answer: httpx.Response) -> NoReturn:
        has_login = self.authorisation.login() is not None if answer.status_code in {401, 403} else False
        tag = "" if self.reference.digest else self.reference.tag or _TAG
        raise error_of(answer, refused(self.name, self.registry, answer.status_code, tag, answer.headers, has_login))

    @property
    def _repository(self) -> str:
        name = self.reference.repository
        return f"{OFFICIAL}{name}" if self.registry == HUB and "/" not in name else name

    @property
    def _base(self) -> str:
        host = _HUB_HOST if self.registry == HUB else self.registry
        scheme = "http" if is_loopback(httpx.URL(f"https://{host}").host) else "https"
        return f"{scheme}://{host}/v2/{self._repository}"
