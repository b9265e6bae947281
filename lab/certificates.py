"""Who may speak to whom in one lab: an authority, certificates, kubeconfigs, the service-account key.

`ensure` makes what is missing, wrong or about to expire, and leaves the rest: servers that run keep their files.
Kubeconfigs name files and hold no secret themselves, so Pulumi can keep one in its state, and a renewed
certificate reaches running clients without a restart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import yaml
from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from lab.files import write
from lab.instance import Instance

AUTHORITY_LIFETIME = timedelta(days=3650)
LIFETIME = timedelta(days=365)
RENEW_BEFORE = timedelta(days=30)
CLOCK_SKEW = timedelta(hours=1)

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

    name: str  # of its files
    user: str
    groups: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()  # names and addresses; without any it is a client's only


def authority(instance: Instance) -> Path:
    """The certificate that everybody in this lab trusts."""
    return _folder(instance) / "ca.crt"


def pair(instance: Instance, name: str) -> Pair:
    """Where the certificate of that name is (`apiserver`, `kubelet-serving`, …), made by `ensure`."""
    return Pair(_folder(instance) / f"{name}.crt", _folder(instance) / f"{name}.key")


def service_account_keys(instance: Instance) -> Pair:
    """The key that signs service-account tokens; `certificate` is its public half."""
    return Pair(_folder(instance) / "service-account.pub", _folder(instance) / "service-account.key")


def kubeconfig(instance: Instance, client: str) -> Path:
    """The kubeconfig of that client (`scheduler`, `kubelet`, …), made by `ensure`; `admin` is the user's own."""
    return instance.kubeconfig if client == "admin" else instance.config / "kubeconfigs" / client


def subjects(instance: Instance, real_node: str | None) -> tuple[Subject, ...]:
    """All certificates of a lab. The node's own exist only where a node does."""
    networks = instance.networks
    loopback = ("localhost", "127.0.0.1")
    services = tuple(f"kubernetes{suffix}" for suffix in ("", ".default", ".default.svc", ".default.svc.cluster.local"))
    control_plane = (
        Subject(
            "apiserver",
            "kube-apiserver",
            hosts=(*loopback, networks.node_address, networks.first_service_address, *services),
        ),
        Subject("apiserver-kubelet-client", "kube-apiserver-kubelet-client", ("system:masters",)),
        Subject("etcd", "etcd", hosts=loopback),
        Subject("loopback", "gpu-commons-lab", hosts=loopback),  # health of controller manager and scheduler
        Subject("kwok-serving", "kwok", hosts=(*loopback, networks.node_address)),
        Subject("admin", "gpu-commons-admin", ("system:masters",)),
        Subject("controller-manager", "system:kube-controller-manager"),
        Subject("scheduler", "system:kube-scheduler"),
        Subject("kwok", "kwok"),
        Subject("kube-proxy", "system:kube-proxy"),
    )
    if real_node is None:
        return control_plane
    return (
        *control_plane,
        Subject(NODE_CLIENT, f"system:node:{real_node}", ("system:nodes",)),
        Subject("kubelet-serving", f"system:node:{real_node}", (), (real_node, *loopback, networks.node_address)),
    )


def ensure(instance: Instance, *, real_node: str | None, now: datetime | None = None) -> tuple[str, ...]:
    """Make, or renew 30 days before they end, all certificates, keys and kubeconfigs; names those it wrote.

    A new authority replaces all certificates: servers that were running must be restarted then.
    """
    now = now or datetime.now(UTC)
    _folder(instance).mkdir(parents=True, exist_ok=True, mode=0o700)
    written = [_ensure_authority(instance, now)]
    issuer = _load_pair(pair(instance, "ca"))
    if issuer is None:
        raise AssertionError("the authority was just written")
    for subject in subjects(instance, real_node):
        files = pair(instance, subject.name)
        if not _is_current(files, subject, issuer, now):
            key = ec.generate_private_key(ec.SECP256R1())
            _write_pair(files, key, _issue(subject, key, issuer, now))
            written.append(subject.name)
    written.append(_ensure_service_account_key(instance))
    clients = (*CONTROL_PLANE_CLIENTS, *([NODE_CLIENT] if real_node else []))
    for client in clients:
        path = kubeconfig(instance, client)
        path.parent.mkdir(exist_ok=True, mode=0o700)
        write(path, render_kubeconfig(instance, client), mode=0o600)
    return tuple(name for name in written if name)


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


