"""Identities in one lab: its authority, certificates, kubeconfigs and service-account key.

`ensure` creates what is missing, wrong or about to expire, and leaves the rest: running servers keep their files.
Kubeconfigs name files and hold no secrets, so Pulumi can keep one in its state, and a renewed certificate reaches
running clients without a restart.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import trustme
import yaml
from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key
from cryptography.x509.oid import NameOID

from lab.files import write
from lab.instance import Instance

LIFETIME = timedelta(days=365)
RENEW_BEFORE = timedelta(days=30)
NO_GROUP = "gpu-commons-lab"  # trustme's default is its own name, which Kubernetes would take for a group

CONTROL_PLANE_CLIENTS = ("admin", "controller-manager", "scheduler", "kwok", "kube-proxy")
NODE_CLIENT = "kubelet"


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate and its private key, as files (PEM)."""

    certificate: Path
    key: Path


@dataclass(frozen=True, slots=True)
class Subject:
    """What one certificate says: who it is (Kubernetes reads user and groups from it) and where it may serve."""

    name: str  # the name of its files
    user: str
    group: str = NO_GROUP
    hosts: tuple[str, ...] = ()  # names and addresses; without any it is only for a client

    @property
    def names(self) -> list[str]:
        """Its names, sorted. Never empty: Go refuses a certificate with an empty list of names."""
        return sorted(self.hosts or (self.name,))


def authority(instance: Instance) -> Path:
    """The certificate that everybody in this lab trusts."""
    return _folder(instance) / "ca.crt"


def pair(instance: Instance, name: str) -> Pair:
    """The certificate of that name (`apiserver`, `kubelet-serving`, …), written by `ensure`."""
    return Pair(_folder(instance) / f"{name}.crt", _folder(instance) / f"{name}.key")


def service_account_keys(instance: Instance) -> Pair:
    """The key that signs service-account tokens; `certificate` is its public half."""
    return Pair(_folder(instance) / "service-account.pub", _folder(instance) / "service-account.key")


def kubeconfig(instance: Instance, client: str) -> Path:
    """The kubeconfig of that client (`scheduler`, `kubelet`, …), from `ensure`; `admin` is the user's own."""
    return instance.kubeconfig if client == "admin" else instance.config / "kubeconfigs" / client


def subjects(instance: Instance, real_node: str | None) -> tuple[Subject, ...]:
    """All certificates of a lab. The node's exist only if there is a node."""
    networks = instance.networks
    loopback = ("localhost", "127.0.0.1")
    services = tuple(f"kubernetes{suffix}" for suffix in ("", ".default", ".default.svc", ".default.svc.cluster.local"))
    control_plane = (
        Subject(
            "apiserver",
            "kube-apiserver",
            hosts=(*loopback, networks.node_address, networks.first_service_address, *services),
        ),
        Subject("apiserver-kubelet-client", "kube-apiserver-kubelet-client", "system:masters"),
        Subject("etcd", "etcd", hosts=loopback),
        Subject("loopback", "gpu-commons-lab", hosts=loopback),  # health probes of controller manager and scheduler
        Subject("kwok-serving", "kwok", hosts=(*loopback, networks.node_address)),
        Subject("admin", "gpu-commons-admin", "system:masters"),
        Subject("controller-manager", "system:kube-controller-manager"),
        Subject("scheduler", "system:kube-scheduler"),
        Subject("kwok", "kwok"),
        Subject("kube-proxy", "system:kube-proxy"),
    )
    if real_node is None:
        return control_plane
    return (
        *control_plane,
        Subject(NODE_CLIENT, f"system:node:{real_node}", "system:nodes"),
        Subject("kubelet-serving", f"system:node:{real_node}", NO_GROUP, (real_node, *loopback, networks.node_address)),
    )


