"""GPU access that bypasses the scheduler: variables, devices, sockets, annotations, privileges. Pure."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from fleet.labels import GPU_RESOURCE
from fleet.unknown import UNKNOWN, Unknown
from platforms.kubernetes.runtime import RUNTIME_CLASS
from policies.finding import Finding, Level
from policies.host_paths import DEVICE_PLUGINS, check_driver, check_host_path, chooses_gpus, names_gpus, plain, reaches
from policies.model import Container, Site, Workload
from policies.rules.gpu_default_runtime import shown_by_default
from policies.rules.gpu_docker_escapes import of_container
from policies.rules.gpu_exemptions import WITHOUT_PRIVILEGES, exemption
from policies.shapes import items, some
from policies.visibility import DEVICE_ANNOTATIONS, VISIBILITY_VARIABLES, VISIBLE_DEVICES, is_hiding
from policies.vocabulary import DOCKER, KUBERNETES, Vocabulary, sentence

# GPUs in a device plugin's arguments, or a pattern that includes them.
HANDED_OUT = re.compile(r"/dev/(?:nv|dxg|\*)|\^nv|nvidia")


def escapes(workload: Workload, site: Site) -> Iterator[Finding]:
    """Variables, device paths, privileges, sockets, annotations, a runtime class without a request.

    The runtime's own daemons may see every GPU; a container next to them may not.
    """
    remedy = _who_may(workload, site)
    for finding in _ways(workload, site):
        yield replace(finding, remedy=remedy) if remedy and finding.level is Level.REFUSE else finding


def _ways(workload: Workload, site: Site) -> Iterator[Finding]:
    has_class = _has_nvidia_class(workload, site)
    daemons: set[bool | None] = set()
    unless = "but it is not known yet whether it is a daemon of the runtime, which is allowed to"
    for container in workload.containers:
        is_daemon = site.is_runtime_daemon(workload.daemon, container.image.text)
        daemons.add(is_daemon)
        if not container.is_known:
            what = "is not known yet: it" if container.place.endswith("]") else "are not known yet: they"
            yield Finding(f"{container.place} {what} may take GPUs and bypass the scheduler", Level.UNPROVED)
        elif is_daemon is not True:
            exempted = _exemption(workload, [container.image.text])
            found = [
                *_variables(container, workload.words),
                *_let_through(privileges(container, workload), None if exempted in WITHOUT_PRIVILEGES else exempted),
            ]
            if has_class is not False:
                found += _shown_by_class(container, workload, is_sure=has_class is True)
            found += _mounts(container, workload.words)
            if not workload.runtime and not any(each.level is Level.REFUSE for each in found):
                found += shown_by_default(container, workload, site)
            yield from found if is_daemon is False else weighed(found, unless)
    if daemons != {True}:
        found = [
            *_host_paths(workload, site),
            *of_annotations(workload),
            *_gives(workload),
            *_bound(workload),
            *_let_through(host_processes(workload), _exemption(workload, _images(workload))),
            *of_container(workload, site),
        ]
        yield from weighed(found, unless) if daemons and False not in daemons else found


def _exemption(workload: Workload, images: Iterable[Any]) -> str | None:
    return exemption(images) if workload.daemon else None


def _let_through(found: Iterable[Finding], exempted: str | None) -> Iterator[Finding]:
    """Infrastructure may use the node for its work; GPU names stay refused."""
    for finding in found:
        if exempted and finding.level is Level.REFUSE and not finding.names_gpus:
            message = f"{finding.message}; allowed, because it is infrastructure that needs it (exemption {exempted})"
            remedy = "See Exemptions in docs/policies.md; there is nothing to do if the image is what its name says."
            yield replace(finding, message=message, level=Level.WARN, remedy=remedy)
        else:
            yield finding


def _who_may(workload: Workload, site: Site) -> str:
    """Remedy for a DaemonSet with a daemon image of the site that is not one of its daemons."""
    daemon = workload.daemon
    for image in (each.image.text for each in workload.containers):
        if daemon and site.runtime_daemons_key and isinstance(image, str) and image in site.runtime_daemons:
            row = f"{site.runtime_daemons_key}: {{{daemon.namespace}/{daemon.name}: {image}}}"
            return f"If the site lets this daemon see every GPU, list it: {row}."
    return ""


def weighed(found: Iterable[Finding], unless: str) -> Iterator[Finding]:
    """Turns refusals that may turn out allowed into unproved findings."""
    for finding in found:
        if finding.level is Level.REFUSE:
            yield replace(finding, message=f"{finding.message}, {unless}", level=Level.UNPROVED)
        else:
            yield finding


def _has_nvidia_class(workload: Workload, site: Site) -> bool | None:
    """Whether its runtime class grants GPUs; None if not known yet."""
    name = workload.runtime
    if name is UNKNOWN:
        return None
    handler = site.runtime_classes.get(name, {}).get("handler") if isinstance(name, str) else None
    if any(isinstance(each, str) and "nvidia" in each for each in (name, handler)):
        return True
    return None if handler is UNKNOWN else False


def _shown_by_class(container: Container, workload: Workload, *, is_sure: bool) -> Iterator[Finding]:
    """CUDA images set NVIDIA_VISIBLE_DEVICES=all themselves, and this runtime then grants all GPUs.

    Source: github:NVIDIA/cloud-native-docs container-toolkit/docker-specialized.md.
    """
    words, asks, hides = workload.words, container.asks_for_gpus, container.hides_gpus
    if asks or hides:
        return
    called = workload.runtime if isinstance(workload.runtime, str) else RUNTIME_CLASS
    sees_all = f"an image that sets {VISIBLE_DEVICES}=all sees all of them"
    message = f"{container.place} asks for no GPU under the {words.runtime} {called}, and {sees_all}"
    if is_sure and asks is False and hides is False:
        hide = f"set {VISIBLE_DEVICES} to void, or remove the {words.runtime}"
        yield Finding(message, remedy=f"{sentence(words.requests)}, {hide}.")
    else:
        yield Finding(f"it is not known yet whether {message}", Level.UNPROVED)


def _variables(container: Container, words: Vocabulary) -> Iterator[Finding]:
    where = container.env_place
    if isinstance(container.env, Unknown):
        yield Finding(f"{where} is not known yet: it may set a visibility variable", Level.UNPROVED)
        return
    if container.spec.get("envFrom"):
        sets = "may set a visibility variable: the pack does not read what it refers to"
        yield Finding(f"{container.place}.envFrom {sets}", Level.UNPROVED)
    for each in container.env:
        if each.name is UNKNOWN:
            yield Finding(f"{where} has an entry that is not known yet", Level.UNPROVED)
        elif not isinstance(each.name, str) or each.name not in VISIBILITY_VARIABLES:
            continue
        elif each.value is UNKNOWN:
            yield Finding(f"{where}.{each.name} is not known yet", Level.UNPROVED)
        elif each.is_set_elsewhere or not is_hiding(each.value, VISIBILITY_VARIABLES[each.name]):
            # The value may be a Secret's: it is not repeated.
            is_docker = words.system == DOCKER.system
            sets_it = "the runtime sets it from deviceRequests" if is_docker else "the device plugin sets it"
            why = sets_it if each.name == VISIBLE_DEVICES else "programs see their own GPUs without it"
            yield Finding(f"{where}.{each.name} selects GPUs {bypassing(words)}; {why}")


def _mounts(container: Container, words: Vocabulary) -> Iterator[Finding]:
    """Mount paths that select GPUs by name."""
    for each in container.mounts:
        if each.path is UNKNOWN:
            yield Finding(f"{each.place} is not known yet: its path may select GPUs", Level.UNPROVED)
        elif isinstance(each.path, str) and chooses_gpus(each.path):
            message = f"{each.place} {each.path} selects GPUs {bypassing(words)}"
            yield Finding(message, remedy=f"Remove it; {words.requests}.")


def _images(workload: Workload, volume: Any = None) -> list[Any]:
    """Of all containers, or those that mount a volume, if any; UNKNOWN if not known yet."""
    mounting = [
        each.image.text
        for each in workload.containers
        if volume is not None and any(mount.volume in (volume, UNKNOWN) for mount in each.mounts)
    ]
    return mounting or [each.image.text for each in workload.containers]


def _host_paths(workload: Workload, site: Site) -> Iterator[Finding]:
    """A container next to infrastructure keeps its exemption unless it mounts the same volume."""
    for index, volume in enumerate(items(workload.pod.get("volumes"))):
        yield from check_driver(f"volumes[{index}]", volume)
    images = _images(workload)
    may_use_engine = site.is_engine_filter(workload.container_name, images[0] if images else None)
    for each in workload.host_paths:
        found = check_host_path(each, workload.words, is_written=_is_written(each.volume, workload))
        name = None if each.volume is UNKNOWN else each.volume
        allowed = (finding for finding in found if not (finding.is_runtime and may_use_engine))
        yield from _let_through(allowed, _exemption(workload, _images(workload, name)))


def _is_written(volume: Any, workload: Workload) -> bool | None:
    """Whether a container may write to the volume; None if not known yet."""
    return some(
        None if UNKNOWN in (mount.volume, volume, mount.is_read_only) else mount.is_read_only is not True
        for container in workload.containers
        for mount in container.mounts
        if UNKNOWN in (mount.volume, volume) or mount.volume == volume
    )


def _gives(workload: Workload) -> Iterator[Finding]:
    """A device plugin that allocates GPUs under another name."""
    if DEVICE_PLUGINS not in {plain(each.path) for each in workload.host_paths if isinstance(each.path, str)}:
        return
    for each in workload.containers:
        if HANDED_OUT.search(repr([each.spec.get(key) for key in ("command", "args", "env")])):
            yield Finding(
                f"{each.place} is a device plugin that hands out /dev/nvidia* without {GPU_RESOURCE}",
                remedy="Leave the GPUs to NVIDIA's device plugin.",
            )


def _bound(workload: Workload) -> Iterator[Finding]:
    name = workload.pod.get("nodeName")
    if isinstance(name, str) and name and workload.asks_for_gpus:
        yield Finding(
            f"nodeName {name} bypasses the scheduler, so nothing checks that its GPUs are free",
            Level.WARN,
            remedy="Select the node by kubernetes.io/hostname.",
        )


# With these, another scheduler allocates GPU fractions. Source: github:NVIDIA/KAI-Scheduler docs/gpu-sharing.
PARTS = frozenset({"gpu-fraction", "gpu-fraction-num-devices", "gpu-memory"})
NUMBERS = re.compile(r"\bmajor\W{1,4}(?:195|0[xX][cC]3)\b")  # NVIDIA device numbers, under any file name


def of_annotations(workload: Workload) -> Iterator[Finding]:
    """Devices requested from the runtime by annotation."""
    if workload.annotations is UNKNOWN:
        if workload.pod.get("containers") is not UNKNOWN:
            yield Finding("its annotations are not known yet: one may add devices", Level.UNPROVED)
        return
    for key, value in workload.annotations.items():
        if key in PARTS:
            yield Finding(
                f"annotation {key} asks for part of a GPU without {GPU_RESOURCE}, so nothing accounts for it",
                remedy=f"Remove it; {workload.words.requests}.",
            )
            continue
        adds_volume = isinstance(value, str) and "hostPath" in value
        if not adds_volume and not DEVICE_ANNOTATIONS.search(key):
            continue
        if value is UNKNOWN:
            yield Finding(f"annotation {key} is not known yet: it may add GPUs", Level.UNPROVED)
        elif _names_gpus(key, str(value)):
            yield Finding(
                f"annotation {key} adds GPUs {bypassing(workload.words)}",
                remedy=f"Remove it; {workload.words.requests}.",
            )


def bypassing(words: Vocabulary) -> str:
    """How a workload that selects GPUs itself takes them."""
    return "by hand, no matter who holds them" if words.system == DOCKER.system else "and bypasses the scheduler"


def _names_gpus(key: str, value: str) -> bool:
    """By name, number, a host path that reaches them, or `all` under NVIDIA's own prefix."""
    is_named = "nvidia" in value.lower() or (key.startswith("nvidia.") and "=" not in value)
    return is_named or bool(NUMBERS.search(value)) or any(reaches(value))


