"""Every image that this machine can build is what its spec says, in a real container; a broken one is not let through.

BuildKit's RUN is that container: the image's own file system and user, no network, no GPU.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from imaging.build.instructions import CA_CONTEXT
from imaging.build.render import VERIFYING_CONTEXT, build_arguments, render_dockerfile, stage_of, verify_stage_of
from imaging.spec.load import IMAGES, VERIFYING, load_family
from imaging.spec.plan import Substitute
from imaging.spec.targets import target_specs
from lab import bases, processes
from lab.instance import Instance, LabError, open_instance
from lab.servers import buildkit, registry
from lab.toolchain import Toolchain

pytestmark = [pytest.mark.lab, pytest.mark.timeout(1800)]

CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
PARENT = "datahub-base-notebook"
OCI = "application/vnd.oci.image.manifest.v1+json"


@dataclass(frozen=True, slots=True)
class Builder:
    """A registry and a BuildKit of their own, and what stands in for what this machine cannot reach."""

    instance: Instance
    substitutes: tuple[Substitute, ...]

    def dockerfile(self, image: str) -> str:
        return render_dockerfile(load_family(image), substitutes=self.substitutes, ca=CERTIFICATES.name)

    def build(self, image: str, stage: str, *, text: str = "", push: str = "", base: str = "") -> str:
        """Build a stage, of another Dockerfile with `text`; return its log, or where it was pushed by digest.

        Raises LabError with the last lines of the step that failed.
        """
        contexts = {CA_CONTEXT: CERTIFICATES.parent, VERIFYING_CONTEXT: VERIFYING}
        arguments = {**build_arguments(load_family(image)[0]), **({"BASE": base} if base else {})}
        with tempfile.TemporaryDirectory(dir=self.instance.run) as folder:
            Path(folder, "Dockerfile").write_text(text or self.dockerfile(image))
            command = [str(Toolchain().path("buildctl")), "--addr", f"unix://{buildkit.socket_path(self.instance)}"]
            command += ["build", "--frontend", "dockerfile.v0", "--progress", "plain", "--opt", f"target={stage}"]
            command += ["--local", f"context={IMAGES / image}", "--local", f"dockerfile={folder}"]
            for name, path in contexts.items():
                command += ["--local", f"named-{name}={path}", "--opt", f"context:{name}=local:named-{name}"]
            for name, value in arguments.items():
                command += ["--opt", f"build-arg:{name}={value}"]
            if push:
                to = f"{self.instance.registry_address}/{push}"
                command += ["--metadata-file", f"{folder}/built", "--output", f"type=image,name={to},push=true"]
            log = Path(folder, "log")
            processes.run(command, log=log, timeout_s=1200)
            if push:
                return f"{to}@{json.loads(Path(folder, 'built').read_text())['containerimage.digest']}"
            return log.read_text()


@pytest.fixture(scope="module")
def builder() -> Iterator[Builder]:
    lab = [sys.executable, "-m", "lab", "--instance", "verify"]
    with tempfile.TemporaryDirectory(prefix="gc-") as home, pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", home)  # short: the builder's socket lies below it
        instance = open_instance("verify")
        servers = [registry.server(instance, Toolchain()), buildkit.server(instance, Toolchain())]
        try:
            for server in servers:
                processes.start(instance, server)
            found = bases.ensure(instance, Toolchain(), report=print)
            yield Builder(instance, tuple(Substitute(each.reference, each.replacement, each.reason) for each in found))
        finally:
            for server in servers:
                processes.stop(instance, server.name)  # they are children of this process, which only it can collect
            processes.run([*lab, "clean"])


DOCKER_HUB = ["docker-hub", "kernel-gateway", "engine-filter"]
CUPY = ["cupy-notebook", "cupy-cuda11", "slurm-hub"]


@pytest.mark.parametrize("image", ["hub", "proxy", "datahub-base-notebook", "perceptron", *CUPY, *DOCKER_HUB])
def test_an_image_and_each_of_its_targets_is_as_its_spec_says(builder: Builder, image: str) -> None:
    spec = load_family(image)[0]
    for each in (spec, *target_specs(spec)):
        output = builder.build(image, verify_stage_of(each))
        # A step from the cache prints nothing; its success is what is cached.
        assert f"{each.full_name} {spec.version}: as its spec says" in output or "CACHED" in output


def test_a_child_is_verified_on_the_parent_that_was_pushed(builder: Builder) -> None:
    parent = builder.build(PARENT, "image", push=PARENT)
    output = builder.build("scipy-ml-notebook", "verify", base=parent)
    assert "scipy-ml-notebook 1.0.0: as its spec says" in output
    assert "python=3.8.20" not in output.partition("skipped: ")[0].rpartition("verify.py")[2]


VERIFY = "FROM image AS verify\n"
BROKEN: Mapping[str, tuple[str, str, str]] = {
    "root": ("USER 65534:65534", "USER 0:0", "runs as root: user 0, group 0"),
    "another version": (
        "configurable-http-proxy@4.6.3",
        "configurable-http-proxy@4.6.2",
        "configurable-http-proxy is 4.6.3, the spec says 4.6.2",
    ),
    "no package": ("node_modules /opt/node/node_modules", "node_modules /opt/other", "is not installed"),
    "a server that ends at once": (
        VERIFY,
        f"{VERIFY}ENV NODE_OPTIONS=--require=/nonsense\n",
        "answers nothing, not 200",
    ),
    "programs that the user may change": (
        VERIFY,
        f"{VERIFY}USER 0:0\nRUN chmod 0777 /opt/node\nUSER 65534:65534\n",
        "can write to /opt/node",
    ),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_a_broken_image_does_not_pass(builder: Builder, fault: str) -> None:
    right, wrong, message = BROKEN[fault]
    text = builder.dockerfile("proxy")
    assert right in text
    with pytest.raises(LabError) as caught:
        builder.build("proxy", "verify", text=text.replace(right, wrong))
    assert message in str(caught.value)


def test_a_python_package_of_another_version_does_not_pass(builder: Builder) -> None:
    text = builder.dockerfile("hub").replace('"oauthenticator==17.4.0"', '"oauthenticator==17.3.0"')
    with pytest.raises(LabError, match=r"oauthenticator is 17\.4\.0, the spec says 17\.3\.0"):
        builder.build("hub", "verify", text=text)


def test_images_of_one_spec_share_the_layers_that_they_have_in_common(builder: Builder) -> None:
    spec = load_family("cupy-notebook")[0]
    layers = {
        each.full_name.removeprefix("cupy-notebook").lstrip("-"): pushed_layers(
            builder.build("cupy-notebook", stage_of(each), push=each.full_name)
        )
        for each in (spec, *target_specs(spec))
    }
    server, client, kernel, batch = (set(layers[name]) for name in ("", "gateway-client", "kernel", "batch"))
    biggest = max(layers[""].items(), key=lambda layer: layer[1])[0]
    assert biggest in batch & kernel & server  # the one with CuPy
    assert biggest not in client
    assert len(batch & kernel & server & client) >= 4  # base, OS packages, environment, user
    assert sum(layers["gateway-client"].values()) < sum(layers["batch"].values()) < sum(layers[""].values())


def pushed_layers(reference: str) -> dict[str, int]:
    """Bytes of a pushed image's layers by digest."""
    place, _, digest = reference.partition("@")
    host, _, repository = place.partition("/")
    answer = httpx.get(f"http://{host}/v2/{repository}/manifests/{digest}", headers={"Accept": f"{OCI}, */*"})
    return {layer["digest"]: layer["size"] for layer in answer.raise_for_status().json()["layers"]}
