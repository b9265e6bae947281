"""Model of a notebook hub on a Slurm cluster: stack file keys, SlurmHub arguments, derived values. Pure.

`workloads.hub` has the parts common to every hub.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, BaseModel, Field, WithJsonSchema, field_validator

from errors.agreements import check
from errors.faults import FORM, Misfit
from errors.problems import Fault, Loc
from imaging.spec.hub_description import Contents
from platforms.slurm.partition_model import Partition
from platforms.slurm.site_model import HubsHere, SlurmAccess
from workloads.amounts import GibOrNone, Seconds
from workloads.arguments import Argument, ImageReference, OutputText, plain, read
from workloads.authenticator import Authenticator, Login, login, with_user_list
from workloads.hub import COURSES, DEFAULT_START_TIMEOUT_S, Course, HubKeys, ProfileKeys, both_files
from workloads.names import AbsolutePath, Line, Name, Prose

LOOPBACK: Final = "127.0.0.1"
HTTPS: Final = 443
LONGEST_NAME: Final = 63


def _address(value: str) -> str:
    try:
        return str(ipaddress.IPv4Address(value))
    except ValueError:
        raise Misfit("is not an IPv4 address of the login node", "write one, or 0.0.0.0 for all") from None


Port = Annotated[int, Field(ge=1024, le=65535)]  # lower ports need root


class LoginNodePort(BaseModel):
    """Address of the proxy: https on a port of the login node."""

    model_config = FORM
    kind: Literal["login_node"] = Field(description="A port of the login node.")
    port: Port = Field(8000, description="Port that people open, 1024 or more.")
    address: Annotated[str, AfterValidator(_address), WithJsonSchema({"type": "string"})] = Field(
        LOOPBACK, description="Address of the login node that the hub answers on; people reach 127.0.0.1 by ssh -L."
    )
    hub_port: Port = Field(8081, description="Port that users' servers report to, on `inside` of the site.")
    proxy_api_port: Port = Field(8001, description="Port by which the hub commands its proxy, on 127.0.0.1.")
    certificate: AbsolutePath | None = Field(
        None,
        description="PEM file of the login node with the certificate and its chain; none: one that the hub signs "
        "itself, which every browser warns about.",
    )
    key: AbsolutePath | None = Field(None, description="PEM file of the login node with the certificate's private key.")

    @check
    def _both_files(self) -> Iterator[Fault]:
        fix = "name both files of the login node, or none: the hub then signs a certificate itself"
        yield from both_files(self.certificate, self.key, fix)


class Profile(ProfileKeys):
    """A profile on the page that starts servers: partition, GPUs, time. CPU in cores, memory in GiB."""

    description: Prose | None = Field(None, description="What it is for: stands before its size.")
    image: ImageReference = Field(
        description="image by digest, such as the `ref` of a GpuImage, with jupyterhub and batchspawner"
    )
    image_name: Name = Field(description="Name of the image as people know it; policies look up its facts by it.")
    sif: Annotated[OutputText, Argument(is_required=True)] = Field(
        None, description="File of the image, such as the `path` of a SifImage."
    )
    partitions: tuple[Partition, ...] = Field(
        min_length=1, description="Pools that it may land on, in their order: Slurm picks the first that can start it."
    )
    time_min: int = Field(ge=1, le=10_000_000, description="Minutes after which Slurm ends the server.")
    gpu: Line = Field("", description="GPU model, for the page: Tesla P100-PCIE-16GB.")
    gpu_memory_gb: GibOrNone = Field(0, description="Memory of one such GPU in GB; default 0: not known.")
    contents: Contents = Field(Contents(), description="What the image contains, for the page.")

    @property
    def page_size(self) -> str:
        """Its size for users, with its time limit."""
        hours = self.time_min / 60
        lasts = f"{hours:g} {'hour' if hours == 1 else 'hours'}" if self.time_min % 30 == 0 else f"{self.time_min} min"
        return f"{self.size}, at most {lasts}"


class Hub(HubKeys):
    """A validated hub. Times in seconds, sizes in GiB."""

    start_timeout_s: Seconds = Field(
        DEFAULT_START_TIMEOUT_S, description="Seconds that a server may take to start, time in the queue included."
    )
    expose: LoginNodePort = Field(description="How people reach the hub.")
    hub_image: ImageReference = Field(
        description="image by digest, such as the `ref` of a GpuImage, with jupyterhub, batchspawner, ssh client, idle "
        "culler, authenticators and openssl"
    )
    hub_image_name: Name = Field("slurm-hub", description="Name of that image.")
    hub_sif: Annotated[OutputText, Argument(is_required=True)] = Field(None, description="File of that image.")
    proxy_image: ImageReference = Field(
        description="image by digest, such as the `ref` of a GpuImage, with configurable-http-proxy on its PATH"
    )
    proxy_image_name: Name = Field("proxy", description="Name of that image.")
    proxy_sif: Annotated[OutputText, Argument(is_required=True)] = Field(None, description="File of that image.")
    profiles: tuple[Profile, ...] = Field(
        min_length=1,
        description="What users can choose, in the order of the page; without `is_default` the first is chosen.",
    )
    authenticator: Authenticator = Field(
        description="How people log in. A client secret is a file on the login node: "
        "/etc/gpu-commons/secrets/SECRET/KEY."
    )
    site_name: Line = Field("JupyterHub", description="Heading of the pages.")
    courses: tuple[Course, ...] = Field((), description=COURSES)

    @field_validator("public_url")
    @classmethod
    def _without_slash(cls, url: str | None) -> str | None:
        return url.rstrip("/") if url else url

    @property
    def login(self) -> Login:
        """The authenticator in JupyterHub's form."""
        return login(self.authenticator)

    @property
    def host(self) -> str:
        """Certificate host name."""
        return LOOPBACK if self.expose.address == "0.0.0.0" else self.expose.address  # noqa: S104 - compared

    @property
    def url(self) -> str:
        """Public URL."""
        if self.public_url:
            return f"{self.public_url}/"
        return f"https://{self.host}:{self.expose.port}/"


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
