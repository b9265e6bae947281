"""Which SDKs a stack needs beyond those of every stack, and the message to a stack without its own."""

from __future__ import annotations

import re
import runpy
import tomllib
from pathlib import Path

import pytest
import yaml
from rows import each_row

from settings import reading as settings
from settings.sdks import EXTRAS, MODULES, extras_of, missing_sdk

PROJECT = Path(__file__).parents[2]


@each_row(
    ("config", "extras"),
    [
        ({"gpu-commons:site": {"kind": "eks"}}, ("aws",)),
        ({"gpu-commons:site": {"kind": "docker"}}, ("docker",)),
        ({"gpu-commons:site": {"kind": "kubernetes"}}, ()),
        ({"gpu-commons:site": {"kind": "slurm"}}, ()),
        ({"gpu-commons:site": {"registry": "registry.example.edu"}}, ()),
        ({"gpu-commons:site": {"kind": ["eks"]}}, ()),
        ({"gpu-commons:site": {"kind": "mainframe"}}, ()),
        ({"gpu-commons:site": "eks"}, ()),
        (None, ()),
    ],
)
def test_the_kind_of_a_site_says_which_sdks_a_stack_needs(config: object, extras: tuple[str, ...]) -> None:
    assert extras_of(config) == extras


@each_row("stack", sorted((PROJECT / "stacks").glob("Pulumi.*.yaml")), ids=lambda path: path.stem)
def test_only_stacks_of_instances_and_of_hosts_need_a_further_sdk(stack: Path) -> None:
    config = yaml.safe_load(stack.read_text())["config"]
    keys = {key for pool in config.get("gpu-commons:fleet", {}).get("pools", ()) for key in pool}
    assert extras_of(config) == (("aws",) if "instance_types" in keys else ("docker",) if "engine" in keys else ())


def test_every_extra_that_is_named_exists_and_every_extra_is_named() -> None:
    extras = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    providers = set(extras) - {"lint"}  # hadolint is no provider
    assert providers == set(MODULES.values()) == {name for names in EXTRAS.values() for name in names}
    names = {module: [re.split(r"[\[<>=]", each)[0] for each in extras[extra]] for module, extra in MODULES.items()}
    assert all(module.replace("_", "-") in brought for module, brought in names.items())


def test_a_missing_sdk_is_reported_with_the_command_that_installs_it() -> None:
    with pytest.raises(ModuleNotFoundError) as caught:
        raise ModuleNotFoundError("No module named 'pulumi_aws'", name="pulumi_aws.ec2")
    assert str(missing_sdk(caught.value, "eks-lab")) == (
        "stack eks-lab: needs the Python package pulumi-aws, which is not installed\n"
        "    run: make up STACK=eks-lab (or, without the lab: uv sync --inexact --extra aws)"
    )
    assert missing_sdk(ModuleNotFoundError("No module named 'x'", name="x"), "eks-lab") is None
    assert missing_sdk(ModuleNotFoundError("of nothing"), "eks-lab") is None


def test_the_program_ends_with_that_message_and_no_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def wants_an_sdk(*_: object) -> None:
        raise ModuleNotFoundError("No module named 'pulumi_docker'", name="pulumi_docker")

    monkeypatch.setenv("PULUMI_OPTION_POLICY_PACK", "policies")
    monkeypatch.setattr(settings, "from_pulumi", wants_an_sdk)
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(PROJECT / "__main__.py"), run_name="__main__")
    assert ended.value.code == 32
    assert "needs the Python package pulumi-docker, which is not installed" in capsys.readouterr().err
