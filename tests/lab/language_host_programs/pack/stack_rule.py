"""The rule, importable because the pack's folder is first on the path."""

from pulumi_policy import ReportViolation, StackValidationArgs


def refuse(args: StackValidationArgs, report: ReportViolation) -> None:
    report(f"refused: {len(args.resources)} resource")
