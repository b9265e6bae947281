"""D-SECRET: a secret in ARG, ENV or on a command line."""

import re
from collections.abc import Iterator

from errors.redaction.names import is_secret
from imaging.inspection.secrets import hide_in, is_harmless
from imaging.lint.containers import APPTAINER, DOCKER
from imaging.lint.recipe import Command, Instruction, Kind, LintContext, Recipe, Word
from imaging.lint.rules.rule import Mistake

_LOGS_IN = DOCKER | APPTAINER | {"helm", "oras"}
_NPM_TOKEN = re.compile(r"_authToken=(?!\$)\S+")
# What a template has in place of a secret, for its reader to fill in.
_PLACEHOLDER = re.compile(
    r"[\"']?(?:[<{\[]{1,2}[\w. -]*(?:token|key|secret|password|name|value)[\w. -]*[>}\]]{1,2}|[a-z_-]+[_-]here"
    r"|(?:(?:put|insert|enter|add|set)[_-]?)?your(?:[_-][a-z_-]+|(?:api|access)?(?:token|key|password|secret))?"
    r"|(?:[a-z]+[_-])?x{3,}|(?:change|replace|fill)[_-]?(?:me|this|it|in)|todo|fixme|tbd|\.{3}|…|placeholder|example)[\"']?",
    re.IGNORECASE,
)
_PRIVATE_KEY = re.compile(r"(^|/)id_(rsa|dsa|ecdsa|ed25519)$|(^|/)\.ssh/?$")
_FIX_OF_SCRIPT = "keep it in a file that only you can read, and read it there: export NAME=$(cat ~/.secrets/name)"
_FIX_OF_FILE = "leave it out; a build can mount a netrc file: RUN --mount=type=secret,target=/root/.netrc"
_FIX = "mount it for the one RUN that needs it: RUN --mount=type=secret,id=NAME …; at run time give it as a secret"


def check(recipe: Recipe, _: LintContext) -> Iterator[Mistake]:
    for instruction in recipe.instructions:
        if instruction.keyword in {"ARG", "ENV"} and recipe.kind is Kind.DOCKERFILE:
            for name, word in instruction.variables:
                is_named = is_secret(name) and (instruction.keyword == "ARG" or _is_given(word.text))
                if is_named or hide_in(word.text) != word.text:
                    message = f"{instruction.keyword} {name} stays readable in the image's history"
                    yield Mistake(word, message, _FIX)
        for command in instruction.commands:
            yield from _of_command(command, recipe.kind)
    if recipe.kind is not Kind.SCRIPT:
        yield from _keys(recipe)


def _makes_key(command: Command, run: Instruction) -> bool:
    """ssh-keygen with -y, -R, -F, -l or -e makes none; a key that the same RUN removes is in no layer."""
    if command.program != "ssh-keygen" or any(re.fullmatch(r"-\w*[yRFleHr]\w*", w.text) for w in command.arguments):
        return False
    return not any(each.program == "rm" and "ssh" in " ".join(each.texts) for each in run.commands)


def _is_given(value: str) -> bool:
    return bool(value.strip()) and not _PLACEHOLDER.fullmatch(value.strip())


def _of_command(command: Command, kind: Kind) -> Iterator[Mistake]:
    fix = _FIX_OF_SCRIPT if kind is Kind.SCRIPT else _FIX
    for name, word in command.variables:
        if is_secret(name) and _is_given(word.text) and not re.match(r"[\"']?[$`]", word.text):
            yield Mistake(
                word,
                f"{name} is written out: it stays in {'the file' if kind is Kind.SCRIPT else 'the image'} for "
                "everybody to read",
                fix,
            )
    for word in _written_out(command):
        if word.path or kind is Kind.ENVIRONMENT:
            message = "the file has a secret: everybody who reads it, or pulls the image, has it"
            yield Mistake(word, message, _FIX_OF_FILE)
        else:
            message = f"{command.program} gets a secret on its command line: it is in the history, and among processes"
            yield Mistake(word, message, fix)


def _keys(recipe: Recipe) -> Iterator[Mistake]:
    """Private keys that are copied into the image, or made while it is built."""
    for instruction in recipe.image:
        for word in instruction.sources if "from" not in instruction.flags else ():
            if _PRIVATE_KEY.search(word.text):
                message = f"{word.text} is copied into the image with private keys: everybody who pulls it has them"
                yield Mistake(word, message, _FIX)
        for command in instruction.commands if instruction.keyword == "RUN" else ():
            if _makes_key(command, instruction):
                message = "ssh-keygen makes a private key in a layer: all containers share it, and whoever pulls has it"
                yield Mistake(command.line, message, "make it when the container starts, or mount it as a secret")


def _written_out(command: Command) -> Iterator[Word]:
    arguments = command.arguments
    if command.program in _LOGS_IN and command.has("login"):
        by = ("-p", "--password", "-e", "--email")
        given = [
            word for word in arguments if word.text in by or word.text.partition("=")[0] in {"--password", "--email"}
        ]
        yield from given[:1]
        return
    for index, word in enumerate(arguments):
        name, equals, value = word.text.partition("=")
        if name.startswith("--") and is_secret(name):
            value = value if equals else _text_at(arguments, index + 1)
            # `--secret id=…` names a secret mount for docker build.
            if not re.match(r"[$`<-]|id=", value) and _is_given(value) and not is_harmless(value):
                yield word
                continue
        if command.program in {"curl", "wget"} and word.text in {"-u", "--user"}:
            text = _text_at(arguments, index + 1)
            if ":" in text and "$" not in text:
                yield word
                continue
        if hide_in(word.text) != word.text or _NPM_TOKEN.search(word.text):
            yield word


def _text_at(words: tuple[Word, ...], index: int) -> str:
    return words[index].text if index < len(words) else ""
