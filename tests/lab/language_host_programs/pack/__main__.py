"""One mandatory rule that every stack breaks, read from a module and a file beside this one."""

from pathlib import Path

from pulumi_policy import EnforcementLevel, PolicyPack, StackValidationPolicy
from stack_rule import refuse

PolicyPack(
    "pack",
    enforcement_level=EnforcementLevel.MANDATORY,
    policies=[
        StackValidationPolicy(
            name="refuses", description=Path("reason.txt").read_text(encoding="utf-8").strip(), validate=refuse
        )
    ],
)
