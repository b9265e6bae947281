"""Defaults that stack files and the arguments of components share."""

from typing import Final

DEFAULT_START_TIMEOUT_S: Final = 600  # seconds that a server may take to start, image pull included