def _ensure_authority(instance: Instance, now: datetime) -> str:
    files = pair(instance, "ca")
    loaded = _load_pair(files)
    # It must outlive every certificate that it signs today.
    if loaded and loaded.certificate.not_valid_after_utc > now + LIFETIME + RENEW_BEFORE:
        return ""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"gpu-commons lab {instance.name}")])
    certificate = (
        _builder(name, name, key, now, AUTHORITY_LIFETIME)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_key_usage(signs_certificates=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    _write_pair(files, key, certificate)
    return "ca"


def _ensure_service_account_key(instance: Instance) -> str:
    files = service_account_keys(instance)
    if files.key.exists() and files.certificate.exists():
        return ""
    key = ec.generate_private_key(ec.SECP256R1())
    public = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    write(files.key, _private_pem(key), mode=0o600)
    write(files.certificate, public, mode=0o644)
    return "service-account"


@dataclass(frozen=True, slots=True)
class _Loaded:
    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey


def _load_pair(files: Pair) -> _Loaded | None:
    """The pair on disk, or None when it is missing, unreadable or (after a crash) not a pair."""
    try:
        certificate = x509.load_pem_x509_certificate(files.certificate.read_bytes())
        key = serialization.load_pem_private_key(files.key.read_bytes(), password=None)
    except (FileNotFoundError, ValueError):
        return None
    if not isinstance(key, ec.EllipticCurvePrivateKey) or key.public_key() != certificate.public_key():
        return None
    return _Loaded(certificate, key)


def _is_current(files: Pair, subject: Subject, issuer: _Loaded, now: datetime) -> bool:
    loaded = _load_pair(files)
    if loaded is None or loaded.certificate.not_valid_after_utc < now + RENEW_BEFORE:
        return False
    try:
        loaded.certificate.verify_directly_issued_by(issuer.certificate)
    except (InvalidSignature, ValueError, TypeError):
        return False
    return loaded.certificate.subject == _name(subject) and _hosts(loaded.certificate) == _alternative_names(subject)


def _hosts(certificate: x509.Certificate) -> list[x509.GeneralName]:
    try:
        return list(certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value)
    except x509.ExtensionNotFound:
        return []


def _issue(subject: Subject, key: ec.EllipticCurvePrivateKey, issuer: _Loaded, now: datetime) -> x509.Certificate:
    # etcd calls itself with its serving certificate, so those who serve may also call.
    usages = [ExtendedKeyUsageOID.CLIENT_AUTH, *([ExtendedKeyUsageOID.SERVER_AUTH] if subject.hosts else [])]
    builder = (
        _builder(_name(subject), issuer.certificate.subject, key, now, LIFETIME)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_key_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage(usages), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer.key.public_key()),
            critical=False,
        )
    )
    if subject.hosts:
        builder = builder.add_extension(x509.SubjectAlternativeName(_alternative_names(subject)), critical=False)
    return builder.sign(issuer.key, hashes.SHA256())


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, now: datetime, lifetime: timedelta
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - CLOCK_SKEW)
        .not_valid_after(now + lifetime)
    )


def _name(subject: Subject) -> x509.Name:
    groups = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in subject.groups]
    return x509.Name([*groups, x509.NameAttribute(NameOID.COMMON_NAME, subject.user)])


def _alternative_names(subject: Subject) -> Sequence[x509.GeneralName]:
    return [_alternative_name(host) for host in subject.hosts]


def _alternative_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _private_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def _write_pair(files: Pair, key: ec.EllipticCurvePrivateKey, certificate: x509.Certificate) -> None:
    write(files.key, _private_pem(key), mode=0o600)
    write(files.certificate, certificate.public_bytes(serialization.Encoding.PEM), mode=0o644)
