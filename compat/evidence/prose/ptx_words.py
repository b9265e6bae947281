"""Words of a build on its PTX: that the driver compiles it, that a driver refused it, which PTX it is.

`targets.py` reads which GPUs it is for.
"""

from __future__ import annotations

import re
from functools import lru_cache

from compat.evidence.prose.patterns import pattern

_KEPT = 4096
_READ = 400  # characters
_MAY_SAY = pattern(r"ptx|\bjit|unsupported|\b222\b|\.version", re.IGNORECASE)
_CODE = r"(?:sass|cubins?|machine code|elf|binar(?:y|ies)|native code)"
_DENIED = pattern(
    r"\b(?:no|without|lacks?|lacking|missing|strips?|stripped)\s+(?:any\s+|embedded\s+|the\s+)?ptx\b"
    r"|\bptx\b (?:code )?(?:is |was |were )?(?:missing|absent|not|stripped|removed|left out)\b|\bnot (?:contain"
    r"|include|ship|have|embed)\b[^.;,]{0,12}ptx"
)


_COMPILED_BY_DRIVER = pattern(
    r"\bnvrtc\b.{0,40}\bptx\b|\bptx\b.{0,40}\b(?:nvrtc|jit)\b|\bemit\w* ptx|\bptx[- ]only\b"
    r"|\b(?:falls?|fell|falling) back (?:to|on|onto) (?:the |its |only )*ptx\b|\bembedded ptx\b|\bptx isa\b"
    r"|\b(?:code|kernels?) (?:for (?:the|this|that|its) (?:gpu|card|device) )?(?:is|are|was|were|came|comes?)"
    r" (?:only |just |there |as )*ptx\b|\bruns? (?:from|by|through|via) ptx\b"
    r"|\b(?:only|just|nothing but|solely) (?:(?:has|contains?|ships?|carr(?:y|ies)|includes?|embeds?|as|by"
    r"|through|in) )?ptx\b"
    rf"|\bptx\b[^.;]{{0,30}}\b(?:no|without|not any) {_CODE}\b|\b(?:no|without|instead of)"
    rf" {_CODE}\b[^.;]{{0,30}}\bptx\b"
    r"|\b(?:ship\w*|distributed|delivered|stored|packaged|embed\w*|provided|bundled"
    r"|compiled)\b[^.;,]{0,24}\b(?:as|in|into|to) (?:an? )?\.?ptx\b"
    r"|\b(?:loads?|loaded|loading|cumodule\w*)\b[^.;,]{0,24}(?:\b|\.)ptx\b|\bnvcc\b[^;]{0,40}\s--?ptx\b|\bptx"
    r" (?:files?|kernels?|modules?)\b"
    r"|\bjit\w*\b[^.;]{0,24}\bptx\b|\bdriver(?:'s)?(?: \w+)? jit\b|\bjit\w*(?: compiled)? by (?:the|its) driver\b"
    r"|\b(?:generat|produc|creat)\w+ ptx\b|\bptx(?: code)? (?:version |v|(?!6\.[0-2]|7\.[025]|8\.[0679]"
    r"|9\.0))\d\.\d\b|\.version \d\.\d\b"
)


# Errors of a driver that gets newer PTX than it knows.
_REFUSED = pattern(
    r"unsupported toolchain|unsupported[_ ]?ptx[_ ]?version|\berror(?: code)?\W{0,2}222\b|\bunsupported \.version\b"
)


@lru_cache(_KEPT)
def is_compiled_by_driver(text: str) -> bool:
    """Does the text say that the driver compiles PTX when the program starts?"""
    plain = text.lower()[:_READ]
    if _MAY_SAY.search(plain) is None or _DENIED.search(plain):
        return False
    return _COMPILED_BY_DRIVER.search(plain) is not None


@lru_cache(_KEPT)
def is_refused_by_driver(text: str) -> bool:
    """Does the text say that a driver refused the PTX: error 222, `unsupported toolchain`?"""
    plain = text.lower()[:_READ]
    return _MAY_SAY.search(plain) is not None and _REFUSED.search(plain) is not None
