"""The lab's Debian: a root file system from debootstrap, reproducible per archive, kept in the cache."""

from __future__ import annotations

import email.utils
import fcntl
import hashlib
import os
import re
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from lab import processes
from lab.instance import LabError, cache_home

if TYPE_CHECKING:
    from lab.servers import Tools

SUITE: Final = "bookworm"
PACKAGES: Final = ("ca-certificates", "python3", "python3-venv", "tini")
PUBLIC_MIRROR: Final = "http://deb.debian.org/debian"
ROOTFS: Final = "rootfs.tar"  # its name in the build context
RECIPE: Final = "1"  # raise it if the code below changes the result

# Traces of this machine in the new system, and files that only take space. Copyright files stay.
LEFTOVERS: Final = (
    "etc/.pwd.lock",
    "etc/group-",
    "etc/gshadow-",
    "etc/hostname",
    "etc/machine-id",
    "etc/passwd-",
    "etc/resolv.conf",
    "etc/shadow-",
    "usr/share/info/*",
    "usr/share/locale/*",
    "usr/share/man/*",
    "var/cache/apt/*",
    "var/cache/debconf/*",
    "var/cache/ldconfig/*",
    "var/lib/apt/lists/*",
    "var/lib/dpkg/*-old",
    "var/log/*",
)
SOURCES: Final = f"""\
deb {PUBLIC_MIRROR} {SUITE} main
deb {PUBLIC_MIRROR} {SUITE}-updates main
deb http://deb.debian.org/debian-security {SUITE}-security main
"""
# Later installs in a build leave out the same files.
DPKG_EXCLUDES: Final = """\
path-exclude=/usr/share/doc/*
path-include=/usr/share/doc/*/copyright
path-exclude=/usr/share/info/*
path-exclude=/usr/share/locale/*
path-exclude=/usr/share/man/*
"""
DOCKERFILE: Final = f"""\
FROM scratch
ADD {ROOTFS} /
ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8
LABEL org.gpu-commons.lab.base="debian {SUITE} by debootstrap"
CMD ["/bin/bash"]
"""


def rootfs() -> Path:
    """The tar file's path. Its name holds the key of its pins."""
    return cache_home() / "bases" / f"debian-{SUITE}-{_key()}.tar"


def make_rootfs(tools: Tools, report: Callable[[str], None]) -> None:
    """Create the tar file unless it exists (about a minute; needs root).

    Raises LabError if that fails. debootstrap always checks the archive's signatures.
    """
    target = rootfs()
    target.parent.mkdir(parents=True, exist_ok=True)
    with (target.parent / "debian.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # a second lab on this machine waits for the first
        if not target.exists():
            _make(tools, target, report)


def mirror() -> str:
    """The machine's own mirror of the suite, else the public one; for building, never left in the image."""
    pattern = "$(REPO_URI) $(CODENAME) $(ORIGIN)"
    try:
        text = processes.run(["apt-get", "indextargets", "--format", pattern, "Created-By: Packages"])
    except LabError:
        return PUBLIC_MIRROR
    lines = (line.split(" ", 2) for line in text.splitlines())
    uris = (uri for uri, suite, origin in lines if suite == SUITE and origin == "Debian")
    return next((uri.rstrip("/") for uri in uris if uri.startswith(("http://", "https://", "file:"))), PUBLIC_MIRROR)


def archive_date(root: Path) -> int:
    """The publication time of `root`'s archive, in seconds since 1970: newer than all its files."""
    for path in sorted((root / "var/lib/apt/lists").glob(f"*_{SUITE}_*Release")):
        if match := re.search(r"^Date: (.+)$", path.read_text(errors="replace"), re.MULTILINE):
            return int(email.utils.parsedate_to_datetime(match[1]).timestamp())
    raise LabError("debootstrap left no Release file: the date of the archive is unknown")


def tidy(root: Path) -> None:
    """Remove this machine's traces from the new system, and set the public package sources."""
    for pattern in LEFTOVERS:
        for path in root.glob(pattern):
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    for path in (root / "usr/share/doc").glob("*/*"):
        if path.name != "copyright":
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    (root / "etc/machine-id").touch()  # empty: every container that needs one creates its own
    (root / "etc/apt/sources.list").write_text(SOURCES)
    (root / "etc/dpkg/dpkg.cfg.d/lab").write_text(DPKG_EXCLUDES)


def _make(tools: Tools, target: Path, report: Callable[[str], None]) -> None:
    if os.geteuid() != 0:
        raise LabError("debootstrap makes the lab's base image and needs root: run the same command as root")
    started = time.monotonic()
    source = mirror()
    report(f"Debian {SUITE} from {source}: debootstrap …")
    root = target.with_suffix(".root")
    log = target.with_suffix(".log")
    shutil.rmtree(root, ignore_errors=True)
    log.unlink(missing_ok=True)
    command = [str(tools.path("debootstrap")), "--variant=minbase", f"--include={','.join(PACKAGES)}", SUITE]
    try:
        processes.run([*command, str(root), source], env=_apt_proxy(), log=log, timeout_s=1800)
        date = archive_date(root)
        tidy(root)
        _pack(root, target, date)
    finally:
        shutil.rmtree(root, ignore_errors=True)
    report(f"Debian {SUITE}: {target.stat().st_size >> 20} MiB in {time.monotonic() - started:.0f} s")


def _pack(root: Path, target: Path, date: int) -> None:
    """Files by debootstrap itself get the archive's date, so that the same archive gives the same tar."""
    draft = target.with_suffix(".draft")
    kernel_folders = [f"--exclude=./{name}/*" for name in ("dev", "proc", "run", "sys", "tmp")]
    order = ["--sort=name", "--numeric-owner", f"--mtime=@{date}", "--clamp-mtime", "--format=gnu"]
    processes.run(["tar", *order, *kernel_folders, "-C", str(root), "-cf", str(draft), "."])
    draft.replace(target)


def _apt_proxy() -> dict[str, str]:
    """The proxy in apt's configuration, for debootstrap's wget; without one, the environment's."""
    try:
        text = processes.run(["apt-config", "shell", "PROXY", "Acquire::http::Proxy"])
    except LabError:
        return {}
    match = re.search(r"PROXY='(http[^']+)'", text)
    return {"http_proxy": match[1]} if match else {}


def _key() -> str:
    pins = "\n".join((RECIPE, SUITE, *PACKAGES, *LEFTOVERS, SOURCES, DPKG_EXCLUDES))
    return hashlib.sha256(pins.encode()).hexdigest()[:12]
