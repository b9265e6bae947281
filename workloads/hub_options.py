"""JupyterHub and server options common to all platforms: login, culling, restarts. Pure.

Section and option names are those of traitlets: jupyterhub 5.5, jupyter_server 2.21.
"""

from typing import Any

from workloads.authenticator import Login
from workloads.hub import Cull


def jupyterhub_options(login: Login, public_url: str | None, cull: Cull) -> dict[str, Any]:
    """Hub options."""
    return {
        "authenticator_class": login.class_name,
        # Servers survive a hub restart, and the proxy, a separate process, keeps the routes.
        "cleanup_proxy": False,
        "cleanup_servers": False,
        # Also the interval for comparing routes with the proxy: a restarted proxy has lost them all.
        "last_activity_interval": 60,
        "load_roles": [
            {
                "name": "idle-culler",
                "scopes": ["list:users", "read:users:activity", "read:servers", "delete:servers"],
                "services": ["idle-culler"],
            }
        ],
        **({"public_url": f"{public_url}/"} if public_url else {}),
        "services": [{"command": _culler(cull), "name": "idle-culler"}],
        # Show the progress page at once: a start takes longer than the default ten seconds on a blank page.
        "tornado_settings": {"slow_spawn_timeout": 0},
        "upgrade_db": True,
    }


def _culler(cull: Cull) -> list[str]:
    return [
        "python3",
        "-m",
        "jupyterhub_idle_culler",
        f"--timeout={cull.idle_s}",
        f"--cull-every={cull.every_s}",
        f"--max-age={cull.max_age_s}",
    ]


def login_sections(login: Login) -> dict[str, dict[str, Any]]:
    """Common and own options of a login."""
    return {
        "Authenticator": {
            "admin_users": list(login.admins),
            "allow_all": login.allow_all,
            "allowed_users": list(login.allowed_users),
        },
        **({login.class_name.rpartition(".")[2]: dict(login.options)} if login.options else {}),
    }


def kernel_culling(cull: Cull) -> list[str]:
    """Arguments of a user's server: idle kernels end; a GPU is released when its server ends."""
    return [
        f"--MappingKernelManager.cull_idle_timeout={cull.kernel_idle_s or cull.idle_s}",
        f"--MappingKernelManager.cull_interval={min(cull.every_s, 300)}",
    ]
