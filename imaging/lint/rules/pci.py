"""D-PCI: CUDA_VISIBLE_DEVICES=PCI_BUS_ID."""

from __future__ import annotations

from collections.abc import Iterator

from imaging.lint.recipe import LintContext, Recipe, Severity
from imaging.lint.rules.rule import ALL_FILES, DIGEST, Example, Mistake, Rule
from imaging.lint.variables import set_variables


def check(recipe: Recipe, _: LintContext) -> Iterator[Mistake]:
    for name, word in set_variables(recipe):
        if name == "CUDA_VISIBLE_DEVICES" and word.text.strip() in {"PCI_BUS_ID", "FASTEST_FIRST"}:
            message = f"CUDA_VISIBLE_DEVICES={word.text} hides every GPU: that value belongs to CUDA_DEVICE_ORDER"
            fix = f"set CUDA_DEVICE_ORDER={word.text.strip()}, and leave CUDA_VISIBLE_DEVICES to the scheduler"
            yield Mistake(word.line, message, fix)


RULE = Rule(
    id="D-PCI",
    number="E18",
    title="CUDA_VISIBLE_DEVICES=PCI_BUS_ID",
    says="PCI_BUS_ID is a value of CUDA_DEVICE_ORDER.",
    why="CUDA_VISIBLE_DEVICES lists devices and ends at the first entry that is none: as written, no GPU is seen.",
    fix="CUDA_DEVICE_ORDER=PCI_BUS_ID",
    sources=("https://docs.nvidia.com/cuda/cuda-programming-guide/05-appendices/environment-variables.html",),
    severity=Severity.ERROR,
    check=check,
    kinds=ALL_FILES,
    passing=Example(f"FROM ubuntu:24.04@{DIGEST}\nENV CUDA_DEVICE_ORDER=PCI_BUS_ID\nUSER 1000\n"),
    failing=Example(f"FROM ubuntu:24.04@{DIGEST}\nENV CUDA_VISIBLE_DEVICES=PCI_BUS_ID\nUSER 1000\n"),
)
