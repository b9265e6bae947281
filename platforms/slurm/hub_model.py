"""Model of a notebook hub on a Slurm cluster: stack file keys, SlurmHub arguments, derived values. Pure.

`workloads.hub` has the parts common to every hub.
"""

import ipaddress
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, Field, WithJsonSchema

from errors.faults import Misfit
from errors.problems import Fault, Loc
from platforms.slurm.partition_model import Partitions
from platforms.slurm.site_model import HubsHere, SlurmAccess
from workloads.addresses import LOOPBACK
from workloads.amounts import Seconds
from workloads.arguments import IMAGE, Argument, ImageReference, OutputText, plain, read
from workloads.authenticator import Authenticator, with_user_list
from workloads.exposure import REACHED, HttpsPort
from workloads.hub import CHOICES, DEFAULT_START_TIMEOUT_S, MadeHub, MadeProfile, NameOfImage
from workloads.names import Prose

LONGEST_NAME: Final = 63


def _address(value: str) -> str:
    try:
        return str(ipaddress.IPv4Address(value))
    except ValueError:
        raise Misfit("is not an IPv4 address of the login node", "write one, or 0.0.0.0 for all") from None


Port = Annotated[int, Field(ge=1024, le=65535)]  # lower ports need root


class LoginNodePort(HttpsPort):
    """Address of the proxy: https on a port of the login node."""

    kind: Literal["login_node"] = Field(description="A port of the login node.")
    port: Port = Field(8000, description="Port that people open, 1024 or more.")
    address: Annotated[str, AfterValidator(_address), WithJsonSchema({"type": "string"})] = Field(
        LOOPBACK, description="Address of the login node that the hub answers on; people reach 127.0.0.1 by ssh -L."
    )
    hub_port: Port = Field(8081, description="Port that users' servers report to, on `inside` of the site.")
    proxy_api_port: Port = Field(8001, description="Port by which the hub commands its proxy, on 127.0.0.1.")


class Profile(MadeProfile):
    """A profile on the page that starts servers: partition, GPUs, time. CPU in cores, memory in GiB."""

    description: Prose | None = Field(None, description="What it is for: stands before its size.")
    image: ImageReference = Field(description=f"{IMAGE}, with jupyterhub and batchspawner")
    sif: Annotated[OutputText, Argument(is_required=True)] = Field(
        None, description="File of the image, such as the `path` of a SifImage."
    )
    partitions: Partitions
    time_min: int = Field(ge=1, le=10_000_000, description="Minutes after which Slurm ends the server.")

    @property
    def page_size(self) -> str:
        """Its size for users, with its time limit."""
        hours = self.time_min / 60
        lasts = f"{hours:g} {'hour' if hours == 1 else 'hours'}" if self.time_min % 30 == 0 else f"{self.time_min} min"
        return f"{self.size}, at most {lasts}"


FileOfImage = Annotated[OutputText, Argument(is_required=True), Field(description="File of that image.")]


class Hub(MadeHub):
    """A validated hub. Times in seconds, sizes in GiB."""

    start_timeout_s: Seconds = Field(
        DEFAULT_START_TIMEOUT_S, description="Seconds that a server may take to start, time in the queue included."
    )
    expose: LoginNodePort = Field(description=REACHED)
    hub_image: ImageReference = Field(
        description=f"{IMAGE}, with jupyterhub, batchspawner, ssh client, idle culler, authenticators and openssl"
    )
    hub_image_name: NameOfImage = "slurm-hub"
    hub_sif: FileOfImage = None
    proxy_sif: FileOfImage = None
    profiles: tuple[Profile, ...] = Field(min_length=1, description=CHOICES)
    authenticator: Authenticator = Field(
        description="How people log in. A client secret is a file on the login node: "
        "/etc/gpu-commons/secrets/SECRET/KEY."
    )

    @property
    def url(self) -> str:
        """Public URL."""
        return f"{self.public_url}/" if self.public_url else self.expose.url


def hubs_of(site: SlurmAccess) -> HubsHere:
    """The site's hub settings; settings and `parse_hub` refuse a site without them."""
    if site.hubs is None:
        raise AssertionError("hubs")
    return site.hubs


def parse_hub(name: str, args: Mapping[str, Any], site: SlurmAccess) -> Hub:
    """Arguments of SlurmHub except `site`. Raises SettingsError with every problem."""

    def of_site(hub: Hub) -> Iterator[Fault]:
        if site.hubs is None:
            fix = "add access, inside, identity and accounts: what hubs need here"
            yield Fault(("site", "hubs"), "is missing", fix)
        else:
            yield from of_admins(hub.authenticator.admins, site.hubs.accounts, ("authenticator",))

    return read(Hub, f"SlurmHub {name}", name, with_user_list(plain(args)), of_site)


def of_admins(admins: Sequence[str], accounts: Mapping[str, str], loc: Loc) -> Iterator[Fault]:
    """JupyterHub admits every administrator."""
    for at, admin in enumerate(admins):
        if admin not in accounts:
            fix = "add the account to site.slurm.hubs.accounts, or take the administrator out"
            yield Fault((*loc, "admins", at), "has no account on the cluster", fix, admin)
