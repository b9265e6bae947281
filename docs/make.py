"""Writes docs/reference/ and arguments of components: `make docs`; tests/test_docs.py compares."""  # noqa: INP001 - a script, no package

from __future__ import annotations

import ast
import csv
import inspect
import json
import re
import tokenize
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from cli.facts import TABLES, unverified_counts
from cli.review.document import comment_schema
from cli.schema.shapes import answer_schema, case_schema, matrix_schema
from compat import Case, Severity, check
from compat.evidence.case import FIELDS
from compat.facts.lookup import facts
from compat.rules import ALL_RULES as COMPAT_RULES
from compat.rules.rule import Rule
from imaging.lint.hadolint import page_of
from imaging.lint.hadolint_rules import BEATEN_BY, FIXES, LEFT_OUT, OURS, SAFE_FEEDERS
from imaging.lint.rules.index import ALL_RULES as LINT_RULES
from policies.configuration import json_schema as pack_schema
from policies.model import Rule as PolicyRule
from policies.rules.index import ABOUT_THE_PACK, ALL_RULES
from settings.reading import NAMESPACE, json_schema
from tools import component_arguments

ROOT: Final = Path(__file__).resolve().parent.parent
REFERENCE: Final = ROOT / "docs" / "reference"
PROOF: Final = ROOT / "docs" / "proof.csv"
PINS: Final = ROOT / "lab" / "tools" / "pins.toml"
OF_EACH_STACK: Final = "all"
CASES: Final = ROOT / "tests" / "compat" / "cases.csv"
HEAD: Final = "<!-- Written by `make docs` from {source}. Change that, not this page. -->\n\n"
EVERYWHERE: Final = {"assumptions"}  # stands in most sections, and is described once


def arguments() -> dict[Path, str]:
    """Every generated module of components with its text."""
    return {ROOT / name: text for name, text in component_arguments.modules().items()}


def pages() -> dict[Path, str]:
    """Every generated page with its text."""
    schemas = {
        "stack": json_schema(),
        "pack": pack_schema(),
        "case": case_schema(),
        "answer": answer_schema(),
        "matrix": matrix_schema(),
        "comment": comment_schema(),
    }
    return {
        **{
            REFERENCE / f"{name}.schema.json": json.dumps(schema, indent=2, ensure_ascii=False) + "\n"
            for name, schema in schemas.items()
        },
        REFERENCE / "stack.md": stack_page(schemas["stack"]),
        REFERENCE / "pack.md": pack_page(schemas["pack"]),
        REFERENCE / "components.md": components_page(ROOT / "components"),
        REFERENCE / "policies.md": policies_page(),
        REFERENCE / "compat-rules.md": compat_rules_page(),
        REFERENCE / "facts.md": facts_page(),
        REFERENCE / "lint-rules.md": lint_rules_page(),
        REFERENCE / "modules.md": modules_page(),
        PROOF.with_suffix(".md"): proof_page(),
    }


# --- what was seen


def proof_page() -> str:
    """For each stack, the parts that ran, how and when they were seen, and those that nobody has seen."""
    versions = {name: pin["version"] for name, pin in tomllib.loads(PINS.read_text()).items() if "version" in pin}
    with PROOF.open(newline="") as file:
        rows = list(csv.DictReader(file))
    stacks = sorted({name for row in rows for name in row["stacks"].split()} - {OF_EACH_STACK})
    sections = {name: [row for row in rows if name in row["stacks"].split()] for name in (OF_EACH_STACK, *stacks)}
    blocks = [
        "# What was seen to run\n",
        "The parts of each stack in [the lab](lab.md), a single machine without a GPU.",
        "`real` is the program that a site runs, `stand-in` is something of the lab in its place, and nobody has seen",
        "a part that is `never` run.",
        "The test shows it, and the day is the last on which somebody looked at its result.\n",
        "| stack | real | stand-ins | never |\n|---|---|---|---|",
    ]
    for name in stacks:
        how = Counter(row["how"] for row in (*sections[OF_EACH_STACK], *sections[name]))
        blocks.append(f"| [{name}](#{name}) | {how['real']} | {how['stand-in']} | {how['never']} |")
    for name, parts in sections.items():
        blocks.append(f"\n## {'Every stack' if name == OF_EACH_STACK else name}\n")
        blocks.append("| part | how | with | shown by | seen |\n|---|---|---|---|---|")
        for row in parts:
            shown = f"[{row['shown_by']}](../{row['shown_by']})" if row["shown_by"] else ""
            cells = (row["part"], row["how"], row["with"].format(**versions), shown, row["seen"])
            blocks.append(f"| {' | '.join(map(_cell, cells))} |")
    return HEAD.format(source=PROOF.name) + "\n".join(blocks) + "\n"


