"""All rules, listed by hand: rules not listed here do not apply, and a retired id stays with its successor."""

from types import MappingProxyType

from compat.rules import (
    appt,
    arch,
    back,
    compathook,
    compress,
    cpu,
    cudnn,
    drop,
    eks,
    eol,
    framework,
    fwd,
    gfd,
    kmod,
    mathlib,
    minor,
    nccl,
    operator,
    persist,
    ptx,
    req,
    vis,
)
from compat.rules.rule import Rule

ALL_RULES: tuple[Rule, ...] = tuple(
    each.RULE
    for each in (
        drop, kmod, minor, back, fwd, compathook, arch, ptx, compress, framework, cudnn, mathlib, nccl, req,
        vis, cpu, appt, eks, operator, persist, gfd, eol
    )
)  # fmt: skip

BY_ID = MappingProxyType({rule.id: rule for rule in ALL_RULES})
