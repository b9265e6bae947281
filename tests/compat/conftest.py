"""What the tests of this folder have in common is in known.py."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # for known.py: folders of tests are no packages here
