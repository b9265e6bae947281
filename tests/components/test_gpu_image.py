"""GpuImage renders, builds and pushes one image, and says what is in it before it is built."""

from __future__ import annotations

import asyncio
import re
import shutil
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pulumi
import pytest
from pulumi.provider.experimental.analyzer import Analyzer
from pulumi.runtime.mocks import MockMonitor
from pulumi.runtime.settings import reset_options
from pulumi.runtime.stack import run_pulumi_func
from rows import each_row

from components.gpu_image import GpuImage, GpuImageArgs, ImagePool, ImageSubstitute
from imaging.inspection import facts, session
from imaging.inspection.store import Store, store_folder
from imaging.spec.load import IMAGES
from imaging.spec.problems import SpecError

BUILT = "docker-build:index:Image"
DIGEST = "sha256:" + "d" * 64
DEBIAN = "docker.io/library/debian:bookworm-20260824-slim"
JUPYTER = "quay.io/jupyter/datascience-notebook:2026-08-24"
LAB_BASE = "127.0.0.1:5000/lab/debian@sha256:" + "1" * 64
LAB: list[ImageSubstitute] = [
    {"reference": DEBIAN, "with": LAB_BASE, "reason": "not reachable"},
    {"reference": JUPYTER, "with": LAB_BASE, "reason": "not reachable"},
    {"reference": "conda-forge", "with": "nothing", "reason": "not reachable"},
]
HUB: GpuImageArgs = {
    "image": "hub",
    "repository": "127.0.0.1:5000/gpu-commons/hub",
    "builder": "gpu-commons",
    "read_back": False,
}
ML: GpuImageArgs = {
    "image": "scipy-ml-notebook",
    "repository": "127.0.0.1:5000/gpu-commons/scipy-ml-notebook",
    "base": f"127.0.0.1:5000/gpu-commons/datahub-base-notebook@{DIGEST}",
    "substitutes": LAB,
    "read_back": False,
}
Recorded = Callable[..., Any]


def build_of(recorded: Recorded, args: GpuImageArgs, step: str = "build", **options: Any) -> dict[str, Any]:
    run = recorded(lambda: GpuImage("it", args) and None, **options)
    (build,) = [each for each in run.of_type(BUILT) if each.name == f"it-{step}"]
    return dict(build.inputs)


def facts_of(recorded: Recorded, args: GpuImageArgs, **options: Any) -> Mapping[str, Any]:
    return dict(recorded(lambda: GpuImage("it", args) and None, **options).only("index:GpuImage").inputs)


