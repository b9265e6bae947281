"""R-APPT: Apptainer and Singularity bind the host's driver libraries into the image."""

from compat.rules.rule import Rule
from compat.values.fact import Fact
from compat.values.findings import Finding, Setting, note, refuse, unknown, warn
from compat.values.hosts import PoolFacts
from compat.values.images import ImageFacts

ID = "R-APPT"
_SOURCE = "github:apptainer/apptainer-userdocs gpu.rst"
_LIST = "github:apptainer/apptainer etc/nvliblist.conf"
_DATE = "2026-11-20"


def check(image: ImageFacts, pool: PoolFacts) -> tuple[Finding, ...]:
    if pool.host != "apptainer":
        return ()
    fact = Fact(
        "--nv binds the host's driver libraries into the container, where they load the image's C library",
        _SOURCE,
        _DATE,
    )
    capabilities = dict(image.environment).get("NVIDIA_DRIVER_CAPABILITIES", "").lower()
    graphics = "graphics" in capabilities
    found: list[Finding] = []
    if image.glibc is not None and pool.glibc is not None and image.glibc < pool.glibc:
        older = f"the image's glibc {image.glibc} is older than the host's {pool.glibc}"
        if graphics and _newer_symbols(str(image.glibc), str(pool.glibc)):
            message = f"{older}: the host's OpenGL libraries, which --nv binds, fail to load"
            found.append(refuse(ID, message, fact, Setting("image_glibc", str(pool.glibc))))
        elif not graphics:
            message = f"{older}: libcuda needs only an old glibc, but other bound libraries may fail to load"
            found.append(warn(ID, message, fact))
    elif graphics and (image.glibc is None or pool.glibc is None):
        message = "it is not known whether the image's glibc is as new as the host's OpenGL libraries require"
        found.append(unknown(ID, message, fact))
    if image.cuda is not None and not found:
        listed = Fact("--nv binds no toolkit libraries and does not check NVIDIA_REQUIRE_*", _LIST, _DATE)
        found.append(note(ID, "Apptainer provides the host's driver; the CUDA libraries must be in the image", listed))
    return tuple(found)


def _newer_symbols(image: str, host: str) -> bool:
    """Distributions' libraries need symbol versions up to their own glibc, mostly 2.34 or 2.38."""
    have = tuple(map(int, image.split(".")[:2]))
    theirs = tuple(map(int, host.split(".")[:2]))
    return any(have < step <= theirs for step in ((2, 14), (2, 17), (2, 27), (2, 34), (2, 38)))


RULE = Rule(ID, check, sources=(_SOURCE, _LIST))
