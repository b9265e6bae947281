"""A contract for each stack: it comes up, does its main job, stays as it is, refuses a mistake, and goes.

That of dsmlp-fall is tests/e2e, on the lab that `make up` starts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from own_lab import OwnLab, changes

from tests.stacks import stack_comet, stack_dcsg, stack_eks_g6, stack_flatcar_ec2, stack_perceptron, stack_quest
from tests.stacks.contract import Contract, Window

pytestmark = pytest.mark.timeout(1500)

# Those with the real node begin first, and the others in the order of how long they take.
MODULES = (stack_eks_g6, stack_flatcar_ec2, stack_dcsg, stack_quest, stack_perceptron, stack_comet)
CONTRACTS = [module.CONTRACT for module in MODULES]


@pytest.fixture(scope="module", params=CONTRACTS, ids=str)
def contract(request: pytest.FixtureRequest) -> Contract:
    return request.param


@pytest.fixture(scope="module")
def lab(contract: Contract) -> Iterator[OwnLab]:
    with contract.new_lab(contract.stack) as lab:
        yield lab


def test_up_ends_with_what_people_need_and_no_finding(lab: OwnLab, contract: Contract) -> None:
    assert f"{contract.stack} is up." in lab.output
    assert [each for each in contract.printed if not re.search(each, lab.output)] == []
    assert re.search(r"policies: .* looked at \d+ resources and refused none", lab.output)


def test_its_main_job_is_done(lab: OwnLab, contract: Contract, window: Window) -> None:
    contract.use(lab, window)


def test_a_second_up_changes_nothing(lab: OwnLab) -> None:
    assert not changes(lab.up())


def test_a_driver_on_which_its_images_do_not_run_is_refused(lab: OwnLab, contract: Contract, tmp_path: Path) -> None:
    file = contract.with_another_driver(tmp_path)
    shown = lab.refused("preview", "--config-file", str(file), GPU_COMMONS_STACKS=str(tmp_path))
    assert re.search(contract.refusal, shown), shown


def test_destroy_leaves_what_people_made_and_nothing_else(lab: OwnLab, contract: Contract) -> None:
    lab.pulumi("destroy", "--yes", "--skip-preview")
    contract.left(lab)
