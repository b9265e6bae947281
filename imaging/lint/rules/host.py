"""D-HOST: an image or job that relies on the host's CUDA."""

import re
from collections.abc import Iterator

from imaging.lint.containers import APPTAINER, calls, set_variables
from imaging.lint.recipe import Kind, LintContext, Recipe, Severity
from imaging.lint.rules.rule import Mistake
from imaging.lint.shell import option_values

_SITE = re.compile(
    r"(^|[:=,\"'])(/(software|sw|apps|app|cm/shared|share|nfs|gpfs|lustre|cvmfs|opt/(apps|ohpc|modules|software|sw)|hpc|soft"
    r"|packages|modules|usr/local/(apps|software))/[^:,\"']*)"
)
_CUDA = re.compile(r"cuda|cudnn|nvidia", re.IGNORECASE)
_FIX = "put CUDA into the image, and take nothing but the driver from the host (--nv)"


def check(recipe: Recipe, _: LintContext) -> Iterator[Mistake]:
    if recipe.kind is not Kind.SCRIPT:
        for name, word in set_variables(recipe):
            if path := _site_cuda(word.text):
                message = f"{name} names {path}, a folder of one site's hosts: the image does not work elsewhere"
                yield Mistake(word, message, _FIX)
    for _command, words in calls(recipe, APPTAINER, "run", "exec", "shell", "instance"):
        for bound in option_values(words, "-B", "--bind"):
            if _CUDA.search(bound.text.partition(":")[0]) and not bound.text.startswith("/usr/local/nvidia"):
                message = f"{bound.text} binds the host's CUDA into the container: the image works on this host only"
                yield Mistake(bound.line, message, _FIX)
    uses_container = any(command.program in APPTAINER for command in recipe.commands)
    for command in recipe.commands:
        texts = command.texts
        if command.program == "load" and texts[1:2] == ("module",):
            fix = f"module load {' '.join(texts[2:])}; better, no module: CUDA is in the image"
            message = '"load module" is not a command: the word order is wrong'
            yield Mistake(command.line, message, fix, is_of_module=True)
        elif command.program in {"module", "ml"} and uses_container and any(_CUDA.search(text) for text in texts[1:]):
            message = (
                "a CUDA module is loaded for a container: a hidden dependency on one site, and on the order of lines"
            )
            yield Mistake(command.line, message, _FIX, Severity.WARNING, is_of_module=True)


def _site_cuda(value: str) -> str:
    found = [match[2] for match in _SITE.finditer(value) if _CUDA.search(match[2])]
    return found[0] if found else ""
