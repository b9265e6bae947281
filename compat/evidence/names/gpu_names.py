"""Finds GPU models by people's names for them, and by those of drivers, `lspci` and GPU feature discovery."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable
from functools import cache, lru_cache
from typing import NamedTuple

from compat.evidence.names import mig
from compat.facts.rows import GpuModel
from compat.facts.tables import by_key, gpu_model, gpu_models, gpu_rows

# Optional words.
_NOISE = frozenset(
    {"nvidia", "graphics", "gpu", "gpus", "card", "corporation", "corp", "tm", "r", "device", "mig"}
    | {"developer", "development", "dev", "devkit", "kit", "engineering", "reference"}  # a Jetson with its board
    | {"msi", "asus", "gigabyte", "evga", "zotac", "palit", "pny", "gainward", "inno3d", "galax", "kfa2", "colorful"}
)
# Split off if people write them without a blank: TeslaV100, RTXA4000, JetsonOrinNano.
_GLUED = "nvidia|geforce|tesla|quadro|rtx|gtx|titan|jetson|agx|orin|xavier|ti(?=super)|max(?=q)"
_WORD = re.compile(rf"{_GLUED}|[a-z]+?(?={_GLUED})|[a-z]+|\d+")
# Optional, but a stated word must not contradict the model: there is a GTX 1080 Ti and no RTX 1080 Ti.
_BRANDS = frozenset({"geforce", "tesla", "quadro", "gtx", "rtx", "gt", "gts"})
# Brands that people put in front of any card of a class: Tesla L4, GeForce TITAN V.
_BRAND_OF_CLASS = {"datacenter": frozenset({"tesla"}), "geforce": frozenset({"geforce"})}
# Forms of the same chip: a name without them means any form, a name with unknown ones means the known form.
_FORMS = frozenset(
    {"sxm", "pcie", "pci", "e", "gb", "gib", "g", "mib", "hbm", "nvl", "ddr", "gddr", "lhr", "s", "ac", "ts", "dgxs"}
    | {"ls", "fhhl", "oem", "rev", "edition", "generation", "server", "workstation"}
)
_PORTABLE = frozenset({"laptop", "mobile", "notebook", "max", "q", "with", "design", "m"})
# From branch 465 on, drivers report GeForce and data-centre names with NVIDIA in front. Seen in public
# nvidia-smi listings (465.19.01: "NVIDIA GeForce ..."; 460 and older: "GeForce ..."), not in a document of NVIDIA's.
FIRST_BRANCH_WITH_MAKER = 465
_UNITS = frozenset({"gb", "gib", "g"})

_GTX_OF_RTX = re.compile(r"\bgtx(?=[\s_-]*[2-5]0[5-9]0)", re.IGNORECASE)  # after the 16 series there is no GTX
_ORIN_AGX = re.compile(r"\b(orin|xavier)[\s_-]*agx\b", re.IGNORECASE)  # people swap the words
# What a driver, or lspci with an old list, shows for a board that it does not know.
_NAMELESS = re.compile(r"(?:nvidia[\s-]*)?graphics[\s-]device|nvidia corporation device\b.*", re.IGNORECASE)
_LISTED = "gpu-commons facts gpu_model lists the known ones; or give compute_capability"
_OTHER_MAKERS = re.compile(r"\b(amd|radeon|instinct|rx|mi\d{2,3}x?|intel|arc|gaudi\d?|tpu|apple)\b")
_PCI_ID = re.compile(r"[0-9a-f]{4}(?::[0-9a-f]{4})?", re.IGNORECASE)
# Text around a copied name, in the order of its removal.
_AROUND = tuple(
    re.compile(text, re.IGNORECASE)
    for text in (
        r"^nvidia\.com/(?:gpu\.product\s*[=:]\s*)?",  # a label or a resource of Kubernetes
        r"^(?:product )?name\s*:\s*",  # nvidia-smi -q
        r"^(?:gpu\s*)?\d{1,2}\s*:\s+",  # nvidia-smi -L: GPU 0: Tesla T4 (UUID: …)
        r"\(uuid:[^)]*\)?\s*$",
        r"\s+device\s+\d+\s*:?\s*$",  # nvidia-smi -L: MIG 1g.5gb Device 0:
        r"\(rev [0-9a-f]+\)\s*$",
        r"\s*/.*$",  # RTX 3070 Mobile / Max-Q
        r"-shared$",
        r"\s+lite hash rate\b",
        r"^\s*\d{1,2}\s*[x\u00d7*]\s*(?=\w)",  # 8xA100, 2 x RTX 3090
        r"(?:(?<!tegra)\s+[x\u00d7*]\s*|(?<=\d)[\u00d7*])\d{1,2}\s*$",  # A100 x8; a Tegra X1 is a name
        r"\(\s*[x\u00d7]?\s*\d{1,2}\s*[x\u00d7]?\s*\)\s*$",  # A100 (x8)
    )
)
_VGPU = re.compile(
    r"(?:nvidia\s+|grid\s+|vgpu[\s:]+)*(.+?)-(?:\d-)?\d{1,3}(?:Q|C|A|B4?)(?:ME|NOME|GFX)?(?:\s+\(?vgpu\)?)?",
    re.IGNORECASE,
)
# lspci shows the chip before the name: GP102 [GeForce GTX 1080 Ti].
_CHIP_AND_NAME = re.compile(r"\b(?:G[FKMPVAHB]|AD|TU)\d{2,3}[A-Z]{0,3}\s*\[", re.IGNORECASE)


class UnknownGpu(ValueError):  # noqa: N818 - the name states the fault: the GPU is unknown
    """The name fits no model, or several. `suggestions` are the nearest known names, best first.

    `fix` says what to write; it is empty if the reason says it.
    """

    def __init__(self, text: str, reason: str, suggestions: tuple[str, ...] = (), fix: str = "") -> None:
        super().__init__(f'"{text}" {reason}' + (f"; nearest: {', '.join(suggestions)}" if suggestions else ""))
        self.text = text
        self.reason = reason
        self.suggestions = suggestions
        self.fix = f"did you mean {' or '.join(suggestions)}?" if suggestions else fix


def find_gpu(text: str) -> GpuModel:
    """The model behind `NVIDIA 1080 Ti`, `gtx1080ti` or the label `GeForce-GTX-1080-Ti`.

    Brand words may be missing; the order of others counts. Raises UnknownGpu for a name that fits
    no model (`GTX 1085`) or several (`RTX 6000` is of Turing, Ada or Blackwell).
    """
    found = find_gpus(text)
    own = [model for model in found if _words(model.name) == _words(text)]
    if len(own) == 1:
        return own[0]
    if len(found) > 1:
        raise UnknownGpu(text, "is more than one GPU model", tuple(model.name for model in found[:4]))
    return found[0]


@lru_cache(4096)
def find_gpus(text: str) -> tuple[GpuModel, ...]:
    """All models that a name may mean, at least one: `RTX 6000` is three, `g4dn.xlarge` a T4. Raises UnknownGpu.

    Ignores a count (`8x A100`), a word for sharing and other text around a copied name.
    A vGPU (`GRID T4-16Q`) is the GPU that serves it; a slice (`A100 MIG 1g.5gb`) is one of a GPU that has such slices.
    `NVIDIA Graphics Device`, which a driver shows for a board without a known name, is one of each compute
    capability, Jetsons left out.
    """
    if instance := by_key("ec2_gpu_instances", "instance_type").get(text.strip().lower()):
        if instance[0]["gpu_vendor"] != "nvidia":
            raise UnknownGpu(text, "has no NVIDIA GPU")
        return find_gpus(instance[0]["gpu_model"])
    if is_nameless(text):
        return _one_of_each()
    plain = _bare(text)
    if _PCI_ID.fullmatch(plain) and ":" in plain:
        raise UnknownGpu(text, "is a PCI id; write the name that nvidia-smi or lspci shows for it")
    if _OTHER_MAKERS.search(plain.lower()):
        raise UnknownGpu(text, "is not an NVIDIA GPU")
    if mig.is_slice(plain):
        return _sliced(text, plain)
    return _board_of_vgpu(plain) or _by_name(text, plain)


def _by_name(text: str, plain: str) -> tuple[GpuModel, ...]:
    return _with_remark(text, plain) if "(" in plain else _named(text, plain)


def _with_remark(text: str, plain: str) -> tuple[GpuModel, ...]:
    """A name with a remark in brackets: another name (`Tegra X1 (Jetson Nano)`), or a feature (`Orin (sm_87)`)."""
    try:
        return _named(text, plain)
    except UnknownGpu as error:
        found: list[tuple[GpuModel, ...]] = []
        for part in (re.sub(r"\([^()]*\)", " ", plain), *re.findall(r"\(([^()]*)\)", plain)):
            try:
                found.append(_named(text, part))
            except UnknownGpu:
                continue
        if not found:
            raise error from None
        common = tuple(model for model in found[0] if all(model in each for each in found))
        return common or found[-1]


def sold_as(model: GpuModel) -> tuple[GpuModel, ...]:
    """All models sold under the name of one: a GT 640 has one of three chips."""
    return find_gpus(model.name)


def is_nameless(text: str) -> bool:
    """Is it a placeholder for a GPU without a known name?"""
    return _NAMELESS.fullmatch(text.strip()) is not None


@cache
def _one_of_each() -> tuple[GpuModel, ...]:
    """A model of each compute capability, newest first, whose architecture determines its first driver."""
    able = [model for model in gpu_models() if model.product_class != "jetson"]
    able.sort(key=lambda model: bool(model.first_drivers), reverse=True)
    found = {model.compute_capability: model for model in able}
    return tuple(found[capability] for capability in sorted(found, reverse=True))


def mig_profile(text: str) -> str:
    """`1g.5gb` of `A100-SXM4-40GB-MIG-1g.5gb`; empty if the name is no slice."""
    return mig.profile_in(text)


def vgpu_profile(text: str) -> str:
    """`A100D-4C` of `GRID A100D-4C`; empty if the name is no vGPU."""
    plain = _bare(text)
    return plain.split()[-1] if _board_of_vgpu(plain) else ""


def _bare(text: str) -> str:
    """The name alone."""
    plain = text.strip()
    if ("corporation" in plain.lower() or _CHIP_AND_NAME.search(plain)) and (
        named := [each for each in re.findall(r"\[([^\[\]]+)\]", plain) if not _PCI_ID.fullmatch(each)]
    ):
        plain = named[-1]  # lspci: VGA compatible controller: NVIDIA Corporation GP102 [GeForce GTX 1080 Ti] (rev a1)
    for part in _AROUND:
        plain = part.sub("", plain).strip()
    return _ORIN_AGX.sub(r"AGX \1", plain)


def _named(text: str, plain: str) -> tuple[GpuModel, ...]:
    words = _words(_GTX_OF_RTX.sub("rtx", plain))
    if not _core(words):
        raise UnknownGpu(text, "is not a GPU name", fix=_LISTED)
    near, brands = _spelled(words)
    if found := _agreeing(near, brands):
        return found
    others = tuple(dict.fromkeys(each.name for each in near))[:3]
    raise UnknownGpu(text, "is not a GPU model of the tables", others or _nearest(words), _LISTED)


def _spelled(words: tuple[str, ...]) -> tuple[tuple[_Spelling, ...], frozenset[str]]:
    """Possible spellings of the words, and the brands among them."""
    core, brands = _core(words), _BRANDS & set(words)
    return (_with_core(core) or _any_form(core) or _known_form(core)) if core else (), brands


def _board_of_vgpu(plain: str) -> tuple[GpuModel, ...]:
    """The GPU behind `GRID A100D-4C`: NVIDIA names vGPUs after boards. Empty for a text that is no known vGPU."""
    if not (match := _VGPU.fullmatch(plain)):
        return ()
    words = _words(match[1])
    core = _core(words)
    return _agreeing(_with_core(("grid", *core)) or _with_core(core), _BRANDS & set(words))


def _sliced(text: str, plain: str) -> tuple[GpuModel, ...]:
    """Models that have the slice; all of them if the text names no GPU (`nvidia.com/mig-1g.5gb`)."""
    rest, profile = mig.without_slice(plain), mig.profile_in(plain)
    core = _core(_words(rest))
    models = gpu_models()
    if core:
        models = tuple(dict.fromkeys((*_by_name(text, rest), *(each.model for each in _any_form(core)))))
    able = tuple(model for model in models if model.mig_capable is not False)
    if not able:
        raise UnknownGpu(text, f"names a MIG slice, and {models[0].name} has no MIG")
    if not profile:
        return able
    if having := tuple(model for model in able if profile in mig.profiles_of(model)):
        return having
    if core and not all(map(mig.knows_all_profiles_of, able)):
        return able
    known = ", ".join(mig.profiles_of(able[0]))
    whose = f"; {able[0].name} has {known}" if core else ""
    raise UnknownGpu(text, f"names the MIG profile {profile}, which no such GPU has{whose}")


class _Spelling(NamedTuple):
    """One way to write a model: which brand words it has."""

    brands: frozenset[str]
    name: str

    @property
    def model(self) -> GpuModel:
        return gpu_model(self.name)


def _agreeing(spellings: Iterable[_Spelling], brands: frozenset[str] | set[str]) -> tuple[GpuModel, ...]:
    """Models whose brand words include the stated ones. A Quadro 5000 is no Quadro RTX 5000: that brand has both."""
    fitting = (
        each.model
        for each in spellings
        if brands <= each.brands | _BRAND_OF_CLASS.get(each.model.product_class, frozenset())
        and not ("quadro" in brands and "rtx" in each.brands - brands)
    )
    return tuple(dict.fromkeys(fitting))


def _words(text: str) -> tuple[str, ...]:
    # Split between letters and digits (1080Ti, GTX1080): both sides of a comparison are split alike.
    return tuple(word for word in _WORD.findall(text.lower()) if word not in _NOISE)


def _core(words: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(word for word in words if word not in _BRANDS)


def _with_core(core: tuple[str, ...]) -> tuple[_Spelling, ...]:
    return _spellings(_number(core)).get(core, ())


def _any_form(core: tuple[str, ...]) -> tuple[_Spelling, ...]:
    """`V100` is every V100; a GTX 1080 is no 1080 Ti, so a longer name may only add its form."""
    return tuple(
        each
        for words, spellings in _spellings(_number(core)).items()
        if _number(core)
        and words[: len(core)] == core
        and all(word in _FORMS or word.isdigit() for word in words[len(core) :])
        for each in spellings
    )


def _known_form(core: tuple[str, ...]) -> tuple[_Spelling, ...]:
    """`RTX 3090 24GB` and `RTX 3070 Laptop GPU`, if the tables have the chip but not this form."""
    sizes = {word for word, unit in itertools.pairwise(core) if word.isdigit() and unit in _UNITS}
    for left_out in (_FORMS, _FORMS | _PORTABLE):
        kept = tuple(word for index, word in enumerate(core) if not _says_form(core, index, left_out))
        if kept and kept != core and (found := (*_with_core(kept), *_any_form(kept))):
            sized = tuple(each for each in found if str(each.model.memory_mib // 1024) in sizes)
            return sized or _with_core(kept) or found
    return ()


def _says_form(core: tuple[str, ...], index: int, forms: frozenset[str]) -> bool:
    """Does this word only name the form of the board? The letter after some numbers does not: 670M, 1660S."""
    word, before, after = core[index], core[index - 1] if index else "", core[index + 1 : index + 2]
    if not before:
        return False
    if word in {"s", "m"} and before.isdigit():
        # From the 10 series on, laptop chips are those of the desktop; and people write two A100s.
        return (len(before) == 4) == (word == "m")
    is_size = word.isdigit() and after != () and after[0] in _UNITS
    return is_size or word in forms or (word.isdigit() and before in {"sxm", "hbm"})


@lru_cache(1024)
def _spellings(number: str) -> dict[tuple[str, ...], tuple[_Spelling, ...]]:
    """The words of each model without its brands → spellings; only of models with this number, if there is one."""
    has_number = re.compile(rf"(?<!\d){number}(?!\d)").search
    known: dict[tuple[str, ...], list[_Spelling]] = {}
    for model, row in gpu_rows().items():
        if number and not has_number(f"{model}|{row['gfd_product_label']}|{row['also_called']}"):
            continue
        for name in dict.fromkeys((model, row["gfd_product_label"], *row["also_called"].split("|"))):
            words = _words(name)
            if core := _core(words):
                known.setdefault(core, []).append(_Spelling(_BRANDS & frozenset(words), model))
    return {core: tuple(dict.fromkeys(spellings)) for core, spellings in known.items()}


def _nearest(words: tuple[str, ...], count: int = 3) -> tuple[str, ...]:
    """Known names with the same number, or one digit changed, first; then similar names."""
    from difflib import SequenceMatcher  # noqa: PLC0415 - for a mistake only

    number, letters = _number(words), frozenset(words) - _FORMS - _PORTABLE
    letters = frozenset(word for word in letters if not word.isdigit())
    wanted = " ".join(words)[:80]
    ranked: dict[str, float] = {}
    for core, spellings in _spellings("").items():
        other = _number(core)
        same = sum(map(str.__eq__, number, other)) / len(number) if number and len(number) == len(other) else 0.0
        if number and same * len(number) < len(number) - 1:
            continue
        for each in spellings:
            shares_word = not letters.isdisjoint((*each.brands, *core))
            if number and (letters or same < 1) and not shares_word:
                continue
            text = SequenceMatcher(None, wanted, " ".join((*sorted(each.brands & letters), *core))).ratio()
            if text >= (0.4 if same == 1 else 0.6 if shares_word else 0.7):  # Titn shares no word with TITAN V
                ranked[each.name] = max(ranked.get(each.name, 0.0), 2 * same + text)
    return tuple(sorted(ranked, key=lambda name: (-ranked[name], name))[:count])


def _number(words: tuple[str, ...]) -> str:
    """The number that identifies a model: 1080, 6000; the longest one in a name."""
    return max((word for word in words if word.isdigit()), key=len, default="")[:8]
