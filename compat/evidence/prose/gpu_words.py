"""Words of a build that speak against the GPU of a case: no code for it, or a compiler that does not know it.

`NVRTC that does not know the A100`, `no kernels for the card`, `'sm_120' is not a recognized processor`,
`kernels end at sm_90`.
"""

from __future__ import annotations

import re
from functools import lru_cache

from compat.evidence.prose.build_words import of_this_build
from compat.evidence.prose.capability_bounds import families, highest_in
from compat.evidence.prose.denied import affirmed
from compat.evidence.prose.model_words import denied_by_name
from compat.evidence.prose.patterns import pattern
from compat.evidence.prose.target_words import leaves_out
from compat.evidence.reading.names import models_named
from compat.facts import tables
from compat.values.targets import runs
from compat.values.versions import ComputeCapability, CudaVersion, Target, VersionError

_KEPT = 4096
_READ = 400  # characters
_NOT = (
    r"(?:do(?:es)?|did|is|are|was|were|can|could|will|has|have)(?: ?n['\u2019]t| not|not)|cannot"
    r"|can['\u2019]t|won['\u2019]t|never"
)
_COMPILER = (
    r"(?:nvrtc|nvcc|ptxas|lib-?nvvm|nvvm|llvm|clang|triton|xla|inductor|tilelang|numba|compilers?|assembler|jit|toolkit"
    r"|toolchain|cuda|warp|taichi)"
)
_UNAWARE = (
    rf"(?:(?:{_NOT})(?: yet| even| (?:be )?able to)*\s+"
    r"(?:know|knew|recogni[sz]e|support|accept|understand|compile|target|handle|generate|emit|make|produce|aware of)\b"
    rf"|(?:fails?|failed|refuses?|refused|unable) to (?:know|recogni[sz]e|support|accept|compile|target|handle"
    rf"|generate|emit)"
    r"|(?:no longer|not yet) (?:know\w*|support\w*|accept\w*|recogni[sz]\w*|compil\w*)"
    r"|(?:reject|refuse|lack)(?:s|ed|ing)?\b|(?:too old|unaware|ignorant|older than|predat\w+|from before)\b"
    r"|knows? (?:nothing|neither)|without (?:support|knowledge))"
)
_HERE = (
    r"(?:(?:the|this|that|its|my|our|their|such an?|these|host['\u2019]s|user['\u2019]s)\s+(?:\w+\s+)?"
    r"(?:gpu|card|device|chip|board|accelerator|graphics card)s?"
    r"(?:(?:['\u2019]s?)?\s+(?:architecture|arch|generation|target|capability|compute capability|sm|model))?"
    r"|(?:the|this|that|its) (?:gpu |card |device )?(?:architecture|arch|compute capability))(?![\w'\u2019])"
)
_FILL = (
    r"(?:[\s,:;'\"(`\u2018\u2019\u201c\u201d]+(?:the|its|this|that|an?|any|code|of|for|to|from|on|yet|target|architecture|arch|name|named|compute"
    r"|capability|capabilities|cc|gpu|gpus|cards?|option|value|kernels?|support|machine|cubins?|binary|newer|new|as|about|nvidia"
    r"|flag|device|by|id|processor|cpu|older|blackwell|hopper|ada|ampere|turing|volta|chip)){0,7}?"
)
_CODE = (
    r"(?:(?:machine |device |native |gpu )?code|kernels?(?: images?)?|binar(?:y|ies)|cubins?|sass|targets?"
    r"|support|builds?"
    r"|images?|instructions?|operators?)"
)
_S = r"(?:[^.;]|\.(?=\d))"  # within a sentence: the dot of a number does not end it


_COMPILER_UNAWARE = pattern(rf"\b{_COMPILER}\b{_S}{{0,60}}?\b{_UNAWARE}(?P<rest>{_S}{{0,80}})")


_CODE_ABSENT = pattern(
    rf"(?:\b(?:no|without|lack(?:s|ed|ing)?|miss(?:es|ing)|none of its|not (?:one|any)|nor)\b(?: any| suitable"
    rf"| matching)?(?: [a-z0-9.+_-]+)?"
    rf" {_CODE}(?: images?| code)?(?: (?:is|are|was|were))?(?: (?:built|compiled|available|present|included"
    rf"|there|made))? (?:for|of)"
    r"|\bnot (?:(?:been|yet) )?(?:compiled|built|made|meant|intended) (?:for|with)"
    rf"|(?:{_NOT}) (?:yet )?(?:support|include|contain|cover|list|serve|carry|have (?:code|kernels?) for)\b"
    rf"|\bno longer (?:support|include|contain|cover|list|carr|ship)\w*|\bnone for"
    rf"|\b(?:unsupported|not (?:supported|usable|working)|(?:{_NOT}) (?:run|work|start)|fails?|crash(?:es)?"
    rf"|unusable) (?:on|by|for|with)"
    rf")(?P<rest>{_S}{{0,60}})"
)


