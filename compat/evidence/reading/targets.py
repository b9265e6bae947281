"""From what people write for a list of targets to cubins and PTX: lists, flags of nvcc, CMake and PyTorch, and prose.

`sm_70;sm_80, no PTX`, `7.0 8.0+PTX`, `sm_80..sm_90`, `only sm_60 and sm_75`, `-gencode arch=compute_70,code=sm_70`,
`CMAKE_CUDA_ARCHITECTURES=86-real;89`, `TORCH_CUDA_ARCH_LIST="8.6 9.0+PTX"`, `compiled for 75 and 86`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from compat.evidence.prose.patterns import pattern
from compat.evidence.reading import words
from compat.evidence.reading.typed import plain_text
from compat.facts import tables
from compat.values.targets import TEGRA
from compat.values.versions import Target, VersionError

_KEPT = 4096
_NUMBER = r"(?:\d{1,2}\.\d|\d{2,3})"
_ITEM = rf"(?:(?:sm|compute)_?)?{_NUMBER}[af]?(?:-real|-virtual|\s?\+\s?ptx)?"
_IS = r"(?:[\s:=]|\b(?:was|is|set|to|as|defaults?|contains|has|lists)\b)*"  # between a variable and its value
_ITEMS = rf"[\"'\[]{{0,2}}({_ITEM}(?:(?:[\s;,]|\band\b|/\s|/(?=\d{{1,2}}\.\d))+{_ITEM})*)(?![\w.])"


@dataclass(frozen=True, slots=True)
class Targets:
    """Targets that a text lists. None: it lists none."""

    cubins: tuple[Target, ...] | None = None
    ptx: tuple[Target, ...] | None = None


@dataclass(frozen=True, slots=True)
class _Way:
    """A flag or variable that lists targets, and what an item of its list makes: a cubin, PTX, or both.

    With `is_complete`, anything not in the list is absent: a list without `+PTX` generates no PTX.
    """

    written: re.Pattern[str]
    makes: Callable[[str], tuple[bool, bool]]
    is_complete: bool = True


def _of_code(item: str) -> tuple[bool, bool]:
    return not item.startswith("compute"), item.startswith("compute")


def _of_arch(item: str) -> tuple[bool, bool]:
    return not item.startswith("compute"), True


def _of_cmake(item: str) -> tuple[bool, bool]:
    return not item.endswith("-virtual"), not item.endswith("-real")


def _of_torch(item: str) -> tuple[bool, bool]:
    return True, item.endswith("ptx")


def _of_tensorflow(item: str) -> tuple[bool, bool]:
    return True, not item.startswith("sm")


# Sources: nvcc's options --generate-code and --gpu-architecture (docs.nvidia.com/cuda/cuda-compiler-driver-nvcc),
# cmake.org/cmake/help/latest/prop_tgt/CUDA_ARCHITECTURES.html, torch/utils/cpp_extension.py (_get_cuda_arch_flags),
# configure.py of TensorFlow (TF_CUDA_COMPUTE_CAPABILITIES), OpenCVDetectCUDAUtils.cmake (CUDA_ARCH_BIN, CUDA_ARCH_PTX),
# Makefiles of CUDA's samples (SMS), xmrig-cuda's cmake (CUDA_ARCH), GROMACS (GMX_CUDA_TARGET_SM), gpu-burn (COMPUTE),
# bindgen_cuda's builder.rs (CUDA_COMPUTE_CAP, which becomes --gpu-architecture=sm_…), nvfortran's -gpu=cc80,
# Kokkos_ARCH_AMPERE80 (-arch=sm_80).
_WAYS = (
    _Way(
        pattern(
            r"(?:-gencode[=\s]*)?[\"']?\barch=compute_\d+[af]?,\s?code=\\?[\"'\[]{0,2}((?:[,]?(?:sm|compute)_\d+[af]?)+)"
        ),
        _of_code,
    ),
    # The pair of one -gencode, as people shorten it: `compute_50/sm_50`, `compute_50 -> sm_50`.
    _Way(pattern(r"\bcompute_(\d{2,3}[af]?)\s?(?:/|:|->)\s?sm_\1(?!\w)"), lambda _: (True, False)),
    _Way(  # both options: the build has only what the second one names
        pattern(
            r"(?:--gpu-architecture|--?arch)[=\s]+(?:sm|compute)_\d+[af]?\s+(?:--gpu-code|--?code)[=\s]+[\"'\[]{0,2}((?:,?(?:sm|compute)_\d+[af]?)+)"
        ),
        _of_code,
    ),
    _Way(pattern(r"(?:--gpu-architecture|--?arch)[=\s]+((?:sm|compute)_\d+[af]?)"), _of_arch),
    _Way(pattern(rf"(?:cmake_cuda_architectures|\bcudaarchs)(?::\w+)?{_IS}{_ITEMS}"), _of_cmake),
    _Way(pattern(rf"torch_cuda_arch_list{_IS}{_ITEMS}"), _of_torch),
    _Way(pattern(rf"tf_cuda_compute_capabilities{_IS}{_ITEMS}"), _of_tensorflow),
    _Way(
        pattern(
            rf"(?:\b|-d|_)(?:sms|(?:cuda|nvcc)_arch(?:itectures|s|_list)?|gmx_cuda_target_sm|gpu_archs?|cuda_sm|ccap)[\s:=]*={_ITEMS}"
        ),
        lambda item: (not item.startswith("compute"), item.endswith("ptx") or item.startswith("compute")),
        is_complete=False,
    ),
    _Way(pattern(rf"\b(?:cuda_)?compute_cap(?:abilit(?:y|ies))?[\s:=]*={_ITEMS}"), _of_arch),
    _Way(pattern(r"\bkokkos_arch(?:_|\W+)[a-z]+(\d{2,3})(?!\d)"), lambda _: (True, True), is_complete=False),
    _Way(pattern(r"-gpu=(?:(?!cc)\w+,)*((?:cc\d{2,3},?)+)"), lambda _: (True, False), is_complete=False),
    # PTX in words: `PTX for sm_60`, `.target sm_60`; not `PTX and sm_60`.
    _Way(
        pattern(
            r"\bptx\b(?: (?:code|kernels?|is|only|made|compiled|with|fixed|an?|the))* (?:for|of|at|targeting"
            r"|target|\.target)"
            r"(?: (?:an?|the|fixed|target|\.target|for))* ((?:sm|compute)_?\d{2,3}[af]?)(?![\d,;])(?!(?: to| and|/))"
        ),
        lambda _: (False, True),
        is_complete=False,
    ),
    _Way(pattern(rf"\bcompute=\s*{_ITEMS}"), lambda _: (False, True)),  # Makefile of gpu-burn
    _Way(pattern(rf"\bcuda_arch_bin(?: set to)?[\s:=]*{_ITEMS}"), lambda _: (True, False), is_complete=False),
    _Way(pattern(rf"\bcuda_arch_ptx[\s:=]*{_ITEMS}"), lambda _: (False, True), is_complete=False),
)
_NO_PTX = pattern(
    r"\b(?:no|without|sans|lacks|lacking)[\s_-]*(?:any )?ptx\b|\bptx (?:is )?(?:missing|absent|not included)\b"
)
_ONLY_PTX = pattern(r"\bptx[\s_-]*only\b|\bonly[\s_-]*(?:as |by |through )?ptx\b")
_ABSENT = pattern(
    r"\b(?:no|not|without|lacks?|lacking|missing|except|excluding)\b(?: [a-z]+){0,2}[\s_-]*(?:sm|compute)_?\d+[af]?"
    r"|\b(?:sm|compute)_?\d+[af]? (?:is |was |are )?"
    r"(?:missing|absent|dropped|removed|excluded|unsupported|incompatible|unknown|rejected|refused|ignored"
    r"|not (?:included|supported|compatible|known|listed|there|present|built|recogni[sz]ed))\b"
    r"|\bunsupported gpu architecture\W+(?:sm|compute)_?\d+[af]?|\b(?:sm|compute)_?\d+[af]?['\"]? is not (?:a"
    r"|defined)\b"
)
_OTHER_NUMBERS = pattern(r"\b(?:cuda(?: toolkit)?|toolkit|py?torch|nvcc|driver|version)[\s_-]*v?\d[\w.+]*")
# Words on the GPU itself, not on what the build is for.
_OF_THE_CARD = pattern(
    r"\b(?:card|gpu|device)s?\b(?: (?:reports?|has|have|is|as|with|of|an?|the|its))+ "
    r"(?:architecture|arch|compute capability|capability|cc|sm)[\s_:=]*\d[\d.]*"
)
_RANGE = pattern(
    rf"(?<![\w.])((?:sm|compute)_?)?({_NUMBER})\s*(?:\.\.+|\u2026|\u2013|\u2014|-|~|to|through|up to)\s*"
    rf"(?:(?:sm|compute)_?)?({_NUMBER})(?![\w.])"
)
# A range of numbers alone, where a word says what they are: `capabilities 7.0 to 12.0`, `is (7.0) - (12.0)`.
_RANGE_OF = pattern(
    r"\b(?:capabilit(?:y|ies)|architectures?|archs?|targets?|cc|kernels?|sms?)\b(?:\W+(?:supported|by|this|version|of|pytorch|is|are|from"
    rf"|for|cc|between|cuda|compute|the|library))*[\s:=(]+({_NUMBER})\)?\s*(?:\.\.+|\u2026|\u2013|\u2014|-|~|to"
    rf"|through|up to|and up to)\s*"
    rf"\(?({_NUMBER})(?![\w.])"
)
# In the text of a build, numbers are targets only where a word says so.
_FOR = pattern(
    r"\b(?:compiled|(?:pre-?)?built|targets?|targeting|arch(?:s|es|itectures?)?|(?:compute[\s_-]*"
    r"|cuda )capabilit(?:y|ies)"
    r"|capabilities|cc|(?:sass|cubins?|elf|kernels|machine code|binaries)(?= (?:for|of) ))\b"
    r"[\s:=]*"
    rf"(?:(?:only|for|of|are|is|cc|compute|capability|architectures?)\s+)*{_ITEMS}"
)
_BETWEEN = pattern(r"[\s;,|/()\[\]{}'\"]+")


@dataclass(slots=True)
class _Found:
    cubins: list[Target] = field(default_factory=list)
    ptx: list[Target] = field(default_factory=list)
    is_complete: bool = False  # anything not listed is absent
    is_prose: bool = False

    def add(self, item: str, *, cubin: bool, ptx: bool) -> None:
        target = _target(item)
        self.cubins += [target] * cubin
        self.ptx += [target] * ptx


@lru_cache(_KEPT)
def read_targets(text: str, *, bare: bool = True) -> Targets:
    """Targets that a text lists; raises VersionError for a word with a number that is none, or where there is none.

    With `bare` the text is a list of targets, and plain numbers (`7.0`) are cubins. Without, it is any text in which
    targets may stand.
    """
    found = _Found()
    plain = _take_ways(plain_text(text), found)
    no_ptx = bool(_NO_PTX.search(plain)) or plain == "none"
    only_ptx = bool(_ONLY_PTX.search(plain))
    if no_ptx and found.cubins:
        found.ptx.clear()  # the words describe what an option makes by itself
    for passed_over in (_NO_PTX, _ONLY_PTX, _ABSENT, _OF_THE_CARD, _OTHER_NUMBERS):
        plain = passed_over.sub(" ", plain)
    for word in _words(plain, bare=bare):
        if word == "ptx":  # "7.0;8.0;PTX": PTX of the newest
            found.ptx += found.cubins[-1:]
        elif not re.search(r"\d", word):
            found.is_prose |= word not in {"and", "none"}
        else:
            is_ptx = only_ptx or word.startswith("compute")
            found.add(word, cubin=not is_ptx, ptx=is_ptx or word.endswith("+ptx"))
    if bare and found.is_prose and not (found.cubins or found.ptx or no_ptx):
        raise VersionError(text, "is not a target such as sm_61, 9.0a or compute_75")
    has_cubins = found.cubins or (found.ptx and (bare or found.is_complete))
    has_ptx = found.ptx or no_ptx or found.is_complete
    return Targets(
        tuple(sorted(set(found.cubins))) if has_cubins else None, tuple(sorted(set(found.ptx))) if has_ptx else None
    )


def _take_ways(plain: str, found: _Found) -> str:
    """The text without the flags and variables that list targets."""
    for way in _WAYS:
        for flag in way.written.finditer(plain):
            for item in _items(flag[1]):
                cubin, ptx = way.makes(item)
                found.add(item, cubin=cubin, ptx=ptx)
            found.is_complete |= way.is_complete
        plain = way.written.sub(" ", plain)
    return plain


def read_ptx(text: str, cubins: tuple[Target, ...] = ()) -> Targets:
    """PTX as its own field states it: `9.0`, `compute_90`, `none`; `yes` is PTX of the newest cubin."""
    word = words.presence(text)
    if word == "no":
        return Targets(None, ())
    if word in {"yes", "unknown"} or plain_text(text) == "ptx":
        return Targets(None, (cubins[-1:] or None) if word != "unknown" else None)
    found = read_targets(text)
    return Targets(None, found.ptx if found.ptx is not None else found.cubins)


def read_compressed(text: str) -> Targets:
    """Targets of compressed code: `sm_90;compute_90`, `none`; of `all` neither kind is listed."""
    word = words.presence(text)
    if word == "no" or plain_text(text) == "speed":
        return Targets((), ())
    if word == "yes" or plain_text(text) in {"all", "size", "balance"}:
        return Targets()
    found = read_targets(text)
    return Targets(found.cubins or (), found.ptx or ())


def _words(plain: str, *, bare: bool) -> Iterator[str]:
    """Words of a list; in any other text, only those that are targets."""
    plain = _RANGE.sub(lambda found: _between(found) if bare or found[1] else found[0], plain)
    if not bare:
        plain = _RANGE_OF.sub(_in_range, plain)
    if bare:
        spaced = re.sub(r"\s?\+\s?ptx", "+ptx ", plain)
        yield from (stripped for word in _BETWEEN.split(spaced) if (stripped := word.rstrip(".:!")))
        return
    for found in _FOR.finditer(plain):
        yield from (each for each in _items(found[1]) if _target(each).capability in tables.architectures())
    yield from re.findall(r"(?<![\w.])(?:sm|compute)_?\d[\w.]*(?:\+ptx)?", _FOR.sub(" ", plain))


def _items(text: str) -> list[str]:
    plain = re.sub(r"\bcc(?=\d)", "", re.sub(r"\s?\+\s?ptx", "+ptx", text))
    return [item for item in re.split(r"[\s;,/]+", plain) if item not in {"", "and"}]


# ggml writes 8.6 as 860, in its logs and in __CUDA_ARCH_LIST__, as the compiler does in __CUDA_ARCH__.
_TIMES_100 = pattern(r"(?:sm_?|compute_?)?((?:[5-9]|1[0-9])\d)0", re.ASCII)


def _target(word: str) -> Target:
    if by_compiler := _TIMES_100.fullmatch(word):
        return Target.parse(by_compiler[1])
    return Target.parse(word.removesuffix("+ptx").removesuffix("-real").removesuffix("-virtual"))


def _between(found: re.Match[str]) -> str:
    """`sm_80..sm_90` as the architectures from one to the other."""
    kind = "compute_" if (found[1] or "").startswith("compute") else "sm_" if found[1] else ""
    inside = _inside(found[2], found[3], with_tegra=True)
    return " ".join(f"{kind}{each.replace('.', '') if kind else each}" for each in inside) or found[0]


def _in_range(found: re.Match[str]) -> str:
    """`7.0 to 12.0` of a framework, which is built for servers: chips of Tegra count where it starts or ends at one."""
    first, last = Target.parse(found[1]).capability, Target.parse(found[2]).capability
    inside = _inside(found[1], found[2], with_tegra=bool({first, last} & TEGRA))
    return " ".join(f"sm_{Target.parse(each).capability.digits}" for each in inside) or found[0]


def _inside(first: str, last: str, *, with_tegra: bool) -> list[str]:
    """Architectures from one to the other; none where one of the two is no architecture."""
    low, high = Target.parse(first).capability, Target.parse(last).capability
    known = tables.architectures()
    return [str(each) for each in sorted(known) if low <= each <= high and (with_tegra or each not in TEGRA)]
