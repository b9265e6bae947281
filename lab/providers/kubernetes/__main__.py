"""The executable `pulumi-resource-kubernetes`: a stand-in, used only where the official plugin cannot be downloaded."""

from __future__ import annotations

from typing import Final

from lab.providers.kubernetes.provider import KubernetesProvider
from lab.providers.plugin import serve

VERSION: Final = "4.34.2"  # the SDK's version in pyproject.toml: the engine looks for that version of the plugin

if __name__ == "__main__":
    serve(VERSION, KubernetesProvider)
