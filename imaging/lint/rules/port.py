"""D-PORT: a random port of the host."""

from __future__ import annotations

from collections.abc import Iterator

from imaging.lint.containers import DOCKER, calls
from imaging.lint.recipe import Kind, LintContext, Recipe, Severity
from imaging.lint.rules.rule import Example, Mistake, Rule
from imaging.lint.shell import option_values


def check(recipe: Recipe, _: LintContext) -> Iterator[Mistake]:
    for _command, words in calls(recipe, DOCKER, "run", "create"):
        for port in option_values(words, "-p", "--publish"):
            if port.text.partition("/")[0].isdigit():
                message = f"-p {port} takes a random port of the host, and listens for the whole network"
                fix = f"-p 127.0.0.1:{port}:{port}, or the address and port that you mean"
                yield Mistake(port.line, message, fix)


RULE = Rule(
    id="D-PORT",
    number="E25",
    title="Random host port",
    says="A published port names the host's port, and its address.",
    why="`-p 8000` means container port 8000 on a random port of every address: users miss it, strangers may find it.",
    fix="-p 127.0.0.1:8000:8000",
    sources=("https://docs.docker.com/engine/network/port-publishing/",),
    severity=Severity.WARNING,
    check=check,
    kinds=frozenset({Kind.SCRIPT}),
    passing=Example("docker run --rm -p 127.0.0.1:8000:8000 hub.example/app:1\n", Kind.SCRIPT),
    failing=Example("docker run --rm -p 8000 hub.example/app:1\n", Kind.SCRIPT),
)
