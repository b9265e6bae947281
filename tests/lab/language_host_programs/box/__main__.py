"""Hosts the component; its module is found because this folder is first on the path."""

from box_component import Box
from pulumi.provider.experimental import component_provider_host

component_provider_host(components=[Box], name="box", version="0.1.0")
