"""Runs inside the built image, without network: does HAProxy start, answer, and have what its filter needs?"""

import pathlib
import tempfile
from collections.abc import Iterator

import verifying

CONFIG = r"""
defaults
    mode http
    timeout client 10s
    timeout server 10s
    timeout connect 5s
frontend filter
    bind 127.0.0.1:8000
    http-request return status 200 content-type text/plain string open if { url -m reg '\A/(?<word>open)\z' }
    http-request deny
"""


def problems() -> Iterator[str]:
    """What is not as it should be: HAProxy has PCRE2 with its compiler, and lets one address through."""
    yield from verifying.run_problems(["haproxy", "-vv"], "USE_PCRE2_JIT=1")
    with tempfile.TemporaryDirectory() as folder:
        config = pathlib.Path(folder, "filter.cfg")
        config.write_text(CONFIG)
        command = ["haproxy", "-f", str(config)]
        url = "http://127.0.0.1:8000"
        yield from verifying.server_problems(command, {f"{url}/open": "open"}, closed=[f"{url}/closed"])


if __name__ == "__main__":
    verifying.check(problems(), "HAProxy lets through what it is told, and nothing else")
