"""D-CACHE: a package cache left in a layer."""

from __future__ import annotations

from collections.abc import Iterator

from imaging.lint import package_caches
from imaging.lint.recipe import LintContext, Recipe, Severity
from imaging.lint.rules import cleanup
from imaging.lint.rules.rule import DIGEST, Example, Mistake, Rule


def check(recipe: Recipe, context: LintContext) -> Iterator[Mistake]:
    for cache, line in cleanup.never_cleared(recipe, context, package_caches.HEAVY):
        message = f"{cache.leaves} stays in this layer: bytes that every node pulls and nobody reads"
        yield Mistake(line, message, cache.fix)


RULE = Rule(
    id="D-CACHE",
    number="E8",
    title="Package cache in a layer",
    says="pip, uv, conda and npm leave no cache in a layer.",
    why="Downloaded archives and lists are not needed to run: with CUDA wheels they are gigabytes on every node.",
    fix="Use a cache mount (--mount=type=cache), the manager's own switch, or clean up in the same RUN.",
    sources=(
        "https://docs.docker.com/build/cache/optimize/#use-cache-mounts",
        "https://pip.pypa.io/en/stable/topics/caching/",
        "https://github.com/hadolint/hadolint/wiki/DL3042",
    ),
    severity=Severity.WARNING,
    check=check,
    passing=Example(
        f"FROM python:3.12-slim@{DIGEST}\n"
        "RUN --mount=type=cache,target=/root/.cache/pip pip install numpy==2.4.6\n"
        "USER 1000\n"
    ),
    failing=Example(f"FROM python:3.12-slim@{DIGEST}\nRUN pip install numpy==2.4.6\nUSER 1000\n"),
)
