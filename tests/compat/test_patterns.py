"""Forms of words are compiled when a text first meets them, and each of them can be."""

from __future__ import annotations

import importlib
import pkgutil
import re
import subprocess
import sys

import pytest
from compat.evidence.prose import patterns

import compat


def test_every_form_of_the_engine_can_be_compiled() -> None:
    for module in pkgutil.walk_packages(compat.__path__, "compat."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    assert patterns.compiled() > 200


def test_a_form_has_the_methods_of_a_compiled_one() -> None:
    form = patterns.pattern(r"(?P<word>[a-z]+)-(\d+)", re.IGNORECASE)
    match = form.search("see ABC-12 and d-3")
    assert match is not None
    assert match["word"] == "ABC"
    assert form.sub("x", "ABC-12 d-3") == "x x"
    assert form.findall("ABC-12 d-3") == [("ABC", "12"), ("d", "3")]
    assert form.pattern.startswith("(?P<word>")


def test_a_mistake_in_a_form_shows_at_its_first_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patterns, "_ALL", [])
    form = patterns.pattern("(")
    with pytest.raises(re.error):
        form.search("x")
    with pytest.raises(re.error):
        patterns.compiled()


def test_starting_the_engine_compiles_hardly_any() -> None:
    code = (
        "import re\n"
        "texts = []\n"
        "compile_ = re._compiler.compile\n"
        "def counted(text, flags=0):\n"
        "    texts.append(text)\n"
        "    return compile_(text, flags)\n"
        "re._compiler.compile = counted\n"
        "import compat.answer\n"
        "print(len(texts))\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(ran.stdout) < 60
