"""The parts of a text that describe the build itself, and not the one that it replaces.

`built from source because the wheel has no sm_120` is no evidence against this build; `unusable because its NVRTC does
not know the card` is.
"""

from __future__ import annotations

import re
from functools import lru_cache

from compat.evidence.prose.patterns import pattern
from compat.evidence.prose.series_words import in_generations
from compat.values.versions import DriverVersion, VersionError

_KEPT = 4096
_READ = 400  # characters: what counts comes earlier, and a regular expression should not see more
_MADE = (
    r"\b(?:re)?(?:built|build|compiled|compiling|building|installed|switched|moved|changed|replaced|added|adding|set|upgraded|patched|patches"
    r"|fixed|updated|instead|needed|necessary|used|taken|chosen|own|source)\b"
)
_S = r"(?:[^.;]|\.(?=\S))"  # within a sentence: the dot of a number does not end it
_WHY = pattern(
    rf"({_MADE}{_S}*?)[\s,(]+(?:because|since|as (?:the|its|a|no)\b|after|where|when|once|given that|due to|so that)"
    rf"\b{_S}*"
)
_SAYS_WHY = pattern(r"\b(?:because|since|as|after|where|when|once|given|due|so)\b")
_OTHER = pattern(r"\b(?:instead of|unlike|rather than|in place of|replac(?:es|ing)|in contrast to)\b[^.;,]*")
_SO = pattern(
    rf"\b(?:so|hence|therefore|thus|which is why)\b"
    rf"(?={_S}{{0,80}}\b(?:re)?(?:built|compiled|installed|added|patched|replaced)\b)"
)
_SENTENCE_ENDS = pattern(r"[;]|\.(?=\s)")


# A part that is missing or replaced is no evidence against the rest of a build.
_PART = pattern(
    r"\b(?:fp(?:8|16|4)|bf16|b?float16|int[48]|nvfp4|flash[\s_-]?att\w*|fa[23]|triton|torch\.compile|inductor|tensor"
    r" cores?|xformers|marlin"
    r"|cutlass|wmma|deepgemm|sageattention|fused kernels?|nvenc|nvdec|optix|multi-gpu|nccl)\b"
)
_DONE_WITHOUT = pattern(
    r"\b(?:disabled|turned off|switched off|off|unused|not used|skipped|falls? back|fell back|fallback|(?:runs?"
    r"|works?|ran|worked) without"
    r"|eager|instead|(?:is|was|are|were) used|used|uses? (?:fp32|fp16|float\w*|bf16|xformers|sdpa|eager|fa2|another)"
    r"|so (?:it |we |they )?(?:uses? |runs? (?:in |with |on )?)?(?:fp32|fp16|float\w*|bf16|xformers|sdpa))\b"
)
# Another build in the same sentence, and then this one: `the old wheel had no sm_86, this one does`.
_THIS_ONE = pattern(
    r"^[^.;]*\b(?:wheels?|builds?|images?|releases?|versions?|package)\b[^.;]*?[,\s]+(?:but |and |while )?(?=(?:this"
    r"|the new|my|our own) "
    r"(?:one|build|wheel|image|release|version|package) (?:does|has|is|was|includes?|contains?|works|adds?)\b)"
)
_CLAUSE = pattern(r"(?:[^,;.]|\.(?=\S))+")
_SHORT_NOT = pattern(r"\b(?:(can|won)|([a-z]+?)n)['\u2019]t\b")


def _in_full(found: re.Match[str]) -> str:
    return {"can": "cannot", "won": "will not"}.get(found[1] or "", f"{found[2]} not")


@lru_cache(_KEPT)
def of_this_build(text: str) -> str:
    """In lower case, without remarks on another build; `doesn't` in full, series as generations."""
    if not text:
        return ""
    plain = in_generations(_SHORT_NOT.sub(_in_full, text.lower()[:_READ]))
    plain = _THIS_ONE.sub("", plain)
    if _PART.search(plain) and _DONE_WITHOUT.search(plain):
        plain = _CLAUSE.sub(lambda clause: " " if _PART.search(clause[0]) else clause[0], plain)
    if (so := _SO.search(plain)) is not None:
        before = [end.end() for end in _SENTENCE_ENDS.finditer(plain, 0, so.start())]
        plain = plain[: before[-1] if before else 0] + plain[so.end() :]
    if _SAYS_WHY.search(plain):
        plain = _WHY.sub(r"\1", plain)
    return _OTHER.sub(" ", plain)


_ASKS_FOR_DRIVER = pattern(
    r"\b(?:needs?|requires?|asks? for|wants?|demands?|expects?|minimum|at least|only (?:runs|works"
    r"|starts) with)\W+(?:an? |the )?"
    r"(?:host )?(?:nvidia |cuda |linux |windows )*(?:driver|branch)s?\W+(?:version |branch |of |is |from |>=\s?)*[rv]?"
    r"(?P<driver>[3-7]\d{2}(?:\.\d{2,3}(?:\.\d{2})?)?)(?![\d.]\d)"
)


@lru_cache(_KEPT)
def required_driver(text: str) -> DriverVersion | None:
    """The oldest driver that a build needs according to its text: `needs driver 545 or newer`."""
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


_REQUIRES_CUDA = pattern(
    r"\b(?:image|container|entrypoint|requirement"
    r"|nvidia-container-cli)\b[^.;]{0,40}?\bcuda ?>= ?(?P<cuda>\d{1,2}\.\d)(?!\d)"
)


@lru_cache(_KEPT)
def requirements_in(text: str) -> tuple[str, ...]:
    """What an image requires of the driver by its text: `requirement cuda>=12.4`, as in NVIDIA_REQUIRE_CUDA."""
    return tuple(f"cuda>={found['cuda']}" for found in _REQUIRES_CUDA.finditer(text.lower()[:_READ]))
