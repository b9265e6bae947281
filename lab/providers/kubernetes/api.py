"""The API server: requests with bounded retries, typed errors, discovery cached for the plugin's life."""

from __future__ import annotations

import json
import random
import ssl
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

import urllib3
from urllib3.exceptions import ConnectTimeoutError, HTTPError, InsecureRequestWarning, NewConnectionError, SSLError

from lab.providers.kubernetes.kinds import Served
from lab.providers.kubernetes.kubeconfig import Cluster
from lab.providers.values import Properties
from lab.providers.vocabulary import CancelledError, PluginError

APPLY: Final = "application/apply-patch+yaml"
JSON: Final = "application/json"
CONNECT_TIMEOUT_S: Final = 5
READ_TIMEOUT_S: Final = 60
PATIENCE_S: Final = 30.0  # how long a change waits for a server that went away
DOUBT_S: Final = 8.0  # the same for one that has never answered: more likely a wrong address than an outage
GLANCE_S: Final = 2.0  # the same for a preview, which can go on without a server
SILENCE_S: Final = 2.0  # after that, people wonder
DOWN_FOR_S: Final = 10.0  # after that, the next request retries fully
BUSY: Final = frozenset({429, 502, 503, 504})


class ApiError(PluginError):
    """The server's refusal, in its own words."""

    def __init__(self, status: int, answer: Mapping[str, Any]) -> None:
        super().__init__(str(answer.get("message") or f"the API server answered {status}"))
        self.status = status
        self.reason = str(answer.get("reason") or "")
        causes = (answer.get("details") or {}).get("causes") or ()
        self.causes = [(str(each.get("field") or ""), str(each.get("message") or "")) for each in causes]


class UnreachableError(PluginError):
    """No answer. `may_have_arrived`: the request was sent and only its answer is missing."""

    def __init__(self, message: str, *, may_have_arrived: bool) -> None:
        super().__init__(message)
        self.may_have_arrived = may_have_arrived


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    body: Properties
    warnings: tuple[str, ...] = ()


