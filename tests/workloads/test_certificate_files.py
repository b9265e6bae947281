"""Files of a hub's certificate: each mistake is one sentence, before anything is deployed."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest
import trustme

from errors.problems import SettingsError
from workloads.certificate_files import covers, read_pair
from workloads.exposure import CertificateFiles

HOST = "hub.example.edu"
TODAY = dt.datetime(2026, 11, 30, tzinfo=dt.UTC)


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


def written(folder: Path, authority: trustme.CA, host: str = HOST) -> CertificateFiles:
    """Files of a certificate of 2026 for that host."""
    leaf = authority.issue_cert(host, not_before=TODAY - dt.timedelta(10), not_after=TODAY + dt.timedelta(80))
    certificate, key = folder / "hub.pem", folder / "hub.key"
    certificate.write_bytes(b"".join(each.bytes() for each in leaf.cert_chain_pems))
    leaf.private_key_pem.write_to_path(key)
    return CertificateFiles(certificate=str(certificate), key=str(key))


def refused(files: CertificateFiles, now: dt.datetime = TODAY) -> str:
    with pytest.raises(SettingsError) as error:
        read_pair(files, HOST, now)
    return str(error.value)


def test_a_pair_for_the_host_is_read_and_its_key_is_not_shown(tmp_path: Path, authority: trustme.CA) -> None:
    pair = read_pair(written(tmp_path, authority), HOST, TODAY)
    assert pair.certificate.startswith("-----BEGIN CERTIFICATE")
    assert "PRIVATE KEY" in pair.key
    assert "PRIVATE KEY" not in repr(pair)


def test_a_certificate_for_another_host_names_both(tmp_path: Path, authority: trustme.CA) -> None:
    text = refused(written(tmp_path, authority, "jupyter.example.edu"))
    assert f"{tmp_path}/hub.pem is for jupyter.example.edu, not for hub.example.edu" in text
    assert "request one for that host" in text


def test_a_certificate_that_expired_says_when(tmp_path: Path, authority: trustme.CA) -> None:
    assert "expired on 2027-02-18" in refused(written(tmp_path, authority), TODAY + dt.timedelta(80))
    assert "is valid from 2026-11-20 on" in refused(written(tmp_path, authority), TODAY - dt.timedelta(20))


def test_a_key_of_another_certificate_is_refused(tmp_path: Path, authority: trustme.CA) -> None:
    files = written(tmp_path, authority)
    authority.issue_cert(HOST).private_key_pem.write_to_path(tmp_path / "other.key")
    text = refused(CertificateFiles(certificate=files.certificate, key=f"{tmp_path}/other.key"))
    assert f"other.key is not the key of {tmp_path}/hub.pem" in text


def test_files_that_are_missing_or_hold_something_else_are_named(tmp_path: Path, authority: trustme.CA) -> None:
    files = written(tmp_path, authority)
    (tmp_path / "notes").write_text("renew in May")
    gone = f"{tmp_path}/gone"
    assert f"{gone} does not exist" in refused(CertificateFiles(certificate=gone, key=files.key))
    assert "notes holds no certificate" in refused(CertificateFiles(certificate=f"{tmp_path}/notes", key=files.key))
    assert "notes holds no private key" in refused(
        CertificateFiles(certificate=files.certificate, key=f"{tmp_path}/notes")
    )


@pytest.mark.parametrize(
    ("name", "is_covered"),
    [("*.example.edu", True), ("HUB.example.edu", True), ("*.edu", False), ("*.hub.example.edu", False)],
)
def test_a_star_stands_for_one_label(name: str, is_covered: bool) -> None:
    assert covers(name, HOST) is is_covered


def test_a_key_in_the_file_of_the_certificate_is_refused(tmp_path: Path, authority: trustme.CA) -> None:
    files = written(tmp_path, authority)
    both = Path(files.certificate).read_text() + Path(files.key).read_text()
    Path(files.certificate).write_text(both)
    assert "hub.pem holds a private key" in refused(files)


def test_a_comment_in_another_encoding_does_no_harm(tmp_path: Path, authority: trustme.CA) -> None:
    files = written(tmp_path, authority)
    certificate = Path(files.certificate)
    certificate.write_bytes("Bag Attributes: Universität\n".encode("latin-1") + certificate.read_bytes())
    assert "BEGIN CERTIFICATE" in read_pair(files, HOST, TODAY).certificate
