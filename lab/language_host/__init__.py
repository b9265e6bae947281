"""Stand-in for `pulumi-language-python` on machines that had to build the Pulumi CLI from Go modules.

It serves the public gRPC contract LanguageRuntime with the stubs of the Python SDK. The official host is part of every
official release and takes precedence if present (`launcher.is_official`).

Intended differences: no `uv sync` before each run (`pulumi install` or `uv sync` made the environment), no Poetry, no
code generation (`pulumi package add`, `pulumi convert`), no debugger.
"""
