"""What is written into a hub's volumes before it starts: once, as a whole, and readable for those who need it."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest

from platforms.docker.hub_files.setup import put, write_certificate, write_credentials

# Owners are given by root alone; everything else is the same for whoever runs this.
US = os.getuid()
HUB: dict[str, Any] = {
    "hub": "dcsg",
    "url": "https://127.0.0.1:8000/",
    "options": {"JupyterHub": {"authenticator_class": "shared-password"}, "Authenticator": {"admin_users": ["ada"]}},
}


@pytest.fixture
def folders(tmp_path: Path) -> dict[str, Path]:
    names = ("credentials", "tls", "given")
    for name in names:
        (tmp_path / name).mkdir()
    return {name: tmp_path / name for name in names}


def texts(folder: Path) -> dict[str, str]:
    return {each.name: each.read_text() for each in folder.iterdir()}


def subject(certificate: Path) -> str:
    command = ["openssl", "x509", "-noout", "-ext", "subjectAltName", "-in", str(certificate)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


needs_root = pytest.mark.skipif(US != 0, reason="files are given to another user, which takes root")


@needs_root
def test_credentials_are_born_once_and_the_proxy_knows_the_hubs_token_and_nothing_else(
    folders: dict[str, Path],
) -> None:
    write_credentials(HUB, folders["credentials"], folders["tls"], folders["given"])
    first = texts(folders["credentials"])
    assert first.keys() == {"proxy-token", "cookie-secret", "login-password", "admin-password"}
    assert texts(folders["tls"]) == {"proxy-token": first["proxy-token"]}
    assert len(bytes.fromhex(first["cookie-secret"])) == 32
    write_credentials(HUB, folders["credentials"], folders["tls"], folders["given"])
    assert texts(folders["credentials"]) == first
    modes = {stat.S_IMODE(each.stat().st_mode) for each in folders["credentials"].iterdir()}
    owners = {each.stat().st_uid for each in folders["credentials"].iterdir()}
    assert (modes, owners) == ({0o600}, {1000})


@needs_root
def test_a_token_that_only_one_of_the_two_has_is_born_again_for_both(folders: dict[str, Path]) -> None:
    write_credentials(HUB, folders["credentials"], folders["tls"], folders["given"])
    (folders["tls"] / "proxy-token").unlink()
    write_credentials(HUB, folders["credentials"], folders["tls"], folders["given"])
    assert texts(folders["tls"])["proxy-token"] == texts(folders["credentials"])["proxy-token"]


@needs_root
def test_a_login_of_somebody_elses_has_its_secret_and_no_password(folders: dict[str, Path]) -> None:
    (folders["given"] / "client-secret").write_text("s3cret\n")
    options = {"JupyterHub": {"authenticator_class": "oauthenticator.generic.GenericOAuthenticator"}}
    hub = {**HUB, "options": {**HUB["options"], **options}}
    write_credentials(hub, folders["credentials"], folders["tls"], folders["given"])
    written = texts(folders["credentials"])
    assert written.keys() == {"proxy-token", "cookie-secret", "client-secret"}
    assert written["client-secret"] == "s3cret"


@pytest.mark.slow
@needs_root
def test_the_host_signs_a_certificate_for_the_address_that_people_open_and_keeps_it(folders: dict[str, Path]) -> None:
    write_certificate(HUB, folders["tls"], folders["given"])
    first = texts(folders["tls"])
    assert "IP Address:127.0.0.1" in subject(folders["tls"] / "tls.crt")
    write_certificate(HUB, folders["tls"], folders["given"])
    assert texts(folders["tls"]) == first
    write_certificate({**HUB, "url": "https://hub.example.edu/"}, folders["tls"], folders["given"])
    assert "DNS:hub.example.edu" in subject(folders["tls"] / "tls.crt")


@needs_root
def test_the_hosts_own_certificate_is_taken_each_time_and_never_replaced(folders: dict[str, Path]) -> None:
    write_certificate(HUB, folders["tls"], folders["given"])
    for name in ("certificate", "key"):
        (folders["given"] / name).write_text(f"the {name}")
    write_certificate(HUB, folders["tls"], folders["given"])
    assert {"tls.crt": "the certificate", "tls.key": "the key"}.items() <= texts(folders["tls"]).items()
    (folders["given"] / "certificate").write_text("a renewed one")
    write_certificate(HUB, folders["tls"], folders["given"])
    assert texts(folders["tls"])["tls.crt"] == "a renewed one"


def test_what_was_killed_half_way_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("whole")
    (tmp_path / ".token.new").write_text("ha")
    assert file.read_text() == "whole"
    put(file, b"new", mode=0o644)
    assert texts(tmp_path) == {"token": "new"}
