"""All linter rules, listed by hand. A retired id stays with its successor.

First rules about GPUs, in the order of the list of mistakes, then those about any image.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from imaging.lint.rules import (
    archive,
    base,
    cache,
    checksum,
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
    lists,
    name,
    nv,
    order,
    pci,
    pipe,
    port,
    requirements,
    root,
    secret,
    sources,
    support,
    tensorflow,
    twice,
    visible,
)
from imaging.lint.rules.rule import Rule

GPU_RULES: Final[tuple[Rule, ...]] = (
    base.RULE, latest.RULE, deleted.RULE, framework.RULE, libraries.RULE, tensorflow.RULE, cleanup.RULE, cache.RULE,
    sources.RULE, devel.RULE, twice.RULE, driver.RULE, kmod.RULE, order.RULE, context.RULE, requirements.RULE, pci.RULE,
    visible.RULE, secret.RULE, root.RULE, command.RULE, name.RULE, gpubuild.RULE, port.RULE, nv.RULE, host.RULE,
    archive.RULE, kernel.RULE,
)  # fmt: skip
GENERAL_RULES: Final[tuple[Rule, ...]] = (
    pipe.RULE, checksum.RULE, support.RULE, lists.RULE,
)  # fmt: skip
ALL_RULES: Final = (*GPU_RULES, *GENERAL_RULES)

BY_ID: Final = MappingProxyType({rule.id: rule for rule in ALL_RULES})
