"""Arguments that hubs have in common which run on one machine, a Docker host or a login node."""

from collections.abc import Sequence
from typing import NotRequired, TypedDict

from components.on_kubernetes.notebook_hub_args import HubCourse, HubCull


class HubOnAMachineArgs(TypedDict):
    """What people see of the hub, and how long it waits for their servers. Times in seconds."""

    public_url: NotRequired[str]
    """Where people open the hub, when something in front of it has the name and the certificate."""
    site_name: NotRequired[str]
    """Heads the pages; default JupyterHub."""
    help_url: NotRequired[str]
    """Where people get help; a link on the page that starts servers."""
    cull: NotRequired[HubCull]
    http_timeout_s: NotRequired[int]
    """From a running server to one that answers; default 120."""
    courses: NotRequired[Sequence[HubCourse]]
    """Courses that use the hub. Recorded for policies and reviewers; the hub itself ignores them."""
