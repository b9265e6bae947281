"""The executable `pulumi-resource-aws`: a stand-in, used only where the official plugin cannot be downloaded."""

from __future__ import annotations

from typing import Final

from lab.providers.aws.provider import AwsProvider
from lab.providers.plugin import serve

VERSION: Final = "7.51.1"  # the SDK's version in uv.lock: the engine looks for that version of the plugin

if __name__ == "__main__":
    serve(VERSION, AwsProvider)