# What compilers and loaders print. Where they name a target, it is that one that they do not know.
_PRINTED = pattern(
    r"invalid value for (?:--?)?gpu-architecture|unsupported gpu architecture|is not defined for option\W+gpu-name"
    r"|is not a recogni[sz]ed processor|unknown target cpu|no binary for gpu|no_binary_for_gpu|unsupported sm\b"
    r"|no kernel image is available|not compatible with the current pytorch|nokernelimagefordevice"
    r"|nvrtc_error_invalid_option"
    r"|requires isa \d|invalid device function|device kernel image is invalid|\berror(?: code)?\W{0,2}(?:98|209)\b"
    r"|(?:^|[.:;,\"'(]\s*)(?:the |this )?(?:gpu|card|device)(?: is)? (?:not |un)supported\b"
)
# An error that no longer occurs.
_OVERCOME = pattern(
    r"\b(?:fix\w*|avoid\w*|sol(?:ve|ving|ved)|resolv\w*|no more|gone|got rid|instead|work(?:ed)? ?around)\b"
)
# What each of the forms above, and of `target_words.py` and `capability_bounds.py`, has in it.
_MAY_DENY = pattern(
    r"\b(?:no|not|none|nothing|nor|never|cannot|without|missing|absent|except|unaware|ignorant|un\w*supported|invalid|un\w*known"
    r"|too old|predat\w+|device function|kernel image|98|209|requires isa|older|before|beyond|above|newest|highest"
    r"|maximum|max|last|latest|largest|until|up to|only to|to|through|thru"
    r"|skipped|phased out|taken out|gone)\b"
    r"|n['\u2019]t\b|\b(?:lack|miss|exclud|omit|drop|remov|reject|refus|predat|end|stop|fail|crash|unusable|incompatible|unable|disabl|leave|left|know|no_)|nokernelimage|_invalid_option|no_binary"
)
_TARGET = pattern(r"(?:sm|compute)[\s_]?\d{2,3}[af]?\b")
_SPEAKS_OF_PTX = pattern(
    r"\bfalls? back (?:to|on) (?:the )?(?:ptx|jit|driver)|\b(?:by|through|via|as) ptx\b|\+ ?ptx\b|\bwith ptx\b"
    r"|\b(?:and|plus) ptx\b|\bptx (?:for|of) "
)
_WORDS = 6


@lru_cache(_KEPT)
def reason_against(text: str, capability: ComputeCapability) -> str:
    """Why a text rules out GPUs of this capability, as a clause; empty where it does not."""
    plain = of_this_build(text)
    if (older := _older_ptxas(plain, capability)) or _MAY_DENY.search(plain) is None:
        return older
    is_absent = any(_names(found["rest"], capability, or_newer=False) for found in _CODE_ABSENT.finditer(plain))
    if is_absent or leaves_out(plain, capability) or denied_by_name(plain, capability):
        return "it is said to have no code for it"
    if any(_names(found["rest"], capability, or_newer=True) for found in _COMPILER_UNAWARE.finditer(plain)):
        return "its compiler is said not to know it"
    for found in () if _OVERCOME.search(plain) else _PRINTED.finditer(plain):
        if _is_printed_of(plain, found, capability):
            return f'it is said to end in "{found[0]}"'
    highest = highest_in(plain)
    if highest is not None and _is_beyond(capability, highest) and not _SPEAKS_OF_PTX.search(plain):
        return f"its code is said to end at {highest}"
    return ""


# The assembler that a program brings along for what it compiles at run time: `Triton's ptxas is that of CUDA 12.8`.
_PTXAS_OF = pattern(
    r"(?<!made by )(?<!made with )(?<!built by )(?<!built with )(?<!compiled by )(?<!compiled with )"
    r"\bptxas\b[\s:=(]{0,2}"
    r"(?:(?:is|was|that|comes?|from|of|the one|bundled|found|on|the|its|path|in|it|brings|release|version|cuda"
    r"|toolkit|v)"
    r"[\s:=(]+){0,7}v?(?P<line>\d{1,2}\.\d)(?:\.\d+)?(?!\d)",
    re.IGNORECASE,
)


def _older_ptxas(plain: str, capability: ComputeCapability) -> str:
    """A clause where the build's ptxas is older than the first CUDA that makes code for the GPU."""
    arch = tables.architectures().get(capability)
    lines = {match["line"] for match in _PTXAS_OF.finditer(plain)}
    if arch is None or arch.first_cuda is None or len(lines) != 1 or affirmed(plain, _PTXAS_OF) is None:
        return ""
    line = CudaVersion.parse(lines.pop())
    return (
        f"its ptxas is of CUDA {line}, and the first that knows it is {arch.first_cuda}"
        if line < arch.first_cuda
        else ""
    )


