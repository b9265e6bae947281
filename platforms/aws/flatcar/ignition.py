"""Ignition configs, spec 3.4.0, as typed models, limited to what our nodes need. Equal configs render equally.

    config = Config(files=(File.of("/etc/hostname", "g4dn"),), units=(Unit(name="tmp.mount", mask=True),))
    text = render(config, keys={})

Source: https://coreos.github.io/ignition/configuration-v3_4/. Anything its validator would reject is rejected here
first, with value and reason; tests/lab runs the validator itself.
"""

import json
import posixpath
import re
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Final, Literal, Self
from urllib.parse import quote

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

VERSION: Final = "3.4.0"
# docs.aws.amazon.com/AWSEC2/latest/UserGuide/instancedata-add-user-data.html: "limited to 16 KB, in raw form"
MOST_BYTES: Final = 16_384
_UNIT = re.compile(r"[A-Za-z0-9:_.\\-]+(@[A-Za-z0-9:_.\\-]*)?\.(service|mount|path|slice|socket|target|timer)")
_KEY_TYPES = r"(?:sk-)?(?:ssh-(?:ed25519|rsa)|ecdsa-sha2-nistp(?:256|384|521))(?:@openssh\.com)?"
_PUBLIC_KEY = re.compile(rf"{_KEY_TYPES} AAAA[0-9A-Za-z+/=]+(?: [^\x00-\x1f\x7f]*)?")


class ConfigTooBig(ValueError):  # noqa: N818 - the name states the fault
    """The text exceeds EC2's limit for user data."""


class UnresolvedKey(ValueError):  # noqa: N818 - the name states the fault
    """An SSH key reference without a public key, or with something else."""


def _absolute(path: str) -> str:
    if not path.startswith("/") or path != posixpath.normpath(path) or path == "/":
        raise ValueError("is not an absolute path without . and .. and trailing slash")
    return path


def _unit_name(name: str) -> str:
    if not _UNIT.fullmatch(name):
        raise ValueError("is not the name of a systemd unit, such as kubelet.service")
    return name


AbsolutePath = Annotated[str, AfterValidator(_absolute)]
Mode = Annotated[int, Field(ge=0, le=0o777)]  # setuid, setgid and sticky bits do nothing before spec 3.6
UnitName = Annotated[str, AfterValidator(_unit_name)]
Hash = Annotated[str, Field(pattern=r"^(sha256-[0-9a-f]{64}|sha512-[0-9a-f]{128})$")]
Source = Annotated[str, Field(pattern=r"^(data:,|https://[A-Za-z0-9.-]+/|s3://[a-z0-9.-]+/)\S*$")]


class Part(BaseModel):
    """Part of the config. Unknown keys and lax conversions are rejected."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, alias_generator=to_camel, populate_by_name=True)


class Verification(Part):
    """Expected content."""

    hash: Hash


class Contents(Part):
    """File content: a data URL, or an address with the expected checksum."""

    source: Source
    verification: Verification | None = None

    @model_validator(mode="after")
    def _summed(self) -> Self:
        if not self.source.startswith("data:") and self.verification is None:
            raise ValueError(f"takes {self.source} without a checksum: give its sha256, as the publisher states it")
        return self

    @classmethod
    def text(cls, text: str) -> Self:
        """Text as a data URL, readable in a diff."""
        return cls(source=data_url(text))

    @classmethod
    def download(cls, url: str, sha256: str) -> Self:
        """Content of an address with this checksum (64 hex digits)."""
        return cls(source=url, verification=Verification(hash=f"sha256-{sha256}"))


class File(Part):
    """A file. If the image already has it, `overwrite` must be true, or the node does not boot."""

    path: AbsolutePath
    contents: Contents
    mode: Mode = 0o644
    overwrite: bool | None = None

    @classmethod
    def of(cls, path: str, text: str, *, mode: int = 0o644, overwrite: bool | None = None) -> Self:
        """A file with this text."""
        return cls(path=path, contents=Contents.text(text), mode=mode, overwrite=overwrite)


class Directory(Part):
    """A folder."""

    path: AbsolutePath
    mode: Mode = 0o755


class Link(Part):
    """A symbolic link."""

    path: AbsolutePath
    target: Annotated[str, Field(min_length=1)]
    overwrite: bool | None = None


class DropIn(Part):
    """Lines added to a unit of the image."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]+\.conf$")]
    contents: Annotated[str, Field(min_length=1)]


class Unit(Part):
    """A systemd unit: its text, lines added to the image's unit, or a mask."""

    name: UnitName
    enabled: bool | None = None
    mask: bool | None = None
    contents: str | None = None
    dropins: tuple[DropIn, ...] = ()

    @model_validator(mode="after")
    def _says_one_thing(self) -> Self:
        if self.mask and (self.enabled or self.contents or self.dropins):
            raise ValueError(f"masks {self.name} and says how it runs as well: choose one")
        if self.enabled and self.contents is not None and "[Install]" not in self.contents:
            raise ValueError(f"enables {self.name}, whose text has no [Install] section: nothing would start it")
        _once(f"{self.name}: drop-ins", (each.name for each in self.dropins))
        return self


