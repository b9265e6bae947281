"""Another team's program: shows the pack the resources of resources.json, in that order, and none of our components.

A resource here is a component of the type that the row asks for: the engine hands its inputs to a pack as it hands
those of any other, and no API server says first that a pod is wrong. "<unknown>" is a value that a preview cannot know.
"""

import json
from pathlib import Path
from typing import Any

import pulumi
from pulumi.runtime.rpc import UNKNOWN

UNKNOWN_WORD = "<unknown>"


def known_or_not(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: known_or_not(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [known_or_not(inner) for inner in value]
    return pulumi.Output.from_input(UNKNOWN) if value == UNKNOWN_WORD else value


for row in json.loads(Path("resources.json").read_text()):
    if "raise" in row:
        raise RuntimeError(row["raise"])
    pulumi.ComponentResource(row["type"], row["name"], known_or_not(row["inputs"]))
