"""Parses the arguments of NotebookHub: keys shared with stack files, and its own. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workloads.arguments import plain, read
from workloads.authenticator import with_user_list
from workloads.hub import Hub


def parse_hub(name: str, args: Mapping[str, Any]) -> Hub:
    """Arguments of NotebookHub as a Hub.

    Raises SettingsError with every problem of the plain arguments. Images may be outputs and are passed through.
    """
    return read(Hub, f"NotebookHub {name}", name, with_user_list({"namespace": name, **plain(args)}))