class KeyReference(Part):
    """Reference to a public key. The key itself is never written into a stack or a config."""

    kept_in: Literal["ssm-parameter", "secret"]
    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9/_.+=@-]+$", max_length=512)]

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `ssm-parameter:/gpu/ssh/ana` or `secret:ssh-ana`; raises ValueError for all else, even keys."""
        if re.match(rf"{_KEY_TYPES}\s|-----BEGIN", text.strip()):
            raise ValueError("is a key itself: keep it in a parameter or a secret, and write ssm-parameter:/its/name")
        kept_in, separator, name = text.partition(":")
        if not separator or kept_in not in {"ssm-parameter", "secret"}:
            raise ValueError(f'"{text[:60]}" is not ssm-parameter:/its/name or secret:its-name')
        return cls.model_validate({"kept_in": kept_in, "name": name})

    def __str__(self) -> str:
        return f"{self.kept_in}:{self.name}"


class User(Part):
    """A login user with references to SSH keys."""

    name: Annotated[str, Field(pattern=r"^[a-z_][a-z0-9_-]{0,30}$")]
    ssh_keys: tuple[KeyReference, ...] = Field(default=(), exclude=True)  # rendered as sshAuthorizedKeys
    groups: tuple[str, ...] = ()


class Config(Part):
    """One node's config, in reading order."""

    users: tuple[User, ...] = ()
    directories: tuple[Directory, ...] = ()
    files: tuple[File, ...] = ()
    links: tuple[Link, ...] = ()
    units: tuple[Unit, ...] = ()

    @model_validator(mode="after")
    def _each_once(self) -> Self:
        leaves = [*(each.path for each in self.files), *(each.path for each in self.links)]
        nodes = [*(each.path for each in self.directories), *leaves]
        _once("a path", nodes)
        for path in leaves:
            if below := next((other for other in nodes if other.startswith(f"{path}/")), ""):
                raise ValueError(f"has {below} below {path}, which is no folder")
        _once("a unit", (each.name for each in self.units))
        _once("a user", (each.name for each in self.users))
        return self

    @property
    def key_references(self) -> tuple[KeyReference, ...]:
        """References for `render`, each once."""
        return tuple(dict.fromkeys(key for user in self.users for key in user.ssh_keys))


def render(config: Config, *, keys: Mapping[KeyReference, str], indent: int | None = None) -> str:
    """The config as JSON: the same text for the same config, keys of objects sorted.

    `keys` maps each reference to a public key. Raises UnresolvedKey if one is missing or is no public key, and
    ConfigTooBig if EC2 would not accept the text as user data; with `indent`, for people, any length is fine.
    """
    storage = {"directories": config.directories, "files": config.files, "links": config.links}
    document = {
        "ignition": {"version": VERSION},
        "passwd": {"users": [_user(user, keys) for user in config.users]},
        "storage": {name: [_plain(each) for each in parts] for name, parts in storage.items()},
        "systemd": {"units": [_plain(each) for each in config.units]},
    }
    separators = (",", ":") if indent is None else None
    text = json.dumps(_filled(document), sort_keys=True, indent=indent, separators=separators, ensure_ascii=False)
    if indent is None and (size := len(text.encode())) > MOST_BYTES:
        raise ConfigTooBig(f"the Ignition config has {size} bytes; EC2 takes {MOST_BYTES} bytes of user data")
    return text


def data_url(text: str) -> str:
    """`data:,` and the text, percent-encoded as needed."""
    return "data:," + quote(text, safe=";/?:@&=+$,-_.!~*'()")


def _user(user: User, keys: Mapping[KeyReference, str]) -> dict[str, Any]:
    return {**_plain(user), "sshAuthorizedKeys": [_public_key(each, keys) for each in user.ssh_keys]}


def _public_key(reference: KeyReference, keys: Mapping[KeyReference, str]) -> str:
    if (text := keys.get(reference, "").strip()) and _PUBLIC_KEY.fullmatch(text):
        return text
    found = "holds no public key in the form of authorized_keys" if text else "has no value"
    raise UnresolvedKey(f"{reference} {found}")


def _plain(part: Part) -> dict[str, Any]:
    return part.model_dump(mode="json", by_alias=True, exclude_none=True)


def _filled(value: Any) -> Any:
    """Without empty objects and lists: to Ignition, absent means empty."""
    if not isinstance(value, dict):
        return [_filled(each) for each in value] if isinstance(value, list) else value
    return {key: found for key, each in value.items() if (found := _filled(each)) not in ({}, [])}


def _once(what: str, names: Iterable[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ValueError(f"has {what} twice: {name}")
        seen.add(name)
