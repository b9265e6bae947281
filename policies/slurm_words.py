"""What rules say of a pod, in the words of a site with Slurm. Pure. Rules find the same in both, and write it once."""

from __future__ import annotations

import re
from typing import Final

# As words of their own: not in a path, a name of an image or a label.
_BEFORE, _AFTER = r"(?<![\w/.@:=-])", r"(?![\w/@=-]|:\S)"
_TABLE: Final = {
    r"containers\[0\]\.image": "image",
    r"containers\[0\]\.resources(?:\.limits(?:\.nvidia\.com/gpu)?)?": "gpus",
    r"Set nvidia\.com/gpu in resources\.limits, and remove the variable or the volume": "Ask for GPUs by gpus",
    r"Change the node selector, add the toleration, or request no more than one node has": "Choose other pools, or ask "
    "for no more than one node has",
    r"affinity(?:\.[\w.\[\]]+)?": "pools",
    r"the kubelet leaves": "a node should leave",
}
_PHRASES: Final = {re.compile(f"{_BEFORE}{said}{_AFTER}"): better for said, better in _TABLE.items()}


def in_slurm_words(text: str) -> str:
    """A sentence about a pod as one about the job that it stands for."""
    for phrase, better in _PHRASES.items():
        text = phrase.sub(better, text)
    return text