class ApiServer:
    """One server. Thread-safe."""

    def __init__(
        self, cluster: Cluster, wait: Callable[[float], None], tell: Callable[[str], None] = lambda _: None
    ) -> None:
        self.cluster = cluster
        self._wait = wait  # a sleep that a cancellation ends
        self._tell = tell  # one line for each outage of the server
        self._pool = urllib3.PoolManager(
            num_pools=1,
            maxsize=64,
            retries=False,
            timeout=urllib3.Timeout(connect=CONNECT_TIMEOUT_S, read=READ_TIMEOUT_S),
            ssl_context=_ssl_context(cluster),
            assert_hostname=None if cluster.verify else False,
            server_hostname=cluster.server_name,
        )
        self._served: dict[str, dict[str, Served]] = {}
        self._lock = threading.Lock()
        self._down_until = 0.0
        self._has_answered = False
        self._is_reported = False
        self._token = ""

    def get(self, path: str, *, query: Mapping[str, str] | None = None, patience_s: float = PATIENCE_S) -> Properties:
        return self.request("GET", path, query=query, patience_s=patience_s).body

    def find(self, path: str, *, patience_s: float = PATIENCE_S) -> Properties | None:
        """The object, or None."""
        try:
            return self.get(path, patience_s=patience_s)
        except ApiError as error:
            if error.status == 404:
                return None
            raise

    def log(self, path: str, query: Mapping[str, str]) -> str:
        """A container's log; empty if it cannot be read, because it only ever supplements a message."""
        try:
            response = self._send("GET", path + "?" + urlencode(query), None, JSON)
        except (HTTPError, OSError):
            return ""
        return response.data.decode(errors="replace") if response.status == 200 else ""

    def request(  # noqa: PLR0913 - the parts of a request are what they are
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Any = None,
        content_type: str = JSON,
        patience_s: float = PATIENCE_S,
    ) -> Answer:
        """One request, repeated with growing, jittered pauses while the server is away or busy.

        Raises ApiError for a refusal and UnreachableError after `patience_s`. POST is not repeated once it may have
        arrived; all other methods may be sent twice without harm.
        """
        target = path + ("?" + urlencode(query) if query else "")
        data = json.dumps(body).encode() if body is not None else None
        if not self._has_answered:
            patience_s = min(patience_s, DOUBT_S)
        if time.monotonic() < self._down_until:
            patience_s = 0.0  # somebody else has waited: one try, so that one outage costs one wait
        started = time.monotonic()
        may_have_arrived = False
        pause_s = 0.2
        while True:
            try:
                response = self._send(method, target, data, content_type)
            except (HTTPError, OSError) as error:
                may_have_arrived |= not isinstance(error, NewConnectionError | ConnectTimeoutError)
                is_final = _is_distrust(error) or (method == "POST" and may_have_arrived)
                self._bear(error, started, pause_s, 0.0 if is_final else patience_s, may_have_arrived=may_have_arrived)
            else:
                self._down_until = 0.0
                self._has_answered = True
                self._is_reported = False
                if not _is_busy(response) or time.monotonic() - started + pause_s > patience_s:
                    return self._answer(response)
            self._pause(pause_s, may_have_arrived=may_have_arrived and method != "GET")
            pause_s = min(pause_s * 2, 3.0)

    def _bear(
        self, error: Exception, started: float, pause_s: float, patience_s: float, *, may_have_arrived: bool
    ) -> None:
        """Continue after a lost connection while patience is left, and report it; else raise UnreachableError."""
        waited_s = time.monotonic() - started
        if patience_s > SILENCE_S and waited_s + pause_s > SILENCE_S and not self._is_reported:
            self._is_reported = True
            self._tell(f"{self.cluster.server} does not answer; trying for {patience_s:.0f} s")
        if waited_s + pause_s > patience_s:
            self._down_until = time.monotonic() + DOWN_FOR_S
            raise self._unreachable(error, waited_s, may_have_arrived=may_have_arrived) from error

    def _pause(self, seconds: float, *, may_have_arrived: bool) -> None:
        try:
            self._wait(seconds * random.uniform(0.5, 1.5))  # noqa: S311 - jitter: 80 requests must not come back at once
        except CancelledError as error:
            if may_have_arrived:
                raise UnreachableError("cancelled before the answer came", may_have_arrived=True) from error
            raise

    def served(self, api_version: str, kind: str, *, patience_s: float = PATIENCE_S) -> Served | None:
        """How this server serves a kind; None if it does not (yet: a definition may come later)."""
        known = self._served.get(api_version, {})
        if kind not in known:
            with self._lock:  # 80 parallel checks ask once
                known = self._served.get(api_version, {})
                if kind not in known:
                    known = self._served[api_version] = self._discover(api_version, patience_s)
        return known.get(kind)

    def _discover(self, api_version: str, patience_s: float) -> dict[str, Served]:
        root = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
        listing = self.find(root, patience_s=patience_s) or {}
        return {
            str(each["kind"]): Served(api_version, str(each["kind"]), str(each["name"]), bool(each["namespaced"]))
            for each in listing.get("resources", ())
            if "/" not in each["name"]  # pods/log and the like are parts of an object
        }

    def _send(self, method: str, target: str, data: bytes | None, content_type: str) -> urllib3.BaseHTTPResponse:
        for is_last in (False, True):
            headers = {"Accept": JSON, "User-Agent": "gpu-commons-stand-in"}
            if data is not None:
                headers["Content-Type"] = content_type
            headers.update(self._authorization(renew=is_last))
            response = self._pool.request(method, self.cluster.server + target, body=data, headers=headers)
            if response.status != 401 or not self.cluster.plugin:
                break
        return response

    def _authorization(self, *, renew: bool) -> dict[str, str]:
        cluster = self.cluster
        if cluster.plugin:
            if renew or not self._token:
                self._token = _login(*cluster.plugin)
            return {"Authorization": self._token} if self._token else {}
        if cluster.token_file:
            return {"Authorization": f"Bearer {Path(cluster.token_file).read_text().strip()}"}  # the token is rotated
        if cluster.token:
            return {"Authorization": f"Bearer {cluster.token}"}
        return urllib3.make_headers(basic_auth=":".join(cluster.basic)) if cluster.basic else {}

    def _answer(self, response: urllib3.BaseHTTPResponse) -> Answer:
        try:
            body = json.loads(response.data) if response.data else {}
        except ValueError:
            body = {"message": response.data[:300].decode(errors="replace")}
        if response.status >= 400:
            raise ApiError(response.status, body if isinstance(body, dict) else {})
        warnings = [each.split('"')[1] for each in response.headers.getlist("Warning") if each.count('"') >= 2]
        return Answer(response.status, body, tuple(warnings))

    def _unreachable(self, error: Exception, waited_s: float, *, may_have_arrived: bool) -> UnreachableError:
        why = str(error).rpartition(": ")[2]
        tried = f", tried for {waited_s:.0f} s" if waited_s >= 1 else ""
        return UnreachableError(
            f"the Kubernetes API server {self.cluster.server} cannot be reached: {why}{tried}. "
            f"Start it, or correct its address ({self.cluster.origin}); then run the same command again",
            may_have_arrived=may_have_arrived,
        )


def _is_distrust(error: Exception) -> bool:
    """An untrusted certificate stays untrusted; any other TLS fault is a broken connection."""
    return isinstance(error, SSLError) and isinstance(error.args[0], ssl.SSLCertVerificationError)


def _is_busy(response: urllib3.BaseHTTPResponse) -> bool:
    # The second kind of 409: several creates at once count against one quota. (The first: fields of other managers.)
    return response.status in BUSY or (response.status == 409 and b"cannot be fulfilled" in response.data)


def _ssl_context(cluster: Cluster) -> ssl.SSLContext:
    context = ssl.create_default_context(cadata=cluster.ca.decode() if cluster.ca else None)
    if not cluster.verify:
        urllib3.disable_warnings(InsecureRequestWarning)  # the kubeconfig asks for it
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if cluster.certificate and cluster.key:
        with tempfile.NamedTemporaryFile() as pair:  # Python reads a certificate from files only; mode 0600
            pair.write(cluster.certificate + b"\n" + cluster.key)
            pair.flush()
            context.load_cert_chain(pair.name)
    return context


def _login(config: dict[str, Any], context: str) -> str:
    """The Authorization header of a user with a login program, from the official loader."""
    # Imported here: it costs a quarter of a second that only such users need to pay.
    from kubernetes import client  # type: ignore[import-untyped] # noqa: PLC0415
    from kubernetes.config.kube_config import KubeConfigLoader  # type: ignore[import-untyped] # noqa: PLC0415

    configuration = client.Configuration()
    KubeConfigLoader(config_dict=config, active_context=context).load_and_set(configuration)
    return str(configuration.api_key.get("authorization", ""))
