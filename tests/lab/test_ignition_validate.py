"""The official validator of node configs reads what we render, and refuses what is broken."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab import processes
from lab.instance import LabError
from lab.toolchain import Toolchain
from platforms.aws.flatcar.driver import Way
from platforms.aws.flatcar.ignition import Config, Directory, DropIn, File, KeyReference, Link, Unit, User, render

pytestmark = pytest.mark.lab

GOLDEN = Path(__file__).parents[1] / "golden" / "ignition"
KEY = KeyReference.parse("secret:ssh-ana")
PUBLIC = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIMadeUpForTestsOnly ana@example.edu"


def validate(folder: Path, text: str) -> str:
    """What the validator says; raises LabError where it refuses."""
    path = folder / "config.ign"
    path.write_text(text)
    return processes.run([str(Toolchain().path("validate")), str(path)])


def test_every_part_that_we_render_passes_without_a_word(tmp_path: Path) -> None:
    service = "[Unit]\nDescription=a\n[Service]\nExecStart=/usr/bin/true\n[Install]\nWantedBy=multi-user.target\n"
    config = Config(
        users=(User(name="core", ssh_keys=(KEY,), groups=("docker",)),),
        directories=(Directory(path="/var/scratch", mode=0o755),),
        files=(File.of("/etc/ü %", 'a "b" \\ \n\t%41', overwrite=True),),
        links=(Link(path="/etc/link", target="/etc/hosts"),),
        units=(
            Unit(name="tmp.mount", mask=True),
            Unit(name="a.service", enabled=True, contents=service),
            Unit(name="containerd.service", dropins=(DropIn(name="10-a.conf", contents="[Service]\n"),)),
        ),
    )
    assert validate(tmp_path, render(config, keys={KEY: PUBLIC})) == ""


@pytest.mark.parametrize("golden", sorted(GOLDEN.glob("*.json")), ids=lambda path: path.stem)
def test_a_nodes_whole_config_passes_without_a_word(golden: Path, tmp_path: Path) -> None:
    assert validate(tmp_path, golden.read_text()) == ""


def test_there_is_a_config_for_each_way_to_a_driver() -> None:
    assert {path.stem for path in GOLDEN.glob("*.json")} == {way.value for way in Way}


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ('"version":"3.4.0"', '"version":"3.9.0"'),
        ('"path":"/etc/a"', '"path":"etc/a"'),
        ('"source":"data:,a"', '"source":"data:;base64,@"'),
        ('"name":"a.service"', '"name":"a.serv"'),
        ("{", "{{"),
    ],
)
def test_a_broken_config_does_not_pass(right: str, wrong: str, tmp_path: Path) -> None:
    text = render(Config(files=(File.of("/etc/a", "a"),), units=(Unit(name="a.service", mask=True),)), keys={})
    assert right in text
    validate(tmp_path, text)
    with pytest.raises(LabError, match=r"error|unsupported|invalid"):
        validate(tmp_path, text.replace(right, wrong, 1))
