"""The resource `docker-build:index:Image`: check, compare, build, look after, take away."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from images.buildkit import Build, Buildctl, BuildError, docker_config_folder, find_endpoint, run_build
from lab.instance import LabError
from lab.providers.docker_build import inputs as image_inputs
from lab.providers.docker_build.differences import changed
from lab.providers.docker_build.manifests import Manifests, Reference
from lab.providers.docker_build.shapes import PROVIDER, misfits
from lab.providers.handler import CancelledError, Change, Checked, Created, Difference, Failure, PluginError, ReadBack
from lab.providers.handler import Request as Asked
from lab.providers.plugin import Engine
from lab.providers.values import UNKNOWN, Properties, Secret, has_unknown, marked_like, plain, without_nulls

TYPE: Final = "docker-build:index:Image"
BUILDS_AT_ONCE: Final = 2  # the builder's own steps run side by side; more builds only fight for the disk


class DockerBuild:
    """Handler of the stand-in. `buildctl` says where the program is, and raises LabError when it is nowhere."""

    def __init__(self, engine: Engine, buildctl: Callable[[], Path]) -> None:
        self._engine = engine
        self._buildctl = buildctl
        self._registries: list[dict[str, str]] = []  # the provider's own credentials
        self._turns = threading.BoundedSemaphore(BUILDS_AT_ONCE)

    def check_config(self, request: Asked) -> Checked:
        given = without_nulls(request.inputs)
        return Checked(request.inputs, [Failure(*problem) for problem in misfits(plain(given), PROVIDER)])

    def diff_config(self, request: Asked) -> Difference:
        del request  # credentials and version only: no image depends on them
        return Difference()

    def configure(self, config: Properties) -> None:
        registries = plain(without_nulls(config)).get("registries") or []
        self._registries = registries if isinstance(registries, list) else []

    def check(self, request: Asked) -> Checked:
        _refuse_others(request.type)
        given = image_inputs.with_defaults(plain(without_nulls(request.inputs)))
        failures = [Failure(*problem) for problem in image_inputs.problems(given)]
        checked = marked_like(given, request.inputs)
        if "secrets" in checked and not isinstance(checked["secrets"], Secret):
            checked["secrets"] = Secret(checked["secrets"])  # whatever the program says, as the official plugin does
        return Checked(checked, failures)

    def diff(self, request: Asked) -> Difference:
        before, after = plain(without_nulls(request.old_inputs)), plain(without_nulls(request.inputs))
        changes = changed(before, after)
        if _context_is_known(after):
            current, built = _context_hash(after), str(plain(request.state.get("contextHash")))
            if current != built:
                changes["contextHash"] = Change.UPDATE
                # An output has no line of its own in the engine's diff, so say it in words.
                self._engine.info(request.urn, f"the files it is built from changed: {built[:12]} → {current[:12]}")
        if after.get("pull") is True and not has_unknown(after.get("exports")) and image_inputs.exports(after):
            changes["contextHash"] = Change.UPDATE  # the user asked for fresh bases: only a build can tell
        return Difference(changes)

    def create(self, request: Asked) -> Created:
        outputs = self._make(request)
        identifier = outputs["digest"] if isinstance(outputs["digest"], str) and outputs["digest"] else request.name
        return Created("" if request.is_preview else identifier, {**request.inputs, **outputs})

    def update(self, request: Asked) -> Properties:
        return {**request.inputs, **self._make(request)}

    def read(self, request: Asked) -> ReadBack | None:
        state = plain(request.state)
        if not state:
            raise PluginError("an image cannot be imported: what it was built from is not in the registry")
        digest = state.get("digest")
        if digest and (names := image_inputs.pushed_names(state)):
            client = self._client(state)
            if not any(client.has(Reference.parse(name), digest) for name in names):
                self._engine.info(request.urn, f"{names[0]}@{digest} is no longer in the registry")
                return None
        return ReadBack(request.identifier, request.state, request.old_inputs)

    def delete(self, request: Asked) -> None:
        state = plain(request.state)
        digest = state.get("digest")
        if not digest:
            return
        client = self._client(state)
        references = {(parsed := Reference.parse(name)).repository: parsed for name in image_inputs.pushed_names(state)}
        for repository, reference in references.items():
            if not client.delete(reference, digest):
                self._engine.warning(request.urn, f"{repository}@{digest} was gone, or the registry deletes nothing")

    def invoke(self, token: str, arguments: Properties) -> Properties:
        del arguments
        raise PluginError(f"the docker-build plugin has no function {token}")

    def _make(self, request: Asked) -> Properties:
        """Build, or in a preview say what a build would give. The outputs beside the inputs."""
        wanted = plain(without_nulls(request.inputs))
        known = _context_is_known(wanted)
        outputs: Properties = {
            "contextHash": _context_hash(wanted) if known else UNKNOWN,
            "digest": UNKNOWN,
            "ref": UNKNOWN,
        }
        if request.is_preview and not self._builds_in_preview(request.urn, wanted):
            return outputs
        try:
            endpoint = find_endpoint(wanted["builder"]["name"], docker_config_folder())
            wanted["registries"] = [*self._registries, *(wanted.get("registries") or [])]
            build = image_inputs.build_of(wanted, is_preview=request.is_preview)
            digest = self._build(request.urn, build, endpoint)
        except (BuildError, LabError) as error:
            if self._engine.cancelled.is_set():
                raise CancelledError(str(error)) from error
            raise PluginError(str(error)) from error
        if request.is_preview:
            return outputs
        return {**outputs, "digest": digest, "ref": _reference(wanted, digest)}

    def _build(self, urn: str, build: Build, endpoint: str) -> str:
        while not self._turns.acquire(timeout=0.5):
            self._engine.status(urn, "waiting for another build")
            self._engine.wait(0)
        try:
            return run_build(
                build,
                Buildctl(self._buildctl(), endpoint),
                on_line=lambda line: self._engine.status(urn, line) if line.strip() else None,
                cancelled=self._engine.cancelled.is_set,
            )
        finally:
            self._turns.release()

    def _builds_in_preview(self, urn: str, wanted: Mapping[str, Any]) -> bool:
        if wanted.get("buildOnPreview") is not True:
            return False
        # The official plugin counts `push: true` as an input that it does not know (docker-build 0.0.22, image.go).
        if has_unknown(wanted) or wanted.get("push"):
            self._engine.warning(urn, "Skipping preview build because some inputs are unknown.")
            return False
        return True

    def _client(self, state: Mapping[str, Any]) -> Manifests:
        return Manifests([*self._registries, *(state.get("registries") or [])])


def _refuse_others(token: str) -> None:
    if token != TYPE:
        raise PluginError(f"the docker-build stand-in makes {TYPE} only, not {token}: install the official plugin")


def _context_is_known(wanted: Mapping[str, Any]) -> bool:
    return not has_unknown(wanted.get("context")) and not has_unknown(wanted.get("dockerfile"))


def _context_hash(wanted: Mapping[str, Any]) -> str:
    try:
        return image_inputs.context_hash(wanted)
    except (OSError, UnicodeDecodeError) as error:
        raise PluginError(f"the build context cannot be read: {error}") from error


def _reference(wanted: Mapping[str, Any], digest: str) -> str:
    names = image_inputs.pushed_names(wanted) or list(wanted.get("tags") or [])
    if not names:
        return ""
    return f"{names[0]}@{digest}" if digest else names[0]
