"""Writes docs/reference/ from the code: `make docs`. tests/test_docs.py compares, so that a page is never behind."""  # noqa: INP001 - a script, no package

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from components.settings import NAMESPACE, json_schema
from policies.rules.index import ALL_RULES

ROOT: Final = Path(__file__).resolve().parent.parent
REFERENCE: Final = ROOT / "docs" / "reference"
HEAD: Final = "<!-- Written by `make docs` from {source}. Change that, not this page. -->\n\n"
EVERYWHERE: Final = {"assumptions"}  # stands in most sections, and is described once


def pages() -> dict[Path, str]:
    """Every generated file with its text."""
    return {
        REFERENCE / "stack.schema.json": json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n",
        REFERENCE / "stack.md": stack_page(json_schema()),
        REFERENCE / "components.md": components_page(ROOT / "components"),
        REFERENCE / "policies.md": policies_page(),
    }


# --- configuration keys


def stack_page(schema: Mapping[str, Any]) -> str:
    """One table for each mapping of a stack file, in the order of the sections."""
    sections: Mapping[str, Any] = schema["properties"]["config"]["properties"]
    blocks = [
        "# Configuration keys\n",
        "Keys of a stack file, `stacks/Pulumi.<stack>.yaml`, below `config:`.",
        "`[]` marks a list, **required** a key without a default.",
        "Unknown keys are refused.",
        "Every mapping that holds facts of a site also takes `assumptions`: the keys beside it that are guesses.",
        "[stack.schema.json](stack.schema.json) is the same for editors: a stack file names it in its first line.",
    ]
    for key, section in sections.items():
        needed = key in schema["properties"]["config"]["required"]
        blocks.append(f"\n## `{key}`\n\n{section['description']}{'' if needed else ' May be left out.'}")
        path = key.removeprefix(f"{NAMESPACE}:") + ("[]" if section.get("type") == "array" else "")
        blocks += _tables(path, section, schema["$defs"])
    return HEAD.format(source="components/stack/models.py") + "\n".join(blocks) + "\n"


def _tables(path: str, node: Mapping[str, Any], defs: Mapping[str, Any]) -> Iterator[str]:
    """The table of each mapping at `path`, then those below it."""
    for name in _mappings(node):
        model = defs[name]
        chosen = model["properties"].get("kind", {}).get("const")
        yield f"\n### `{path}`" + (f", kind `{chosen}`" if chosen else "") + f"\n\n{model['description']}\n"
        yield "| key | type | default | meaning |\n|---|---|---|---|"
        keys = {key: value for key, value in model["properties"].items() if key not in EVERYWHERE}
        for key, value in keys.items():
            default = "**required**" if key in model.get("required", ()) else _default(value)
            yield f"| `{key}` | {_type(value)} | {default} | {_cell(value['description'])} |"
        for key, value in keys.items():
            yield from _tables(f"{path}.{key}" + ("[]" if value.get("type") == "array" else ""), value, defs)


def _alternatives(node: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    found = node.get("anyOf") or node.get("oneOf") or [node]
    return [each for each in found if each.get("type") != "null"]


def _mappings(node: Mapping[str, Any]) -> Iterator[str]:
    """Names of the models that may stand here, directly or as items of a list."""
    for each in _alternatives(node):
        if each is not node:
            yield from _mappings(each)
        elif reference := each.get("$ref") or each.get("items", {}).get("$ref"):
            yield reference.rpartition("/")[2]


def _type(node: Mapping[str, Any]) -> str:
    alternatives = _alternatives(node)
    if len(alternatives) > 1:
        return "mapping, one of several kinds"
    (only,) = alternatives
    if only is not node:
        return _type(only)
    if "const" in only or "enum" in only:
        return ", ".join(f"`{value}`" for value in only.get("enum", [only.get("const")]))
    if only.get("type") == "array":
        return f"list of {_type(only['items'])}"
    words = {"string": "text", "integer": "whole number", "object": "mapping of text", "boolean": "true or false"}
    kind = "mapping" if "$ref" in only else only["type"]
    return words.get(kind, kind) + _limits(only)


def _limits(node: Mapping[str, Any]) -> str:
    low, high = node.get("minimum"), node.get("maximum")
    if low is not None and high is not None:
        return f", {low} to {high}"
    if low is not None:
        return f", {low} or more"
    return f", more than {node['exclusiveMinimum']}" if "exclusiveMinimum" in node else ""


def _default(node: Mapping[str, Any]) -> str:
    default = node.get("default")
    if default in (None, [], {}, ""):
        return "none"
    return "see below" if isinstance(default, dict) else f"`{json.dumps(default)}`"


# --- components


def components_page(folder: Path) -> str:
    """Arguments and outputs of every component that components/__main__.py hosts, from their source."""
    blocks = [
        "# Components\n",
        "Arguments are keys of a mapping, in snake case from Python and in camel case from other languages.",
        "**required** marks those without a default.",
        "A type in `Input[…]` may be another resource's output, all others are plain values.",
        "How to use them: [use a component](../use-a-component.md).",
    ]
    for name, module in hosted(folder).items():
        tree = ast.parse((folder / f"{module}.py").read_text())
        component = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name)
        blocks.append(f"\n## {name}\n\nToken `gpu-commons:index:{name}`, in `components/{module}.py`.\n")
        blocks.append(ast.get_docstring(component) or "")
        outputs = [field for field in _fields(component.body) if field.type.startswith("Output[")]
        blocks.append("\n| output | type | meaning |\n|---|---|---|")
        blocks += [f"| `{field.name}` | `{field.type}` | {field.text} |" for field in outputs]
        shapes = {shape.name: shape for shape in _shapes(tree)}
        for shape in _used(f"{name}Args", shapes):
            blocks.append(f"\n### {shape.name}\n\n{shape.text}\n\n| key | type | | meaning |\n|---|---|---|---|")
            blocks += [
                f"| `{field.name}` | `{field.type}` | {'**required**' if field.is_required else ''} | {field.text} |"
                for field in shape.fields
            ]
    return HEAD.format(source="the docstrings of components/") + "\n".join(blocks) + "\n"


