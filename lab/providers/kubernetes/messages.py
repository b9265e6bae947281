"""The server's errors, and what to do about them. Pure."""

from __future__ import annotations

from typing import Final

from lab.providers.kubernetes.kinds import ObjectKind, Served
from lab.providers.values import Properties, Secret, leaves

FORCE_HINT: Final = (
    'Leave these fields to them, or take them over with the annotation pulumi.com/patchForce: "true" on this resource'
)


def refusal(kind: ObjectKind, place: str, *, status: int, message: str, causes: list[tuple[str, str]]) -> str:
    """One message for an operation on `kind` at `place` (namespace/name) that the server refused."""
    subject = f"{kind.kind} {place}"
    if status == 409 and causes:
        owned = "\n".join(f"  {field or '(object)'}: {why}" for field, why in causes)
        return f"{subject}: conflict: other field managers own fields that this resource sets:\n{owned}\n{FORCE_HINT}"
    if status == 422 and causes:
        return "\n".join([f"{subject} is invalid:", *(f"  {field}: {why}" for field, why in causes)])
    return f"{subject}: {message}"


def without_secrets(text: str, inputs: Properties) -> str:
    """The message with every secret of the inputs hidden: the server quotes what it refuses."""
    hidden = {leaf for each in leaves(inputs) if isinstance(each, Secret) for leaf in leaves(each.value)}
    for secret in sorted((each for each in hidden if isinstance(each, str) and each), key=len, reverse=True):
        text = text.replace(secret, "[secret]")
    return text


def already_exists(kind: ObjectKind, place: str, token: str) -> str:
    return (
        f"{kind.kind} {place} already exists and was not made by this resource. "
        f"Import it (pulumi import {token} NAME {place}), delete it, give this resource another name, "
        "or set upsertExistingObjects on the provider to take it over"
    )


def not_served(kind: ObjectKind) -> str:
    return (
        f"the server has no {kind.kind} in {kind.api_version}: correct apiVersion and kind, "
        "or install its CustomResourceDefinition first"
    )


def not_ready(kind: ObjectKind, place: str, missing: str, *, timeout_s: float | None) -> str:
    """`timeout_s` None: it failed for good; the wait was not cut short."""
    within = f" within {timeout_s:g} s" if timeout_s is not None else ""
    return f"{kind.kind} {place} did not become ready{within}: {missing}"


def still_there(kind: ObjectKind, place: str, finalizers: list[str], *, timeout_s: float) -> str:
    held = f"; its finalizers are {', '.join(finalizers)}" if finalizers else ""
    return (
        f"{kind.kind} {place} is still there {timeout_s:g} s after it was deleted: "
        f"timed out waiting for the condition{held}"
    )


def gone(served: Served, name: str, urn: str) -> str:
    """An update of a deleted object. The first words are the official plugin's."""
    group = served.api_version.rpartition("/")[0]
    missing = f'{served.plural}{"." if group else ""}{group} "{name}" not found'
    return (
        f'update of resource "{urn}" failed: {missing}\nunable to get cluster state: {missing}. Somebody deleted it: '
        "`pulumi refresh` removes it from the state, and the next update creates it again"
    )


def not_updated(place: str, refused: str, *, is_conflict: bool) -> str:
    """An update that the server refused. The first words are the official plugin's: it also mentions its state."""
    conflict = "Server-Side Apply field conflict detected. " if is_conflict else ""
    return (
        f'the Kubernetes API server reported that "{place}" failed to fully initialize or become live: '
        f"{conflict}{refused}"
    )
