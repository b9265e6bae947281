"""What importing the engine brings with it; how long it takes is measured in bench/verdicts.py."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import compat

FOREIGN = {"pydantic", "pulumi", "yaml", "click", "rich"}


def loaded_by(statement: str) -> set[str]:
    """Modules of a fresh interpreter behind this statement."""
    program = f"import sys\n{statement}\nprint(' '.join(sys.modules))"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(run.stdout.split())


@pytest.mark.slow
def test_compat_brings_neither_pydantic_nor_pulumi_nor_a_reader_of_yaml() -> None:
    found = loaded_by("from compat import Case, check, matrix; check(Case(gpu='T4', cuda='12.4'))")
    assert "compat.verdict.remedy" in found
    assert not found & FOREIGN


def test_whoever_reads_one_table_does_not_load_every_rule() -> None:
    found = loaded_by("import compat.evidence.names.image_name\nfrom compat import Verdict")
    assert not found & {"compat.verdict.answer", "compat.verdict.remedy", "compat.rules"}


def test_every_public_name_is_there_and_no_module_is_called_like_one() -> None:
    # An imported module is set as a name of its package: `matrix.py` would hide the function of that name.
    public = compat.__all__
    assert not [name for name in public if isinstance(getattr(compat, name), ModuleType)]
    assert not {path.stem for path in Path(compat.__file__).parent.iterdir()} & set(public)
    assert not hasattr(compat, "nothing")
