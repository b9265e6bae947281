"""Model of a notebook hub on a Docker host: stack file keys, DockerHub arguments, derived values. Pure.

`workloads.hub` has the parts common to every hub.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal

from pydantic import BaseModel, Field

from errors.agreements import check, doubles, readable
from errors.faults import FORM
from errors.problems import Fault, Loc
from platforms.docker.addresses import Certificates, EngineAddress, socket_on_host
from platforms.docker.container_model import (
    ACCESS,
    GpuAccess,
    MemoryWithoutSwap,
    PoolOfHost,
    PortNumber,
    PublishedAt,
    RuntimeProfile,
)
from platforms.docker.gpu_leases import HostGpu
from workloads.addresses import LOOPBACK
from workloads.amounts import Count, Gib
from workloads.arguments import IMAGE, IMAGE_NAME, ImageReference, OutputText, plain, read
from workloads.authenticator import Authenticator, with_user_list
from workloads.exposure import REACHED, HttpsPort
from workloads.hub import CHOICES, MadeHub, MadeProfile, NameOfImage, ProfileKeys, Titled, titles
from workloads.names import AbsolutePath, Line, Name, Prose
from workloads.workload import Amounts

# Container names are host names, at most 63 characters: HUB-kernel-USER-0123456789ab, with 20 for the user.
LONGEST_NAME: Final = 22
_TOO_LONG: Final = f"write {LONGEST_NAME} characters or fewer: host names of users' containers begin with it"
_NETWORKS: Final = frozenset({"bridge", "host", "none"})  # of every engine
_OURS: Final = "gpu-commons"  # prefix of the host's own network names
# Prefixes of objects for users: anything named HUB-server-… is controlled by a hub called HUB.
_KINDS: Final = ("server", "gateway", "kernel", "user", "home")
DEFAULT_PORT: Final = 8000
DEFAULT_KERNELS: Final = 4
SHARED_MEMORY: Final = (
    "Shared memory at /dev/shm in GiB, part of the memory; none: a quarter of it with GPUs, else 64 MiB."
)


class HostPort(HttpsPort):
    """Address of the proxy: https on a port of the host."""

    kind: Literal["host_port"] = Field(description="A port of the Docker host.")
    port: PortNumber = Field(DEFAULT_PORT, description="Port of the host.")
    address: PublishedAt = LOOPBACK


class KernelKeys(Amounts, Titled):  # keys of the last base come first
    """Keys of a kernel, shared by stack files and DockerHub arguments: one container per kernel."""

    description: Prose | None = Field(None, description="For those who read the configuration; no user sees it.")
    gpus: Count = Field(0, description="Whole GPUs, held while the kernel lives; 0 for none.")
    memory_gib: MemoryWithoutSwap


class WithKernels(ProfileKeys):
    """A profile whose servers may start kernels in containers of their own."""

    if TYPE_CHECKING:

        @property
        def kernels(self) -> Sequence[KernelKeys]: ...

    @check
    def _gpus_of_kernels(self) -> Iterator[Fault]:
        if self.kernels and self.gpus:
            fix = "write gpus: 0: a server whose kernels have GPUs of their own would hold these for nothing"
            yield Fault(("gpus",), "is given beside kernels", fix, self.gpus)

    @check
    def _kernels_differ(self) -> Iterator[Fault]:
        yield from doubles(self.kernels, ("kernels",))
        yield from titles(self.kernels, ("kernels",))


def of_gateway(profiles: Sequence[WithKernels], gateway_image: object) -> Iterator[Fault]:
    """Kernels need a gateway."""
    if any(profile.kernels for profile in profiles) and gateway_image is None:
        fix = "name the image of jupyter_kernel_gateway: kernels in containers of their own are started by one"
        yield Fault(("gateway_image",), "is missing for profiles with kernels", fix)


def of_hub_name(name: str, loc: Loc = ()) -> Iterator[Fault]:
    """A valid prefix for user container names that is no user's name in another hub."""
    if len(name) > LONGEST_NAME:
        yield Fault(loc, "is too long for a hub on a Docker host", _TOO_LONG, name)
    if name in _NETWORKS or name.startswith(_OURS):
        yield Fault(loc, "is the name of a network of the host", "choose another: the hub's network has its name", name)
    if within := [f"-{kind}-" for kind in _KINDS if f"-{kind}-" in f"{name}-"]:
        yield Fault(loc, f"contains {within[0]}, as names of users' containers do", "choose another name", name)


class Kernel(KernelKeys, RuntimeProfile):
    """A kernel type; each kernel has its own container. CPU in cores, memory in GiB."""

    shm_gib: Gib | None = Field(None, description=SHARED_MEMORY)
    image: ImageReference = Field(description=f"{IMAGE}, with ipykernel")
    image_name: Name = Field(description=IMAGE_NAME)


