"""The component plug-in's own requirements, for folders that were copied elsewhere."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from pulumi.provider.experimental.analyzer import Analyzer
from pydantic import BaseModel

from components.gpu_image import GpuImage
from components.on_kubernetes.gpu_job import GpuJob
from components.on_kubernetes.notebook_hub import NotebookHub
from fleet.machines import DISK_MB_PER_S, PULL_MB_PER_S
from platforms.kubernetes.job import Job
from workloads.hub import DEFAULT_CPU_GUARANTEE, DEFAULT_MEMORY_GUARANTEE_GIB, Hub

PROJECT = Path(__file__).parents[2]


def requirements(folder: Path) -> list[str]:
    return list(tomllib.loads((folder / "pyproject.toml").read_text())["project"]["dependencies"])


def test_the_plugin_asks_for_the_versions_that_the_project_is_tested_with() -> None:
    required = requirements(PROJECT / "components")
    assert {"pulumi==3.259.0", "pulumi-kubernetes==4.34.2", "pulumi-docker-build==0.0.22"} <= set(required)
    assert set(required) <= set(requirements(PROJECT))


def alternatives(node: Mapping[str, Any], root: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The schemas that a value may have: one, or one for each kind."""
    if "$ref" in node:
        yield from alternatives(root["$defs"][node["$ref"].rpartition("/")[2]], root)
    elif options := node.get("anyOf") or node.get("oneOf"):
        for each in options:
            yield from alternatives(each, root)
    elif node.get("type") != "null":
        yield node


def model_keys(model: type[BaseModel]) -> Iterator[tuple[str, str, bool, list[Any]]]:
    """Path, type, is it required, and its defaults, of every key of a model; kinds of one thing together."""
    root = model.model_json_schema()

    def walk(path: str, mappings: list[Mapping[str, Any]]) -> Iterator[tuple[str, str, bool, list[Any]]]:
        for key in dict.fromkeys(key for each in mappings for key in each["properties"]):
            holders = [each for each in mappings if key in each["properties"]]
            is_required = all(key in each.get("required", ()) for each in mappings)
            found = [each for holder in holders for each in alternatives(holder["properties"][key], root)]
            types = {each.get("type", "string") for each in found}  # an image may be another resource's output
            (kind,) = types
            yield f"{path}{key}", kind, is_required, [each["properties"][key].get("default") for each in holders]
            inner = [e for each in found for e in alternatives(each.get("items", each), root) if "properties" in e]
            if inner:
                yield from walk(f"{path}{key}.", inner)

    yield from walk("", [root])


def argument_keys(component: Any) -> Iterator[tuple[str, str, bool, str]]:
    """Path, type, is it required, and description, of every argument as Pulumi reads them for other languages."""
    analyzer = Analyzer("gpu-commons")
    definition = analyzer.analyze([component])["component_definitions"][component.__name__]

    def walk(path: str, properties: Mapping[str, Any], names: Mapping[str, str]) -> Iterator[Any]:
        for name, found in properties.items():
            key = f"{path}{names.get(name, name)}"
            yield key, found.type.value if found.type else "object", not found.optional, found.description or ""
            ref = found.ref or (found.items and found.items.ref)
            if ref and ref.startswith("#/types/"):
                inner = analyzer.type_definitions[ref.rpartition(":")[2]]
                yield from walk(f"{key}.", inner.properties, inner.properties_mapping)

    yield from walk("", definition.inputs, definition.inputs_mapping)


# Not in the model: where a job runs is another resource's output; a hub fills the namespace of its own name by default.
APART = {(GpuJob, ("namespace", "string", True)), (NotebookHub, ("namespace", "string", False))}


@pytest.mark.slow
def test_the_planning_figures_of_pulls_and_disks_are_those_of_the_fleet() -> None:
    texts = {path: text for path, _, _, text in argument_keys(GpuImage)}
    assert texts["lands_on.pull_mb_per_s"].endswith(f"a planning figure, {PULL_MB_PER_S:g}.")
    assert texts["lands_on.disk_mb_per_s"].endswith(f"a planning figure, {DISK_MB_PER_S:g}.")


@pytest.mark.slow
@pytest.mark.parametrize(("component", "model"), [(NotebookHub, Hub), (GpuJob, Job)])
def test_arguments_for_other_languages_are_those_that_the_models_read(component: Any, model: type[BaseModel]) -> None:
    read = {(path, kind, is_required) for path, kind, is_required, _ in model_keys(model)}
    written = {(path, kind, is_required) for path, kind, is_required, _ in argument_keys(component)}
    own = {key for of, key in APART if of is component}
    assert written - own == {key for key in read if key[0] != "namespace"}


# Defaults that are not in a model, because they hold only where another key allows them.
WORKED_OUT = {
    "profiles.cpu_guarantee": {f"{DEFAULT_CPU_GUARANTEE:g}"},
    "profiles.memory_guarantee_gib": {f"{DEFAULT_MEMORY_GUARANTEE_GIB:g}"},
}


def words_of(default: Any) -> set[str]:
    """A default as a description says it; no words for what is left out, and for a mapping, whose keys say theirs."""
    if isinstance(default, list):
        return set().union(*map(words_of, default))
    if isinstance(default, Mapping):
        return {default["key"]} if "key" in default else set()
    return {json.dumps(default).strip('"')} - {"null", ""}


def words_in(text: str) -> set[str]:
    """What a description says of the default: values that it names, not the words around them."""
    found = re.search(r"\bdefault:?\s+(.+?)(?:;|\.(?=\s|$)|$)", text, re.DOTALL | re.IGNORECASE)
    return {word.strip(",:") for word in found[1].split()} if found else set()


@pytest.mark.parametrize(("component", "model"), [(NotebookHub, Hub), (GpuJob, Job)])
def test_each_argument_says_the_default_that_its_model_has_and_no_other(component: Any, model: type[BaseModel]) -> None:
    used = {path: words_of(defaults) | WORKED_OUT.get(path, set()) for path, _, _, defaults in model_keys(model)}
    documented = {path: words_in(text) for path, _, _, text in argument_keys(component) if path in used}
    literals = re.compile(r"[\d.]+|true|false")
    heard = {
        path: {word for word in words if word in used[path] or literals.fullmatch(word)}
        for path, words in documented.items()
    }
    assert heard == {path: used[path] for path in documented}
