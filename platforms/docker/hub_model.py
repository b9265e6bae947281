"""Model of a notebook hub on a Docker host: stack file keys, DockerHub arguments, derived values. Pure.

`workloads.hub` has the parts common to every hub.
"""

from __future__ import annotations

from typing import Any, Final, Literal

from pydantic import BaseModel, Field, field_validator

from errors.faults import FORM
from imaging.spec.hub_description import Contents
from platforms.docker.addresses import EngineAddress, socket_on_host
from platforms.docker.container_model import LOOPBACK, GpuAccess, HostAddress, PortNumber, RuntimeProfile
from platforms.docker.gpu_leases import Card
from workloads.amounts import Count, GibOrNone
from workloads.arguments import ImageReference
from workloads.authenticator import Authenticator, Login, login
from workloads.hub import Course, HubKeys, ProfileKeys, Titled
from workloads.names import AbsolutePath, Line, Name
from workloads.workload import Amounts

HTTPS: Final = 443
DEFAULT_PORT: Final = 8000
DEFAULT_KERNELS: Final = 4


class HostPort(BaseModel):
    """https on a host port."""

    model_config = FORM
    kind: Literal["host_port"] = Field(description="A port of the Docker host.")
    port: PortNumber = Field(DEFAULT_PORT, description="Port of the host.")
    address: HostAddress = Field(LOOPBACK, description="Address of the host that it is published on.")
    certificate: AbsolutePath | None = Field(
        None,
        description="PEM file of the host with the certificate and its chain; none: one that the host signs itself, "
        "which every browser warns about.",
    )
    key: AbsolutePath | None = Field(None, description="PEM file of the host with the certificate's private key.")


class KernelKeys(Amounts, Titled):  # keys of the last base come first
    """Keys of a kernel, shared by stack files and DockerHub arguments: one container per kernel."""


class Kernel(KernelKeys, RuntimeProfile):
    """A kernel type for users of a profile."""

    image: ImageReference = Field(description="image by digest, such as the `ref` of a GpuImage")
    image_name: Name = Field(description="Name of the image as people know it.")


class Profile(ProfileKeys, RuntimeProfile):
    """A profile on the page that starts servers. CPU in cores, memory in GiB."""

    image: ImageReference = Field(description="image by digest, such as the `ref` of a GpuImage")
    image_name: Name = Field(description="Name of the image as people know it.")
    kernels: tuple[Kernel, ...] = ()
    gpu: Line = ""
    gpu_memory_gb: GibOrNone = 0
    contents: Contents = Contents()


class HostedCard(BaseModel):
    """One GPU of the host and its network; none if GPUs are shared."""

    model_config = FORM
    index: Count
    device: Line
    network: Any = None  # an output of DockerHost


class Hub(HubKeys):
    """A validated hub. Times in seconds, sizes in GiB."""

    pool: Name = Field(description="Pool of the host.")
    expose: HostPort = Field(description="How people reach the hub.")
    hub_image: ImageReference = Field(description="image by digest, such as the `ref` of a GpuImage")
    hub_image_name: Name = "docker-hub"
    proxy_image: ImageReference = Field(description="image by digest, such as the `ref` of a GpuImage")
    proxy_image_name: Name = "proxy"
    filter_image: ImageReference = Field(description="image by digest, such as the `ref` of a GpuImage")
    filter_image_name: Name = "engine-filter"
    gateway_image: ImageReference | None = None
    gateway_image_name: Name = "kernel-gateway"
    kernels_per_user: Count = DEFAULT_KERNELS
    engine: EngineAddress = Field(description="Where the host's engine answers.")
    certificates: AbsolutePath | None = None
    engine_socket: AbsolutePath | None = None
    profiles: tuple[Profile, ...] = Field(min_length=1, description="What users can choose.")
    authenticator: Authenticator = Field(description="How people log in.")
    access: GpuAccess = "cdi"
    cards: tuple[HostedCard, ...] = ()
    site_name: Line = "JupyterHub"
    # Only for policies and reviewers.
    courses: tuple[Course, ...] = ()

    @field_validator("public_url")
    @classmethod
    def _without_slash(cls, url: str | None) -> str | None:
        return url.rstrip("/") if url else url

    @property
    def socket(self) -> str:
        """The engine's socket on the host."""
        return self.engine_socket or socket_on_host(self.engine)

    @property
    def login(self) -> Login:
        """The authenticator in JupyterHub's form."""
        return login(self.authenticator)

    @property
    def has_kernels(self) -> bool:
        """Whether any profile has kernels in separate containers."""
        return any(profile.kernels for profile in self.profiles)

    @property
    def url(self) -> str:
        """Public URL."""
        if self.public_url:
            return f"{self.public_url}/"
        host = LOOPBACK if self.expose.address == "0.0.0.0" else self.expose.address  # noqa: S104 - compared
        return f"https://{host}/" if self.expose.port == HTTPS else f"https://{host}:{self.expose.port}/"


def hosted(card: Card, network: Any) -> dict[str, Any]:
    """A card in DockerHub's form."""
    return {"index": card.index, "device": card.device, **({} if network is None else {"network": network})}
