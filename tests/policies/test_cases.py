"""Tables of resources in the folder `cases`: ways to GPUs, their innocent neighbours, and what the pack reports."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from rows import each_row
from shown import DIGEST, IMAGE, REFUSED, UNKNOWN, UNPROVED, shown, texts

from fleet.nodes import Node
from fleet.quantities import quantity
from policies.model import Site

GPUS: Any = {"nvidia.com/gpu": quantity(8), "cpu": quantity(8)}
SITE = Site(
    nodes=(Node("n01", "gtx", {}, [], GPUS),),
    allowed_registries=("registry.example.edu",),
    runtime_daemons={IMAGE: frozenset({"gpu/plugin"})},
)
POD = {"containers": [{"name": "c", "image": IMAGE}]}
PLACEHOLDERS: Final = {
    "<unknown>": UNKNOWN,
    "<pod>": POD,
    "<privileged pod>": {"containers": [{"name": "c", "image": IMAGE, "securityContext": {"privileged": True}}]},
}
Findings = list[tuple[str, str]]


def table(name: str) -> Any:
    return filled(yaml.safe_load((Path(__file__).parent / "cases" / f"{name}.yaml").read_text()))


def filled(value: Any) -> Any:
    if isinstance(value, dict):
        return {filled(key): filled(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [filled(each) for each in value]
    if isinstance(value, str):
        return PLACEHOLDERS.get(value, value.replace("<image>", IMAGE).replace("<digest>", DIGEST))
    return value


def check(findings: Findings, answer: str, words: str = "", rule: str = "P-GPU") -> None:
    """`answer` is a kind of message, or `not` and one. A kind has exactly one message, about that."""
    if answer.startswith("not "):
        assert texts(findings, answer.removeprefix("not ")) == []
        return
    (message,) = texts(findings, answer)
    assert message.startswith(f"{rule}: ")
    if answer == UNPROVED:
        assert texts(findings, REFUSED) == []
    assert words in message


# --- paths of the node


def of_path(path: str, access: str) -> Findings:
    if access == "as a PersistentVolume":
        return shown(SITE, "kubernetes:core/v1:PersistentVolume", {"spec": {"hostPath": {"path": path}}})
    reads = {"read": True, "written": False, "maybe written": UNKNOWN}
    mounts = [{"name": "v", "mountPath": "/x", "readOnly": reads[access]}] if access in reads else []
    container = {"name": "c", "image": IMAGE, "volumeMounts": mounts}
    pod = {"containers": [container], "volumes": [{"name": "v", "hostPath": {"path": path}}]}
    kind = "DaemonSet" if access == "by a daemon of the site" else "Deployment"
    inputs = {"metadata": {"namespace": "gpu", "name": "plugin"}, "spec": {"template": {"spec": pod}}}
    return shown(SITE, f"kubernetes:apps/v1:{kind}", inputs)


def paths() -> Iterator[Any]:
    for what, section in table("host_paths").items():
        yield from (pytest.param(path, section, id=f"{what}: {path}") for path in section.pop("paths"))


@pytest.mark.slow
@each_row(("path", "answers"), [*paths()])
def test_a_path_of_the_node_is_judged_by_where_it_leads(path: str, answers: dict[str, list[str]]) -> None:
    for access, answer in answers.items():
        findings = of_path(path, access)
        if not answer:
            assert findings == [], access
            continue
        check(findings, *answer)
        assert all(f"hostPath {path}" in message for _, message in findings)


# --- custom resources

CUSTOM = table("custom_resources")


def of_custom(kind: str, spec: Any) -> Findings:
    return shown(SITE, f"kubernetes:{kind}", {"metadata": {"name": "x"}, "spec": spec})


@each_row(("kind", "spec", "path"), CUSTOM["refused"])
def test_every_pod_template_is_judged_not_only_the_first(kind: str, spec: Any, path: str) -> None:
    (message,) = [each for each in texts(of_custom(kind, spec), REFUSED) if "is privileged" in each]
    assert message.startswith(f"P-GPU: {path} of {kind.rpartition(':')[2]} x: ")


@each_row(("kind", "spec", "words"), CUSTOM["unproved"])
def test_what_may_reach_gpus_past_the_rules_could_not_be_proved(kind: str, spec: Any, words: str) -> None:
    check(of_custom(kind, spec), UNPROVED, words, f"P-READ: {kind.rpartition(':')[2]} x: could not be proved")


@each_row(("kind", "spec"), CUSTOM["nothing"])
def test_a_custom_resource_beside_those_passes(kind: str, spec: Any) -> None:
    assert of_custom(kind, spec) == []


# --- annotations

ANNOTATIONS = table("annotations")


def of_annotation(key: str, value: str) -> Findings:
    template = {"metadata": {"annotations": {key: value}}, "spec": POD}
    return shown(SITE, "kubernetes:apps/v1:Deployment", {"metadata": {"name": "web"}, "spec": {"template": template}})


@each_row(("key", "value"), ANNOTATIONS["refused"])
def test_an_annotation_that_adds_gpus_is_refused_whatever_its_prefix(key: str, value: str) -> None:
    check(of_annotation(key, value), REFUSED, f"annotation {key} adds GPUs and bypasses the scheduler")


@each_row(("key", "value"), ANNOTATIONS["nothing"])
def test_an_annotation_that_adds_other_devices_or_none_passes(key: str, value: str) -> None:
    assert of_annotation(key, value) == []
