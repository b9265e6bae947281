"""An image's needs from the container engine, as options of each engine. Pure.

    docker_flags(Runtime(shm_gib=1, memlock="unlimited", stack_mib=64))
    ("--shm-size=1g", "--ulimit memlock=-1", "--ulimit stack=67108864")

A pod has no field for limits of a process (kubernetes/kubernetes#3595; KEP-5758 plans one), and may not share the
node's IPC under the Pod Security Standards (kubernetes.io/docs/concepts/security/pod-security-standards). Apptainer
binds the host's /dev and starts a program with the limits of its caller (apptainer.org, bind paths and mounts).
A sentence states what an engine cannot express.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Final, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from imaging.spec.text_types import Strict

_MIB: Final = 2**20
_SHM: Final = "/dev/shm"  # noqa: S108 - shared memory, not a file


class Ipc(StrEnum):
    """Owner of the System V and POSIX shared memory."""

    HOST = "host"
    PRIVATE = "private"


def _memlock(given: object) -> object:
    if given == "unlimited" or (type(given) is int and 0 <= given < 2**63):
        return given
    raise ValueError('is neither a number of bytes nor "unlimited"')


class Runtime(Strict):
    """Needs of the image's programs from the engine, besides a GPU. The rest stays at the engine's default.

    A registry cannot enforce it: it becomes labels of the image, `image plan` prints the flags of each engine, and
    a stack's workloads without a setting for shared memory take `shm_gib` from here.
    """

    shm_gib: Annotated[float, Field(gt=0, le=1024, strict=False, allow_inf_nan=False)] | None = None
    """Size of /dev/shm in GiB. Data loaders pass batches through it; an engine's default is 64 MiB."""
    memlock: Annotated[Literal["unlimited"] | int, BeforeValidator(_memlock)] | None = None
    """Bytes that a process may lock in memory, or `unlimited`; RDMA and pinned memory need it."""
    stack_mib: Annotated[int, Field(ge=1, le=1048576)] | None = None
    """Largest stack of a process in MiB."""
    ipc: Annotated[Ipc, Field(strict=False)] | None = None
    """`host` shares the node's shared memory with all its users; `private` is the image's own."""

    @model_validator(mode="after")
    def _one_shared_memory(self) -> Self:
        if self.ipc is Ipc.HOST and self.shm_gib is not None:
            raise ValueError("has ipc host, whose /dev/shm is the node's, and shm_gib as well: choose one")
        return self


@dataclass(frozen=True, slots=True)
class Engine:
    """Configuration of one engine: options, and sentences about settings that belong elsewhere."""

    name: str
    says: tuple[str, ...]
    cannot: tuple[str, ...] = ()


def runtime_words(runtime: Runtime | None) -> dict[str, str]:
    """The given values as in the image's labels, each below `org.gpu-commons.runtime.`"""
    if runtime is None:
        return {}
    words = {
        "shm-gib": f"{runtime.shm_gib:g}" if runtime.shm_gib is not None else "",
        "memlock": "" if runtime.memlock is None else str(runtime.memlock),
        "stack-mib": "" if runtime.stack_mib is None else str(runtime.stack_mib),
        "ipc": runtime.ipc.value if runtime.ipc else "",
    }
    return {key: word for key, word in words.items() if word}


def engines(runtime: Runtime) -> tuple[Engine, ...]:
    """Docker, Kubernetes and Apptainer, in this order."""
    return (
        Engine("docker", docker_flags(runtime)),
        Engine("kubernetes", tuple(_pod(runtime)), tuple(_not_in_a_pod(runtime))),
        Engine("apptainer", tuple(_apptainer(runtime)), tuple(_not_in_apptainer(runtime))),
    )


def docker_flags(runtime: Runtime) -> tuple[str, ...]:
    """Options of `docker run` and Podman."""
    flags = []
    if runtime.shm_gib is not None:
        flags.append(f"--shm-size={_docker_size(runtime.shm_gib)}")
    if runtime.memlock is not None:
        flags.append(f"--ulimit memlock={_limit(runtime.memlock)}")
    if runtime.stack_mib is not None:
        flags.append(f"--ulimit stack={runtime.stack_mib * _MIB}")
    if runtime.ipc is not None:
        flags.append(f"--ipc={runtime.ipc.value}")
    return tuple(flags)


def _pod(runtime: Runtime) -> Iterator[str]:
    if runtime.shm_gib is not None:
        size = f"{runtime.shm_gib * 1024:g}Mi"
        yield f"volumes: [{{name: shm, emptyDir: {{medium: Memory, sizeLimit: {size}}}}}]"
        yield f"volumeMounts: [{{name: shm, mountPath: {_SHM}}}]"
    if runtime.ipc is Ipc.HOST:
        yield "hostIPC: true"


def _not_in_a_pod(runtime: Runtime) -> Iterator[str]:
    if limits := " and ".join(_limits(runtime)):
        yield f"{limits}: a pod has no field for it; the node's container runtime gives its default limits"
    if runtime.ipc is Ipc.HOST:
        yield "hostIPC: the Pod Security Standards Baseline and Restricted refuse it"


def _apptainer(runtime: Runtime) -> Iterator[str]:
    limits = []
    if runtime.memlock is not None:
        limits.append(f"ulimit -l {'unlimited' if runtime.memlock == 'unlimited' else runtime.memlock // 1024}")
    if runtime.stack_mib is not None:
        limits.append(f"ulimit -s {runtime.stack_mib * 1024}")
    if limits:
        yield f"{' && '.join(limits)} # before the start, in the shell or the job script; the site has hard limits"
    if runtime.ipc is Ipc.PRIVATE:
        yield "--ipc"


def _not_in_apptainer(runtime: Runtime) -> Iterator[str]:
    if runtime.shm_gib is not None:
        yield f"shm {runtime.shm_gib:g} GiB: {_SHM} is the host's, and so is its size"


def _limits(runtime: Runtime) -> Iterator[str]:
    if runtime.memlock is not None:
        yield f"memlock {_limit(runtime.memlock)}"
    if runtime.stack_mib is not None:
        yield f"stack {runtime.stack_mib * _MIB}"


def _limit(memlock: str | int) -> str:
    return "-1" if memlock == "unlimited" else str(memlock)


def _docker_size(gib: float) -> str:
    return f"{gib:g}g" if gib == int(gib) else f"{round(gib * 1024)}m"
