"""Requests for GPUs by claims: templates of ResourceClaims for NVIDIA's driver, and what a pod says of them. Pure.

Source: kubernetes/api resource/v1 types.go, stable since Kubernetes 1.34.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from fleet.dra_devices import DRIVER

API_VERSION: Final = "resource.k8s.io/v1"
FIRST_KUBERNETES: Final = 34  # minor version from which claims are on and stable
CLAIM: Final = "gpus"  # what pods call theirs


def template_name(workload: str) -> str:
    """Name of the template of a workload."""
    return f"{workload}-{CLAIM}"


def template_spec(gpus: int, products: Sequence[str]) -> dict[str, Any]:
    """Spec of a ResourceClaimTemplate: so many whole GPUs, each of one of these products, as their labels call them."""
    named = " || ".join(f'{_PRODUCT}.replace(" ", "-") == "{each}"' for each in products)
    request: dict[str, Any] = {"deviceClassName": DRIVER, "allocationMode": "ExactCount", "count": gpus}
    if named:
        request["selectors"] = [{"cel": {"expression": named}}]
    return {"spec": {"devices": {"requests": [{"name": CLAIM, "exactly": request}]}}}


_PRODUCT: Final = f'device.attributes["{DRIVER}"].productName'


def of_pod(template: str) -> Mapping[str, Any]:
    """What the pod says: each one gets a claim of its own from the template."""
    return {"resourceClaims": [{"name": CLAIM, "resourceClaimTemplateName": template}]}


def of_container() -> list[dict[str, str]]:
    """What the container says, below `resources.claims`."""
    return [{"name": CLAIM}]
