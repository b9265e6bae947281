"""The emulator as one WSGI application: it answers EKS itself and passes the rest to moto.

The signature of a request names its service and region; it is not verified.
"""

from __future__ import annotations

import json
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from lab.aws_emulator import eks
from lab.aws_emulator.cloud import Cloud
from lab.aws_emulator.eks_state import Endpoint, State, Values, fresh_id
from lab.aws_emulator.faults import ServiceFault
from lab.aws_emulator.rest_json import Protocol, render

Environment = dict[str, Any]
Application = Callable[[Environment, Any], Iterable[bytes]]
SCOPE: Final = re.compile(r"Credential=[^/]+/\d+/(?P<region>[\w-]+)/(?P<service>[\w-]+)/aws4_request")
ANSWERED: Final = "/lab/answered"
ACCOUNT_ID: Final = "/lab/account"
RESET: Final = "/moto-api/reset"  # moto's own path for it
STATUS: Final = {200: "OK", 400: "Bad Request", 404: "Not Found", 409: "Conflict", 501: "Not Implemented"}


@dataclass
class Emulator:
    """`cloud_of(region)` gives EKS the account's other services."""

    moto: Application
    cloud_of: Callable[[str], Cloud]
    log: Callable[[str], None]
    endpoint: Endpoint = field(default_factory=Endpoint)
    identity: str = field(default_factory=fresh_id)  # changes whenever everything is forgotten
    _protocol: Protocol = field(default_factory=lambda: Protocol("eks"))
    _regions: dict[str, State] = field(default_factory=dict)
    _answered: Counter[str] = field(default_factory=Counter)
    _counting: threading.Lock = field(default_factory=threading.Lock)
    # A separate lock: EKS holds it while it calls moto behind this same application.
    _changing: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self, environ: Environment, start_response: Any) -> Iterable[bytes]:
        path = environ.get("PATH_INFO", "")
        if path == ANSWERED:
            return _respond(start_response, 200, json.dumps(self.answered()).encode())
        if path == ACCOUNT_ID:
            return _respond(start_response, 200, json.dumps({"id": self.identity}).encode())
        if path == RESET:
            self._forget()
        scope = SCOPE.search(environ.get("HTTP_AUTHORIZATION", ""))
        if scope is None or scope["service"] != "eks":
            self._count(f"moto {scope['service']}" if scope else "")
            return self.moto(environ, start_response)
        return self._eks(environ, start_response, scope["region"])

    def answered(self) -> dict[str, int]:
        """Calls by who answered them: `lab eks CreateCluster`, `moto ec2`."""
        with self._counting:
            return dict(self._answered)

    def _eks(self, environ: Environment, start_response: Any, region: str) -> Iterable[bytes]:
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        path = str(environ.get("RAW_URI", environ["PATH_INFO"])).partition("?")[0]
        called = path
        try:
            call = self._protocol.call(environ["REQUEST_METHOD"], path, environ.get("QUERY_STRING", ""), body)
            called = call.operation
            self._count(f"lab eks {called}")
            with self._changing:
                answer: Values = eks.answer(self._state(region), call)
                rendered = render(answer)
        except ServiceFault as fault:
            self.log(f"lab eks {called}: {fault.code}: {fault.message}")
            rendered = json.dumps({"message": fault.message}).encode()
            return _respond(start_response, fault.status, rendered, error=fault.code)
        self.log(f"lab eks {called}")
        return _respond(start_response, 200, rendered)

    def _state(self, region: str) -> State:
        if region not in self._regions:
            self._regions[region] = State(region, self.cloud_of(region), self.endpoint)
        return self._regions[region]

    def _count(self, who: str) -> None:
        if who:
            with self._counting:
                self._answered[who] += 1

    def _forget(self) -> None:
        with self._changing, self._counting:
            self._regions.clear()
            self._answered.clear()
            self.identity = fresh_id()


def _respond(start_response: Any, status: int, body: bytes, error: str = "") -> list[bytes]:
    headers = [("Content-Type", "application/json"), ("Content-Length", str(len(body)))]
    if error:
        headers.append(("x-amzn-ErrorType", error))
    start_response(f"{status} {STATUS.get(status, 'Error')}", headers)
    return [body]
