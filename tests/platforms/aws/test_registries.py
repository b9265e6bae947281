"""Registries of ECR by their names."""

from __future__ import annotations

import pytest
from rows import each_row

from platforms.aws.registries import EcrRegistry

HOST = "123456789012.dkr.ecr.eu-central-1.amazonaws.com"


@pytest.mark.parametrize(
    ("text", "repository"),
    [(f"{HOST}/gpu-commons", "gpu-commons/hub"), (f"{HOST}/gpu/commons/", "gpu/commons/hub"), (HOST, "hub")],
)
def test_a_registry_says_its_account_its_region_and_where_images_lie(text: str, repository: str) -> None:
    found = EcrRegistry.read(text)
    assert found
    assert (found.account, found.region, found.repository("hub")) == ("123456789012", "eu-central-1", repository)


@each_row("text", ["registry.example.edu/gpu-commons", "127.0.0.1:5000/x", "public.ecr.aws/x", f"{HOST}.x"])
def test_another_registry_is_none_of_ecr(text: str) -> None:
    assert EcrRegistry.read(text) is None
