"""Arguments of DockerHost, for Pulumi and type checkers.

Written by `make docs` from the models in platforms.docker.host_model: edit those, or tools/component_arguments.py, not
this file.
"""

from collections.abc import Sequence
from typing import NotRequired, TypedDict


class DockerHostArgs(TypedDict):
    """Arguments of DockerHost. CPU in cores, memory in GiB."""

    engine: str
    """Where its Docker engine answers: unix:///var/run/docker.sock, ssh://user@host or tcp://host:2376."""
    certificates: NotRequired[str]
    """Folder with ca.pem, cert.pem and key.pem for an engine at tcp://; docker context uses them."""
    gpu_access: NotRequired[str]
    """How containers get GPUs: cdi (Docker 25 or later) or runtime (NVIDIA's container runtime). Default: cdi."""
    gpu_uuids: NotRequired[Sequence[str]]
    """UUIDs of the GPUs in the order of nvidia-smi -L; default: GPUs are requested by index."""
    shared_gpus: NotRequired[bool]
    """Several containers may use one GPU at a time; otherwise each has its GPUs to itself. Default: false."""
    card_network: NotRequired[str]
    """Address range that nothing else uses on the host, four addresses for each GPU: a container holds a GPU through a
    network of its own. Default: 10.99.0.0/24."""
    pool: str
    """Name of the pool: this one host."""
    is_stand_in: NotRequired[bool]
    """Another machine stands in for the host, as in a lab: differences are warnings."""
    cpu: float
    """Cores of the host."""
    memory_gib: float
    """Memory of the host."""
    gpu: NotRequired[str]
    """GPU model; none: the host has no GPU."""
    gpus_per_node: NotRequired[int]
    """GPUs of the host; 0 without gpu."""
    driver_version: NotRequired[str]
    """NVIDIA driver that the host must have."""
    container_toolkit_version: NotRequired[str]
    """NVIDIA container toolkit that the host must have."""