def _names(rest: str, capability: ComputeCapability, *, or_newer: bool) -> bool:
    """Do the words that follow name the GPU: as `the card`, by a target, by a generation, by its model?"""
    if re.match(rf"{_FILL}\s*{_HERE}", rest) or re.match(rf"\s+{_HERE}", rest):
        return True
    if (family := re.match(rf"{_FILL}[\s('\"]+({'|'.join(map(re.escape, families()))})\b", rest)) is not None:
        own = families()[family[1]]
        return capability in own or (or_newer and _is_newer(capability, own[-1]))
    named = _capability_in(rest)
    if named is None:
        return False
    return named == capability or (or_newer and _is_newer(capability, named))


def _capability_in(rest: str) -> ComputeCapability | None:
    """The capability of the first target, generation or model that is named."""
    if (target := re.match(rf"{_FILL}[\s('\"]*({_TARGET.pattern}|(?<![\d.])\d{{1,2}}\.\d(?![\d.]))", rest)) is not None:
        found = _target(target[1])
        return found.capability if found is not None and found.capability in tables.architectures() else None
    words = re.split(r"[\s,()'\"`]+", re.sub(r"^[\s('\"]+", "", rest))[:_WORDS]
    for start in range(min(3, len(words))):
        for end in range(len(words), start, -1):
            name = " ".join(words[start:end])
            if not re.search(r"\d|titan|thor|orin|xavier", name):
                continue
            if models := models_named(name):
                capabilities = {model.compute_capability for model in models}
                return capabilities.pop() if len(capabilities) == 1 else None
    return None


def _is_newer(capability: ComputeCapability, named: ComputeCapability) -> bool:
    """Did compilers learn of this capability no earlier than of the named one, which this compiler does not know?"""
    of_gpu, of_named = (tables.architectures().get(each) for each in (capability, named))
    if of_gpu is None or of_named is None or of_gpu.first_cuda is None or of_named.first_cuda is None:
        return False
    return capability > named and of_gpu.first_cuda >= of_named.first_cuda


def _is_beyond(capability: ComputeCapability, highest: ComputeCapability) -> bool:
    """Does the GPU run no code for the newest capability, nor for older ones? Within a major it does."""
    return capability > highest and not runs(Target(highest), capability)


def _is_printed_of(plain: str, found: re.Match[str], capability: ComputeCapability) -> bool:
    start, end = max(0, found.start() - 24), found.end() + 24
    near = _TARGET.findall(plain[start:end])
    named = [target.capability for each in near if (target := _target(each)) is not None]
    return not near or any(each == capability or _is_newer(capability, each) for each in named)


def _target(written: str) -> Target | None:
    """A target as people write it, `sm 86` and `SM86` too; None where there is none such."""
    try:
        return Target.parse(re.sub(r"(sm|compute)[\s_]*", r"\1_", written))
    except VersionError:
        return None


_BUILT_ON = pattern(
    r"\b(?:compiled|built|made|created|generated|packaged)\b(?: only| just| and packed| there| (?:with|by|using)(?:"
    r" \S*native\S*)+)?\s+(?:on|with|for"
    r"|where|against|by)\s+"
    r"(?P<where>[^.;]{3,80})"
)
_A_MACHINE = pattern(
    r"^(?:(?:only|just|an?|the|his|her|their|my|another|one|other|machine|box|node|host|server|computer|pc|workstation|system"
    r"|laptop|instance|vm|runner|with|that|which|where|has|had|was|is|holds|of|login|build|card|gpu|presence|in|present|visible)\s+)+"
)


@lru_cache(_KEPT)
def built_on(text: str) -> ComputeCapability | None:
    """The GPU of the machine that compiled it: `compiled on a machine with an A100`. Not an engine's."""
    plain = text.lower()[:_READ]
    if "engine" in plain:
        return None  # an engine of TensorRT, which has its own rule
    found = {capability for each in _BUILT_ON.finditer(plain) if (capability := _of_machine(each["where"])) is not None}
    return found.pop() if len(found) == 1 else None


def _of_machine(where: str) -> ComputeCapability | None:
    if (lead := _A_MACHINE.match(where)) is None:
        return None
    rest = re.split(r",|\band\b|\(", where[lead.end() :])
    if len(rest) > 1 and re.search(r"\d{2}", rest[1]) and "and" in where:
        return None  # several GPUs
    return _capability_in(f" {rest[0]}")
