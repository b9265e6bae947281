"""All rules, by hand: a rule that is not here does not count, and a retired id stays here with its successor."""

from __future__ import annotations

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

ALL_RULES: tuple[Rule, ...] = (
    drop.RULE,
    kmod.RULE,
    minor.RULE,
    back.RULE,
    fwd.RULE,
    compathook.RULE,
    arch.RULE,
    ptx.RULE,
    compress.RULE,
    framework.RULE,
    cudnn.RULE,
    mathlib.RULE,
    nccl.RULE,
    req.RULE,
    vis.RULE,
    cpu.RULE,
    appt.RULE,
    eks.RULE,
    operator.RULE,
    persist.RULE,
    gfd.RULE,
    eol.RULE,
)

BY_ID = MappingProxyType({rule.id: rule for rule in ALL_RULES})
