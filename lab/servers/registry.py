"""The lab's registry: Debian's docker-registry on 127.0.0.1, plain HTTP, with deletion enabled."""

from __future__ import annotations

import urllib.request
from typing import TYPE_CHECKING

import yaml

from lab import files
from lab.processes import Server

if TYPE_CHECKING:
    from lab.instance import Instance
    from lab.servers import Tools

HTTP_OK = 200


def server(instance: Instance, tools: Tools) -> Server:
    """The registry of `instance`; writes its configuration file."""
    config = files.write(instance.config / "registry.yaml", yaml.safe_dump(configuration(instance), sort_keys=False))
    url = f"http://{instance.registry_address}/v2/"
    return Server(
        name="registry",
        argv=[str(tools.path("docker-registry")), "serve", str(config)],
        ready=lambda: _answers(url),
        ready_within_s=20,
        env={"OTEL_TRACES_EXPORTER": "none"},  # later releases would look for a collector on localhost
        files=[config],
    )


def configuration(instance: Instance) -> dict[str, object]:
    return {
        "version": "0.1",
        "log": {"level": "warn", "accesslog": {"disabled": True}},
        "storage": {
            "filesystem": {"rootdirectory": str(instance.data / "registry")},
            # The provider deletes manifests of images that leave the stack; Debian's default refuses that (405).
            "delete": {"enabled": True},
            "maintenance": {"uploadpurging": {"enabled": True, "age": "24h", "interval": "24h", "dryrun": False}},
        },
        "http": {"addr": instance.registry_address},
    }


def _answers(url: str) -> bool:
    with urllib.request.urlopen(url, timeout=2) as answer:  # noqa: S310 - our own http:// URL
        return bool(answer.status == HTTP_OK)
