"""Credentials that AWS no longer takes: one error, with the service's own word and what it may mean."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator

import pytest

from lab.providers.aws.api import AwsError, Services
from lab.providers.aws.configuration import Settings

# As STS and EC2 answer in XML: https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html
EXPIRED = b"""<?xml version="1.0" encoding="UTF-8"?>
<ErrorResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><Error><Type>Sender</Type><Code>ExpiredToken</Code>
<Message>The security token included in the request is expired</Message></Error><RequestId>1</RequestId></ErrorResponse>
"""


class Expired(http.server.BaseHTTPRequestHandler):
    """Answers every call as AWS answers one with an expired token."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(403)
        self.send_header("Content-Length", str(len(EXPIRED)))
        self.end_headers()
        self.wfile.write(EXPIRED)

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture
def endpoint() -> Iterator[str]:
    with http.server.HTTPServer(("127.0.0.1", 0), Expired) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.mark.slow
def test_expired_credentials_are_one_error_in_the_services_words(endpoint: str) -> None:
    settings = Settings(region="us-east-1", access_key="old", secret_key="older", token="oldest", endpoint=endpoint)
    with pytest.raises(AwsError) as refused:
        Services(settings).call("sts", "GetCallerIdentity", {})
    assert str(refused.value) == (
        "GetCallerIdentity: ExpiredToken: The security token included in the request is expired; "
        "the credentials may have expired, or are those of another account"
    )
