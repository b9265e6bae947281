"""What the rules about the inside of an image refuse, warn of, and cannot prove: driver, CUDA, base."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from typing import Any

import pytest
from image_facts import REGISTRY, contents, reference
from rows import each_row

from fleet.unknown import UNKNOWN
from imaging.inspection.facts import Copies, DriverPart, ImageContents, Layer, Package, Settings
from policies.evaluate import evaluate
from policies.finding import Level
from policies.model import Limits, Planned, Site

ML = reference("ml")
FOREIGN = reference("tool", registry="registry.example.edu/other")
TODAY = dt.date(2026, 11, 21)


def site(found: ImageContents | None, **more: Any) -> Site:
    facts = {} if found is None else {ML: found, FOREIGN: found}
    known = {"nodes": (), "allowed_registries": ("registry.example.edu",), "own_registry": REGISTRY, "today": TODAY}
    return Site(**{**known, "contents_of": facts.get, "own_images": frozenset({"ml"}), **more})


def messages(
    where: Site, rule: str, level: Level, *, image: Any = ML, kind: str = "Deployment", gpus: int = 0
) -> list[str]:
    template = {
        "metadata": {"annotations": {"gpu-commons.org/image": "ml"}},
        "spec": {"containers": [{"name": "c", "image": image, "resources": {"limits": {"nvidia.com/gpu": gpus}}}]},
    }
    inputs = {"metadata": {"name": "web"}, "spec": {"template": template}}
    found = evaluate(f"kubernetes:apps/v1:{kind}", "web", inputs, where, frozenset({level}))
    return [message for message in found if message.startswith(f"{rule}:")]


def with_driver(*parts: DriverPart) -> ImageContents:
    made = replace(contents(1, 2, driver=parts))
    step = Layer(made.layers[0].digest, "", "gzip", 10, made_by="RUN apt-get install nvidia-driver-535")
    return replace(made, layers=(made.layers[0], step))


LIBCUDA = DriverPart("usr/lib/x86_64-linux-gnu/libcuda.so.535.104.05", 30_000_000, "driver 535.104.05", 1)
MODULE = DriverPart("lib/modules/6.1/nvidia.ko", 1_000_000, "kernel module", 0)
SMI = DriverPart("usr/bin/nvidia-smi", 1_000_000, "driver file", 1)
EMPTY = DriverPart("usr/lib/libnvidia-ml.so.1", 0, "an empty file that a container with a GPU has left", 0)


# --- P-NODRIVER


def test_a_driver_library_is_refused_with_its_file_and_the_layer_that_brings_it() -> None:
    (message,) = messages(site(with_driver(LIBCUDA)), "P-NODRIVER", Level.REFUSE)
    assert message.startswith(
        "P-NODRIVER: Deployment web: ml contains 30.0 MB of driver files: /usr/lib/x86_64-linux-gnu/"
        "libcuda.so.535.104.05 "
        "(driver 535.104.05), from layer 2 (RUN apt-get install nvidia-driver-535) of 2; they hide the node's own"
    )


def test_a_kernel_module_is_refused() -> None:
    (message,) = messages(site(with_driver(MODULE, SMI)), "P-NODRIVER", Level.REFUSE)
    assert "/lib/modules/6.1/nvidia.ko (kernel module), from layer 1 of 2" in message


@pytest.mark.parametrize(("part", "says"), [(SMI, "driver programs"), (EMPTY, "empty files")])
def test_programs_and_empty_files_are_only_warned_of(part: DriverPart, says: str) -> None:
    assert not messages(site(with_driver(part)), "P-NODRIVER", Level.REFUSE)
    (message,) = messages(site(with_driver(part)), "P-NODRIVER", Level.WARN)
    assert says in message


def test_an_image_without_a_driver_passes_every_level() -> None:
    for level in Level:
        assert not messages(site(contents(1, 2, system="Debian GNU/Linux 12 (bookworm)")), "P-NODRIVER", level)


def test_the_runtimes_own_daemons_may_have_a_driver() -> None:
    where = site(with_driver(LIBCUDA), runtime_daemons={FOREIGN: frozenset({"default/web"})})
    assert not messages(where, "P-NODRIVER", Level.REFUSE, image=FOREIGN, kind="DaemonSet")
    assert messages(where, "P-NODRIVER", Level.REFUSE, image=FOREIGN)


def test_a_layer_that_was_not_read_proves_nothing() -> None:
    where = site(contents(1, 2, left_out=("layer 1 was not read, it is encrypted",)))
    (message,) = messages(where, "P-NODRIVER", Level.UNPROVED)
    assert "layer 1 was not read, it is encrypted" in message


# --- P-ONECUDA


def test_a_cuda_of_the_base_under_that_of_the_wheels_warns_with_the_bytes() -> None:
    copies = (Copies("cublas", ("opt/venv/x/libcublas.so.12", "usr/local/cuda/lib64/libcublas.so.12"), 600_000_000),)
    (message,) = messages(site(contents(1, 2, copies=copies)), "P-ONECUDA", Level.WARN)
    assert "in ml, CUDA is in the image twice: libcublas in /opt/venv/x, /usr/local/cuda/lib64" in message
    assert "0.60 GB wasted" in message


def test_two_cuda_majors_in_one_environment_warn_and_in_two_are_fine() -> None:
    def package(name: str, cuda: str, environment: str) -> Package:
        path = f"opt/{environment}/lib/python3.11/site-packages/{name}.dist-info/METADATA"
        return Package(name, "1", "wheel", path, 0, cuda)

    both = (package("cupy-cuda11x", "11", "one"), package("torch", "12.4", "one"))
    (message,) = messages(site(contents(1, 2, packages=both)), "P-ONECUDA", Level.WARN)
    assert "the environment /opt/one has CUDA 11 (cupy-cuda11x 1) and CUDA 12 (torch 1)" in message
    apart = (package("cupy-cuda11x", "11", "one"), package("torch", "12.4", "two"))
    assert not messages(site(contents(1, 2, packages=apart)), "P-ONECUDA", Level.WARN)


# --- P-BASE


def test_a_release_past_its_support_warns_with_day_and_source_and_refuses_where_the_site_says_so() -> None:
    old = contents(1, 2, system="Ubuntu 18.04.6 LTS")
    (message,) = messages(site(old), "P-BASE", Level.WARN)
    assert "standard support of Ubuntu 18.04, the base of ml, ended on 2023-05-31 (https://" in message
    assert not messages(site(old), "P-BASE", Level.REFUSE)
    strict = site(old, limits=Limits(refuse_unsupported_base=True))
    assert len(messages(strict, "P-BASE", Level.REFUSE)) == 1
    assert not messages(strict, "P-BASE", Level.WARN)


@each_row(
    ("today", "warned"), [("2028-03-31", False), ("2028-04-01", True), ("2028-06-30", True), ("2028-07-01", True)]
)
def test_the_last_ninety_days_are_warned_of(today: str, warned: bool) -> None:
    where = site(contents(1, 2, system="Debian GNU/Linux 12 (bookworm)"), today=dt.date.fromisoformat(today))
    assert bool(messages(where, "P-BASE", Level.WARN)) == warned


def test_the_last_day_is_a_day_with_support() -> None:
    where = site(contents(1, 2, system="Debian GNU/Linux 12 (bookworm)"), today=dt.date(2028, 6, 30))
    (message,) = messages(where, "P-BASE", Level.WARN)
    assert "ends on 2028-06-30, in 0 days" in message


def test_what_ends_soon_is_not_refused() -> None:
    where = site(
        contents(1, 2, system="Debian GNU/Linux 12 (bookworm)"),
        today=dt.date(2028, 6, 20),
        limits=Limits(refuse_unsupported_base=True),
    )
    (message,) = messages(where, "P-BASE", Level.WARN)
    assert "ends on 2028-06-30, in 10 days" in message
    assert not messages(where, "P-BASE", Level.REFUSE)


def test_a_label_names_the_release_where_the_layers_were_not_read() -> None:
    labels = (("org.opencontainers.image.ref.name", "ubuntu"), ("org.opencontainers.image.version", "18.04"))
    where = site(replace(contents(1), settings=Settings(labels=labels)))
    assert len(messages(where, "P-BASE", Level.WARN)) == 1


def test_a_release_that_no_row_has_is_unproved_for_our_images() -> None:
    (message,) = messages(site(contents(1, 2, system="Plan 9")), "P-BASE", Level.UNPROVED)
    assert "Plan 9 is not in the table of releases" in message


def test_before_the_build_the_base_of_the_spec_counts() -> None:
    where = site(None, planned_of=lambda _: Planned(None, "python:3.9-slim-buster@sha256:" + "0" * 64))
    (message,) = messages(where, "P-BASE", Level.WARN, image=UNKNOWN)
    assert "Debian 10, the base of ml, ended on 2024-06-30" in message


# --- all of them


@each_row("rule", ["P-NODRIVER", "P-ONECUDA", "P-BASE"])
@each_row("found", [None, contents(1)])
def test_facts_that_were_not_read_are_unproved_for_our_images_and_no_matter_for_others(
    rule: str, found: ImageContents | None
) -> None:
    (message,) = messages(site(found), rule, Level.UNPROVED)
    assert " not known" in message
    assert message.endswith(": its layers were not read.")
    for level in Level:
        assert not messages(site(found), rule, level, image=FOREIGN)


@pytest.mark.parametrize("rule", ["P-NODRIVER", "P-ONECUDA", "P-BASE", "P-RUN"])
@pytest.mark.parametrize("found", [None, contents(1)])
def test_an_update_refuses_an_image_of_ours_whose_layers_nobody_read(
    rule: str, found: ImageContents | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not messages(site(found), rule, Level.REFUSE, gpus=1)
    monkeypatch.setattr("policies.evaluate.is_preview", lambda: False)
    (message,) = messages(site(found), rule, Level.REFUSE, gpus=1)
    assert "its layers were not read" in message
    assert not messages(site(found), rule, Level.REFUSE, image=FOREIGN, gpus=1)


@pytest.mark.parametrize("rule", ["P-NODRIVER", "P-RUN"])
def test_an_update_refuses_an_image_of_ours_that_was_not_read_whole(rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    where = site(contents(1, 2, left_out=("layer 1 was not read, it is encrypted",)))
    monkeypatch.setattr("policies.evaluate.is_preview", lambda: False)
    (message,) = messages(where, rule, Level.REFUSE, gpus=1)
    assert "layer 1 was not read, it is encrypted" in message
    assert not messages(where, rule, Level.REFUSE, image=FOREIGN, gpus=1)


def test_an_update_does_not_refuse_an_image_of_ours_that_was_read_for_a_release_that_no_row_has(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("policies.evaluate.is_preview", lambda: False)
    assert not messages(site(contents(1, 2, system="Plan 9")), "P-BASE", Level.REFUSE)


@pytest.mark.parametrize("rule", ["P-NODRIVER", "P-ONECUDA", "P-BASE"])
def test_an_image_that_this_update_builds_is_reported_once_by_another_rule(rule: str) -> None:
    for level in Level:
        assert not messages(site(None), rule, level, image=UNKNOWN)
    (message,) = messages(site(None), "P-PIN", Level.UNPROVED, image=UNKNOWN)
    assert "its contents are read afterwards" in message
