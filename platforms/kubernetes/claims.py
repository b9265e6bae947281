"""GPU requests by claims: ResourceClaimTemplates for NVIDIA's driver, and the matching pod fields. Pure.

Source: kubernetes/api resource/v1 types.go, stable since Kubernetes 1.34.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from fleet.dra_devices import DRIVER

FIRST_KUBERNETES: Final = 34  # first minor version with claims enabled and stable
CLAIM: Final = "gpus"  # claim name in pods


def template_name(workload: str) -> str:
    """Name of a workload's template."""
    return f"{workload}-{CLAIM}"


def template_spec(gpus: int, products: Sequence[str]) -> dict[str, Any]:
    """Spec of a ResourceClaimTemplate: a number of whole GPUs of any listed product, by label value."""
    named = " || ".join(f'{_PRODUCT}.replace(" ", "-") == "{each}"' for each in products)
    request: dict[str, Any] = {"deviceClassName": DRIVER, "allocationMode": "ExactCount", "count": gpus}
    if named:
        request["selectors"] = [{"cel": {"expression": named}}]
    return {"spec": {"devices": {"requests": [{"name": CLAIM, "exactly": request}]}}}


_PRODUCT: Final = f'device.attributes["{DRIVER}"].productName'


def of_pod(template: str) -> Mapping[str, Any]:
    """Pod field: each pod gets its own claim from the template."""
    return {"resourceClaims": [{"name": CLAIM, "resourceClaimTemplateName": template}]}


def of_container() -> list[dict[str, str]]:
    """Container field, below `resources.claims`."""
    return [{"name": CLAIM}]
