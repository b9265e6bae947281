"""What a stack records of a person's decisions: readers of previews compare it with what earlier versions wrote."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from settings.reading import load_stack
from settings.record import decisions

PROJECT = Path(__file__).parents[2]


def test_a_newer_version_records_no_key_that_nobody_wrote(golden: Callable[[str], Any]) -> None:
    """Else the first preview after an update of this project would show a change that nobody made."""
    recorded = decisions(load_stack(PROJECT / "stacks" / "Pulumi.dsmlp-fall.yaml"))
    golden("record-dsmlp-fall.json").equals(json.dumps(recorded, indent=2, sort_keys=True) + "\n")
