"""State that an earlier version's stand-in for the docker-build plugin wrote: nothing is built anew for it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from second_lab import STACK

from lab.migration import IMAGE, MARK, PROVIDER

if TYPE_CHECKING:
    from pathlib import Path

    from second_lab import Lab

pytestmark = pytest.mark.lab


def test_make_preview_adopts_what_the_stand_in_wrote_and_then_nothing_changes(deployed: Lab, tmp_path: Path) -> None:
    before = deployed.resources()
    exported = tmp_path / "state.json"
    deployed.pulumi("stack", "export", "--file", str(exported)).succeeded()
    exported.write_text(json.dumps(aged(json.loads(exported.read_text()))))
    deployed.pulumi("stack", "import", "--file", str(exported)).succeeded()
    deployed.pulumi("preview", "--expect-no-changes").refused()

    text = deployed.python_m_lab("preview", "--stack", STACK).succeeded()
    assert " 2 images without a build" in text  # the image, and its check, which no stand-in ever made
    assert "to update" not in text
    deployed.pulumi("preview", "--expect-no-changes").succeeded()
    assert "adopt" not in deployed.python_m_lab("preview", "--stack", STACK).succeeded()
    assert {urn: each.get("outputs") for urn, each in deployed.resources().items()} == {
        urn: each.get("outputs") for urn, each in before.items()
    }


def aged(state: dict[str, Any]) -> dict[str, Any]:
    """The state as the stand-in left it: few defaults, a hash of its own, and nothing of the plugin's configuration."""
    for resource in state["deployment"]["resources"]:
        sides = [resource.get(side, {}) for side in ("inputs", "outputs")]
        if resource["type"] == PROVIDER:
            for side in sides:
                for name in ("host", MARK, "__pulumi-go-provider-version"):
                    side.pop(name, None)
        if resource["type"] == IMAGE and not resource["urn"].endswith("-check"):
            for side in sides:
                for name in ("exec", "load", "noCache", "pull", "target"):
                    side.pop(name)
                side["dockerfile"].pop("location")
                for export in side["exports"]:
                    del export["disabled"], export["raw"]
                    for name in ("danglingNamePrefix", "forceCompression", "push", "store"):
                        del export["registry"][name]
            resource["outputs"]["contextHash"] = "0" * 64
    return state