def ensure(instance: Instance, *, real_node: str | None, now: datetime | None = None) -> tuple[str, ...]:
    """Create certificates, keys and kubeconfigs, or renew them 30 days before they expire; names the written ones.

    A new authority replaces all certificates: running servers must then be restarted.
    """
    now = now or datetime.now(UTC)
    _folder(instance).mkdir(parents=True, exist_ok=True, mode=0o700)
    written = []
    files = pair(instance, "ca")
    # It must outlive every certificate it signs today, by the month in which that one is renewed.
    if (certificate := _load(files)) is None or certificate.not_valid_after_utc < now + LIFETIME + RENEW_BEFORE:
        made = trustme.CA(organization_name=NO_GROUP, organization_unit_name=instance.name)
        _write_pair(files, made.private_key_pem, made.cert_pem)
        written.append("ca")
    issuer = trustme.CA.from_pem(files.certificate.read_bytes(), files.key.read_bytes())
    for subject in subjects(instance, real_node):
        files = pair(instance, subject.name)
        if not _is_current(files, subject, issuer, now):
            issued = issuer.issue_cert(
                *subject.names,
                common_name=subject.user,
                organization_name=subject.group,
                organization_unit_name=instance.name,
                not_after=now + LIFETIME,
            )
            _write_pair(files, issued.private_key_pem, issued.cert_chain_pems[0])
            written.append(subject.name)
    files = service_account_keys(instance)
    if not (files.key.exists() and files.certificate.exists()):
        key = trustme.CA().private_key_pem
        public = load_pem_private_key(key.bytes(), password=None).public_key()
        write(files.key, key.bytes(), mode=0o600)
        write(files.certificate, public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo), mode=0o644)
        written.append("service-account")
    clients = (*CONTROL_PLANE_CLIENTS, *([NODE_CLIENT] if real_node else []))
    for client in clients:
        path = kubeconfig(instance, client)
        path.parent.mkdir(exist_ok=True, mode=0o700)
        write(path, render_kubeconfig(instance, client), mode=0o600)
    return tuple(written)


def render_kubeconfig(instance: Instance, client: str) -> str:
    name = f"gpu-commons-{instance.name}"
    files = pair(instance, client)
    return yaml.safe_dump(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [
                {
                    "name": name,
                    "cluster": {
                        "server": instance.apiserver_url,
                        "certificate-authority": str(authority(instance)),
                    },
                }
            ],
            "users": [
                {
                    "name": client,
                    "user": {"client-certificate": str(files.certificate), "client-key": str(files.key)},
                }
            ],
            "contexts": [{"name": name, "context": {"cluster": name, "user": client}}],
            "current-context": name,
        },
        sort_keys=False,
    )


def _folder(instance: Instance) -> Path:
    return instance.config / "certificates"


def _load(files: Pair) -> x509.Certificate | None:
    """The certificate on disk; None if missing, unreadable or (after a crash) not that of its key."""
    try:
        certificate = x509.load_pem_x509_certificate(files.certificate.read_bytes())
        key = load_pem_private_key(files.key.read_bytes(), password=None)
    except (FileNotFoundError, ValueError):
        return None
    return certificate if key.public_key() == certificate.public_key() else None


def _is_current(files: Pair, subject: Subject, issuer: trustme.CA, now: datetime) -> bool:
    certificate = _load(files)
    if certificate is None or certificate.not_valid_after_utc < now + RENEW_BEFORE:
        return False
    try:
        certificate.verify_directly_issued_by(x509.load_pem_x509_certificate(issuer.cert_pem.bytes()))
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (InvalidSignature, ValueError, TypeError, x509.ExtensionNotFound):
        return False
    parts = {part.oid: part.value for part in certificate.subject}
    says = (parts.get(NameOID.COMMON_NAME), parts.get(NameOID.ORGANIZATION_NAME))
    return says == (subject.user, subject.group) and sorted(str(name.value) for name in names) == subject.names


def _write_pair(files: Pair, key: trustme.Blob, certificate: trustme.Blob) -> None:
    write(files.key, key.bytes(), mode=0o600)
    write(files.certificate, certificate.bytes(), mode=0o644)
