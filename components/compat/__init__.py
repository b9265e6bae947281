"""Will this image run on those GPUs, and if not, what to change?

    from components.compat import Case, check
    answer = check(Case(gpu="GTX 1080 Ti", driver="418.88", image="nvidia/cuda:10.2-runtime-ubuntu18.04"))
    answer.verdict, answer.remedy

The public face of the engine, and the only re-export of the project. Pure: standard library and `packaging`.
"""

from components.compat.answer import check
from components.compat.case import Case, CaseError, case_from
from components.compat.matrix import Image, Matrix, Pool, matrix
from components.compat.model import Answer, Change, Finding, Remedy, Severity, Verdict

__all__ = [
    "Answer",
    "Case",
    "CaseError",
    "Change",
    "Finding",
    "Image",
    "Matrix",
    "Pool",
    "Remedy",
    "Severity",
    "Verdict",
    "case_from",
    "check",
    "matrix",
]
