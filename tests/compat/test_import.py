"""What importing the engine brings with it; how long it takes is measured in bench/compat.py."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import sys
import components.compat
print(sorted({"pydantic", "pulumi", "yaml", "click", "rich"} & set(sys.modules)))
"""


def test_compat_brings_neither_pydantic_nor_pulumi_nor_a_reader_of_yaml() -> None:
    run = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
