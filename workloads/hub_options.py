"""JupyterHub and server options common to all platforms: login rules and kernel culling. Pure.

Section and option names are those of traitlets: jupyterhub 5.5, jupyter_server 2.21.
"""

from __future__ import annotations

from typing import Any

from workloads.authenticator import Login
from workloads.hub import Cull


def jupyterhub_options(login: Login, public_url: str | None) -> dict[str, Any]:
    """Hub options."""
    return {"authenticator_class": login.class_name, **({"public_url": f"{public_url}/"} if public_url else {})}


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
