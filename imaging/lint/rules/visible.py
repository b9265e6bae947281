"""D-VISIBLE: a visibility variable baked into an image, or set by a user."""

from __future__ import annotations

from collections.abc import Iterator

from imaging.lint.recipe import Kind, LintContext, Recipe, Severity
from imaging.lint.rules.rule import ALL_FILES, DIGEST, Example, Mistake, Rule
from imaging.lint.variables import set_variables

_NONE = frozenset({"", "-1", "none", "void", "NoDevFiles"})  # hides all GPUs on purpose, so it exposes none


def check(recipe: Recipe, _: LintContext) -> Iterator[Mistake]:
    for name, word in set_variables(recipe):
        value = word.text.strip()
        if name not in {"CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES"} or value in _NONE or "$" in value:
            continue
        if name == "CUDA_VISIBLE_DEVICES" and value in {"PCI_BUS_ID", "FASTEST_FIRST"}:
            continue  # D-PCI
        where = "is set by hand" if recipe.kind is Kind.SCRIPT else "is baked into the image"
        effect = (
            "the container sees GPUs that it was not given" if value == "all" else "everybody lands on the same GPU"
        )
        yield Mistake(
            word.line,
            f"{name}={value} {where}: {effect}",
            "leave it out: the request (nvidia.com/gpu, --gpus, --device nvidia.com/gpu=…, the allocation) "
            "chooses the device",
        )


RULE = Rule(
    id="D-VISIBLE",
    number="E19",
    title="Visibility variable set by hand",
    says="No image and no script sets NVIDIA_VISIBLE_DEVICES or CUDA_VISIBLE_DEVICES to devices.",
    why=(
        "The container runtime reads NVIDIA_VISIBLE_DEVICES of the image as a request: a pod without a GPU request "
        "then sees all GPUs of its node, and an index puts everybody on GPU 0."
    ),
    fix="Leave it out, and ask for devices where the container is started.",
    sources=("https://github.com/NVIDIA/k8s-device-plugin/issues/61",),
    severity=Severity.WARNING,
    check=check,
    kinds=ALL_FILES,
    passing=Example(f"FROM ubuntu:24.04@{DIGEST}\nENV NVIDIA_DRIVER_CAPABILITIES=compute,utility\nUSER 1000\n"),
    failing=Example(f"FROM ubuntu:24.04@{DIGEST}\nENV NVIDIA_VISIBLE_DEVICES=all\nUSER 1000\n"),
)
