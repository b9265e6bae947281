"""The site overlay of a lab (`GPU_COMMONS_SITE`): the only file that tells the product about the lab."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import yaml

from lab import files
from lab.servers import buildkit, docker

if TYPE_CHECKING:
    from lab.bases import Substitute
    from lab.instance import Instance

ADMIN: Final = "admin"  # logs in to hubs with a password of its own
CORE_POOL: Final = "core_pool"
ENGINES: Final = "engines"
SLURM: Final = "slurm"
AUTHENTICATOR: Final = "authenticator"  # its administrator has an account on the lab's Slurm, not on the stack's
OF_A_STACK: Final = {CORE_POOL, ENGINES, SLURM, AUTHENTICATOR}
FOLDER: Final = "gpu-commons"  # of our images in the lab's registry
# Where people with registries behind a private authority keep its certificates; the first existing file counts.
CA_VARIABLES: Final = ("PIP_CERT", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS")
LOCAL_AUTHORITIES: Final = Path("/usr/local/share/ca-certificates")
SYSTEM_BUNDLE: Final = Path("/etc/ssl/certs/ca-certificates.crt")


def path(instance: Instance) -> Path:
    return instance.config / "site.yaml"


def write(
    instance: Instance,
    substitutes: Iterable[Substitute],
    *,
    core_pool: str | None = None,
    hosts: Sequence[str] = (),
    slurm: Mapping[str, Any] | None = None,
) -> Path:
    """Write the overlay of `instance`; registry, kubeconfig and substitutes must be known by now.

    `core_pool`: the real node's pool, if the hub moves to it; `hosts`: pools on the lab's Docker engine; `slurm`: the
    address of the lab's Slurm.
    """
    values = overlay(instance, substitutes, ca_bundle=ca_bundle(os.environ))
    engines = {name: docker.address(instance) for name in hosts}
    keys = ((CORE_POOL, core_pool), (ENGINES, engines), (SLURM, slurm))
    of_stack = {key: value for key, value in keys if value}
    return _write(instance, {**values, **of_stack})


def forget_stack(instance: Instance) -> None:
    """Remove what fits one stack from the overlay: the next may have no such pool, and other accounts."""
    values = yaml.safe_load(path(instance).read_text(encoding="utf-8")) if path(instance).exists() else None
    if values and OF_A_STACK & {*values}:
        _write(instance, {key: value for key, value in values.items() if key not in OF_A_STACK})


def _write(instance: Instance, values: Mapping[str, Any]) -> Path:
    text = HEAD + yaml.safe_dump(dict(values), sort_keys=False, allow_unicode=True, width=120)
    return files.write(path(instance), text)


HEAD: Final = "# Written by `make up`: what is different in this lab. Changes are lost at the next `make up`.\n"


def overlay(instance: Instance, substitutes: Iterable[Substitute], *, ca_bundle: Path | None) -> dict[str, Any]:
    """The keys of `site` that a lab replaces."""
    return {
        "lab": True,
        "name": f"lab-{instance.name}",
        "registry": f"{instance.registry_address}/{_folder(instance)}",
        "allowed_registries": [instance.registry_address],
        "builder": buildkit.BUILDER,
        **({"ca_bundle": str(ca_bundle)} if ca_bundle else {}),
        AUTHENTICATOR: {"kind": "dummy", "admins": [ADMIN]},
        "kubeconfig": str(instance.kubeconfig),
        **_context(instance.kubeconfig),
        "substitutes": [each.as_setting() for each in substitutes],
    }


def _folder(instance: Instance) -> str:
    """The lab's image folder in its registry. In another lab's it is a separate one: `destroy` removes its images."""
    return f"{FOLDER}-{instance.name}" if instance.lender else FOLDER


def ca_bundle(
    environment: Mapping[str, str], *, local: Path = LOCAL_AUTHORITIES, system: Path = SYSTEM_BUNDLE
) -> Path | None:
    """The certificates that image builds must trust, if this machine has its own."""
    for name in CA_VARIABLES:
        if (value := environment.get(name)) and Path(value).is_file():
            return Path(value).resolve()
    return system if system.is_file() and any(local.rglob("*.crt")) else None


def _context(kubeconfig: Path) -> dict[str, str]:
    """Named, so that another current context is not used."""
    if not kubeconfig.is_file():
        return {}
    name = (yaml.safe_load(kubeconfig.read_text()) or {}).get("current-context")
    return {"kube_context": str(name)} if name else {}
