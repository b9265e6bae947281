"""Automatic names and field managers. Pure: the engine gives the seed."""

from __future__ import annotations

import hashlib
from typing import Any, Final

from lab.providers.values import UNKNOWN, Properties
from lab.providers.vocabulary import Autonaming

AUTONAMED: Final = "pulumi.com/autonamed"
MANAGER_ANNOTATION: Final = "pulumi.com/patchFieldManager"
MANAGER_STATE_KEY: Final = "__fieldManager"
MANAGER_PREFIX: Final = "pulumi-kubernetes-"
SUFFIX_LENGTH: Final = 8


class NameNeededError(ValueError):
    """Automatic names are switched off and the object has none."""


def with_name(
    inputs: Properties, old_inputs: Properties, *, resource_name: str, seed: bytes, autonaming: Autonaming | None
) -> Properties:
    """The inputs with a name: the user's, else their present one, else a new one with a random suffix.

    Raises NameNeededError if the user's autonaming configuration forbids one.
    """
    metadata = inputs.get("metadata", {})
    if not isinstance(metadata, dict) or metadata.get("name") not in (None, "") or metadata.get("generateName"):
        return inputs  # the user's name, or one that is not known yet
    old = old_inputs.get("metadata")
    if isinstance(old, dict) and is_autonamed(old_inputs) and isinstance(old.get("name"), str):
        name = old["name"]
    elif autonaming and autonaming.disabled:
        raise NameNeededError("automatic names are switched off: set metadata.name")
    elif autonaming and autonaming.name:
        name = autonaming.name
    else:
        name = f"{resource_name}-{hashlib.sha256(seed).hexdigest()[:SUFFIX_LENGTH]}"
    annotations = metadata.get("annotations")
    marked = {**(annotations if isinstance(annotations, dict) else {}), AUTONAMED: "true"}
    return {
        **inputs,
        "metadata": {**metadata, "name": name, "annotations": UNKNOWN if annotations is UNKNOWN else marked},
    }


def is_autonamed(inputs: Properties) -> bool:
    return bool(annotation(inputs, AUTONAMED) == "true")


def annotation(inputs: Properties, name: str) -> Any:
    """The value of an annotation; None if it (or its parent) is missing or unknown."""
    metadata = inputs.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    return annotations.get(name) if isinstance(annotations, dict) else None


def field_manager(urn: str, inputs: Properties, state: Properties) -> str:
    """One field manager for each resource: the server reports two resources that set the same field.

    Derived from the URN, so that the next run recognises an object that an interrupted run created; kept in the state,
    so a renamed resource keeps its manager.
    """
    chosen = annotation(inputs, MANAGER_ANNOTATION)
    if isinstance(chosen, str) and chosen:
        return chosen
    kept = state.get(MANAGER_STATE_KEY)
    if isinstance(kept, str) and kept:
        return kept
    return MANAGER_PREFIX + hashlib.sha256(urn.encode()).hexdigest()[:SUFFIX_LENGTH]
