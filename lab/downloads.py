"""Official tool downloads: fetch, check against a known checksum, unpack.

Checksum and signature checks are never off: a download without a known checksum is not tried.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
import tarfile
from pathlib import Path

import httpx

from imaging.inspection.faults import InspectError
from imaging.inspection.network_environment import check_network
from lab.instance import LabError
from lab.pins import Download

CONNECT_WITHIN_S = 5  # a machine without internet must fail fast


class UnreachableError(Exception):
    """The publisher's server did not answer or lacks it: the next way is tried. A wrong checksum is an error."""


def fetch(download: Download, programs: tuple[str, ...], bin_folder: Path) -> None:
    """Download, check and unpack into `bin_folder`.

    Raises UnreachableError if a server cannot be reached, LabError for a wrong checksum: never ignored.
    """
    try:
        check_network(os.environ)
    except InspectError as fault:
        raise LabError(str(fault)) from None
    with httpx.Client(timeout=httpx.Timeout(300, connect=CONNECT_WITHIN_S), follow_redirects=True) as client:
        for program in programs if "{program}" in download.url else ("",):
            url = download.url.format(program=program)
            expected = download.sha256 or _published_sum(client, download, program, url)
            content = _get(client, url).content
            actual = hashlib.sha256(content).hexdigest()
            if actual != expected:
                raise LabError(f"{url}: SHA-256 is {actual}, expected {expected}; nothing was installed")
            _unpack(content, url, program, bin_folder)


def _published_sum(client: httpx.Client, download: Download, program: str, url: str) -> str:
    if download.checksums is None:
        raise UnreachableError("no SHA-256 is known for it")
    text = _get(client, download.checksums.format(program=program)).text
    name = url.rsplit("/", 1)[-1]
    for line in text.splitlines():
        fields = line.split()
        if fields and re.fullmatch(r"[0-9a-f]{64}", fields[0]) and (len(fields) == 1 or fields[1].lstrip("*") == name):
            return fields[0]
    raise LabError(f"{download.checksums} has no SHA-256 of {name}; nothing was installed")


def _get(client: httpx.Client, url: str) -> httpx.Response:
    try:
        response = client.get(url)
        response.raise_for_status()
    except httpx.HTTPError as error:
        raise UnreachableError(f"{httpx.URL(url).host}: {type(error).__name__}") from error
    return response


def _unpack(content: bytes, url: str, program: str, bin_folder: Path) -> None:
    if program:
        target = bin_folder / program
        target.write_bytes(content)
        target.chmod(0o755)
        return
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        for member in archive.getmembers():
            if member.isfile() and (source := archive.extractfile(member)):
                target = bin_folder / Path(member.name).name
                target.write_bytes(source.read())
                target.chmod(0o755)
    if not any(bin_folder.iterdir()):
        raise LabError(f"{url}: the archive holds no program")
