"""All rules of the linter, by hand, in the order of the list of mistakes. A retired id stays, with its successor."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from images.lint.rules import (
    archive,
    base,
    cache,
    cleanup,
    command,
    context,
    deleted,
    devel,
    driver,
    framework,
    gpubuild,
    host,
    kernel,
    kmod,
    latest,
    libraries,
    name,
    nv,
    order,
    pci,
    port,
    requirements,
    root,
    secret,
    sources,
    tensorflow,
    twice,
    visible,
)
from images.lint.rules.rule import Rule

ALL_RULES: Final[tuple[Rule, ...]] = (
    base.RULE,
    latest.RULE,
    deleted.RULE,
    framework.RULE,
    libraries.RULE,
    tensorflow.RULE,
    cleanup.RULE,
    cache.RULE,
    sources.RULE,
    devel.RULE,
    twice.RULE,
    driver.RULE,
    kmod.RULE,
    order.RULE,
    context.RULE,
    requirements.RULE,
    pci.RULE,
    visible.RULE,
    secret.RULE,
    root.RULE,
    command.RULE,
    name.RULE,
    gpubuild.RULE,
    port.RULE,
    nv.RULE,
    host.RULE,
    archive.RULE,
    kernel.RULE,
)

BY_ID: Final = MappingProxyType({rule.id: rule for rule in ALL_RULES})
