"""Parts of a framework that have floors of their own, by the words that ask for them: FP8 of vLLM, FlashAttention 2."""

from __future__ import annotations

import re
from dataclasses import dataclass

from compat.evidence.prose.denied import affirmed
from compat.evidence.prose.patterns import pattern


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a framework with its own floors: its key in the tables, and the words that request it."""

    key: str
    framework: str
    words: re.Pattern[str]


# The format of a cache is another one than that of the model: `--kv-cache-dtype fp8`, `KV cache in FP8`.
_OF_CACHE = pattern(
    r"(?:\b|_)cache(?:[-_ ]?d?type)?\W{1,4}(?:(?:in|of|as|is|at) )?(?:fp8|(?:nv)?fp4|int8)\b(?:_e\dm\d)?"
    r"|\b(?:fp8|(?:nv)?fp4|int8)(?:[_ ]e\dm\d)?\W{0,3}(?:kv|cache)",
    re.IGNORECASE,
)
_FP8 = pattern(r"\bfp8\b(?!\W{0,3}e5m2)", re.IGNORECASE)
_FP4 = pattern(r"\b(?:nv)?fp4\b", re.IGNORECASE)
_FLASH_2 = pattern(r"\bflash[_ -]?att(?:n|ention)[_ -]?2\b|\bfa2\b", re.IGNORECASE)
_FLOAT16 = pattern(r"(?<!b)(?<!int8_)\bfloat16\b|compute[-_ ]type\W{0,3}(?:int8_)?float16", re.IGNORECASE)
PARTS = (
    Part("ctranslate2-int8", "ctranslate2", pattern(r"int8|compute[-_ ]type\W{0,2}auto", re.IGNORECASE)),
    Part("ctranslate2-float16", "ctranslate2", _FLOAT16),
    Part("ctranslate2-float16", "faster-whisper", _FLOAT16),
    Part("faster-whisper-xxl", "faster-whisper", pattern(r"\bxxl\b|standalone", re.IGNORECASE)),
    Part("faster-whisper-xxl", "ctranslate2", pattern(r"\bwhisper-xxl\b|whisper[- ]standalone", re.IGNORECASE)),
    Part("libtensorflow", "tensorflow", pattern(r"\blibtensorflow|\bc[- ](?:library|api)\b|\bmaven\b", re.IGNORECASE)),
    Part("bitsandbytes-int8", "bitsandbytes", pattern(r"(?:load_in_)?8[-_ ]?bit|int8", re.IGNORECASE)),
    Part("vllm-bf16", "vllm", pattern(r"bf(?:loat)?16", re.IGNORECASE)),
    Part("vllm-fp8", "vllm", _FP8),
    Part("sglang-fp8", "sglang", _FP8),
    Part("tensorrt-llm-fp8", "tensorrt-llm", _FP8),
    Part("tensorrt-llm-fp4", "tensorrt-llm", _FP4),
    Part("tensorrt-fp8", "tensorrt", _FP8),
    Part("tensorrt-fp4", "tensorrt", _FP4),
    Part("flash-attn-2", "pytorch", _FLASH_2),
    Part("flash-attn-2", "transformers", _FLASH_2),
    Part("vllm-awq", "vllm", pattern(r"\bawq\b", re.IGNORECASE)),
    Part("vllm-v1", "vllm", pattern(r"\bVLLM_USE_V1\s*=\s*[\"']?1\b")),
    Part("torch.compile", "pytorch", pattern(r"torch\.compile|inductor", re.IGNORECASE)),
)
_SAYS_HOW = pattern("|".join((r"--\S+ \S+", *(part.words.pattern for part in PARTS))), re.IGNORECASE)


def parts_named(framework: str, text: str) -> tuple[str, ...]:
    """Keys of the parts of a framework that a text asks for, and does not do without: `--dtype bfloat16` of vLLM."""
    return tuple(part.key for part in PARTS if part.framework == framework and _asks_for(part, text))


def _asks_for(part: Part, text: str) -> bool:
    return affirmed(_OF_CACHE.sub(" ", text), part.words) is not None


def words_of_use(text: str) -> str:
    """The words on how a framework is used, which apply to every build of it: `--dtype bfloat16`, `int8`."""
    return " ".join(_SAYS_HOW.findall(text))