def messages(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What a program will say of its resources."""
    logged: list[str] = []
    monkeypatch.setattr(pulumi.log, "info", lambda message, *_: logged.append(message))
    return logged


def refusal(args: Mapping[str, Any]) -> str:
    with pytest.raises(SpecError) as caught:
        GpuImage("it", args)  # type: ignore[arg-type]  # refused before anything is requested of Pulumi
    return str(caught.value)


@pytest.mark.parametrize("preview", [True, False])
def test_an_image_is_built_and_pushed_by_an_export_and_not_in_previews(recorded: Recorded, preview: bool) -> None:
    run = recorded(lambda: GpuImage("hub", HUB) and None, preview=preview)
    assert [(resource.type, resource.name) for resource in run.resources] == [
        ("gpu-commons:index:GpuImage", "hub"),
        (BUILT, "hub-check"),
        (BUILT, "hub-build"),
    ]
    build = run.of_type(BUILT)[0].inputs
    assert build["push"] is False
    assert build["buildOnPreview"] is False
    assert build["exports"] == [{"registry": {"ociMediaTypes": True, "compression": "zstd", "compressionLevel": 3}}]
    assert build["builder"] == {"name": "gpu-commons"}
    assert build["platforms"] == ["linux/amd64"]
    assert build["context"] == {"location": "images/hub"}
    assert build["dockerfile"]["inline"].startswith("# check=error=true\n# hub ")


def test_the_check_is_a_stage_of_the_same_dockerfile_that_goes_nowhere_and_that_the_push_waits_for(
    recorded: Recorded,
) -> None:
    check, build = (build_of(recorded, HUB, step) for step in ("check", "build"))
    assert (check["exports"], check["push"]) == ([{"cacheonly": {}}], False)
    assert (check["target"], build.get("target")) == ("verify", None)
    assert check["context"] == {**build["context"], "named": {"verifying": {"location": "imaging/verifying"}}}
    alike = ("dockerfile", "platforms", "builder", "buildArgs", "buildOnPreview")
    assert [check[name] for name in alike] == [build[name] for name in alike]
    assert build_of(recorded, {**CUPY, "target": "batch"}, "check")["target"] == "verify-batch"
    requests = requested()
    assert [each.rpartition("::")[2] for each in requests["hub-build"].dependencies] == ["hub-check"]


def test_no_text_that_is_handed_on_is_empty(recorded: Recorded) -> None:
    # The provider takes an empty text for one that is not known yet, and drops it.
    def texts(value: Any) -> list[str]:
        if isinstance(value, Mapping):
            return [text for entry in value.values() for text in texts(entry)]
        if isinstance(value, list):
            return [text for entry in value for text in texts(entry)]
        return [value] if isinstance(value, str) else []

    for args in (HUB, ML, GpuImageArgs(image="proxy", repository="registry.example.edu/proxy", read_back=False)):
        assert "" not in texts(build_of(recorded, args))


class Registry(pulumi.runtime.Mocks):
    """A provider that has built: it knows the digest, except in a preview.

    There it leaves it out where an input changed, and where only files did it returns an empty one.
    """

    def __init__(self, *, preview: bool, digest: str | None = None) -> None:
        self.outputs = {"digest": digest} if digest is not None else {} if preview else {"digest": DIGEST}

    def new_resource(self, args: pulumi.runtime.MockResourceArgs) -> tuple[str | None, dict[str, Any]]:
        return f"{args.name}-id", {**args.inputs, **self.outputs}

    def call(self, args: pulumi.runtime.MockCallArgs) -> tuple[dict[Any, Any], list[tuple[str, str]] | None]:
        return dict(args.args), None


class Requests(MockMonitor):
    """Keeps what the engine is called with, options included, which mocks do not see."""

    def __init__(self) -> None:
        super().__init__(Registry(preview=False))
        self.seen: dict[str, Any] = {}

    def RegisterResource(self, request: Any) -> Any:  # noqa: N802 - the SDK's name
        self.seen[request.name] = request
        return super().RegisterResource(request)  # type: ignore[no-untyped-call]


@pytest.mark.parametrize(
    ("provider", "ref"),
    [
        (Registry(preview=False), f"127.0.0.1:5000/gpu-commons/hub@{DIGEST}"),
        (Registry(preview=True), None),
        (Registry(preview=True, digest=""), None),
    ],
)
def test_the_ref_is_the_repository_by_digest_and_unknown_before_the_build(provider: Registry, ref: str | None) -> None:
    preview = ref is None
    outputs: dict[str, Any] = {}

    async def run() -> None:
        reset_options()
        pulumi.runtime.set_mocks(provider, project="tests", stack="tests", preview=preview)
        images: list[GpuImage] = []
        await run_pulumi_func(lambda: images.append(GpuImage("hub", HUB)))
        outputs["ref"] = await images[0].ref.future(with_unknowns=False)
        outputs["tag"] = await images[0].tag.future()

    asyncio.run(run())
    assert outputs["ref"] == ref
    assert re.fullmatch(r"127\.0\.0\.1:5000/gpu-commons/hub:[0-9a-f]{16}", outputs["tag"])


def measured(
    monkeypatch: pytest.MonkeyPatch, cache: Path, *, port: int = 9, preview: bool = False, **more: Any
) -> dict[str, Any]:
    """What a GpuImage says of its size when `cache` is this machine's; nothing answers on `port`."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    monkeypatch.setattr(session, "RetryPolicy", partial(session.RetryPolicy, first_wait_s=0.01, longest_wait_s=0.02))
    args: GpuImageArgs = {**HUB, "repository": f"127.0.0.1:{port}/gpu-commons/hub", "read_back": True, **more}  # type: ignore[typeddict-item]  # by name
    outputs: dict[str, Any] = {}

    async def run() -> None:
        reset_options()
        pulumi.runtime.set_mocks(Registry(preview=False), project="tests", stack="tests", preview=preview)
        images: list[GpuImage] = []
        await run_pulumi_func(lambda: images.append(GpuImage("hub", args)))
        for name in ("ref", "compressed_bytes", "unpacked_bytes", "facts", "sizes"):
            outputs[name] = await getattr(images[0], name).future()

    asyncio.run(run())
    return outputs


def keep_facts(cache: Path) -> None:
    """What the registry has as DIGEST was read before: 1000 bytes, 3000 unpacked."""
    layer = facts.Layer("sha256:" + "1" * 64, "application/vnd.oci.image.layer.v1.tar+zstd", "zstd", 1000)
    contents = facts.ImageContents(
        version=facts.VERSION,
        digest=DIGEST,
        media_type="application/vnd.oci.image.manifest.v1+json",
        platform="linux/amd64",
        created=None,
        layers=(layer,),
        settings=facts.Settings(user="1000"),
        deep=facts.Contents(unpacked_bytes=3000, files=1, layers=(facts.LayerUse(3000, 0),), system="Debian 12"),
    )
    Store(store_folder({"XDG_CACHE_HOME": str(cache)})).keep(contents)


def test_sizes_and_facts_of_what_was_pushed_are_outputs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    keep_facts(tmp_path)
    outputs = measured(monkeypatch, tmp_path)
    assert (outputs["compressed_bytes"], outputs["unpacked_bytes"]) == (1000, 3000)
    assert outputs["facts"]["system"] == "Debian 12"
    assert outputs["ref"] == f"127.0.0.1:9/gpu-commons/hub@{DIGEST}"


@pytest.mark.slow
def test_an_image_that_cannot_be_read_back_reaches_nobody(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(Exception, match=r"the image that was pushed cannot be read back: 127\.0\.0\.1:9"):
        measured(monkeypatch, tmp_path)
    assert not list(tmp_path.rglob("*.json"))


BEFORE = {"digest": "sha256:" + "b" * 64, "compressed_mb": 12.5, "unpacked_mb": 40.0}


@pytest.mark.slow
def test_the_sizes_show_what_changed_since_the_last_deployment_until_the_next_change(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    keep_facts(tmp_path)
    first = measured(monkeypatch, tmp_path)["sizes"]
    assert (first["digest"], first["compressed_mb"], first["unpacked_mb"]) == (DIGEST, 0.0, 0.0)
    assert first["by_spec"]["compressed_mb"] == pytest.approx(38.7)
    assert not first.keys() & {"before", "change_mb"}
    changed = measured(monkeypatch, tmp_path, deployed=BEFORE)["sizes"]
    assert changed == {**first, "before": BEFORE, "change_mb": -12.5}
    assert measured(monkeypatch, tmp_path, deployed=changed)["sizes"] == changed


POOLS: list[ImagePool] = [{"pool": "gtx1080ti"}, {"pool": "rtx2080ti", "pull_mb_per_s": 10}]


def test_a_preview_of_a_build_says_how_big_and_how_soon_and_who_says_so(
    recorded: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    logged = messages(monkeypatch)
    inputs = facts_of(recorded, {**HUB, "lands_on": POOLS, "deployed": BEFORE}, preview=True)
    (message,) = logged
    built, planned, measured_there = message.splitlines()
    assert built == (
        "hub will be built: at least 38.7 MB compressed, 0.15 GB unpacked (from the spec: 65 wheels; not counted: base"
        " docker.io/library/debian:bookworm-20260824-slim, OS packages); last deployed 12.5 MB"
    )
    assert planned.startswith("first start on a node of gtx1080ti: at least 16 s (pull 38.7 MB at 50 MB/s 1 s, ")
    assert planned.endswith("; the rates are planning figures)")
    assert measured_there.startswith("first start on a node of rtx2080ti: at least 19 s (pull 38.7 MB at 10 MB/s 4 s,")
    assert inputs["facts"]["expected"] == {"compressed_mb": 38.7, "unpacked_mb": 146.7, "origin": "spec"}
    assert not inputs.keys() & {"lands_on", "deployed"}  # or a preview would show them change while no image does


def test_a_target_is_reported_by_its_own_name(recorded: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    logged = messages(monkeypatch)
    facts_of(recorded, {**CUPY, "target": "batch"}, preview=True)
    assert [message.partition(":")[0] for message in logged] == ["cupy-notebook-batch will be built"]


def test_a_registry_that_is_away_is_no_error_of_a_preview(recorded: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    logged = messages(monkeypatch)
    facts_of(recorded, {**HUB, "repository": "127.0.0.1:9/gpu-commons/hub", "read_back": True}, preview=True)
    assert [message.partition(":")[0] for message in logged] == ["hub will be built"]


def test_an_image_that_stays_as_it_is_is_silent_in_previews_and_every_image_is_in_updates(
    recorded: Recorded, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    logged = messages(monkeypatch)
    keep_facts(tmp_path)
    assert measured(monkeypatch, tmp_path, preview=True)["sizes"]["digest"] == DIGEST
    facts_of(recorded, {**HUB, "lands_on": POOLS})
    assert logged == []


def requested() -> dict[str, Any]:
    """What the engine is asked for by name, options included."""
    monitor = Requests()

    def program() -> None:
        GpuImage("hub", HUB)

    async def run() -> None:
        reset_options()
        pulumi.runtime.set_mocks(Registry(preview=False), project="tests", stack="tests", monitor=monitor)
        await run_pulumi_func(program)

    asyncio.run(run())
    return monitor.seen


def test_the_image_stays_in_the_registry_and_belongs_to_the_component() -> None:
    for name in ("hub-check", "hub-build"):
        request = requested()[name]
        assert request.retainOnDelete
        assert request.parent.endswith("gpu-commons:index:GpuImage::hub")


@pytest.mark.slow
def test_the_tag_changes_with_what_goes_in_and_with_nothing_else(recorded: Recorded, tmp_path: Path) -> None:
    shutil.copytree(IMAGES, tmp_path / "images", ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    for image in ("datahub-base-notebook", "scipy-ml-notebook"):
        shutil.copy(IMAGES / image / "verify.py", tmp_path / "images" / image)
    copied: GpuImageArgs = {**ML, "images": str(tmp_path / "images")}
    (before,) = build_of(recorded, ML)["tags"]
    assert build_of(recorded, {**copied, "builder": "another"})["tags"] == [before]
    lock = tmp_path / "images" / "scipy-ml-notebook" / "requirements.lock"
    lock.write_text(lock.read_text() + "# another hash\n")
    (locked_anew,) = build_of(recorded, copied)["tags"]
    assert locked_anew != before
    parent = tmp_path / "images" / "datahub-base-notebook" / "image.yaml"
    parent.write_text(parent.read_text().replace("JupyterLab that a hub", "The JupyterLab that a hub"))
    assert build_of(recorded, copied)["tags"][0] not in {before, locked_anew}


CUPY: GpuImageArgs = {"image": "cupy-notebook", "repository": "127.0.0.1:5000/gpu-commons/cupy", "read_back": False}


@pytest.mark.slow
def test_a_target_is_a_stage_of_the_same_dockerfile_with_facts_of_its_own(recorded: Recorded) -> None:
    batch: GpuImageArgs = {**CUPY, "target": "batch"}
    server, target = build_of(recorded, CUPY), build_of(recorded, batch)
    assert (server.get("target"), target["target"]) == (None, "batch")
    assert server["dockerfile"] == target["dockerfile"]
    assert server["tags"] == target["tags"]
    packages = facts_of(recorded, batch)["facts"]["packages"]
    assert "cupy-cuda12x==14.2.0" in packages
    assert not [pin for pin in packages if "jupyter" in pin]
    assert facts_of(recorded, {**CUPY, "target": "gateway-client"})["facts"]["cuda_lines"] == []


def test_what_an_image_asks_of_its_runtime_is_an_input(recorded: Recorded, tmp_path: Path) -> None:
    shutil.copytree(IMAGES / "cupy-notebook", tmp_path / "cupy-notebook")
    spec = tmp_path / "cupy-notebook" / "image.yaml"
    spec.write_text(spec.read_text() + "runtime: {shm_gib: 1, memlock: unlimited}\n")
    facts = facts_of(recorded, {**CUPY, "images": str(tmp_path)})["facts"]
    assert facts["runtime"] == {"shm-gib": "1", "memlock": "unlimited"}
    assert "runtime" not in facts_of(recorded, CUPY)["facts"]


def test_a_child_is_built_on_the_digest_of_its_parent(recorded: Recorded) -> None:
    assert build_of(recorded, ML)["buildArgs"] == {"BASE": ML["base"], "SOURCE_DATE_EPOCH": "1795219200"}


def test_the_arguments_and_what_the_spec_says_are_inputs_that_a_preview_shows(recorded: Recorded) -> None:
    inputs = facts_of(recorded, {**ML, "substitutes": []}, preview=True)
    assert inputs["image"] == "scipy-ml-notebook"
    assert inputs["repository"] == "127.0.0.1:5000/gpu-commons/scipy-ml-notebook"
    assert inputs["substitutes"] == []
    assert inputs["facts"]["origin"] == "spec"
    assert inputs["facts"]["base"] == "datahub-base-notebook"
    assert inputs["facts"]["cuda_lines"] == ["10.1"]
    assert inputs["facts"]["frameworks"] == ["tensorflow==2.3.4", "torch==1.7.1+cu101"]
    assert inputs["facts"]["missing"] == []
    assert "cudnn=7.6.5.32" in inputs["facts"]["kernels"]["tensorflow-2.3"]


def test_what_a_site_replaces_or_leaves_out_is_an_input_and_a_line_of_the_preview(
    recorded: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    logged = messages(monkeypatch)
    inputs = facts_of(recorded, ML)
    assert [entry["reference"] for entry in inputs["substitutes"]] == [JUPYTER, "conda-forge"]
    assert "cudatoolkit=10.1.243" in inputs["facts"]["missing"]
    assert inputs["facts"]["kernels"] == {}
    (message,) = logged
    assert f"{JUPYTER} is replaced by {LAB_BASE}: not reachable" in message
    assert "conda-forge is left out: not reachable" in message
    assert "not in this image: python=3.8.20, cudatoolkit=10.1.243" in message


def test_an_image_that_is_as_its_spec_says_says_nothing(recorded: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    logged = messages(monkeypatch)
    facts_of(recorded, HUB)
    assert logged == []


def test_a_ca_bundle_is_a_build_context_and_its_content_is_in_no_input(recorded: Recorded, tmp_path: Path) -> None:
    bundle = tmp_path / "site.pem"
    bundle.write_text("the certificate of the site")
    run = recorded(lambda: GpuImage("hub", {**HUB, "ca_bundle": str(bundle)}) and None)
    build, check = (each.inputs for each in run.of_type(BUILT))
    assert check["context"]["named"].keys() == {"ca", "verifying"}
    assert build["context"]["named"] == {"ca": {"location": str(tmp_path)}}
    assert "/run/site-ca/site.pem" in build["dockerfile"]["inline"]
    assert "secrets" not in build
    assert "the certificate of the site" not in str([resource.inputs for resource in run.resources])


def test_gzip_is_for_sites_with_old_engines_whatever_the_builder_has_already(recorded: Recorded) -> None:
    build = build_of(recorded, {**HUB, "compression": "gzip"})
    packed = {"ociMediaTypes": True, "compression": "gzip", "compressionLevel": 6, "forceCompression": True}
    assert build["exports"] == [{"registry": packed}]


@each_row(
    ("changes", "words"),
    [
        ({"image": "hubb"}, ('image: "hubb"', "did you mean hub?")),
        ({"target": "batch"}, ('images/hub/image.yaml: targets: "batch" is not a target of it',)),
        ({"repository": "127.0.0.1:5000/hub:latest"}, ("it.repository", "take tag and digest away")),
        ({"repository": "127.0.0.1:5000/Hub"}, ("it.repository", "is not an image reference")),
        ({"repository": ""}, ("it.repository", "is not an image reference")),
        ({"base": "x@sha256:0"}, ("it.base", "names its base")),
        ({"image": "scipy-ml-notebook"}, ("it.base: is missing", "pass the ref of the GpuImage of datahub-base")),
        ({"ca_bundle": "/no/such.pem"}, ('it.ca_bundle: "/no/such.pem" is not a file here',)),
        ({"compression": "zst"}, ("it.compression", "did you mean zstd?")),
        ({"substitutes": [{"reference": DEBIAN, "with": "a:1", "reason": "r"}]}, ("is not an image by digest",)),
    ],
)
def test_an_argument_that_cannot_be_is_one_message(changes: Mapping[str, Any], words: tuple[str, ...]) -> None:
    message = refusal({**HUB, **changes})
    for word in words:
        assert word in message


def test_all_wrong_arguments_are_named_at_once() -> None:
    message = refusal({**HUB, "repository": "a:1:2", "compression": "lzma", "ca_bundle": "/none"})
    assert [word in message for word in ("it.repository", "it.compression", "it.ca_bundle")] == [True] * 3


@pytest.mark.slow
def test_other_languages_get_it_with_the_same_arguments() -> None:
    schema = Analyzer("gpu-commons").analyze(components=[GpuImage])
    arguments = schema["component_definitions"]["GpuImage"].inputs
    assert sorted(arguments) == sorted(
        [
            "base",
            "buildOnPreview",
            "builder",
            "caBundle",
            "compression",
            "deployed",
            "image",
            "images",
            "landsOn",
            "readBack",
            "repository",
            "substitutes",
            "target",
        ]
    )
    assert [name for name, argument in arguments.items() if not argument.optional] == ["image", "repository"]
    assert sorted(schema["type_definitions"]["ImagePool"].properties) == [
        "diskMbPerS",
        "pool",
        "pullMbPerS",
        "ratesArePlanned",
    ]
    assert sorted(schema["type_definitions"]["ImageSubstitute"].properties) == ["reason", "reference", "with"]
