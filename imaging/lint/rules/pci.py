"""D-PCI: CUDA_VISIBLE_DEVICES=PCI_BUS_ID."""

from collections.abc import Iterator

from imaging.lint.containers import set_variables
from imaging.lint.recipe import LintContext, Recipe
from imaging.lint.rules.rule import Mistake


def check(recipe: Recipe, _: LintContext) -> Iterator[Mistake]:
    for name, word in set_variables(recipe):
        if name == "CUDA_VISIBLE_DEVICES" and word.text.strip() in {"PCI_BUS_ID", "FASTEST_FIRST"}:
            message = f"CUDA_VISIBLE_DEVICES={word.text} hides every GPU: that value belongs to CUDA_DEVICE_ORDER"
            fix = f"set CUDA_DEVICE_ORDER={word.text.strip()}, and leave CUDA_VISIBLE_DEVICES to the scheduler"
            yield Mistake(word, message, fix)