ROOT_CAPABILITIES = {"ALL", "SYS_ADMIN"}
# These let a container enter every process it sees.
ENTERING_CAPABILITIES = {*ROOT_CAPABILITIES, "SYS_PTRACE"}


def is_true(value: Any) -> bool:
    """True as boolean or text: a program that reads YAML may pass text."""
    return value is True or (isinstance(value, str) and value.lower() == "true")


def privileges(container: Container, workload: Workload) -> Iterator[Finding]:
    """A container that may escape isolation, or enter the node's processes: nsenter, /proc/1/root."""
    called, node = container.place, workload.words.node
    if container.privileged is UNKNOWN:
        yield Finding(f"it is not known yet whether {called} is privileged", Level.UNPROVED)
    elif is_true(container.privileged):
        yield Finding(
            f"{called} is privileged: it reaches every GPU of the {node}",
            remedy=f"Remove privileged: true; {workload.words.requests}.",
        )
    if UNKNOWN in container.capabilities:
        yield Finding(f"the capabilities of {called} are not known yet", Level.UNPROVED)
    for name in sorted(ROOT_CAPABILITIES.intersection(container.capabilities)):
        yield Finding(
            f"{called} has the capability {name}, which lets it leave its container and reach every GPU",
            Level.WARN,
            remedy="Add only the capability that it needs.",
        )
    entering = sorted(ENTERING_CAPABILITIES.intersection(container.capabilities))
    mounted = [each.path for each in workload.host_paths if isinstance(each.path, str) and plain(each.path) == "/proc"]
    shares = is_true(workload.sees_processes)
    if entering and (shares or mounted):
        through = workload.words.processes if shares else f"hostPath {mounted[0]}"
        yield Finding(
            f"{called} sees the processes of the {node} through {through} and can enter them with "
            f"{entering[0]}: it reaches every GPU",
            remedy="Remove one of the two.",
            names_gpus=not shares and names_gpus(mounted[0]),
        )


def host_processes(workload: Workload) -> Iterator[Finding]:
    """A workload that sees its node's processes."""
    words = workload.words
    if workload.sees_processes is UNKNOWN:
        yield Finding(f"it is not known yet whether it sees the processes of the {words.node}", Level.UNPROVED)
    elif is_true(workload.sees_processes):
        yield Finding(
            f"{words.processes} exposes the processes of the {words.node}, including those that use other people's "
            "GPUs",
            Level.WARN,
            remedy="Remove hostPID: true." if words == KUBERNETES else "Remove pidMode.",
        )
