"""Runs inside the built image, without a GPU: its packages are there, and PyTorch is the build for CUDA 12.6."""

import json
import pathlib
import sys
from importlib import metadata

import torch

FACTS = json.loads(pathlib.Path("/usr/local/share/gpu-commons/image.json").read_text())
PINS = [pin.partition("==") for pin in FACTS["packages"]]
wrong = [name for name, _, version in PINS if metadata.version(name) != version]
if torch.version.cuda != "12.6":
    wrong.append(f"torch is for CUDA {torch.version.cuda}")
print(f"not as the spec says: {wrong}" if wrong else "as the spec says")
sys.exit(1 if wrong else 0)
