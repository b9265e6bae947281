"""What stands before a hub with single sign-on: an identity provider, and the TLS that ends in front of the hub.

Both have certificates of one private authority. The provider is oidc-provider-mock: it knows one client by its secret,
and lets everybody be whom they say they are.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import ssl
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import httpx
import trustme


@dataclass(frozen=True)
class Client:
    """A client as the provider knows it."""

    id: str
    secret: str


@dataclass(frozen=True)
class Provider:
    """An OpenID Connect provider that answers on `url`."""

    url: str
    authority: trustme.CA

    @property
    def certificates(self) -> str:
        """PEM text of its authority."""
        return self.authority.cert_pem.bytes().decode()

    def register(self, callback_url: str) -> Client:
        """A new client, as an operator registers it. Like JupyterHub, it shows its secret in the body of requests."""
        trust = ssl.create_default_context(cadata=self.certificates)
        wanted = {"redirect_uris": [callback_url], "token_endpoint_auth_method": "client_secret_post"}
        answer = httpx.post(f"{self.url}/oauth2/clients", json=wanted, verify=trust).raise_for_status().json()
        return Client(answer["client_id"], answer["client_secret"])


@contextlib.contextmanager
def provider(address: str) -> Iterator[Provider]:
    """A provider on a free port of `address`, which browser and hub must both reach."""
    import oidc_provider_mock  # noqa: PLC0415 - collecting tests need not load a web framework
    from werkzeug.serving import make_server  # noqa: PLC0415

    authority = trustme.CA()
    app = oidc_provider_mock.app(require_client_registration=True)
    server = make_server(address, 0, app, threaded=True, ssl_context=_context(authority, address))
    thread = threading.Thread(target=server.serve_forever, name="identity provider")
    thread.start()
    try:
        yield Provider(f"https://{address}:{server.server_port}", authority)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextlib.contextmanager
def tls_before(port: int, authority: trustme.CA) -> Iterator[str]:
    """HTTPS on a free loopback port, passed on to `port`: what a site's load balancer does. Yields the address."""
    started: queue.Queue[tuple[str, Callable[[], object]]] = queue.Queue()

    async def passed_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        inner_reader, inner_writer = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.gather(_copy(reader, inner_writer), _copy(inner_reader, writer))

    async def serve() -> None:
        server = await asyncio.start_server(passed_on, "127.0.0.1", 0, ssl=_context(authority, "127.0.0.1"))
        done, loop = asyncio.Event(), asyncio.get_running_loop()
        address = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        started.put((address, lambda: loop.call_soon_threadsafe(done.set)))
        await done.wait()
        server.close()  # the end of the loop ends open connections

    thread = threading.Thread(target=lambda: asyncio.run(serve()), name="TLS before the hub")
    thread.start()
    address, end = started.get(timeout=10)
    try:
        yield address
    finally:
        end()
        thread.join()


async def _copy(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while part := await source.read(65536):
            sink.write(part)
            await sink.drain()
    with contextlib.suppress(OSError):
        sink.close()


def _context(authority: trustme.CA, host: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(host).configure_cert(context)
    return context