# --- modules

PROGRAM: Final = ("__main__.py",)  # what Pulumi runs: it stands on the floors up to the policies
RULES: Final = "rules"  # a folder with a file for each rule: another page lists them


def modules_page() -> str:
    """Every module in one line, the first sentence of its docstring; a floor a section, from the ground up."""
    blocks = [
        "# Modules\n",
        "Every module in one line, floor by floor from the ground up: [architecture](../architecture.md) shows them.",
        "Folders named `rules` also have one file for each rule, which other pages list.",
    ]
    for floor in _floors():
        blocks.append(f"\n## {floor}\n\n| module | is for |\n|---|---|")
        blocks += [f"| `{name}` | {_cell(text)} |" for name, text in _modules(sorted((ROOT / floor).rglob("*.py")))]
    blocks.append("\n## The program\n\n| module | is for |\n|---|---|")
    blocks += [f"| `{name}` | {_cell(text)} |" for name, text in _modules([ROOT / name for name in PROGRAM])]
    return HEAD.format(source="the docstrings of the modules") + "\n".join(blocks) + "\n"


def _floors() -> list[str]:
    """From the ground up, as the import contract has them."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    return next(each["layers"][::-1] for each in contracts if each["type"] == "layers" and "containers" not in each)


def _modules(files: Iterable[Path]) -> Iterator[tuple[str, str]]:
    for path in sorted(files, key=lambda path: (path.parent.as_posix(), path.name)):
        name = path.relative_to(ROOT)
        is_a_rule = name.parent.name == RULES and path.name not in {"index.py", "rule.py"}
        # A plug-in keeps its environment in its folder.
        if is_a_rule or path.name in {"__init__.py", "verify.py"} or ".venv" in name.parts:
            continue
        if not (docstring := _docstring(path)):
            raise SystemExit(f"{name}: has no docstring; say in its first line what the module is for")
        yield name.as_posix(), _first_sentence(docstring)


def _docstring(path: Path) -> str:
    """Of a module, without a look at the rest of the file; empty where its first statement is something else."""
    with path.open(encoding="utf-8") as lines:
        between = {tokenize.COMMENT, tokenize.NL}
        first = next(each for each in tokenize.generate_tokens(lines.readline) if each.type not in between)
    return inspect.cleandoc(ast.literal_eval(first.string)) if first.type == tokenize.STRING else ""


def _first_sentence(docstring: str) -> str:
    paragraph = " ".join(docstring.partition("\n\n")[0].split())
    return re.split(r"(?<=[a-z0-9`)\"]\.) +(?=[A-Z`])", paragraph)[0]


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
    return HEAD.format(source="settings, workloads and platforms") + "\n".join(blocks) + "\n"


def pack_page(schema: Mapping[str, Any]) -> str:
    """The same for the configuration of the policy pack."""
    ((section, keys),) = schema["properties"].items()
    blocks = [
        "# Configuration of the policy pack\n",
        f"Keys below `{section}` of the JSON file that `--policy-pack-config` names.",
        "That is the policy which they are given to, and they count for all.",
        "`[]` marks a list, **required** a key without a default.",
        "Unknown keys are refused.",
        "The models of `fleet` and `policies` are those of a [stack file](stack.md).",
        "[pack.schema.json](pack.schema.json) is the same for editors.",
        "How to use it: [prove another team's stack](../another-teams-stack.md).",
    ]
    for name, key in keys["properties"].items():
        needed = name in keys["required"]
        blocks.append(f"\n## `{name}`\n\n{key['description']}{'' if needed else ' May be left out.'}")
        blocks += _tables(name, key, schema["$defs"])
    return HEAD.format(source="policies/configuration.py") + "\n".join(blocks) + "\n"


def _tables(path: str, node: Mapping[str, Any], defs: Mapping[str, Any]) -> Iterator[str]:
    """The table of each mapping at `path`, then those below it."""
    for name in _mappings(node):
        model = defs[name]
        chosen = model["properties"].get("kind", {}).get("const")
        yield f"\n### `{path}`" + (f", kind `{chosen}`" if chosen else "") + f"\n\n{model['description']}\n"
        yield "| key | type | default | meaning |\n|---|---|---|---|"
        own = sorted(model["properties"].items(), key=lambda each: each[0] not in ("kind", "name"))
        keys = {key: value for key, value in own if key not in EVERYWHERE}
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
        elif "oneOf" in each.get("items", {}):
            yield from _mappings(each["items"])
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
    """Arguments and outputs of every component, from their source."""
    blocks = [
        "# Components\n",
        "Arguments are keys of a mapping, in snake case from Python and in camel case from other languages.",
        "**required** marks those without a default.",
        "A type in `Input[…]` may be another resource's output, all others are plain values.",
        "How to use them: [use a component](../use-a-component.md).",
    ]
    trees = [ast.parse(path.read_text()) for path in sorted(folder.rglob("*.py")) if ".venv" not in path.parts]
    shapes = {shape.name: shape for tree in trees for shape in _shapes(tree)}
    hosted = _hosted(folder)
    for name, module in public(folder).items():
        tree = ast.parse((folder / f"{module}.py").read_text())
        component = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name)
        blocks.append(f"\n## {name}\n\nToken `gpu-commons:index:{name}`, in `components/{module}.py`.\n")
        if name not in hosted:
            extra = module.partition("/")[0].removeprefix("on_")
            blocks.append(f"For programs in Python only, with the extra `{extra}`.\n")
        blocks.append(ast.get_docstring(component) or "")
        outputs = [field for field in _fields(component.body) if field.type.startswith("Output[")]
        blocks.append("\n| output | type | meaning |\n|---|---|---|")
        blocks += [f"| `{field.name}` | `{field.type}` | {field.text} |" for field in outputs]
        for shape in _used(f"{name}Args", shapes):
            blocks.append(f"\n### {shape.name}\n\n{shape.text}\n\n| key | type | | meaning |\n|---|---|---|---|")
            blocks += [
                f"| `{field.name}` | `{field.type}` | {'**required**' if field.is_required else ''} | {field.text} |"
                for field in shape.fields
            ]
    return HEAD.format(source="the docstrings of components/") + "\n".join(blocks) + "\n"


def public(folder: Path) -> dict[str, str]:
    """Component → module: those that components/__main__.py hosts, then those of folders, which it does not."""
    found = _hosted(folder)
    for path in sorted(folder.glob("on_*/*.py")):
        classes = [node for node in ast.parse(path.read_text()).body if isinstance(node, ast.ClassDef)]
        module = path.relative_to(folder).with_suffix("").as_posix()
        made = [node.name for node in classes if "pulumi.ComponentResource" in map(ast.unparse, node.bases)]
        found |= dict.fromkeys(made, module)
    return found


def _hosted(folder: Path) -> dict[str, str]:
    """Component → module, of those that programs in any language can use."""
    tree = ast.parse((folder / "__main__.py").read_text())
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    ours = [node for node in imports if (node.module or "").startswith("components.")]
    return {
        alias.name: str(node.module).removeprefix("components.").replace(".", "/")
        for node in sorted(ours, key=lambda node: node.names[0].name)
        for alias in node.names
    }


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
    rows = [
        f"| `{rule.id}` | {_cell(rule.says)} | {_looks_at(rule)} | {_cell(rule.remedy_in())} |" for rule in ALL_RULES
    ]
    own = [f"| `{name}` | {_cell(says)} |" for name, says in ABOUT_THE_PACK.items()]
    blocks = [
        "# Rules\n",
        "Every message of the pack starts with the id of its rule.",
        "How they are loaded and what a reviewer does about them: [policies](../policies.md).\n",
        "| rule | says | looks at | what to do about a finding |\n|---|---|---|---|",
        *rows,
        "\nRules that look at a pool as a whole only advise; levels and waivers are for all others.\n",
        "| id | when |\n|---|---|",
        *own,
    ]
    return HEAD.format(source="policies/rules/index.py") + "\n".join(blocks) + "\n"


def _looks_at(rule: PolicyRule) -> str:
    if rule.check_together:
        return "pools"
    parts = {"stack": rule.check_stack, "images": rule.check_image, "workloads": rule.looks_at_workloads}
    return ", ".join(name for name, check in parts.items() if check)


# --- compatibility


def compat_rules_page() -> str:
    """Rules of the engine in the order of their index, each with its examples as they come out now."""
    blocks = [
        "# Rules of the compatibility engine\n",
        "Every finding names the rule that made it; `gpu-commons explain RULE` prints the same with the facts.",
        "A need is met if one of its ways is: a refusal of one way counts only where every other way fails as well.",
        "A rule without a need stands alone, and its refusal is final.",
        "How to ask: [check an image](../check-an-image.md).\n",
        "| rule | title | need | at worst |\n|---|---|---|---|",
        *(
            f"| [`{rule.id}`](#{rule.id.lower()}) | {_cell(rule.text.title)} | {rule.need.value if rule.need else ''} "
            f"| {rule.text.severity.value} |"
            for rule in COMPAT_RULES
        ),
    ]
    for rule in COMPAT_RULES:
        blocks.append(f"\n## {rule.id}\n\n{rule.text.title}.\n\n{_cell(rule.text.says)}\n\nSources:\n")
        blocks += [f"- {_cell(source)}" for source in rule.sources]
        blocks.append("\n| example | verdict | what decides |\n|---|---|---|")
        blocks += map(_example, (rule.text.passing, rule.text.failing, rule.text.undecided), [rule] * 3)
    return HEAD.format(source="compat/rules") + "\n".join(blocks) + "\n"


def _example(example: Mapping[str, str], rule: Rule) -> str:
    answer = check(Case(**example), with_remedy=False)
    own = [finding for finding in answer.findings if finding.rule == rule.id] or answer.findings
    said = _cell(own[0].message) if own else ""
    return f"| {', '.join(f'{name} `{value}`' for name, value in example.items())} | {answer.verdict.value} | {said} |"


COLUMNS: Final = (  # tables that are short and often asked for, in full
    ("driver_branch", ("branch", "native_cuda", "branch_type", "eol")),
    (
        "gpu_arch",
        ("compute_capability", "architecture", "first_cuda", "last_cuda", "first_driver_branch", "last_driver_branch"),
    ),
    ("cuda_driver", ("cuda_version", "min_linux_x86_64_driver", "minor_compat_min_driver")),
)


def facts_page() -> str:
    """The tables, how big they are and how sure, and the most asked for in full."""
    blocks = [
        "# Fact tables\n",
        "What the [rules](compat-rules.md) rest on.",
        "Every row has its source and the day it was read; an empty cell is a fact that nobody has found.",
        "A cell that is not verified can lead to a warning, but never to a refusal.",
        "`gpu-commons facts TABLE` prints rows with their sources, `gpu-commons facts --unverified` this count.",
        _memory(),
        "\n| table | holds | rows | rows with a cell that is not verified | such cells |\n|---|---|---|---|---|",
    ]
    for name, doubts in unverified_counts().items():
        link = f"[`{name}`](../../compat/facts/data/{name}.csv)"
        blocks.append(
            f"| {link} | {TABLES.get(name, '')} | {doubts.rows:,} | {doubts.unsure_rows:,} | {doubts.cells:,} |"
        )
    for name, columns in COLUMNS:
        blocks.append(f"\n## {name}\n\n{TABLES[name]}\n")
        blocks.append(f"| {' | '.join(columns)} | |\n|{'---|' * (len(columns) + 1)}")
        for row in facts(name):
            doubt = [column for column in columns if column in row["unverified_cells"].split(";")]
            told = f"not verified: {', '.join(doubt)}" if doubt else ""
            blocks.append(f"| {' | '.join(_cell(row[column]) for column in columns)} | {told} |")
    return HEAD.format(source="compat/facts/data") + "\n".join(blocks) + "\n"


def _memory() -> str:
    with CASES.open(encoding="utf-8", newline="") as file:
        asked = [Case(**{name: row[name] for name in FIELDS}) for row in csv.DictReader(file)]
    refused = [
        each for case in asked for each in check(case, with_remedy=False).findings if each.severity is Severity.REFUSE
    ]
    number = sum(not each.fact.verified for each in refused)
    rest = f"{number:,} rest" if number else "none rests"
    return f"Of all refusals over the cases of `{CASES.relative_to(ROOT)}`, {rest} on such a cell."


# --- linter


def lint_rules_page() -> str:
    """Rules of `image lint` in the order of their index, each with a file that has the mistake and one without."""
    blocks = [
        "# Rules of the linter\n",
        "`gpu-commons image lint` names the rule of each finding.",
        "JSON also has a `reference`: the number of the mistake in the table below.",
        "What has nothing to do with GPUs is under `general` in JSON.",
        "So does what hadolint adds; [below](#hadolint) is what is taken from it.",
        "How to ask, and how to waive a rule: [lint a Dockerfile](../lint-a-dockerfile.md).\n",
        "| rule | mistake | number | at worst | asked of |\n|---|---|---|---|---|",
        *(
            f"| [`{rule.id}`](#{rule.id.lower()}) | {_cell(rule.title)} | {rule.number or 'none'} "
            f"| {rule.severity.value} | {', '.join(sorted(kind.value for kind in rule.kinds))} |"
            for rule in LINT_RULES
        ),
    ]
    for rule in LINT_RULES:
        blocks += [
            f"\n## {rule.id}\n",
            _cell(rule.says),
            _cell(rule.why),
            f"\nInstead: {_cell(rule.fix)}\n\nSources:\n",
        ]
        blocks += [f"- {source}" for source in rule.sources]
        for title, example in (("Has it", rule.failing), ("Is clean", rule.passing)):
            role = f", `--role {example.role.value}`" if example.role.value != "application" else ""
            beside = {True: ", beside a .dockerignore", False: ", beside no .dockerignore", None: ""}
            blocks.append(f"\n{title} ({example.kind.value}{role}{beside[example.has_ignore_file]}):\n")
            blocks.append(f"```text\n{re.sub(r'sha256:4{64}', 'sha256:444…', example.text).rstrip()}\n```")
    return HEAD.format(source="imaging/lint/rules") + "\n".join([*blocks, *_hadolint_section()]) + "\n"


def _hadolint_section() -> Iterator[str]:
    """What is taken from hadolint, in whose words, and what is not, with the reason."""
    yield "\n## hadolint\n"
    yield "Its errors and warnings, and those of ShellCheck, keep their ids: `DL4006`, `SC2046`."
    yield f"Each has a page: <{page_of('DL4006')}>, <{page_of('SC2046')}>."
    yield "Its levels info and style are taste, and are left out; so are these:\n"
    yield "| rule | why it is left out |\n|---|---|"
    yield from (f"| `{rule}` | {f'`{own}` finds it' if own else _cell(why)} |" for rule, own, why in _not_passed_on())
    yield "\nThese count only where no rule of ours has found something in the same instruction:\n"
    yield "| rule | gives way to |\n|---|---|"
    yield from (f"| `{rule}` | {', '.join(f'`{own}`' for own in ours)} |" for rule, ours in BEATEN_BY.items())
    feeders = ", ".join(f"`{name}`" for name in sorted(SAFE_FEEDERS))
    yield f"\n`DL4006` counts only where something else than {feeders} begins the pipe.\n"
    yield "These come with a fix of ours; all others with their page:\n"
    yield "| rule | instead |\n|---|---|"
    yield from (f"| `{rule}` | {_cell(fix)} |" for rule, fix in FIXES.items())


def _not_passed_on() -> list[tuple[str, str, str]]:
    ours = [(rule, own, "") for rule, own in OURS.items()]
    return sorted([*ours, *((rule, "", why) for rule, why in LEFT_OUT.items())])


def _cell(text: str) -> str:
    """Text that fits into one cell of a table; `<` outside of code would be taken for HTML."""
    parts = " ".join(text.split()).replace("|", "\\|").split("`")
    return "`".join(part if index % 2 else part.replace("<", "&lt;") for index, part in enumerate(parts))


if __name__ == "__main__":
    REFERENCE.mkdir(exist_ok=True)
    for written in (arguments, pages):  # in this order: a page lists arguments
        for path, text in written().items():
            path.write_text(text)
