"""Finds instructions that copy the whole context."""

from __future__ import annotations

from imaging.lint.recipe import Instruction


def copies_everything(instruction: Instruction) -> bool:
    """`COPY . …`, from the context, not from another stage."""
    if instruction.keyword not in {"COPY", "ADD"} or "from" in instruction.flags or "each" in instruction.flags:
        return False
    return any(word.text in {".", "./", "/", "*", "./*"} for word in instruction.words[:-1])
