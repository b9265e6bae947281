"""An image's metadata: its labels, and the facts written into it. Pure."""

from typing import Final

from fleet.driver_key import DRIVER_KEY_LABEL
from imaging.spec.plan import Plan, kernel_pins
from imaging.spec.runtime import runtime_words
from imaging.spec.targets import kind_of

LAB_SUBSTITUTE_LABEL: Final = "org.gpu-commons.lab.substitute"
LAB_MISSING_LABEL: Final = "org.gpu-commons.lab.missing"


def facts(plan: Plan) -> dict[str, object]:
    """The spec's facts on the image as built here. They are written into it for people and for verify.py."""
    return {
        "image": plan.spec.name,
        **({"target": kind.value} if (kind := kind_of(plan.spec)) else {}),
        "version": plan.spec.version,
        "origin": "spec",
        "layout": plan.layout.value,
        "packages": installed_pins(plan),
        **({"folders": list(plan.spec.folders)} if plan.spec.folders else {}),
        "kernels": {kernel.name: list(kernel_pins(kernel)) for kernel in plan.kernels},
        **({"modules": {"driver": modules.driver, "kernel": modules.kernel}} if (modules := plan.spec.modules) else {}),
        "substitutes": list(plan.substituted_references),
        "missing": list(plan.missing),
    }


def installed_pins(plan: Plan) -> list[str]:
    """Pins that this image adds to the server's environment, in PyPI notation, then Node's."""
    node = plan.spec.node.packages if plan.spec.node else ()
    return [*(package.pypi for package in plan.packages), *plan.cuda_wheels, *node]


def labels(plan: Plan) -> dict[str, str]:
    """OCI labels. `spec.` has the content of the spec; `lab.` has what this site leaves out."""
    spec = plan.spec
    base = {"base.name": "${BASE}"} if spec.base.image else _base_labels(plan)
    oci = {
        "title": spec.title,
        "description": spec.description,
        "version": spec.version,
        "created": f"{spec.released.isoformat()}T00:00:00Z",
        "licenses": spec.licenses or "",
        **base,
    }
    kind = kind_of(spec)
    ours = {
        "image": spec.name,
        "target": kind.value if kind else "",
        "spec.cuda-line": " ".join(spec.cuda_lines),
        "spec.frameworks": " ".join(spec.frameworks),
        "spec.packages": " ".join(installed_pins(plan)),
        "spec.kernels": " ".join(kernel.name for kernel in spec.kernels),
        "spec.driver": spec.modules.driver if spec.modules else "",
        **{f"runtime.{key}": value for key, value in runtime_words(spec.runtime).items()},
    }
    named = {
        DRIVER_KEY_LABEL: str(spec.modules.key) if spec.modules else "",
        LAB_SUBSTITUTE_LABEL: " ".join(plan.substituted_references),
        LAB_MISSING_LABEL: " ".join(plan.missing),
    }
    return {
        **{f"org.opencontainers.image.{key}": value for key, value in oci.items() if value},
        **{f"org.gpu-commons.{key}": value for key, value in ours.items() if value},
        **{key: value for key, value in named.items() if value},
        **spec.labels,
    }


def _base_labels(plan: Plan) -> dict[str, str]:
    name, _, digest = plan.root.partition("@")
    return {"base.name": name, "base.digest": digest}
