"""`gpu-commons stack groups`: how few images the pools of a stack need."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from click.testing import Result

Run = Callable[..., Result]
COMET = Path(__file__).resolve().parents[2] / "stacks" / "Pulumi.comet.yaml"


def test_one_image_for_both_cards_and_what_holds_it_back(run: Run) -> None:
    result = run("stack", "groups", "comet")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == (
        "comet: 1 image for 4 pools\n"
        "  CUDA 11.8, code for 3.7, 6.0: gpu-k80, gpu-p100, shared-k80, shared-p100\n"
        "    limited by Tesla K80 with driver 470.256.02, Tesla P100-PCIE-16GB with driver 470.256.02\n"
    )


def test_a_driver_that_is_not_known_ends_it_with_1(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "Pulumi.here.yaml"
    text = COMET.read_text()
    lines = '        gpus_per_node: 4\n        driver: "470.256.02"\n'
    assert lines in text
    file.write_text(
        text.replace(lines, "        gpus_per_node: 4\n", 1).replace("gpus_per_node, driver,", "gpus_per_node,", 2)
    )
    result, data = run("stack", "groups", str(file)), json.loads(run("stack", "groups", "--json", str(file)).stdout)
    assert result.exit_code == 1
    assert "undecided: gpu-p100, whose driver is not known" in result.stdout
    assert data["driver_unknown"] == ["gpu-p100"]
    assert data["images"][0]["code_for"] == ["3.7", "6.0"]
