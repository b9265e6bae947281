"""Runs inside the built image, without network: is the proxy what its spec says, and does it answer?"""

from collections.abc import Iterator

import verifying

API = "http://127.0.0.1:8001/api/routes"
COMMAND = ["configurable-http-proxy", "--ip", "127.0.0.1", "--api-ip", "127.0.0.1"]
ENV = {"CONFIGPROXY_AUTH_TOKEN": "verify"}


def problems() -> Iterator[str]:
    """What is not as it should be: the API tells its routes to whoever has the token, and to nobody else."""
    token = ENV["CONFIGPROXY_AUTH_TOKEN"]
    yield from verifying.server_problems(COMMAND, {API: "{"}, env=ENV, token=token, closed=[API])


if __name__ == "__main__":
    verifying.check(problems(), "the proxy answers")
