"""Substitutes for images and package sources that this machine cannot reach.

A base image is replaced by a Debian from debootstrap, one image for each reference, labelled with that reference. The
lab's own stand-ins (`lab.stand_ins.images`) are pushed here too. A package source is replaced by nothing: what needs it
is left out and listed.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import httpx

from imaging.references import ImageReference
from imaging.spec.load import IMAGES, read_spec
from imaging.spec.plan import CONDA_FORGE, NOTHING, outside_references
from imaging.spec.problems import SPEC_FILE, SpecError
from lab import image_pushes
from lab.instance import LabError
from lab.machine import debian
from lab.stand_ins import images as stand_ins

if TYPE_CHECKING:
    from lab.instance import Instance
    from lab.servers import Tools

SUBSTITUTE_LABEL: Final = "org.gpu-commons.lab.substitute"
ASK_WITHIN_S: Final = 4
# The API host of a registry, if it differs from the reference's.
API_HOSTS: Final = {"docker.io": "registry-1.docker.io"}
CONDA_FORGE_URL: Final = "https://conda.anaconda.org/conda-forge/noarch/repodata.json.zst"

Report = Callable[[str], None]
Reachable = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class Substitute:
    """One entry of `site.substitutes`."""

    reference: str  # as in a spec or a stack file; or `conda-forge`, or the URL of a page of wheels
    replacement: str  # repository@digest, or `nothing`
    reason: str

    def as_setting(self) -> dict[str, str]:
        return {"reference": self.reference, "with": self.replacement, "reason": self.reason}


@dataclass(frozen=True, slots=True)
class Wanted:
    """A lab image to build: its repository below the registry, and its inputs."""

    repository: str
    dockerfile: str
    files: Mapping[str, Path] = field(default_factory=dict)
    tag: str = "lab"

    @property
    def key(self) -> str:
        """Digest of all inputs. The name of a `.tar` holds the key of its content, which is big."""
        digest = hashlib.sha256(self.dockerfile.encode())
        for name, path in sorted(self.files.items()):
            content = path.name.encode() if path.suffix == ".tar" else path.read_bytes()
            digest.update(f"\0{name}\0".encode() + hashlib.sha256(content).digest())
        return digest.hexdigest()


def ensure(
    instance: Instance,
    tools: Tools,
    report: Report,
    reachable: Reachable | None = None,
    *,
    drivers: Collection[str] | None = (),
) -> list[Substitute]:
    """Build and push every lab image that this machine needs; an existing one costs one request.

    The stand-ins are for a cluster's nodes; `drivers` are the driver containers that its stack names, None without a
    cluster. Registry and builder must run. `reachable` answers whether a URL can be reached (default: try, and keep the
    answer in the instance). Raises LabError.
    """
    with _alone(instance):
        return _ensure(instance, tools, report, reachable or (lambda url: _remembered(instance, url)), drivers)


@contextlib.contextmanager
def _alone(instance: Instance) -> Iterator[None]:
    """Labs with one registry build common images once: the second waits for the first."""
    with _record(instance).with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _ensure(
    instance: Instance, tools: Tools, report: Report, ask: Reachable, drivers: Collection[str] | None
) -> list[Substitute]:
    ready_made = [] if drivers is None else stand_ins.images(tools, drivers)
    references = set(wanted_references(IMAGES)) - {image.stands_for for image in ready_made}
    found = [
        *(_stand_in(instance, tools, image, report, ask) for image in ready_made),
        *(
            _base(instance, tools, reference, report)
            for reference in sorted(references)
            if not ask(question(reference))
        ),
    ]
    return sorted((each for each in found if each), key=lambda each: each.reference)


def wanted_references(folder: Path) -> list[str]:
    """Bases, `conda-forge` and pages of wheels in the image specs. Raises LabError for a bad spec."""
    try:
        specs = [read_spec(path.parent) for path in sorted(folder.glob(f"*/{SPEC_FILE}"))]
    except SpecError as error:
        raise LabError(str(error)) from error
    return sorted({reference for spec in specs for reference in outside_references([spec])})


def question(reference: str) -> str:
    """The URL whose answer shows whether `reference` is reachable."""
    if reference == CONDA_FORGE:
        return CONDA_FORGE_URL
    if reference.startswith("https://"):
        return reference
    registry = ImageReference.parse(reference).registry
    return f"https://{API_HOSTS.get(registry, registry)}/v2/"


def variables(reference: str) -> dict[str, str]:
    """The CUDA variables that the image of that reference is known to set: those of nvidia/cuda, by its tag."""
    match = re.search(r"(?:^|/)nvidia/cuda:((\d+\.\d+)(?:\.\d+)?)-", reference)
    if match is None:
        return {}
    return {
        "CUDA_VERSION": match[1],
        # The real one also lists old driver branches, for data-centre GPUs (compat packages); labs have none.
        "NVIDIA_REQUIRE_CUDA": f"cuda>={match[2]}",
        "NVIDIA_VISIBLE_DEVICES": "all",
        "NVIDIA_DRIVER_CAPABILITIES": "compute,utility",
    }


def base_dockerfile(debian_image: str, reference: str) -> str:
    """Dockerfile of the lab base that stands for `reference`."""
    return "\n".join(
        [
            f"# In the lab of gpu-commons, in place of {reference}.",
            f"FROM {debian_image}",
            f'LABEL {SUBSTITUTE_LABEL}="{reference}"',
            *(f'ENV {name}="{value}"' for name, value in variables(reference).items()),
            "",
        ]
    )


def _base(instance: Instance, tools: Tools, reference: str, report: Report) -> Substitute:
    host = httpx.URL(question(reference)).host
    reason = f"{host} cannot be reached from this machine"
    if reference == CONDA_FORGE or reference.startswith("https://"):
        return Substitute(reference, NOTHING, reason)
    bottom = Wanted("lab/debian", debian.DOCKERFILE, {debian.ROOTFS: debian.rootfs()})
    debian_image = _push(instance, tools, bottom, report, prepare=lambda: debian.make_rootfs(tools, report))
    image = _push(instance, tools, Wanted(_repository(reference), base_dockerfile(debian_image, reference)), report)
    return Substitute(reference, image, f"{reason}; a Debian {debian.SUITE} by debootstrap takes its place")


def _stand_in(
    instance: Instance, tools: Tools, image: stand_ins.StandInImage, report: Report, ask: Reachable
) -> Substitute | None:
    """Always pushed: the lab names them itself. Those for GPU drivers are always used: a lab has no GPU."""
    pushed = _push(instance, tools, Wanted(image.name, image.dockerfile, image.files, image.tag), report)
    if not ask(question(image.stands_for)):
        return Substitute(image.stands_for, pushed, image.reason)
    if image.drives_gpus:
        return Substitute(image.stands_for, pushed, image.reason)
    return None


def _repository(reference: str) -> str:
    parsed = ImageReference.parse(reference)
    name = f"{parsed.registry}/{parsed.repository}".replace(":", "-")
    return f"lab/base/{name}" + (f"-{parsed.tag.lower()}" if parsed.tag else "")


def _push(
    instance: Instance, tools: Tools, wanted: Wanted, report: Report, prepare: Callable[[], None] = lambda: None
) -> str:
    """The image by digest; built only if it is not in the registry or if an input changed."""
    repository = f"{instance.registry_address}/{wanted.repository}"
    digests: dict[str, str] = _read(_record(instance))
    digest = digests.get(f"{wanted.repository}:{wanted.key}")
    if digest is None or not image_pushes.has(repository, digest):
        prepare()
        report(f"lab image {wanted.repository}: building …")
        digest = image_pushes.push(instance, tools, f"{repository}:{wanted.tag}", wanted.dockerfile, wanted.files)
        _write(_record(instance), {**_without(digests, wanted.repository), f"{wanted.repository}:{wanted.key}": digest})
    return f"{repository}@{digest}"


def _without(digests: Mapping[str, str], repository: str) -> dict[str, str]:
    return {key: digest for key, digest in digests.items() if key.rsplit(":", 1)[0] != repository}


def _record(instance: Instance) -> Path:
    """Beside the registry's data: useless without it."""
    return instance.images / "data" / "lab-images.json"


def _remembered(instance: Instance, url: str) -> bool:
    """Whether the URL's server answers. Checked once per registry, so that images do not change back and forth."""
    path = instance.images / "data" / "reachable.json"
    answers: dict[str, bool] = _read(path)
    if url not in answers:
        answers[url] = answers_at(url)
        _write(path, answers)
    return answers[url]


def answers_at(url: str) -> bool:
    """Send one HEAD with a short time-out. A registry that wants a login (401) is there; a gateway error is not."""
    try:
        code = httpx.head(url, timeout=ASK_WITHIN_S, follow_redirects=True).status_code
    except (httpx.HTTPError, httpx.InvalidURL):
        return False
    return code in {httpx.codes.OK, httpx.codes.UNAUTHORIZED}


def _read(path: Path) -> dict[str, Any]:
    try:
        return dict(json.loads(path.read_text()))
    except (FileNotFoundError, ValueError):
        return {}


def _write(path: Path, values: Mapping[str, object]) -> None:
    draft = path.with_suffix(".tmp")
    draft.write_text(json.dumps(values, indent=2, sort_keys=True) + "\n")
    draft.replace(path)
