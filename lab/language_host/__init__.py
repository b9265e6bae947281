"""Stand-in for `pulumi-language-python` on machines that had to build the Pulumi CLI from Go modules.

It serves the public gRPC contract LanguageRuntime with the stubs that the Python SDK ships. The official host is
part of every official release and always wins where there is one (`launcher.is_official`).

What differs on purpose: no `uv sync` before each run (the environment is what `pulumi install` or `uv sync` made
of it), no Poetry, no code generation (`pulumi package add`, `pulumi convert`), no debugger.
"""