class Profile(MadeProfile, WithKernels, RuntimeProfile):
    """A profile on the page that starts servers. CPU in cores, memory in GiB."""

    pool: Name | None = Field(None, description="Pool of the host; must be the hub's.")
    gpus: Count = Field(0, description="Whole GPUs of the server itself; none with kernels.")
    memory_gib: MemoryWithoutSwap
    shm_gib: Gib | None = Field(None, description=SHARED_MEMORY)
    kernels: tuple[Kernel, ...] = Field(
        (), description="Kernels in separate containers, started by the user's kernel gateway."
    )

    @property
    def note(self) -> str:
        """Text beside the size, with where kernels run."""
        if not self.kernels:
            return super().note
        each = "; ".join(f"{kernel.title}: {kernel.size}" for kernel in self.kernels)
        kernels = f"every kernel is a container of its own and holds its GPUs as long as it runs ({each})"
        return f"{super().note}; {kernels}" if super().note else f"{kernels[0].upper()}{kernels[1:]}"


class HostedCard(BaseModel):
    """One GPU of the host."""

    model_config = FORM
    index: Count = Field(description="Its index in nvidia-smi.")
    device: Line = Field(description="Its UUID, or its index.")
    network: OutputText = Field(
        None, description="Network of the GPU, from a DockerHost; without one if GPUs are shared."
    )


class Hub(MadeHub):
    """A validated hub. Times in seconds, sizes in GiB."""

    pool: PoolOfHost
    expose: HostPort = Field(description=REACHED)
    hub_image: ImageReference = Field(
        description=f"{IMAGE}, with jupyterhub, dockerspawner, Docker SDK, idle culler, authenticators and openssl"
    )
    hub_image_name: NameOfImage = "docker-hub"
    filter_image: ImageReference = Field(
        description=f"{IMAGE}, that starts HAProxy with /etc/gpu-commons/engine_filter.cfg"
    )
    filter_image_name: NameOfImage = "engine-filter"
    gateway_image: ImageReference | None = Field(
        None, description="Image by digest with jupyter_kernel_gateway and Docker SDK, for profiles with kernels."
    )
    gateway_image_name: NameOfImage = "kernel-gateway"
    kernels_per_user: Count = Field(
        DEFAULT_KERNELS, description="Kernels in containers that one user may have at a time."
    )
    engine: EngineAddress = Field(
        description="Where the host's engine answers, as seen from here and as in a DockerHost: `destroy` stops the "
        "user servers there."
    )
    certificates: Certificates = None
    engine_socket: AbsolutePath | None = Field(
        None,
        description="Engine socket on the host, mounted only into the filter; none: that of `engine`, or "
        "/var/run/docker.sock.",
    )
    profiles: tuple[Profile, ...] = Field(min_length=1, description=CHOICES)
    authenticator: Authenticator = Field(
        description="How people log in. A client secret is a file on the host: /etc/gpu-commons/secrets/SECRET/KEY."
    )
    access: GpuAccess = Field("cdi", description=ACCESS)
    cards: tuple[HostedCard, ...] = Field((), description="GPUs of the host.")

    @check
    def _gateway(self) -> Iterator[Fault]:
        yield from of_gateway(self.profiles, self.gateway_image)

    @check
    def _on_its_host(self) -> Iterator[Fault]:
        for index, profile in enumerate(self.profiles):
            if profile.pools is not None or profile.pool not in {None, self.pool}:
                fix = "leave it out: a hub, its servers and its kernels are on one host"
                yield Fault(("profiles", index, "pool"), "is not the host of its hub", fix)
            yield from readable(self._possible(profile, ("profiles", index)))
            for at, kernel in enumerate(profile.kernels):
                yield from readable(self._possible(kernel, ("profiles", index, "kernels", at)))

    def _possible(self, each: Profile | Kernel, loc: Loc) -> Iterator[Fault]:
        """Values that the engine's filter rejects or that no user could ever get."""
        if each.gpus > (there := len(self.cards)):
            yield Fault((*loc, "gpus"), f"is more than the host has ({there})", f"request at most {there}", each.gpus)
        if each.ipc == "host":
            fix = "take it out of the image's runtime: users would share memory with everything on the host"
            yield Fault((*loc, "ipc"), "is host, which no user's container may have", fix)

    @property
    def socket(self) -> str:
        """The engine's socket on the host."""
        return self.engine_socket or socket_on_host(self.engine)

    @property
    def has_kernels(self) -> bool:
        """Whether any profile has kernels in separate containers."""
        return any(profile.kernels for profile in self.profiles)

    @property
    def url(self) -> str:
        """Public URL."""
        return f"{self.public_url}/" if self.public_url else self.expose.url


def hosted(card: HostGpu, network: Any) -> dict[str, Any]:
    """A card in DockerHub's form."""
    return {"index": card.index, "device": card.device, **({} if network is None else {"network": network})}


def parse_hub(name: str, args: Mapping[str, Any]) -> Hub:
    """Arguments of DockerHub as a Hub. Raises SettingsError with every problem of the plain arguments."""
    return read(Hub, f"DockerHub {name}", name, with_user_list(plain(args)), lambda _: of_hub_name(name))
