"""A Docker host on which somebody else holds cards."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from own_lab import OwnLab, own_lab

from lab.instance import LabError

pytestmark = [pytest.mark.lab, pytest.mark.timeout(1500)]


@pytest.fixture(scope="module")
def lab() -> Iterator[OwnLab]:
    with own_lab("perceptron") as lab:
        yield lab


def test_a_card_that_somebody_else_holds_is_refused_by_the_engine_and_named_in_a_preview(lab: OwnLab) -> None:
    image = lab.docker("inspect", "--format", "{{.Config.Image}}", "tensorboard").strip()
    label = "gpu-commons.org/pool=workstation"
    networks = [word for card in (0, 1) for word in ("--network", f"gpu-commons-card-{card}")]
    hold = ["run", "-d", "--name", "somebody", "--label", label, *networks[:2], image, "sleep", "300"]
    lab.docker(*hold)
    lab.docker("network", "connect", "gpu-commons-card-1", "somebody")
    try:
        second = lab.docker("run", "--rm", *networks[:2], image, "true")
        assert "no available IPv4 addresses" in second
        with pytest.raises(LabError, match="train needs 1 cards, and 0 of 2 are free") as caught:
            lab.pulumi("preview")
        assert "container somebody" in str(caught.value)
    finally:
        lab.docker("rm", "-f", "somebody")
    assert "no available" not in lab.docker("run", "--rm", *networks[:2], image, "true")
