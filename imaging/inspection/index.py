"""Client of the simple index of Python packages (PEP 503 and 691): files and sizes. It downloads no file."""

import configparser
import json
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Final

import httpx

from imaging.inspection.faults import InspectError
from imaging.inspection.session import Session
from imaging.spec.wheels import WantedWheel, WheelSize, best_wheel

DEFAULT_INDEX: Final = "https://pypi.org/simple"
INDEX_VARIABLES: Final = ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL")
_JSON: Final = "application/vnd.pypi.simple.v1+json"
_ACCEPT: Final = f"{_JSON}, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1"
_LONGEST_PAGE: Final = 64 << 20  # bytes; a big project's page has a few million of them


@dataclass(frozen=True, slots=True)
class File:
    """One file of a project. `size` in bytes."""

    filename: str
    url: str
    sha256: str
    size: int | None  # an HTML index has no sizes
    uploaded: str = ""  # 2025-10-22T…, if the index has it (PEP 700)


@dataclass(frozen=True, slots=True)
class Index:
    """An index at a URL. No error names the URL: it may contain a password."""

    session: Session
    url: str

    def size(self, wanted: WantedWheel) -> WheelSize:
        """The wheel that an installer picks, with its size. Raises InspectError."""
        files = {file.filename: file for file in self.files(wanted.name)}
        try:
            chosen = files[best_wheel(wanted, {name: file.sha256 for name, file in files.items()})]
        except LookupError as error:
            raise InspectError(
                wanted.name, str(error.args[0]), "recreate the lock, or use the index that it was made from"
            ) from None
        size = chosen.size if chosen.size is not None else self._length(wanted.name, chosen.url)
        return WheelSize(wanted.environment, wanted.name, wanted.version, chosen.filename, chosen.sha256, size)

    def files(self, name: str) -> tuple[File, ...]:
        """All files of a project, by its canonical name. Raises InspectError."""
        url = f"{self.url}/{name}/"
        content, answer = self.session.read(url, {"Accept": _ACCEPT}, name, _refused(name), most=_LONGEST_PAGE)
        try:
            if answer.headers.get("content-type", "").startswith(_JSON):
                return tuple(_of_json(json.loads(content), answer.url))
            return tuple(_of_html(content.decode(), answer.url))
        except (ValueError, KeyError, TypeError, AttributeError, httpx.InvalidURL):
            fix = "check UV_DEFAULT_INDEX or PIP_INDEX_URL"
            raise InspectError(name, f"{answer.url.host} answers with no page of an index", fix) from None

    def _length(self, name: str, url: str) -> int:
        """Size of a file, from the headers of a one-byte range: not every server answers HEAD."""
        _, answer = self.session.read(url, {"Range": "bytes=0-0"}, name, _refused(name), most=0)
        length = answer.headers.get("content-range", "").rpartition("/")[2]
        length = length or answer.headers.get("content-length", "")
        if not length.isascii() or not length.isdigit():
            raise InspectError(name, f"{answer.url.host} does not say how big a file is", "ask another index")
        return int(length)


def index_url(environment: Mapping[str, str], configurations: Sequence[Path] | None = None) -> str:
    """The simple index that this machine's pip or uv uses."""
    for variable in INDEX_VARIABLES:
        if environment.get(variable):
            return environment[variable].rstrip("/")
    parser = configparser.RawConfigParser()
    parser.read(_pip_configurations(environment) if configurations is None else configurations)
    return parser.get("global", "index-url", fallback=DEFAULT_INDEX).rstrip("/")


def _pip_configurations(environment: Mapping[str, str]) -> list[Path]:
    if "PIP_CONFIG_FILE" in environment:
        return [Path(environment["PIP_CONFIG_FILE"])]
    config_home = Path(environment.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    # In pip's order: the later one wins.
    return [
        Path("/etc/pip.conf"),
        Path.home() / ".pip" / "pip.conf",
        config_home / "pip" / "pip.conf",
        Path(sys.prefix) / "pip.conf",
    ]


def _refused(name: str) -> Any:
    def refusal(answer: httpx.Response) -> InspectError:
        host, status = answer.url.host, answer.status_code
        if status == 404:
            return InspectError(name, f"{host} does not have it (404)", "check its spelling, or ask another index")
        if status in {401, 403}:
            return InspectError(name, f"{host} denies access ({status})", "put a user and password into the index URL")
        return InspectError(name, f"{host} returned a server error ({status})", "try again later")

    return refusal


def _of_json(page: Any, base: httpx.URL) -> list[File]:
    return [
        File(
            each["filename"],
            str(base.join(each["url"])),
            each["hashes"].get("sha256", ""),
            each.get("size"),
            str(each.get("upload-time") or ""),
        )
        for each in page["files"]
    ]


def _of_html(page: str, base: httpx.URL) -> list[File]:
    links = _Links()
    links.feed(page)
    files = []
    for href in links.found:
        url = base.join(href)
        hashed = re.fullmatch(r"sha256=([0-9a-f]{64})", url.fragment)
        files.append(
            File(url.path.rpartition("/")[2], str(url.copy_with(fragment=None)), hashed[1] if hashed else "", None)
        )
    return files


class _Links(HTMLParser):
    """The targets of all links of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [value for name, value in attrs if tag == "a" and name == "href" and value]
