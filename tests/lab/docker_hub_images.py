"""Images for tests of a hub on a Docker engine: Debian with what each part needs."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Final

from imaging.build.render import NPM, UV
from lab import image_pushes
from lab.instance import Instance
from lab.machine import debian
from lab.toolchain import Toolchain

# Versions as in the images of the project; a kernel's image has no server, a server's no gateway.
HUB: Final = (
    "jupyterhub==5.5.4",
    "dockerspawner==14.0.0",
    "docker==7.2.0",
    "jupyterhub-idle-culler==2.0.0",
    "oauthenticator==17.4.0",
)
GATEWAY: Final = ("jupyter_kernel_gateway==3.0.1", "docker==7.2.0")
SERVER: Final = ("jupyterhub==5.5.4", "jupyterlab==4.4.10", "ipykernel==7.4.0")
KERNEL: Final = ("ipykernel==7.4.0",)
PROXY: Final = "configurable-http-proxy@4.6.3"

_INSTALL: Final = "RUN --mount=type=bind,source=ca.crt,target=/run/ca.crt --mount=type=cache,target=/root/.cache"
_PIP: Final = "PIP_CERT=/run/ca.crt /opt/tools/bin/pip install --disable-pip-version-check"
# As images of the project are built: pip takes half a minute for what uv does in seconds, and Debian's npm is 363
# packages. The image itself has neither.
_TOOLS: Final = f"FROM debian AS tools\n{_INSTALL} python3 -m venv /opt/tools && {_PIP} {UV} {NPM}"
_WITH_TOOLS: Final = f"{_INSTALL} --mount=type=bind,from=tools,source=/opt/tools,target=/opt/tools"
_UV: Final = "UV_LINK_MODE=copy SSL_CERT_FILE=/run/ca.crt /opt/tools/bin/uv"
_USER: Final = (
    "RUN useradd --uid 1000 --no-user-group --gid 100 --create-home jovyan && install -d -o 1000 /srv/jupyterhub"
)


def python_image(instance: Instance, name: str, packages: tuple[str, ...]) -> str:
    """An image with these packages from PyPI for the user 1000, by digest."""
    install = f"{_UV} pip install --python /opt/python/bin/python --compile-bytecode {' '.join(packages)}"
    steps = [
        f"{_WITH_TOOLS} {_UV} venv --python /usr/bin/python3 /opt/python && {install}",
        "ENV PATH=/opt/python/bin:$PATH",
        _USER,
        f'ENV LAB_IMAGE="{name}"',
        'ENTRYPOINT ["tini", "-g", "--"]',
        "WORKDIR /home/jovyan",
        "USER 1000:100",
    ]
    return _pushed(instance, name, steps)


def proxy_image(instance: Instance) -> str:
    """The proxy of JupyterHub for the user nobody, by digest."""
    steps = [
        "RUN apt-get update -q && apt-get install -qy --no-install-recommends nodejs",
        f"{_WITH_TOOLS} PATH=/opt/tools/bin:$PATH npm install -g --prefix /usr/local --cafile /run/ca.crt {PROXY}",
        "USER 65534:65534",
        'ENTRYPOINT ["tini", "-g", "--", "configurable-http-proxy"]',
    ]
    return _pushed(instance, "proxy", steps)


def filter_image(instance: Instance) -> str:
    """Debian's HAProxy with a place for its configuration, by digest."""
    steps = [
        "RUN apt-get update -q && apt-get install -qy --no-install-recommends haproxy && mkdir /etc/gpu-commons",
        'ENTRYPOINT ["tini", "-g", "--"]',
        'CMD ["haproxy", "-f", "/etc/gpu-commons/engine_filter.cfg"]',
    ]
    return _pushed(instance, "filter", steps)


def all_images(instance: Instance) -> dict[str, str]:
    """Every image of a hub, by what it is for."""
    made = {"hub": HUB, "gateway": GATEWAY, "server": SERVER, "kernel": KERNEL}
    return {
        "filter": filter_image(instance),
        "proxy": proxy_image(instance),
        **{name: python_image(instance, name, packages) for name, packages in made.items()},
    }


def _pushed(instance: Instance, name: str, steps: list[str]) -> str:
    tools = Toolchain()
    debian.make_rootfs(tools, lambda _: None)
    bundle = ssl.get_default_verify_paths().cafile or "/etc/ssl/certs/ca-certificates.crt"
    repository = f"{instance.registry_address}/lab/{name}"
    context = {debian.ROOTFS: debian.rootfs(), "ca.crt": Path(bundle)}
    base = debian.DOCKERFILE.replace("FROM scratch", "FROM scratch AS debian")
    dockerfile = "\n".join([base, _TOOLS, "FROM debian", *steps, ""])
    digest = image_pushes.push(instance, tools, f"{repository}:1", dockerfile, context)
    return f"{repository}@{digest}"
