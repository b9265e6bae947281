"""All linter rules, listed by hand. A retired id stays with its successor.

First rules about GPUs, in the order of the list of mistakes, then those about any image.
"""

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
    cpubuild,
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
    missing,
    name,
    nv,
    order,
    pci,
    pipe,
    port,
    quote,
    replaced,
    requirements,
    root,
    secret,
    sources,
    substitution,
    support,
    tensorflow,
    twice,
    uid,
    venv,
    visible,
)
from imaging.lint.rules.rule import load_rule

GPU_RULES: Final = tuple(map(load_rule, (
    base.check, latest.check, deleted.check, framework.check, libraries.check, tensorflow.check, cleanup.check,
    cache.check, sources.check, devel.check, twice.check, driver.check, kmod.check, order.check, context.check,
    requirements.check, pci.check, visible.check, secret.check, root.check, command.check, name.check,
    gpubuild.check, port.check, nv.check, host.check, archive.check, kernel.check, missing.check, cpubuild.check,
    replaced.check,
)))  # fmt: skip
GENERAL_RULES: Final = tuple(map(load_rule, (
    pipe.check, checksum.check, support.check, lists.check, quote.check, substitution.check, uid.check, venv.check,
)))  # fmt: skip
ALL_RULES: Final = (*GPU_RULES, *GENERAL_RULES)

BY_ID: Final = MappingProxyType({rule.id: rule for rule in ALL_RULES})
