"""A hub of the tests has nothing around it."""

from __future__ import annotations

from typing import Any

from jupyterhub.proxy import Proxy


class NoProxy(Proxy):
    """Browsers talk to the hub itself."""

    should_start = False

    async def add_route(self, routespec: str, target: str, data: Any) -> None: ...

    async def delete_route(self, routespec: str) -> None: ...

    async def get_all_routes(self) -> dict[str, Any]:
        return {}


def alone(c: Any, port: int) -> None:
    """Change its configuration: no proxy, no services, nothing that stays."""
    c.JupyterHub.proxy_class = NoProxy
    c.JupyterHub.hub_bind_url = c.JupyterHub.hub_connect_url = f"http://127.0.0.1:{port}"
    c.JupyterHub.db_url = "sqlite://"
    c.JupyterHub.cookie_secret = b"0" * 32
    c.JupyterHub.services = []
    c.JupyterHub.load_roles = []
