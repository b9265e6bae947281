"""GPU access that bypasses the scheduler: variables, devices, sockets, annotations, privileges. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from fleet.labels import GPU_RESOURCE
from fleet.unknown import UNKNOWN
from platforms.kubernetes.runtime import RUNTIME_CLASS
from policies.finding import Finding, Level
from policies.host_paths import DEVICE_PLUGINS, chooses_gpus, of_volume, plain
from policies.model import Site, Workload
from policies.pod_images import pod_images
from policies.pod_workloads import asks_for_gpus, asks_somewhere, containers
from policies.rules.gpu_default_runtime import shown_by_default
from policies.rules.gpu_device_annotations import of_annotations
from policies.rules.gpu_docker_escapes import of_container
from policies.rules.gpu_exemptions import WITHOUT_PRIVILEGES, exemption
from policies.rules.gpu_privileges import enters, host_processes, privileges
from policies.shapes import at, items, some
from policies.visibility import VISIBILITY_VARIABLES, VISIBLE_DEVICES, is_hiding
from policies.wording import Vocabulary, sentence

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
    has_class = _has_nvidia_class(workload.pod, site)
    daemons: set[bool | None] = set()
    words = workload.words
    unless = "but it is not known yet whether it is a daemon of the runtime, which is allowed to"
    for path, container in ((each.path, each.spec) for each in containers(workload.pod)):
        if container is UNKNOWN:
            daemons.add(site.is_runtime_daemon(workload.daemon, UNKNOWN))
            what = "is not known yet: it" if path.endswith("]") else "are not known yet: they"
            yield Finding(f"{words.place(path)} {what} may take GPUs and bypass the scheduler", Level.UNPROVED)
            continue
        is_daemon = site.is_runtime_daemon(workload.daemon, container.get("image"))
        daemons.add(is_daemon)
        if is_daemon is not True:
            exempted = _exemption(workload, [container.get("image")])
            found = [
                *_variables(path, container, words),
                *_let_through(
                    [*privileges(path, container, words), *enters(path, container, workload.pod, words)],
                    None if exempted in WITHOUT_PRIVILEGES else exempted,
                ),
            ]
            if has_class is not False:
                name = workload.pod.get("runtimeClassName")
                found += _shown_by_class(path, container, name, words, is_sure=has_class is True)
            found += _mounts(path, container, words)
            if not workload.pod.get("runtimeClassName") and not any(each.level is Level.REFUSE for each in found):
                found += _shown_by_default(path, container, workload, site)
            yield from found if is_daemon is False else weighed(found, unless)
    if daemons != {True}:
        exempted = _exemption(workload, _images(workload.pod))
        found = [
            *_device_paths(workload, site),
            *of_annotations(workload),
            *_gives(workload.pod),
            *_bound(workload.pod),
            *_let_through(host_processes(workload.pod, words), exempted),
            *of_container(workload, site),
        ]
        yield from weighed(found, unless) if daemons and False not in daemons else found


def _exemption(workload: Workload, images: Iterable[Any]) -> str | None:
    return exemption(images) if workload.is_daemon else None


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
    for each in containers(workload.pod):
        image = at(each.spec, "image")
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


def _has_nvidia_class(pod: Mapping[str, Any], site: Site) -> bool | None:
    """Whether its runtime class grants GPUs; None if not known yet."""
    name = pod.get("runtimeClassName")
    if name is UNKNOWN:
        return None
    handler = site.runtime_classes.get(name, {}).get("handler") if isinstance(name, str) else None
    if any(isinstance(each, str) and "nvidia" in each for each in (name, handler)):
        return True
    return None if handler is UNKNOWN else False


def _shown_by_class(
    path: str, container: Mapping[str, Any], name: Any, words: Vocabulary, *, is_sure: bool
) -> Iterator[Finding]:
    """CUDA images set NVIDIA_VISIBLE_DEVICES=all themselves, and this runtime then grants all GPUs.

    Source: github:NVIDIA/cloud-native-docs container-toolkit/docker-specialized.md.
    """
    asks, hides = asks_for_gpus(container), _hides(container)
    if asks or hides:
        return
    is_sure = is_sure and asks is False and hides is False
    called = name if isinstance(name, str) else RUNTIME_CLASS
    sees_all = f"an image that sets {VISIBLE_DEVICES}=all sees all of them"
    message = f"{words.place(path)} asks for no GPU under the {words.runtime_class} {called}, and {sees_all}"
    if is_sure:
        hide = f"set {VISIBLE_DEVICES} to void, or remove the {words.runtime_class}"
        yield Finding(message, remedy=f"{sentence(words.request_a_gpu)}, {hide}.")
    else:
        yield Finding(f"it is not known yet whether {message}", Level.UNPROVED)


def _variables(path: str, container: Mapping[str, Any], words: Vocabulary) -> Iterator[Finding]:
    env, where = container.get("env"), f"{path}.env"
    if env is UNKNOWN:
        yield Finding(f"{words.place(where)} is not known yet: it may set a visibility variable", Level.UNPROVED)
        return
    if container.get("envFrom"):
        yield Finding(
            f"{path}.envFrom may set a visibility variable: the pack does not read what it refers to", Level.UNPROVED
        )
    for entry in items(env):
        name, value = at(entry, "name"), at(entry, "value")
        if name is UNKNOWN:
            yield Finding(f"{words.place(where)} has an entry that is not known yet", Level.UNPROVED)
        elif isinstance(name, str) and name in VISIBILITY_VARIABLES:
            place = words.place(f"{where}.{name}")
            yield from _variable(place, name, value, words, is_set_elsewhere=bool(at(entry, "valueFrom")))


def _variable(place: str, name: str, value: Any, words: Vocabulary, *, is_set_elsewhere: bool) -> Iterator[Finding]:
    if value is UNKNOWN:
        yield Finding(f"{place} is not known yet", Level.UNPROVED)
    elif is_set_elsewhere or not is_hiding(value, VISIBILITY_VARIABLES[name]):
        # The value may be a Secret's: it is not repeated.
        why = words.who_selects if name == VISIBLE_DEVICES else "programs see their own GPUs without it"
        yield Finding(f"{place} selects GPUs {words.selects}; {why}")


def _hides(container: Mapping[str, Any]) -> bool | None:
    """Whether it hides GPUs from itself; None if not known yet. The last of equal names counts."""
    entries = items(container.get("env"))
    values = [at(entry, "value") for entry in entries if at(entry, "name") == VISIBLE_DEVICES]
    if UNKNOWN in values or any(at(entry, "name") is UNKNOWN for entry in entries):
        return None
    return bool(values) and is_hiding(values[-1])


def _images(pod: Mapping[str, Any], volume: Any = None) -> list[Any]:
    """Of all containers, or those that mount a volume, if any; UNKNOWN if not known yet."""
    found = [(at(each.spec, "image"), items(at(each.spec, "volumeMounts"))) for each in containers(pod)]
    mounting = [image for image, mounts in found if any(at(each, "name") in (volume, UNKNOWN) for each in mounts)]
    return mounting if volume is not None and mounting else [image for image, _ in found]


def _let_to_engine(found: Iterable[Finding], workload: Workload, site: Site) -> Iterator[Finding]:
    """Allows the engine's socket to the hub's filter and to listed containers."""
    images = _images(workload.pod)
    if site.is_engine_filter(workload.container, images[0] if images else None):
        yield from (each for each in found if not each.is_runtime)
        return
    may = site.may_use_engine(workload.container, images[0] if images else None)
    for finding in found:
        if not finding.is_runtime or may is False:
            yield finding
        elif may:
            yield replace(finding, message=f"{finding.message}; allowed, because the site lists it", level=Level.WARN)
        else:
            yield from weighed([finding], "but it is not known yet whether the site allows it to")


def _device_paths(workload: Workload, site: Site) -> Iterator[Finding]:
    """A container next to infrastructure keeps its exemption unless it mounts the same volume."""
    pod = workload.pod
    volumes = pod.get("volumes")
    if volumes is UNKNOWN:
        message = f"volumes are not known yet: one may reach the devices of the {workload.words.node}"
        yield Finding(message, Level.UNPROVED)
        return
    for index, volume in enumerate(items(volumes)):
        name = at(volume, "name")
        found = of_volume(f"volumes[{index}]", volume, workload.words, is_written=_is_written(name, pod))
        found = _let_to_engine(found, workload, site)
        yield from _let_through(found, _exemption(workload, _images(pod, None if volume is UNKNOWN else name)))


def _gives(pod: Mapping[str, Any]) -> Iterator[Finding]:
    """A device plugin that allocates GPUs under another name."""
    paths = [at(each, "hostPath", "path") for each in items(pod.get("volumes"))]
    if DEVICE_PLUGINS not in {plain(each) for each in paths if isinstance(each, str)}:
        return
    for path, spec in ((each.path, each.spec) for each in containers(pod)):
        if spec is not UNKNOWN and HANDED_OUT.search(repr([spec.get("command"), spec.get("args"), spec.get("env")])):
            yield Finding(
                f"{path} is a device plugin that hands out /dev/nvidia* without {GPU_RESOURCE}",
                remedy="Leave the GPUs to NVIDIA's device plugin.",
            )


def _bound(pod: Mapping[str, Any]) -> Iterator[Finding]:
    name = pod.get("nodeName")
    if isinstance(name, str) and name and asks_somewhere(pod):
        yield Finding(
            f"nodeName {name} bypasses the scheduler, so nothing checks that its GPUs are free",
            Level.WARN,
            remedy="Select the node by kubernetes.io/hostname.",
        )


def _is_written(name: Any, pod: Mapping[str, Any]) -> bool | None:
    """Whether a container may write to the volume; None if not known yet."""
    mounts = [mount for each in containers(pod) for mount in items(at(each.spec, "volumeMounts"))]
    found = [(at(mount, "name"), at(mount, "readOnly")) for mount in mounts]
    return some(
        None if UNKNOWN in (mounted, name, reads) else reads is not True
        for mounted, reads in found
        if UNKNOWN in (mounted, name) or mounted == name
    )


def _mounts(path: str, container: Mapping[str, Any], words: Vocabulary) -> Iterator[Finding]:
    """Mount paths that select GPUs by name."""
    for index, mount in enumerate(items(container.get("volumeMounts"))):
        mount_path, place = at(mount, "mountPath"), words.place(f"{path}.volumeMounts[{index}]")
        if mount_path is UNKNOWN:
            yield Finding(f"{place} is not known yet: its path may select GPUs", Level.UNPROVED)
        elif isinstance(mount_path, str) and chooses_gpus(mount_path):
            yield Finding(
                f"{place} {mount_path} selects GPUs {words.selects}",
                remedy=f"Remove it; {words.request_a_gpu}.",
            )


def _shown_by_default(path: str, container: Mapping[str, Any], workload: Workload, site: Site) -> Iterator[Finding]:
    """GPUs granted by its node's default runtime."""
    if asks_for_gpus(container) is False and _hides(container) is False:
        for image in pod_images(workload, site):
            if image.path == f"{path}.image":
                yield from shown_by_default(path, image, _names(container), workload, site)


def _names(container: Mapping[str, Any]) -> set[Any]:
    """Names of its variables."""
    return {name for entry in items(container.get("env")) if isinstance(name := at(entry, "name"), str)}
