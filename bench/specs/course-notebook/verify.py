"""Runs inside the built image: the course's packages are there."""

import json
import pathlib
import sys
from importlib import metadata

FACTS = json.loads(pathlib.Path("/usr/local/share/gpu-commons/image.json").read_text())
PINS = [pin.partition("==") for pin in FACTS["packages"]]
wrong = [name for name, _, version in PINS if metadata.version(name) != version]
print(f"not as the spec says: {wrong}" if wrong else "as the spec says")
sys.exit(1 if wrong else 0)
