"""Ignition configs: what a model refuses, and the text that it becomes. The official validator: tests/lab."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from rows import each_row

from platforms.aws.flatcar.ignition import (
    MOST_BYTES,
    Config,
    ConfigTooBig,
    Contents,
    Directory,
    DropIn,
    File,
    KeyReference,
    Link,
    Unit,
    UnresolvedKey,
    User,
    data_url,
    render,
)

ANA = KeyReference.parse("ssm-parameter:/gpu/ssh/ana")
PUBLIC = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIMadeUpForTestsOnly ana@example.edu"
SERVICE = "[Service]\nExecStart=/usr/bin/true\n[Install]\nWantedBy=multi-user.target\n"


def rendered(config: Config, **keys: str) -> dict[str, Any]:
    return json.loads(render(config, keys={ANA: keys.get("ana", PUBLIC)}))


def test_a_config_has_the_version_of_the_spec_and_nothing_empty() -> None:
    assert rendered(Config()) == {"ignition": {"version": "3.4.0"}}


def test_every_part_lies_where_the_spec_has_it() -> None:
    config = Config(
        users=(User(name="core", ssh_keys=(ANA,), groups=("docker",)),),
        directories=(Directory(path="/var/scratch", mode=0o755),),
        files=(File.of("/etc/hostname", "g4dn\n", overwrite=True),),
        links=(Link(path="/etc/extensions/nvidia-runtime.raw", target="/opt/nvidia-runtime.raw"),),
        units=(
            Unit(name="tmp.mount", mask=True),
            Unit(name="a.service", enabled=True, contents=SERVICE),
            Unit(name="containerd.service", dropins=(DropIn(name="10-tmp.conf", contents="[Service]\n"),)),
        ),
    )
    assert rendered(config) == {
        "ignition": {"version": "3.4.0"},
        "passwd": {"users": [{"name": "core", "groups": ["docker"], "sshAuthorizedKeys": [PUBLIC]}]},
        "storage": {
            "directories": [{"path": "/var/scratch", "mode": 0o755}],
            "files": [
                {"path": "/etc/hostname", "mode": 0o644, "overwrite": True, "contents": {"source": "data:,g4dn%0A"}}
            ],
            "links": [{"path": "/etc/extensions/nvidia-runtime.raw", "target": "/opt/nvidia-runtime.raw"}],
        },
        "systemd": {
            "units": [
                {"name": "tmp.mount", "mask": True},
                {"name": "a.service", "enabled": True, "contents": SERVICE},
                {"name": "containerd.service", "dropins": [{"name": "10-tmp.conf", "contents": "[Service]\n"}]},
            ]
        },
    }


def test_the_same_config_is_the_same_text() -> None:
    config = Config(files=(File.of("/etc/b", "b"), File.of("/etc/a", "a")))
    again = Config.model_validate(config.model_dump())
    assert render(again, keys={}) == render(config, keys={})


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_a_data_url_holds_the_whole_text_and_no_blank(text: str) -> None:
    url = data_url(text)
    assert unquote(url.removeprefix("data:,")) == text
    assert not any(character.isspace() for character in url)
    assert Contents.text(text).source == url


def test_a_download_has_a_sum() -> None:
    contents = Contents.download("https://dl.k8s.io/release/v1.34.2/bin/linux/amd64/kubelet", "9c" * 32)
    config = Config(files=(File(path="/opt/bin/kubelet", contents=contents, mode=0o755),))
    (file,) = rendered(config)["storage"]["files"]
    assert file["contents"]["verification"] == {"hash": "sha256-" + "9c" * 32}
    with pytest.raises(ValidationError, match="without a checksum"):
        Contents(source="https://example.edu/kubelet")


@pytest.mark.parametrize("url", ["http://example.edu/x", "ftp://example.edu/x", "https://user:word@example.edu/x"])
def test_a_download_is_encrypted_and_names_no_password(url: str) -> None:
    with pytest.raises(ValidationError, match="should match pattern"):
        Contents.download(url, "9c" * 32)


@each_row("path", ["etc/hostname", "/etc/../x", "/etc/", "/", "", "/etc//x"])
def test_a_path_is_absolute_and_plain(path: str) -> None:
    with pytest.raises(ValidationError, match="is not an absolute path"):
        File.of(path, "")


@each_row("name", ["kubelet", "kubelet.so", "../a.service", "a b.service", ".ko", "nvidia-uvm.so"])
def test_a_unit_has_the_name_of_a_unit(name: str) -> None:
    with pytest.raises(ValidationError, match="is not the name of a systemd unit"):
        Unit(name=name)


def test_a_unit_that_nothing_would_start_is_refused() -> None:
    with pytest.raises(ValidationError, match=r"enables a\.service, whose text has no \[Install\] section"):
        Unit(name="a.service", enabled=True, contents="[Service]\nExecStart=/usr/bin/true\n")


def test_a_unit_is_masked_or_runs() -> None:
    with pytest.raises(ValidationError, match=r"masks tmp\.mount and says how it runs"):
        Unit(name="tmp.mount", mask=True, enabled=True)


def test_bits_that_the_spec_does_not_support_are_refused() -> None:
    with pytest.raises(ValidationError, match="less than or equal to 511"):
        Directory(path="/var/scratch", mode=0o1777)


def test_nothing_is_there_twice() -> None:
    with pytest.raises(ValidationError, match="a path twice: /etc/a"):
        Config(files=(File.of("/etc/a", "1"),), directories=(Directory(path="/etc/a"),))
    with pytest.raises(ValidationError, match=r"a unit twice: a\.service"):
        Config(units=(Unit(name="a.service", contents=SERVICE), Unit(name="a.service", mask=True)))
    with pytest.raises(ValidationError, match="a user twice: core"):
        Config(users=(User(name="core"), User(name="core")))


def test_a_file_is_no_folder() -> None:
    with pytest.raises(ValidationError, match="has /etc/a/b below /etc/a, which is no folder"):
        Config(files=(File.of("/etc/a", ""), File.of("/etc/a/b", "")))


def test_a_key_is_written_as_a_reference_and_found_by_it() -> None:
    config = Config(users=(User(name="core", ssh_keys=(ANA, ANA)), User(name="ben", ssh_keys=(ANA,))))
    assert config.key_references == (ANA,)
    assert str(ANA) == "ssm-parameter:/gpu/ssh/ana"
    assert "AAAA" not in repr(config)


@pytest.mark.parametrize("key", [PUBLIC, "-----BEGIN OPENSSH PRIVATE KEY-----", "sk-ssh-ed25519@openssh.com AAAA"])
def test_a_key_itself_is_refused_where_its_reference_belongs(key: str) -> None:
    with pytest.raises(ValueError, match="is a key itself: keep it in a parameter or a secret"):
        KeyReference.parse(key)


@each_row("text", ["", "ana", "file:/etc/key", "secret:", "ssm-parameter:/a b"])
def test_what_refers_to_nothing_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not ssm-parameter|should match pattern"):
        KeyReference.parse(text)


@each_row(
    ("value", "reason"),
    [
        ("", "has no value"),
        ("-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl\n", "holds no public key"),
        (f"{PUBLIC}\n{PUBLIC}", "holds no public key"),
        ("hunter2", "holds no public key"),
    ],
)
def test_a_reference_that_leads_to_no_public_key_is_named_and_its_value_is_not(value: str, reason: str) -> None:
    with pytest.raises(UnresolvedKey, match=rf"^ssm-parameter:/gpu/ssh/ana {reason}[a-z_ ]*$"):
        rendered(Config(users=(User(name="core", ssh_keys=(ANA,)),)), ana=value)


def test_a_config_that_ec2_would_not_take_is_refused_with_both_sizes() -> None:
    big = Config(files=(File.of("/etc/big", "x" * MOST_BYTES),))
    with pytest.raises(ConfigTooBig, match=r"has 1\d{4} bytes; EC2 takes 16384 bytes"):
        render(big, keys={})
