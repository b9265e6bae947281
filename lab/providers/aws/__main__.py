"""The executable `pulumi-resource-aws`: a stand-in, used only where the official plugin cannot be downloaded."""

from __future__ import annotations

from typing import Final

from lab.providers.aws.provider import AwsProvider
from lab.providers.plugin import serve

VERSION: Final = "7.51.1"  # of the SDK in uv.lock: the engine looks for the plugin of that version

if __name__ == "__main__":
    serve(VERSION, AwsProvider)