def hosted(folder: Path) -> dict[str, str]:
    """Component → module, as components/__main__.py imports them."""
    tree = ast.parse((folder / "__main__.py").read_text())
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module]
    ours = [node for node in imports if str(node.module).startswith("components.")]
    return dict(sorted((alias.name, str(node.module).rpartition(".")[2]) for node in ours for alias in node.names))


@dataclass(frozen=True, slots=True)
class Field:
    """One key of a TypedDict, or one annotated attribute of a component, with the string below it."""

    name: str
    type: str
    is_required: bool
    text: str


@dataclass(frozen=True, slots=True)
class Shape:
    """One TypedDict."""

    name: str
    text: str
    fields: tuple[Field, ...]


def _field(name: str, annotation: ast.expr, text: str) -> Field:
    optional = isinstance(annotation, ast.Subscript) and ast.unparse(annotation.value) == "NotRequired"
    inner = annotation.slice if optional and isinstance(annotation, ast.Subscript) else annotation
    return Field(name, ast.unparse(inner).replace("pulumi.", ""), not optional, _cell(text))


def _shapes(tree: ast.Module) -> Iterator[Shape]:
    """TypedDicts of a module: written as a class, or as a call where a key is a keyword of Python."""
    for index, node in enumerate(tree.body):
        match node:
            case ast.ClassDef(name=name, bases=[ast.Name(id="TypedDict")]):
                yield Shape(name, ast.get_docstring(node) or "", tuple(_fields(node.body)))
            case ast.Assign(
                value=ast.Call(func=ast.Name(id="TypedDict"), args=[ast.Constant(value=name), ast.Dict() as d])
            ):
                keys = zip(d.keys, d.values, strict=True)
                fields = tuple(_field(str(key.value), kind, "") for key, kind in keys if isinstance(key, ast.Constant))
                yield Shape(str(name), _text_below(tree.body, index), fields)


def _fields(body: Sequence[ast.stmt]) -> Iterator[Field]:
    for index, node in enumerate(body):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield _field(node.target.id, node.annotation, _text_below(body, index))


def _text_below(body: Sequence[ast.stmt], index: int) -> str:
    match body[index + 1 : index + 2]:
        case [ast.Expr(value=ast.Constant(value=str(text)))]:
            return text
    return ""


def _used(name: str, shapes: Mapping[str, Shape]) -> list[Shape]:
    """The shape of that name and those that it needs, each once."""
    found = [shapes[name]]
    for shape in found:
        words = {word for field in shape.fields for word in re.findall(r"\w+", field.type)}
        found += [inner for inner in shapes.values() if inner.name in words and inner not in found]
    return found


# --- policies


def policies_page() -> str:
    """The rules in the order of their index."""
    rows = [f"| `{rule.id}` | {_cell(rule.says)} | {_cell(rule.remedy)} |" for rule in ALL_RULES]
    blocks = [
        "# Rules\n",
        "Every message of the pack starts with the id of its rule.",
        "How they are loaded and what a reviewer does about them: [policies](../policies.md).\n",
        "| rule | says | what to do about a finding |\n|---|---|---|",
        *rows,
    ]
    return HEAD.format(source="policies/rules/index.py") + "\n".join(blocks) + "\n"


def _cell(text: str) -> str:
    """Text that fits into one cell of a table; `<` outside of code would be taken for HTML."""
    parts = " ".join(text.split()).replace("|", "\\|").split("`")
    return "`".join(part if index % 2 else part.replace("<", "&lt;") for index, part in enumerate(parts))


if __name__ == "__main__":
    REFERENCE.mkdir(exist_ok=True)
    for path, text in pages().items():
        path.write_text(text)
