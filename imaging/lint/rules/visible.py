"""D-VISIBLE: a visibility variable baked into an image, or set by a user."""

from collections.abc import Iterator

from imaging.lint.containers import set_variables
from imaging.lint.recipe import Kind, LintContext, Recipe
from imaging.lint.rules.rule import Mistake

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
            word,
            f"{name}={value} {where}: {effect}",
            "leave it out: the request (nvidia.com/gpu, --gpus, --device nvidia.com/gpu=…, the allocation) "
            "chooses the device",
        )
