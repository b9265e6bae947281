"""A thin client of the lab's API server: read, apply, delete, wait. Instance certificates, no proxy.

The official client takes a second to import and hides server-side apply; the lab needs no more than this.
"""

from __future__ import annotations

import http.client
import ssl
import time
from collections.abc import Callable, Mapping
from typing import Any, Self
from urllib.parse import urlsplit

import httpx

from lab import certificates
from lab.instance import Instance, LabError
from lab.processes import Probe

# Label and value of the one node that really runs pods, and of those simulated by kwok.
REAL_NODE = ("gpu-commons.org/lab-node", "real")
SIMULATED_NODE = ("kwok.x-k8s.io/node", "fake")
FIELD_MANAGER = "gpu-commons-lab"

Object = dict[str, Any]


class ApiError(LabError):
    """The API server refused: the request, the status and its own message."""

    def __init__(self, method: str, path: str, status: int, message: str) -> None:
        super().__init__(f"{method} {path}: {status} {message}")
        self.status = status


class Cluster:
    """Objects are in Kubernetes' form: plain mappings in camelCase, addressed by their API path."""

    def __init__(self, instance: Instance, client: str = "admin") -> None:
        self._http = httpx.Client(
            base_url=instance.apiserver_url,
            verify=_trust(instance, client),
            trust_env=False,  # the lab's own addresses never need a proxy
            timeout=30,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def get(self, path: str) -> Object | None:
        """The object, or None."""
        try:
            return self._send("GET", path)
        except ApiError as error:
            if error.status == httpx.codes.NOT_FOUND:
                return None
            raise

    def items(self, path: str, *, labels: tuple[str, str] | None = None) -> list[Object]:
        """The objects of a collection (`/api/v1/nodes`), with that label if given."""
        params = {"labelSelector": "=".join(labels)} if labels else {}
        found: list[Object] = self._send("GET", path, params=params)["items"]
        return found

    def create(self, path: str, body: Mapping[str, Any]) -> Object:
        """A new object in a collection. Raises ApiError 409 if it exists."""
        return self._send("POST", path, json=body)

    def apply(self, path: str, body: Mapping[str, Any], *, manager: str = FIELD_MANAGER) -> Object:
        """Server-side apply: creates the object or sets our fields; other managers' fields stay."""
        return self._send(
            "PATCH",
            path,
            params={"fieldManager": manager, "force": "true"},
            json=body,
            headers={"content-type": "application/apply-patch+yaml"},
        )

    def delete(self, path: str, *, missing_ok: bool = True) -> None:
        try:
            self._send("DELETE", path, params={"propagationPolicy": "Background"})
        except ApiError as error:
            if not (missing_ok and error.status == httpx.codes.NOT_FOUND):
                raise

    def nodes(self, *, labels: tuple[str, str] | None = None) -> list[Object]:
        return self.items("/api/v1/nodes", labels=labels)

    def pods(self) -> list[Object]:
        """All pods of all namespaces."""
        return self.items("/api/v1/pods")

    def wait_for_nodes(self, names: set[str], *, within_s: float = 60) -> None:
        """Wait until those nodes are Ready. Raises LabError naming those that are not."""
        wait_until(
            lambda: names - {name_of(node) for node in self.nodes() if is_ready(node)},
            within_s=within_s,
            what="nodes that are not Ready",
        )

    def text(self, path: str) -> str:
        """A non-object answer: a pod's log (`/api/v1/namespaces/a/pods/b/log`)."""
        return self._request("GET", path).text

    def _send(self, method: str, path: str, **options: Any) -> Object:
        found: Object = self._request(method, path, **options).json()
        return found

    def _request(self, method: str, path: str, **options: Any) -> httpx.Response:
        try:
            response = self._http.request(method, path, **options)
        except httpx.HTTPError as error:
            raise LabError(f"the API server at {self._http.base_url} does not answer ({error}): `make up`") from error
        if response.is_error:
            raise ApiError(method, path, response.status_code, _message(response))
        return response


def wait_until(missing: Callable[[], set[str]], *, within_s: float, what: str) -> None:
    """Wait until nothing is missing. Raises LabError with the rest."""
    deadline = time.monotonic() + within_s
    while left := missing():
        if time.monotonic() > deadline:
            raise LabError(f"{what} after {within_s:.0f} s: {', '.join(sorted(left))}")
        time.sleep(0.2)


def name_of(node: Mapping[str, Any]) -> str:
    return str(node["metadata"]["name"])


def is_ready(node: Mapping[str, Any]) -> bool:
    """Whether the condition Ready of a node or pod is true."""
    conditions = node.get("status", {}).get("conditions", [])
    return any(condition["type"] == "Ready" and condition["status"] == "True" for condition in conditions)


def answers(instance: Instance, url: str, *, client: str = "admin") -> Probe:
    """A health probe: whether `url` returns 200 to that client of the lab's authority.

    Not with httpx: a server that is not up yet must raise OSError, and a probe runs ten times a second.
    """
    where = urlsplit(url)
    trust: list[ssl.SSLContext] = []  # created on the first call: servers are described before certificates exist

    def probe() -> bool:
        if not trust:
            trust.append(_trust(instance, client))
        connection = http.client.HTTPSConnection(where.hostname or "", where.port, timeout=2, context=trust[0])
        try:
            connection.request("GET", where.path)
            return connection.getresponse().status == http.HTTPStatus.OK
        except http.client.HTTPException:
            return False
        finally:
            connection.close()

    return probe


def _trust(instance: Instance, client: str) -> ssl.SSLContext:
    files = certificates.pair(instance, client)
    context = ssl.create_default_context(cafile=certificates.authority(instance))
    context.load_cert_chain(files.certificate, files.key)
    return context


def _message(response: httpx.Response) -> str:
    try:
        return str(response.json().get("message", response.text))
    except ValueError:
        return response.text
