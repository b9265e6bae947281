"""Arguments of GpuJob, for Pulumi and type checkers.

Written by `make docs` from the models in platforms.kubernetes.job: edit those, or tools/component_arguments.py, not
this file.
"""

from collections.abc import Mapping, Sequence
from typing import NotRequired, TypedDict

import pulumi


class GpuJobArgs(TypedDict):
    """Arguments of GpuJob. CPU in cores, memory in GiB."""

    pool: NotRequired[str]
    """Pool it runs on; default: any node with room."""
    pools: NotRequired[Sequence[str]]
    """Several pools in place of pool: it runs on a node of any of them."""
    gpus: int
    """Whole GPUs; 0 for none: the job then sees no GPU."""
    cpu: float
    """CPU cores, request and limit."""
    memory_gib: float
    """Memory in GiB, request and limit."""
    shm_gib: NotRequired[float]
    """Shared memory at /dev/shm in GiB, part of the memory; PyTorch data loaders need it."""
    command: Sequence[str]
    """Program and its arguments, one list item each, without a shell."""
    retries: NotRequired[int]
    """How often a failed run is repeated. Default: 0."""
    deadline_s: NotRequired[int]
    """Seconds after which the job is ended; default: never."""
    image: pulumi.Input[str]
    """Image by digest, such as the `ref` of a GpuImage."""
    image_name: str
    """Name of the image as people know it; policies look up its facts by it."""
    queue: NotRequired[str]
    """LocalQueue of Kueue, if installed; the job waits for its turn, and the update does not wait."""
    env: NotRequired[Mapping[str, str]]
    """Environment variables; those that select GPUs are refused."""
    claimed_products: NotRequired[Sequence[str]]
    """Products of GPUs, as `nvidia.com/gpu.product` has them: NVIDIA-L4. With them the job requests GPUs by a claim
    (DRA) for NVIDIA's driver, which takes the place of the device plugin in the cluster; default: by
    `nvidia.com/gpu`."""
    user: NotRequired[int]
    """User id of the job, as in its image; root is refused. Default: 1000."""
    namespace: pulumi.Input[str]
    """Existing namespace for the job."""
