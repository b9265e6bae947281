"""`gpu-commons stack check --cluster`: asks the API server, through kubectl, for what a stack needs. Read-only."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cli.kubectl import Cluster, KubectlFailed, listed, run
from cli.terminal import InputError
from cli.words import Paint
from errors.problems import Problem
from settings.cluster_needs import (
    PATHS,
    ClusterObjects,
    Objects,
    kinds_needed,
    lacking,
    namespaces_with_issuers,
    namespaces_with_secrets,
    worth_knowing,
)
from settings.reading import Stack

_WITHOUT: tuple[str, ...] = ("NotFound", "could not find the requested resource", "the server doesn't have")


@dataclass(frozen=True, slots=True)
class ClusterChecked:
    """What the cluster lacks, what is worth knowing of it, and what it did not let this account read."""

    problems: tuple[Problem, ...]
    notices: tuple[Problem, ...]
    unread: tuple[str, ...]


def check_cluster(stack: Stack, now: dt.datetime | None = None) -> ClusterChecked:
    """Compare the cluster of the stack's site with what the stack needs.

    Raises ClusterUnreachable, and InputError for a stack that has no cluster yet.
    """
    site = stack.site
    if site.kind in {"docker", "slurm"}:
        raise InputError(f"--cluster asks a Kubernetes cluster, and this stack is of the kind {site.kind}")
    if site.kind == "eks" and not site.kubeconfig:
        export = "pulumi stack output kubeconfig --show-secrets > FILE"
        raise InputError(
            f"--cluster needs site.kubeconfig on EKS: the cluster is the stack's own; once it is up: {export}"
        )
    cluster = Cluster(str(site.kubeconfig) if site.kubeconfig else None, site.kube_context)
    run(cluster, "get", "--raw", "/version")  # a cluster that does not answer is one error
    unread: list[str] = []

    def read(path: str) -> Objects | None:
        try:
            return listed(cluster, path)
        except KubectlFailed as error:
            if any(words in str(error) for words in _WITHOUT):
                return ()  # the cluster has no such kind
            unread.append(f"{path}: {error}")
            return None

    found = ClusterObjects(
        {kind: read(PATHS[kind]) for kind in sorted(kinds_needed(stack))},
        {name: read(f"/api/v1/namespaces/{name}/secrets") for name in namespaces_with_secrets(stack)},
        {name: read(f"/apis/cert-manager.io/v1/namespaces/{name}/issuers") for name in namespaces_with_issuers(stack)},
        {hub.name: read(f"/api/v1/namespaces/{hub.name}/persistentvolumeclaims") for hub in stack.hubs},
    )
    lacks = lacking(stack, found, now or dt.datetime.now(tz=dt.UTC))
    return ClusterChecked(lacks, worth_knowing(stack, found), tuple(unread))


def cluster_text(checked: ClusterChecked, paint: Paint) -> str:
    """An empty line, then what the cluster lacks."""
    if not checked.problems:
        head = paint("✓ the cluster has what this stack needs", "good")
        if checked.unread:
            head = paint("! the cluster lacks nothing that could be read", "warn")
    else:
        head = paint("✕ the cluster lacks what this stack needs:", "bad")
    lines = ["", head, *(f"  {each}" for each in checked.problems)]
    lines += [f"  {paint('!', 'warn')} {each}" for each in checked.notices]
    return "\n".join([*lines, *(f"  not read: {each}" for each in checked.unread)]) + "\n"


def cluster_data(checked: ClusterChecked) -> dict[str, Any]:
    """The same for programs."""

    def data(found: Sequence[Problem]) -> list[dict[str, str]]:
        return [{"path": each.path, "value": each.value, "reason": each.reason, "fix": each.fix} for each in found]

    return {"problems": data(checked.problems), "notices": data(checked.notices), "unread": list(checked.unread)}
