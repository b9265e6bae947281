"""Reads the PEM files of a hub's certificate: what a browser would refuse is found before anything is deployed."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from errors.problems import Problem, SettingsError
from workloads.exposure import CertificateFiles


@dataclass(frozen=True, slots=True)
class Pair:
    """PEM texts."""

    certificate: str
    key: str = field(repr=False)


def read_pair(files: CertificateFiles, host: str, now: dt.datetime | None = None) -> Pair:
    """The texts of both files.

    Raises SettingsError if one cannot be read, if the key is another one's, and if the certificate is for another host
    or not valid today.
    """
    found = list(_problems(files, host, now or dt.datetime.now(tz=dt.UTC)))
    if found:
        raise SettingsError(found)
    # What stands between the blocks of PEM may be in any encoding, and nothing reads it.
    return Pair(*(Path(file).read_text(encoding="utf-8", errors="replace") for file in (files.certificate, files.key)))


def _problems(files: CertificateFiles, host: str, now: dt.datetime) -> Iterator[Problem]:
    from cryptography import x509  # noqa: PLC0415 - a tenth of a second that most stacks save
    from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415
    from cryptography.hazmat.primitives.serialization import load_pem_private_key  # noqa: PLC0415

    try:
        text = Path(files.certificate).read_bytes()
        first, *_ = x509.load_pem_x509_certificates(text)
        public = first.public_key()
    except (OSError, ValueError, UnsupportedAlgorithm) as error:
        yield _problem("certificate", files.certificate, _unread(error, "a certificate"), "name a PEM file with it")
        return
    try:
        key = load_pem_private_key(Path(files.key).read_bytes(), password=None)
    except (OSError, ValueError, TypeError, UnsupportedAlgorithm) as error:
        fix = "name a PEM file with the key, without a passphrase"
        yield _problem("key", files.key, _unread(error, "a private key"), fix)
        return
    if b"PRIVATE KEY" in text:
        fix = "leave certificate and chain in this file, and the key in the other: this one is shown to everybody"
        yield _problem("certificate", files.certificate, "holds a private key", fix)
    if key.public_key() != public:
        fix = "name the key that the certificate was requested with, and put the host's own certificate first"
        yield _problem("key", files.key, f"is not the key of {files.certificate}", fix)
    for reason, fix in certificate_problems(text, host, now):
        yield _problem("certificate", files.certificate, reason, fix)


def certificate_problems(pem: bytes, host: str, now: dt.datetime) -> Iterator[tuple[str, str]]:
    """Why a browser would refuse the first certificate, and what to do."""
    from cryptography import x509  # noqa: PLC0415 - see above

    try:
        first, *_ = x509.load_pem_x509_certificates(pem)
    except ValueError:
        yield "holds no certificate", "name a PEM file with it"
        return
    try:
        stated = first.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        names = stated.get_values_for_type(x509.DNSName)
    except x509.ExtensionNotFound:
        names = []
    if not any(covers(name, host) for name in names):
        yield f"is for {', '.join(names) or 'no host'}, not for {host}", "request one for that host, or change host"
    if now >= first.not_valid_after_utc:
        yield f"expired on {first.not_valid_after_utc.date()}", "renew it"
    elif now < first.not_valid_before_utc:
        yield f"is valid from {first.not_valid_before_utc.date()} on", "look at this machine's clock, or wait"


def covers(name: str, host: str) -> bool:
    """Whether a name of a certificate is that host: `*` stands for one label (RFC 9525, 6.3)."""
    if name.startswith("*."):
        return host.partition(".")[2] == name[2:].lower()
    return name.lower() == host


def _unread(error: Exception, what: str) -> str:
    if isinstance(error, FileNotFoundError):
        return "does not exist"
    return f"cannot be read: {error.strerror}" if isinstance(error, OSError) else f"holds no {what.removeprefix('a ')}"


def _problem(key: str, file: str, reason: str, fix: str) -> Problem:
    return Problem(path=f"expose.certificate.files.{key}", value=file, reason=reason, fix=fix)
