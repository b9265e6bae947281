"""Writes a hub's programs and credentials into volumes of the host, then exits. Runs as `python3 setup.py`, as root.

Credentials are born here and never leave the host: neither Pulumi nor a stack file sees them. A file that is there is
kept, so that this may run again at any time, and after it was killed. The container may give files an owner and nothing
else that root can: so it cannot read what it has given away, and need not. Standard library and openssl only.
"""

from __future__ import annotations

import ipaddress
import json
import os
import secrets
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

USER = 1000  # of hub and proxy
VALID_DAYS = 825
RENEWED_BEFORE_S = 30 * 24 * 3600
SHARED_PASSWORD = "shared-password"  # noqa: S105 - the name of an authenticator


def main(root: Path, given: Path) -> None:
    """Everything, in an order in which what was killed is completed by the next run."""
    hub = json.loads((given / "hub.json").read_text(encoding="utf-8"))
    os.chown(root / "database", USER, USER)
    copy_programs(given, root / "program")
    write_credentials(hub, root / "credentials", root / "tls", root / "given")
    write_certificate(hub, root / "tls", root / "given")
    print(f"hub {hub['hub']}: programs, credentials and certificate are there")  # noqa: T201 - the container's log


def copy_programs(given: Path, program: Path) -> None:
    """Each file at once, for those who read them now; hub.json last, and what is of an earlier version goes."""
    (program / "hub_files").mkdir(exist_ok=True)
    wanted = sorted((given / "hub_files").iterdir())
    for file in wanted:
        put(program / "hub_files" / file.name, file.read_bytes(), mode=0o644)
    put(program / "hub.json", (given / "hub.json").read_bytes(), mode=0o644)
    names = {file.name for file in wanted}
    for old in (program / "hub_files").iterdir():
        if old.is_file() and old.name not in names:
            old.unlink()


def write_credentials(hub: dict[str, Any], credentials: Path, tls: Path, given: Path) -> None:
    """What the hub and the proxy know and nobody else. The token is in two volumes: neither reads the other's."""
    options = hub["options"]
    if not (credentials / "proxy-token").exists() or not (tls / "proxy-token").exists():
        token = secrets.token_hex(32).encode()
        put(credentials / "proxy-token", token, owner=USER)
        put(tls / "proxy-token", token, owner=USER)
    born = {"cookie-secret": secrets.token_hex(32)}
    if options["JupyterHub"].get("authenticator_class") == SHARED_PASSWORD:
        born["login-password"] = secrets.token_urlsafe(18)
        if options["Authenticator"].get("admin_users"):
            born["admin-password"] = secrets.token_urlsafe(27)  # JupyterHub wants 32 characters or more
    for name, value in born.items():
        if not (credentials / name).exists():
            put(credentials / name, value.encode(), owner=USER)
    if (secret := given / "client-secret").exists():
        put(credentials / secret.name, read(secret).strip(), owner=USER)


def write_certificate(hub: dict[str, Any], tls: Path, given: Path) -> None:
    """The host's own files, or one that is signed here and renewed before it ends."""
    signed_here = tls / "signed-here"
    if (given / "certificate").exists():
        put(tls / "tls.key", read(given / "key"), owner=USER)
        put(tls / "tls.crt", read(given / "certificate"), mode=0o644)
        signed_here.unlink(missing_ok=True)
        return
    name = address_of(hub)
    if signed_here.exists() and signed_here.read_text() == name and is_valid(tls / "tls.crt"):
        return
    key, certificate = tls / "new.key", tls / "new.crt"
    openssl(
        "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", str(VALID_DAYS),
        "-subj", "/CN=JupyterHub", "-addext", f"subjectAltName={name}", "-keyout", str(key), "-out", str(certificate),
    )  # fmt: skip
    put(tls / "tls.key", key.read_bytes(), owner=USER)
    put(tls / "tls.crt", certificate.read_bytes(), mode=0o644)
    put(signed_here, name.encode(), mode=0o644)
    key.unlink()
    certificate.unlink()


def address_of(hub: dict[str, Any]) -> str:
    """What people open, as a certificate names it."""
    host = urlsplit(hub["url"]).hostname or "localhost"
    try:
        return f"IP:{ipaddress.ip_address(host)}"
    except ValueError:
        return f"DNS:{host}"


def is_valid(certificate: Path) -> bool:
    """Whether it is there and does not end soon."""
    command = ["openssl", "x509", "-noout", "-checkend", str(RENEWED_BEFORE_S), "-in", str(certificate)]
    return certificate.exists() and subprocess.run(command, capture_output=True, check=False).returncode == 0


def openssl(*words: str) -> None:
    """Raises SystemExit with its words."""
    done = subprocess.run(["openssl", *words], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"openssl {words[0]}: {done.stderr.strip()}")


def read(file: Path) -> bytes:
    """A file of the host. Raises SystemExit with what to change."""
    try:
        return file.read_bytes()
    except PermissionError:
        sys.exit(f"the host's file for {file.name} does not belong to root: chown root it, or make it readable")


def put(file: Path, content: bytes, *, mode: int = 0o600, owner: int | None = None) -> None:
    """A file that is there as a whole, or as it was."""
    new = file.with_name(f".{file.name}.new")
    new.unlink(missing_ok=True)
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(content)
    new.chmod(mode)
    if owner is not None:
        os.chown(new, owner, owner)
    new.rename(file)


if __name__ == "__main__":
    main(Path("/"), Path(__file__).resolve().parent.parent)
