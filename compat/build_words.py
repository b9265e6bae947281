"""What of a text is said of the build itself, and not of the one that it replaces.

`built from source because the wheel has no sm_120` tells nothing against this build, and `unusable because its NVRTC
does not know the card` everything.
"""

from __future__ import annotations

import re
from functools import lru_cache

from compat.versions import DriverVersion, VersionError

_KEPT = 4096
_READ = 400  # characters: nobody says it later, and a regular expression should not see more
_MADE = (
    r"\b(?:re)?(?:built|build|compiled|compiling|building|installed|switched|moved|changed|replaced|added|adding|set|upgraded|patched|patches"
    r"|fixed|updated|instead|needed|necessary|used|taken|chosen|own|source)\b"
)
_S = r"(?:[^.;]|\.(?=\S))"  # within a sentence: the dot of a number does not end it
_WHY = re.compile(
    rf"({_MADE}{_S}*?)[\s,(]+(?:because|since|as (?:the|its|a|no)\b|after|where|when|once|given that|due to|so that)"
    rf"\b{_S}*"
)
_SAYS_WHY = re.compile(r"\b(?:because|since|as|after|where|when|once|given|due|so)\b")
_OTHER = re.compile(r"\b(?:instead of|unlike|rather than|in place of|replac(?:es|ing)|in contrast to)\b[^.;,]*")
_SO = re.compile(
    rf"\b(?:so|hence|therefore|thus|which is why)\b"
    rf"(?={_S}{{0,80}}\b(?:re)?(?:built|compiled|installed|added|patched|replaced)\b)"
)
_SENTENCE_ENDS = re.compile(r"[;]|\.(?=\s)")


@lru_cache(_KEPT)
def of_this_build(text: str) -> str:
    """In lower-case letters, without what is said of another build."""
    plain = text.lower()[:_READ]
    if (so := _SO.search(plain)) is not None:
        before = [end.end() for end in _SENTENCE_ENDS.finditer(plain, 0, so.start())]
        plain = plain[: before[-1] if before else 0] + plain[so.end() :]
    if _SAYS_WHY.search(plain):
        plain = _WHY.sub(r"\1", plain)
    return _OTHER.sub(" ", plain)


_ASKS_FOR_DRIVER = re.compile(
    r"\b(?:needs?|requires?|asks? for|wants?|demands?|expects?|minimum|at least|only (?:runs|works"
    r"|starts) with)\W+(?:an? |the )?"
    r"(?:host )?(?:nvidia |cuda |linux |windows )*(?:driver|branch)s?\W+(?:version |branch |of |is |from |>=\s?)*[rv]?"
    r"(?P<driver>[3-7]\d{2}(?:\.\d{2,3}(?:\.\d{2})?)?)(?![\d.]\d)"
)


@lru_cache(_KEPT)
def driver_asked(text: str) -> DriverVersion | None:
    """The oldest driver that a build is said to need: `needs driver 545 or newer`."""
    named = _ASKS_FOR_DRIVER.search(text.lower()[:_READ])
    if named is None:
        return None
    try:
        return (
            DriverVersion.parse(named["driver"])
            if "." in named["driver"]
            else DriverVersion.start_of(int(named["driver"]))
        )
    except VersionError:
        return None


_REQUIRES_CUDA = re.compile(
    r"\b(?:image|container|entrypoint|requirement"
    r"|nvidia-container-cli)\b[^.;]{0,40}?\bcuda ?>= ?(?P<cuda>\d{1,2}\.\d)(?!\d)"
)


@lru_cache(_KEPT)
def requirements_in(text: str) -> tuple[str, ...]:
    """What an image is said to ask of the driver: `requirement cuda>=12.4`, as in NVIDIA_REQUIRE_CUDA."""
    return tuple(f"cuda>={found['cuda']}" for found in _REQUIRES_CUDA.finditer(text.lower()[:_READ]))
