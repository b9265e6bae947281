"""Manifests in a registry: is it there, take it away. OCI distribution 1.1."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Self

import httpx

from lab.providers.docker_build.inputs import REFERENCE
from lab.providers.handler import PluginError

ACCEPT: Final = (
    "application/vnd.oci.image.index.v1+json, application/vnd.oci.image.manifest.v1+json, "
    "application/vnd.docker.distribution.manifest.list.v2+json, application/vnd.docker.distribution.manifest.v2+json"
)
NOT_DELETABLE: Final = frozenset({httpx.codes.NOT_FOUND, httpx.codes.METHOD_NOT_ALLOWED, httpx.codes.ACCEPTED})


class RegistryError(PluginError):
    """A registry that does not answer, or answers with a refusal."""


@dataclass(frozen=True, slots=True)
class Reference:
    """`domain/path[:tag][@digest]`, taken apart."""

    domain: str
    path: str
    tag: str
    digest: str

    @classmethod
    def parse(cls, text: str) -> Self:
        match = REFERENCE.fullmatch(text)
        if match is None:
            raise ValueError(f'"{text}" is not registry/name[:tag][@digest]')
        return cls(match["domain"], match["path"], match["tag"] or "", match["digest"] or "")

    @property
    def repository(self) -> str:
        return f"{self.domain}/{self.path}"

    def url(self, name: str) -> str:
        """Address of the manifest called `name`, a tag or a digest. Plain HTTP on loopback only, as Docker has it."""
        host = self.domain.rsplit(":", 1)[0].strip("[]")
        scheme = "http" if host == "localhost" or _is_loopback(host) else "https"
        return f"{scheme}://{self.domain}/v2/{self.path}/manifests/{name}"


class Manifests:
    """Client for the registries that one resource uses; `credentials` are the resource's `registries`."""

    def __init__(self, credentials: Sequence[Mapping[str, str]] = ()) -> None:
        self._credentials = {
            _host(each["address"]): (each.get("username") or "", each.get("password") or "") for each in credentials
        }

    def has(self, reference: Reference, digest: str) -> bool:
        """Whether the registry has the manifest. Raises RegistryError when it does not answer or refuses."""
        answer = self._ask("HEAD", reference, digest)
        if answer.status_code != httpx.codes.NOT_FOUND and not answer.is_success:
            raise _refusal(reference, digest, answer)
        return answer.is_success

    def delete(self, reference: Reference, digest: str) -> bool:
        """Take the manifest away. False when it was gone, or when this registry deletes nothing."""
        answer = self._ask("DELETE", reference, digest)
        if answer.status_code not in NOT_DELETABLE:
            raise _refusal(reference, digest, answer)
        return answer.status_code == httpx.codes.ACCEPTED

    def _ask(self, method: str, reference: Reference, name: str) -> httpx.Response:
        headers = {"Accept": ACCEPT}
        pair = self._credentials.get(reference.domain)
        auth: httpx.Auth | None = httpx.BasicAuth(*pair) if pair else None
        try:
            with httpx.Client(timeout=30, follow_redirects=True, auth=auth, trust_env=True) as client:
                answer = client.request(method, reference.url(name), headers=headers)
                if token := self._token(client, answer, pair):
                    headers["Authorization"] = f"Bearer {token}"
                    answer = client.request(method, reference.url(name), headers=headers, auth=None)
                return answer
        except httpx.HTTPError as error:
            raise RegistryError(
                f"the registry {reference.domain} does not answer ({error}): start it (in the lab: make up) or "
                "correct its address, then run the same command again"
            ) from error

    @staticmethod
    def _token(client: httpx.Client, answer: httpx.Response, pair: tuple[str, str] | None) -> str | None:
        """The token that the registry's challenge asks for, or None when it asks for none."""
        challenge = answer.headers.get("www-authenticate", "")
        if answer.status_code != httpx.codes.UNAUTHORIZED or not challenge.lower().startswith("bearer "):
            return None
        fields = dict(re.findall(r'(\w+)="([^"]*)"', challenge))
        query = {key: fields[key] for key in ("service", "scope") if key in fields}
        granted = client.get(fields["realm"], params=query, auth=httpx.BasicAuth(*pair) if pair else None)
        body = granted.json() if granted.is_success else {}
        return body.get("token") or body.get("access_token")


def _refusal(reference: Reference, name: str, answer: httpx.Response) -> RegistryError:
    return RegistryError(
        f"the registry {reference.domain} refuses {reference.repository} {name} "
        f"({answer.status_code} {answer.reason_phrase}): {answer.text[:300]}"
    )


def _host(address: str) -> str:
    return re.sub(r"^https?://", "", address).split("/")[0]


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
