"""P-LIMIT: a container on a Docker host limits its memory, and a batch run ends."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from fleet.unknown import UNKNOWN
from policies.finding import Finding, Level
from policies.model import Rule, Site, Workload
from policies.shapes import at, items, some

_SHM: Final = "/dev/shm"  # noqa: S108 - in a container
_NO_RESTART: Final = "Leave restart out, or write on-failure with maxRetryCount."
_FOR_EVER: Final = ("always", "unless-stopped")


def check(workload: Workload, _: Site) -> Iterator[Finding]:
    """Memory and shared memory of GPU containers; restarts of batch runs."""
    inputs = workload.container_inputs
    yield from _restarts(inputs)
    if inputs and workload.asks_for_gpus:
        if not inputs.get("memory"):
            yield Finding(
                "memory is not limited: the container can use up the host's memory", Level.WARN, remedy="Set memory."
            )
        if not inputs.get("shmSize") and inputs.get("ipcMode") not in ("host", UNKNOWN) and not _mounts_shm(inputs):
            # Source: github:moby/moby daemon/config/config.go, DefaultShmSize.
            small = "shmSize is not set: /dev/shm has 64 MiB, too little for data loaders and multi-GPU programs"
            yield Finding(small, Level.WARN, remedy="Set shmSize, in MiB.")


def _mounts_shm(inputs: Mapping[str, Any]) -> bool:
    """Whether something else is or may be mounted there."""
    tmpfs = inputs.get("tmpfs")
    targets = [at(each, "target") for each in items(inputs.get("mounts"))]
    targets += [at(each, "containerPath") for each in items(inputs.get("volumes"))]
    return (
        tmpfs is UNKNOWN
        or (isinstance(tmpfs, Mapping) and _SHM in tmpfs)
        or any(target in (_SHM, UNKNOWN) for target in targets)
    )


def _restarts(inputs: Mapping[str, Any]) -> Iterator[Finding]:
    """A run that ends, with or without error, and restarts each time."""
    must_run, attach, restart = (inputs.get(key) for key in ("mustRun", "attach", "restart"))
    ends = some(
        (
            None if must_run is UNKNOWN else must_run is False,
            None if attach is UNKNOWN else attach is True,
        )
    )
    if ends is False:
        return
    if restart is UNKNOWN or (ends is None and restart in _FOR_EVER):
        yield Finding("it is not known yet whether a run that ends is restarted every time", Level.UNPROVED)
    elif restart in _FOR_EVER:
        key = "attach" if attach is True else "mustRun: false"
        message = f"restart {restart} restarts a run that is meant to end ({key}) every time"
        yield Finding(message, remedy=_NO_RESTART)
    elif restart == "on-failure" and not inputs.get("maxRetryCount"):
        message = "restart on-failure without maxRetryCount restarts a failed run without end"
        yield Finding(message, Level.WARN, remedy=_NO_RESTART)


RULE = Rule(
    id="P-LIMIT",
    says="a container with GPUs on a Docker host sets its memory and shared memory, and a batch run ends",
    remedy="Set memory and shmSize in MiB; leave restart out for a batch run, or write on-failure with maxRetryCount.",
    check=check,
)
