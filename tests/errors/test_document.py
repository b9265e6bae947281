"""What YAML can say and settings do not: one clear error each, with path and line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from rows import each_row

from errors.document import read_yaml
from errors.problems import Problem, SettingsError
from settings.reading import from_pulumi, load_stack

STACK = Path(__file__).parents[2] / "stacks" / "Pulumi.cupy.yaml"


@pytest.fixture
def problem(tmp_path: Path) -> Callable[[str], Problem]:
    """The one problem of a file."""

    def read(text: str) -> Problem:
        file = tmp_path / "Pulumi.x.yaml"
        file.write_text(text, encoding="utf-8")
        with pytest.raises(SettingsError) as caught:
            load_stack(file)
        (found,) = caught.value.problems
        assert "hunter2" not in str(found)
        return found

    return read


TAGS = {
    "binary": ("!!binary aHVudGVyMg==", "has the tag !!binary, which settings do not use"),
    "set": ("!!set {a, b}", "has the tag !!set, which settings do not use"),
    "omap": ("!!omap [{a: 1}]", "has the tag !!omap, which settings do not use"),
    "pairs": ("!!pairs [{a: 1}]", "has the tag !!pairs, which settings do not use"),
    "timestamp": ("!!timestamp 2027-01-01", "has the tag !!timestamp, which settings do not use"),
    "float": ("!!float hunter2", "has the tag !!float, which does not fit its value"),
    "int": ("!!int hunter2", "has the tag !!int, which does not fit its value"),
    "bool": ("!!bool hunter2", "has the tag !!bool, which does not fit its value"),
    "null": ("!!null hunter2", "has the tag !!null, which does not fit its value"),
    "python": ("!!python/object/apply:os.system [id]", "has a tag, which settings do not use"),
    "a tag of nobody, which may be a password without quotes": ("!hunter2", "has a tag, which settings do not use"),
    "a merge of text": ("{<<: hunter2}", "merges what is not a mapping"),
    "a merge without a key": ("<<", "is <<, which merges mappings only as a key"),
    "a number of 5000 digits": ("9" * 5000, "is a number of 5000 digits"),
    "itself": ("&a [*a]", "contains itself"),
    "half of a character": (r'"\ud800"', "holds half of a character (U+D800)"),
    "a NUL character": (r'"a\0b"', "holds a NUL character (U+0000)"),
}


@each_row(("value", "reason"), TAGS.values(), ids=TAGS.keys())
def test_a_value_that_is_no_setting_is_one_problem_with_its_path_and_line(
    problem: Callable[[str], Problem], value: str, reason: str
) -> None:
    start = STACK.read_text(encoding="utf-8")
    number = len(start.splitlines()) + 2
    found = problem(f"{start}  gpu-commons:hubs: []\n  gpu-commons:courses: {value}\n".replace("\n\n", "\n"))
    assert found.reason == reason
    assert found.path.replace('config["gpu-commons:courses"]', "courses").partition("[")[0].startswith("courses")
    assert found.line == number
    assert found.fix


KEYS = {
    "!!binary aHVudGVyMg==: 1": "has the tag !!binary",
    "!!timestamp 2027-01-01: 1": "has the tag !!timestamp",
    r'"gpu-commons:\0": 1': "key",
    r'"gpu-commons:site\ud800": 1': "key",
    "[a]: 1": "has a key that is not a name",
    "{a: 1}: 1": "has a key that is not a name",
}


@each_row(("line", "reason"), KEYS.items())
def test_a_key_that_is_no_name_is_one_problem(problem: Callable[[str], Problem], line: str, reason: str) -> None:
    found = problem(f"{STACK.read_text(encoding='utf-8')}  ? {line.removesuffix(': 1')}\n  : 1\n")
    assert reason in found.reason
    assert found.line


@each_row("opened", ["[", "{a: "])
@each_row("depth", [40, 400, 4000])
def test_what_is_nested_too_deeply_is_one_problem_with_its_line(
    problem: Callable[[str], Problem], opened: str, depth: int
) -> None:
    closed = {"[": "]", "{a: ": "}"}[opened]
    found = problem(f"config:\n  a:b: 1\n  gpu-commons:site: {opened * depth}{closed * depth}\n")
    assert (found.reason, found.line) == ("is nested too deeply", 3)


BOMBS = {
    "aliases": ["a0: &a0 [x,x,x,x,x,x,x,x,x]", *[f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9)]],
    "merges": ["a0: &a0 {x: 1}", *[f"a{n}: &a{n} {{<<: [{','.join([f'*a{n - 1}'] * 9)}]}}" for n in range(1, 9)]],
    "a long list": [f"a: [{'x, ' * 60_000}]"],
}


@pytest.mark.slow
@pytest.mark.parametrize("lines", BOMBS.values(), ids=BOMBS.keys())
def test_a_file_that_grows_without_end_is_one_problem_and_not_a_thousand(
    problem: Callable[[str], Problem], lines: list[str]
) -> None:
    found = problem("config:\n" + "".join(f"  {line}\n" for line in lines))
    assert found.reason == "is too large for settings"
    assert found.line


@pytest.mark.slow
@pytest.mark.parametrize(
    "mistake", ["*hunter2", "&hunter2 &hunter2 x", '"\\hunter2"', "hunter2: hunter2: x", "@hunter2"]
)
def test_a_mistake_in_the_form_repeats_nothing_of_the_file(problem: Callable[[str], Problem], mistake: str) -> None:
    found = problem(f"config:\n  a:b: {mistake}\n")
    assert found.reason.startswith("is not YAML: ")
    assert found.line


def test_a_control_character_in_the_file_itself_is_reported_with_its_line(problem: Callable[[str], Problem]) -> None:
    found = problem("config:\n  a:b: 1\n  # \x07\n")
    assert (found.path, found.line) == ("(syntax)", 3)


def test_tags_that_say_what_is_there_anyway_anchors_and_merges_are_read(tmp_path: Path) -> None:
    file = tmp_path / "x.yaml"
    text = "a: &a {b: !!int 3, c: !!str 10}\nd: {<<: *a, c: !!bool true}\ne: !!seq [*a]\nf: ! x\ng: !!null ~\n"
    file.write_text(text, encoding="utf-8")
    first = {"b": 3, "c": "10"}
    assert read_yaml(file, called="x").data == {"a": first, "d": {"b": 3, "c": True}, "e": [first], "f": "x", "g": None}


@pytest.mark.parametrize("text", ["[" * 5000, '{"name": "\\ud800"}', '{"name": "a\\u0000b"}', "9" * 5000, "NaN"])
def test_what_the_engine_hands_over_and_no_setting_is_ends_without_a_traceback(
    monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    site = json.dumps({"registry": "a.edu/x", "allowed_registries": ["a.edu"]})
    monkeypatch.setenv("PULUMI_CONFIG", json.dumps({"gpu-commons:site": site, "gpu-commons:fleet": text}))
    monkeypatch.delenv("GPU_COMMONS_SITE", raising=False)
    with pytest.raises(SettingsError) as caught:
        from_pulumi()
    assert caught.value.problems[0].path.startswith("fleet")
    assert str(caught.value).isprintable() or "\n" in str(caught.value)
