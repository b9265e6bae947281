"""D-CLEANUP: a cleanup in a later layer than its files."""

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from posixpath import basename, join, normpath

from imaging.lint import package_caches
from imaging.lint.package_caches import Cache
from imaging.lint.packages import install_of
from imaging.lint.recipe import Command, Instruction, LintContext, Recipe
from imaging.lint.rules.rule import Mistake
from imaging.lint.shell import option_value

_FIX = "do both in one RUN, or fetch and build in a separate stage and COPY --from what is needed"


def check(recipe: Recipe, _: LintContext) -> Iterator[Mistake]:
    made: dict[str, int] = {}  # path → line that created it
    filled: dict[Cache, int] = {}
    installed: dict[str, int] = {}
    for instruction in recipe.image:
        if instruction.keyword == "RUN":
            yield from _of_run(instruction, made, filled, installed)
        made |= _paths(instruction)
        for command in instruction.commands if instruction.keyword == "RUN" else ():
            cache = package_caches.filled_by(command)
            if cache and not package_caches.is_covered(cache, command, instruction, instruction.commands, {}):
                filled[cache] = command.line
            if install := install_of(command):
                installed |= {package.name: command.line for package in install.packages}


def never_cleared(recipe: Recipe, context: LintContext, wanted: frozenset[Cache]) -> Iterator[tuple[Cache, int]]:
    """Caches that stay in a layer, with the line that fills each. This rule has those cleared in a later layer."""
    lines = {mistake.line for mistake in check(recipe, context)}
    late = [command for run in recipe.image for command in run.commands if command.line in lines]
    for cache, line in package_caches.left_in(recipe.image, wanted):
        if not any(package_caches.clears(cache, command) for command in late):
            yield cache, line


def _of_run(
    run: Instruction, made: dict[str, int], filled: dict[Cache, int], installed: dict[str, int]
) -> Iterator[Mistake]:
    own = _paths(run)
    own_caches = {package_caches.filled_by(command) for command in run.commands}
    own_packages = {p.name for c in run.commands if (install := install_of(c)) for p in install.packages}
    for command in run.commands:
        if command.program == "rm":
            for word in command.arguments:
                path = normpath(join(command.folder, word.text))
                hit = None if word.text.startswith("-") else _made_before(path, made, own)
                hit = hit or _cache_before(path, filled, own_caches)
                if hit:
                    message = f"{word.text} was made by line {hit}, in an earlier layer: removing it here saves nothing"
                    yield Mistake(word, message, _FIX)
        elif (cache := package_caches.emptied_by(command)) in filled and cache not in own_caches and cache:
            yield Mistake(
                command.line,
                f"{cache.leaves} was filled by line {filled[cache]}, in an earlier layer: clearing it here saves "
                "nothing",
                cache.fix,
            )
        elif command.program in {"apt-get", "apt", "yum", "dnf"} and command.has("purge", "remove", "erase"):
            gone = [w.text for w in command.arguments if w.text in installed and w.text not in own_packages]
            if gone:
                yield Mistake(
                    command.line,
                    f"{', '.join(gone)} came with line {installed[gone[0]]}, in an earlier layer: removing it "
                    "here saves nothing",
                    _FIX,
                )


def _made_before(path: str, made: dict[str, int], own: dict[str, int]) -> int | None:
    """Line that created it, if in another layer. Patterns, and paths below or above it, count too."""
    for other, line in reversed(made.items()):
        is_same = path == other or fnmatchcase(other, path) or other.startswith(path.rstrip("/*") + "/")
        is_below = path.startswith(other.rstrip("/") + "/") and other not in {"/", "."}
        is_history = basename(path) == ".git" and basename(normpath(join(path, ".."))) == basename(other)
        if (is_same or is_below or is_history) and not any(path == o or path.startswith(o + "/") for o in own):
            return line
    return None


def _cache_before(path: str, filled: dict[Cache, int], own: set[Cache | None]) -> int | None:
    for cache, line in filled.items():
        if cache not in own and package_caches.is_at(cache, path):
            return line
    return None


def _paths(instruction: Instruction) -> dict[str, int]:
    """Paths that an instruction creates, as far as words show."""
    found: dict[str, int] = {}
    if instruction.keyword in {"COPY", "ADD"} and len(instruction.words) > 1 and "each" not in instruction.flags:
        *sources, target = instruction.words
        folder = normpath(join(instruction.folder, target.text))
        is_folder = target.text.endswith(("/", ".")) or len(sources) > 1
        for source in sources:
            name = basename(source.text.rstrip("/"))
            path = join(folder, name) if is_folder and name not in {"", "."} else folder
            found[path] = source.line
    for command in instruction.commands if instruction.keyword == "RUN" else ():
        for path in _fetched(command):
            found[normpath(join(command.folder, path))] = command.line
    return {path: line for path, line in found.items() if path not in {"/", "."}}


def _fetched(command: Command) -> Iterator[str]:
    words = command.plain
    if command.program == "git" and words[:1] == ["clone"]:
        at = next((index for index, word in enumerate(words) if re.search(r"://|@.*:|\.git$", word)), None)
        if at is not None:
            yield words[at + 1] if len(words) > at + 1 else basename(words[at].rstrip("/")).removesuffix(".git")
    elif command.program in {"wget", "curl"}:
        short = r"-\w*o" if command.program == "curl" else r"-\w*O"
        bundled = next((word.text for word in command.arguments if re.fullmatch(short, word.text)), "-o")
        named = option_value(command.words, bundled, "--output-document", "--output")
        folder = option_value(command.words, "-P", "--directory-prefix")
        if named and named not in {"-", "/dev/null"} and not named.startswith("http"):
            yield named
        elif command.program == "wget" or re.search(r"(^|\s)-\w*O", " ".join(command.texts)):
            yield from (join(folder, basename(word.partition("?")[0])) for word in words if "://" in word)
