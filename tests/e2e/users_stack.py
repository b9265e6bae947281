"""The user's stack, looked at: all that tests must leave as it was."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass

from running_lab import HUB_NAMESPACE, STACK, Object, RunningLab

from lab.cluster import name_of

NAMESPACES = ("batch", "datahub", "gpu-runtime")
# Written by the cluster itself, again and again.
FLEETING = {"endpoints", "endpointslices.discovery.k8s.io", "events", "events.events.k8s.io"}
TEST_USERS = "e2e-user-"  # so begin the names of all whom tests log in, on the hub of their own stack
OF_A_PERSON = "hub.jupyter.org/username"  # whoever uses the hub meanwhile starts and stops servers
PEOPLE = """
import sqlite3
database = sqlite3.connect("file:/srv/jupyterhub/jupyterhub.sqlite?mode=ro", uri=True)
print(*(name for (name,) in database.execute("select name from users")), sep="\\n")
"""


@dataclass(frozen=True)
class UsersStack:
    """What the engine knows of it and what is in the cluster, by name."""

    state: dict[str, Object]  # of each resource, and of the rest
    objects: dict[str, str]  # digest by kind, namespace and name: among them are Secrets
    nodes: dict[str, Object]  # labels, annotations and spec: what others than the node itself may set

    def changes(self, later: UsersStack) -> set[str]:
        """Names of all that is not as it was."""
        pairs: tuple[tuple[Mapping[str, object], Mapping[str, object]], ...] = (
            (self.state, later.state),
            (self.objects, later.objects),
            (self.nodes, later.nodes),
        )
        return {name for old, new in pairs for name in old.keys() | new.keys() if old.get(name) != new.get(name)}


def look(lab: RunningLab) -> UsersStack:
    export = lab.run(lab.pulumi, "stack", "export", "--stack", STACK)
    assert export.code == 0, export.shown
    deployment: Object = json.loads(export.out)["deployment"]
    resources = {each["urn"]: each for each in deployment.pop("resources")}
    return UsersStack({**resources, "the rest": deployment}, _objects(lab), _nodes(lab))


def people(lab: RunningLab) -> set[str]:
    """Everybody whom the user's hub has ever seen, from its database."""
    program = ("python3", "-c", PEOPLE)
    result = lab.run("kubectl", "exec", "--namespace", HUB_NAMESPACE, "hub-0", "--", *program)
    assert result.code == 0, result.shown
    return set(result.out.split())


def _objects(lab: RunningLab) -> dict[str, str]:
    kinds = lab.run("kubectl", "api-resources", "--namespaced", "--verbs", "list", "--output", "name")
    assert kinds.code == 0, kinds.shown
    wanted = ",".join(sorted(set(kinds.out.split()) - FLEETING))
    found = [
        *(each for name in NAMESPACES for each in _get(lab, wanted, "--namespace", name)),
        *_get(lab, "namespaces", *NAMESPACES),
        *_get(lab, "runtimeclasses"),
    ]
    return {
        f"{each['kind']} {each['metadata'].get('namespace', '')}/{name_of(each)}": _digest(each)
        for each in found
        if OF_A_PERSON not in each["metadata"].get("annotations", {})
    }


def _get(lab: RunningLab, *what: str) -> list[Object]:
    got = lab.run("kubectl", "get", *what, "--output", "json")
    assert got.code == 0, got.shown
    items: list[Object] = json.loads(got.out)["items"]
    return items


def _digest(thing: Object) -> str:
    """Of what somebody decided: identity, generation, labels, spec, data; not of what was only observed."""
    metadata = {
        key: value for key, value in thing["metadata"].items() if key not in ("managedFields", "resourceVersion")
    }
    decided = {**{key: value for key, value in thing.items() if key != "status"}, "metadata": metadata}
    return hashlib.sha256(json.dumps(decided, sort_keys=True).encode()).hexdigest()


def _nodes(lab: RunningLab) -> dict[str, Object]:
    return {
        f"Node {name_of(node)}": {
            "labels": node["metadata"].get("labels", {}),
            "annotations": node["metadata"].get("annotations", {}),
            "spec": node.get("spec", {}),
        }
        for node in lab.cluster.nodes()
        if not name_of(node).startswith("conformance-")  # that suite may run beside us
    }
