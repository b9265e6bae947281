"""Programs and pages of a hub: one package there, in two folders here: those of every hub, and those of a platform.

A platform's file imports a common one as `workloads.hub_files.NAME`, as type checkers and import contracts read it.
In the hub both lie beside each other, so that the import is a relative one there.
"""

from importlib import resources
from typing import Final

PACKAGE: Final = "hub_files"  # in the hub
_COMMON: Final = f"{__package__}.{PACKAGE}"


def hub_programs(platform: str) -> dict[str, str]:
    """Text of each file by name; `platform`: its package, such as `platforms.docker`."""
    found = {}
    for package in (_COMMON, f"{platform}.{PACKAGE}"):
        for file in sorted(resources.files(package).iterdir(), key=str):
            if file.name.endswith((".py", ".html")):
                found[file.name] = file.read_text().replace(f"from {_COMMON}.", "from .")
    return found
