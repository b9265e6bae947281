"""Installs SingularityCE for every node and user of the lab's Slurm, with a stand-in for NVIDIA's driver.

The tool in the cache is below somebody's home, which the jobs' account may not enter: so it is copied. It was built
without suid, and finds its files beside itself.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Final

from lab import files
from lab.machine import stand_in_gpus
from lab.pins import load_pins
from lab.servers import slurm_files

if TYPE_CHECKING:
    from lab.instance import Instance
    from lab.servers import Tools

NAME: Final = "singularity"
VERSION: Final = load_pins().tools[NAME].version
LIBRARIES: Final = ("libnvidia-ml.so", "libcuda.so")
LDCONFIG: Final = "/sbin/ldconfig"
SMI: Final = "nvidia-smi"


def program(instance: Instance) -> Path:
    return _prefix(instance) / "bin" / NAME


def search_path(instance: Instance) -> str:
    """PATH of users and jobs: the system's programs, SingularityCE, and the stand-in for nvidia-smi."""
    return f"{_prefix(instance) / 'bin'}:{_driver(instance) / 'bin'}:/usr/local/bin:/usr/bin:/bin"


def install(instance: Instance, tools: Tools, driver: str | None) -> None:
    """Copy the tool and write a driver stand-in; without `driver`, `--nv` finds none. Safe to repeat."""
    built = tools.path(NAME).resolve().parent.parent
    target = _prefix(instance)
    if not (target / built.name).exists():
        draft = target.with_name(f"{target.name}.draft")
        shutil.rmtree(draft, ignore_errors=True)
        shutil.copytree(built, draft, symlinks=True)
        draft.chmod(0o755)
        (draft / built.name).touch()
        shutil.rmtree(target, ignore_errors=True)
        draft.rename(target)
    if driver:
        _stand_in_driver(instance, tools, driver)
    config = (built / "etc" / NAME / "singularity.conf").read_text(encoding="utf-8")
    files.write(target / "etc" / NAME / "singularity.conf", configuration(config, _driver(instance) / "ldconfig"))
    brought = (built / "etc" / NAME / "nvliblist.conf").read_text(encoding="utf-8")
    files.write(target / "etc" / NAME / "nvliblist.conf", brought_by_nv(brought, _driver(instance) / "bin" / SMI))


def configuration(text: str, ldconfig: Path) -> str:
    """The tool's own, except for the program that lists libraries."""
    kept = [line for line in text.splitlines() if not line.lstrip("# ").startswith("ldconfig path =")]
    return "\n".join([*kept, f"ldconfig path = {ldconfig}", ""])


def brought_by_nv(text: str, program: Path) -> str:
    """The tool's own list for --nv without nvidia-smi, which is not on the PATH of a job here."""
    return "".join(f"{program if line == SMI else line}\n" for line in text.splitlines())


def _stand_in_driver(instance: Instance, tools: Tools, version: str) -> None:
    """Libraries with the driver's names, listed by our own ldconfig, and a program that prints the version."""
    root = _driver(instance)
    words = stand_in_gpus.driver_words(version)
    links = [stand_in_gpus.library(root, tools, name, version, words) for name in LIBRARIES]
    listed = "".join(f"\\t{link.name} (libc6,x86-64) => {link}\\n" for link in links)
    files.write(root / "ldconfig", LDCONFIG_TEXT.format(real=LDCONFIG, listed=listed), mode=0o755)
    files.write(root / "bin" / SMI, stand_in_gpus.SMI.format(version=version), mode=0o755)


LDCONFIG_TEXT: Final = """\
#!/bin/sh
# Lists the stand-ins for NVIDIA's libraries, and nothing that this machine has: its libraries are of another node.
case "$*" in
*-p*) printf '{listed}' ;;
*) exec {real} "$@" ;;
esac
"""


def _prefix(instance: Instance) -> Path:
    return slurm_files.root(instance) / NAME


def _driver(instance: Instance) -> Path:
    return slurm_files.root(instance) / "driver"
