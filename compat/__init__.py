"""Will this image run on those GPUs, and if not, what to change?

    from compat import Case, check
    answer = check(Case(gpu="GTX 1080 Ti", driver="418.88", image="nvidia/cuda:10.2-runtime-ubuntu18.04"))
    answer.verdict, answer.remedy

The engine's public API, and the only re-export of the project. Pure: standard library and `packaging`.
A name is imported on first use, so code that reads one table does not load every rule.
"""

from __future__ import annotations

import importlib
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from compat.evidence.case import Case, CaseError
    from compat.evidence.host import Host, Pool, host_of, read_host
    from compat.values.findings import Answer, Change, Finding, Remedy, Severity, Verdict
    from compat.verdict.answer import Image, Matrix, check, check_on, matrix

__all__ = [
    "Answer", "Case", "CaseError", "Change", "Finding", "Host", "Image", "Matrix", "Pool", "Remedy", "Severity",
    "Verdict", "check", "check_on", "host_of", "matrix", "read_host",
]  # fmt: skip

# No module here may have one of these names: once imported, it would replace the name.
_HOMES: Final = MappingProxyType(
    {
        "verdict.answer": ("Image", "Matrix", "check", "check_on", "matrix"),
        "evidence.case": ("Case", "CaseError"),
        "evidence.host": ("Host", "Pool", "host_of", "read_host"),
        "values.findings": ("Answer", "Change", "Finding", "Remedy", "Severity", "Verdict"),
    }
)


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            found = getattr(importlib.import_module(f"{__name__}.{home}"), name)
            globals()[name] = found
            return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
