"""What nodes read at their start."""

from __future__ import annotations

import email
import tomllib
from collections.abc import Callable
from typing import Any

import pytest
import yaml

from platforms.aws.instances import GroupShape
from platforms.aws.machine_images import MachineImage
from platforms.aws.user_data import LocalDisks, NodeSettings, Pulls, settings_problems, user_data

BOTTLEROCKET = "BOTTLEROCKET_x86_64_NVIDIA"
ALL = NodeSettings(Pulls.PARALLEL, LocalDisks.STRIPED)
Image = Callable[..., MachineImage]
Group = Callable[..., GroupShape]


def test_amazon_linux_reads_a_mime_document_with_a_node_config(image: Image, golden: Any) -> None:
    text = user_data(image("g6.2xlarge"), ALL)
    golden("user-data/al2023.mime").equals(text)
    (part,) = email.message_from_string(text).get_payload()
    assert part.get_content_type() == "application/node.eks.aws"
    config = yaml.safe_load(part.get_payload())
    assert config["spec"] == {
        "instance": {"localStorage": {"strategy": "RAID0"}},
        "featureGates": {"FastImagePull": True},
    }


def test_amazon_linux_needs_no_user_data_where_nothing_is_decided(image: Image) -> None:
    assert user_data(image(), NodeSettings()) == ""


def test_bottlerocket_reads_toml(image: Image, golden: Any) -> None:
    text = user_data(image("g6.2xlarge", kubernetes="1.37", ami_type=BOTTLEROCKET), ALL)
    golden("user-data/bottlerocket.toml").equals(text)
    settings = tomllib.loads(text)["settings"]
    assert settings["kernel"] == {"drivers": {"nvidia": {"branch": "pb"}}}
    assert settings["bootstrap-commands"]["local-disks"]["essential"] is True


@pytest.mark.parametrize(("kubernetes", "wanted", "branch"), [("1.37", "R580", "lts"), ("1.34", "newest", "lts")])
def test_the_branch_of_bottlerocket_is_stated_where_a_release_has_two(
    image: Image, kubernetes: str, wanted: str, branch: str
) -> None:
    text = user_data(image(kubernetes=kubernetes, wanted=wanted, ami_type=BOTTLEROCKET), NodeSettings())
    assert tomllib.loads(text) == {"settings": {"kernel": {"drivers": {"nvidia": {"branch": branch}}}}}


def test_a_release_with_one_branch_gets_no_setting_that_it_does_not_know(image: Image) -> None:
    assert user_data(image(ami_type=BOTTLEROCKET, release="1.61.0"), NodeSettings()) == ""


@pytest.mark.parametrize(
    ("types", "pin", "settings", "reason"),
    [
        ("g6.xlarge", {}, ALL, "nodes with fewer than 8 vCPUs leave parallel pulls unused; g6.xlarge has 4"),
        ("g6.2xlarge", {"release": "20250715", "kubernetes": "1.33"}, ALL, "does not know parallel pulls"),
        ("g6.2xlarge", {"ami_type": BOTTLEROCKET, "release": "1.41.0", "kubernetes": "1.33"}, ALL, "does not know"),
        ("g5g.2xlarge", {}, ALL, "g5g.2xlarge has no disks of its own"),
    ],
)
def test_settings_that_nodes_would_not_obey_are_named(
    image: Image, group: Group, types: str, pin: dict[str, str], settings: NodeSettings, reason: str
) -> None:
    ((message, _),) = settings_problems(image(types, **pin), group(*types.split()), settings)
    assert reason in message


def test_settings_that_nodes_obey_are_fine(image: Image, group: Group) -> None:
    assert not [*settings_problems(image("g6.2xlarge"), group("g6.2xlarge"), ALL)]
    assert not [*settings_problems(image(ami_type=BOTTLEROCKET), group("g6.xlarge"), ALL)]
    assert not [*settings_problems(image("g5g.xlarge"), group("g5g.xlarge"), NodeSettings())]
