"""Common arguments of hubs on one machine: a Docker host or a login node."""

from collections.abc import Sequence
from typing import NotRequired, TypedDict

from components.on_kubernetes.notebook_hub_args import HubCourse, HubCull


class HubOnAMachineArgs(TypedDict):
    """Names, links and time-outs of the hub. Times in seconds."""

    public_url: NotRequired[str]
    """Public URL of the hub, if a proxy in front of it has the name and the certificate."""
    site_name: NotRequired[str]
    """Page heading; default JupyterHub."""
    help_url: NotRequired[str]
    """Help page; linked from the page that starts servers."""
    cull: NotRequired[HubCull]
    http_timeout_s: NotRequired[int]
    """Time until a running server answers; default 120."""
    courses: NotRequired[Sequence[HubCourse]]
    """Courses that use the hub. Recorded for policies and reviewers; the hub itself ignores them."""
