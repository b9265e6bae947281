"""What the rules say of the stacks of the project, before anything of them is built."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from stack_inputs import hub_args, job_args, runtime_args

from imaging.spec.compat_cases import uses_of
from imaging.spec.load import IMAGES, load_family
from platforms.kubernetes import pre_puller, runtime
from platforms.kubernetes.job import job_spec, parse_job
from policies.evaluate import IMAGE_TOKEN, STACK_TOKEN, evaluate
from policies.finding import Level
from policies.model import Site
from policies.pod_workloads import HUB_TOKEN
from policies.stacks import DEFAULT_STACKS, site_of_stack
from settings.reading import load_stack

REPORTED = frozenset({Level.REFUSE, Level.WARN})
ML = "scipy-ml-notebook"
CUDA_10_2 = {
    'line: "10.1"': 'line: "10.2"',
    "cudatoolkit=10.1.243": "cudatoolkit=10.2.89",
    "torch==1.7.1+cu101": "torch==1.7.1",
    "torchvision==0.8.2+cu101": "torchvision==0.8.2",
}


def messages(name: str, site: Site) -> Iterator[str]:
    """Refusals and warnings of a stack: about itself, its images, its hubs, its jobs."""
    stack = load_stack(DEFAULT_STACKS / f"Pulumi.{name}.yaml")
    refs = {image.name: f"{stack.site.registry}/{image.name}@sha256:{'0' * 64}" for image in stack.images}
    yield from evaluate(STACK_TOKEN, name, {}, site, REPORTED)
    for image in stack.images:
        yield from evaluate(IMAGE_TOKEN, image.name, {"image": image.name}, site, REPORTED)
    for hub in stack.hubs:
        yield from evaluate(HUB_TOKEN, hub.name, {**hub_args(stack, hub, refs)}, site, REPORTED)
    for job in stack.jobs:
        args = {**job_args(stack, job, refs)}
        args.pop("namespace")
        made = job_spec(job.name, parse_job(job.name, args))
        yield from evaluate("kubernetes:batch/v1:Job", job.name, {"spec": made}, site, REPORTED)


def test_dsmlp_fall_has_one_finding_that_its_driver_is_past_its_end_and_dsmlp_next_has_none() -> None:
    (message,) = messages("dsmlp-fall", site_of_stack("dsmlp-fall"))
    assert message.startswith("P-DRIVER: stack: ")
    assert "driver branch 418 reached its end of life" in message
    assert list(messages("dsmlp-next", site_of_stack("dsmlp-next"))) == []


def named(name: str) -> dict[str, Any]:
    return {"metadata": {"namespace": runtime.NAMESPACE, "name": name}}


def test_nothing_of_the_projects_own_manifests_takes_a_gpu() -> None:
    """The pods of the hub's golden manifests, the runtime's daemons, a pre-puller, and jobs with and without GPUs."""
    site = site_of_stack("dsmlp-fall")
    plugin, persistence = site.runtime_daemons
    args = {"image": plugin, "image_name": "ml", "command": ["true"], "cpu": 1, "memory_gib": 1}
    pods = {
        "DaemonSet device-plugin": runtime.daemon_set_spec("device-plugin", runtime.device_plugin_pod(plugin)),
        "DaemonSet persistence-daemon": runtime.daemon_set_spec("persistence", runtime.persistence_pod(persistence)),
        "DaemonSet gpu-feature-discovery": runtime.daemon_set_spec("discovery", runtime.discovery_pod(plugin)),
        "DaemonSet pre-puller": pre_puller.daemon_set_spec("pre-puller", "gtx1080ti", {"ml": "registry/ml"}),
        "Job cpu": job_spec("cpu", parse_job("cpu", {**args, "gpus": 0})),
        "Job gpu": job_spec("gpu", parse_job("gpu", {**args, "gpus": 1})),
    }
    golden = yaml.safe_load_all((Path(__file__).parents[1] / "golden" / "hub" / "pods.yaml").read_text())
    pods |= {f"StatefulSet {each['metadata']['name']}": each["spec"] for each in golden if "template" in each["spec"]}
    assert len(pods) >= 7
    for label, spec in pods.items():
        kind, _, name = label.partition(" ")
        group = "batch" if kind == "Job" else "apps"
        found = evaluate(f"kubernetes:{group}/v1:{kind}", name, {**named(name), "spec": spec}, site, frozenset(Level))
        assert [message for message in found if message.startswith("P-GPU")] == [], label
    spec = runtime.daemon_set_spec("persistence", runtime.persistence_pod("registry/other"))
    found = evaluate("kubernetes:apps/v1:DaemonSet", "x", {**named("persistence-daemon"), "spec": spec}, site, REPORTED)
    assert len([message for message in found if message.startswith("P-GPU")]) == 3


def test_the_stack_on_flatcar_has_no_findings_and_only_its_driver_is_privileged() -> None:
    site = site_of_stack("flatcar-ec2")
    assert list(messages("flatcar-ec2", site)) == []
    args = runtime_args(load_stack(DEFAULT_STACKS / "Pulumi.flatcar-ec2.yaml"))
    assert args
    made = runtime.daemon_sets(args)
    for name, spec in made.items():
        found = evaluate("kubernetes:apps/v1:DaemonSet", name, {**named(name), "spec": spec}, site, REPORTED)
        assert [message for message in found if message.startswith("P-GPU")] == [], name
    privileged = [name for name, spec in made.items() if "privileged': True" in str(spec)]
    assert privileged == ["driver-t4"]


def test_a_driver_container_is_let_through_under_its_own_name_with_its_own_image_and_in_no_other_way() -> None:
    site = site_of_stack("flatcar-ec2")
    args = runtime_args(load_stack(DEFAULT_STACKS / "Pulumi.flatcar-ec2.yaml"))
    assert args
    image = args["driver_containers"][0]["image"]

    def refused(name: str, image: Any, **pod: Any) -> list[str]:
        spec = runtime.driver_set_spec("t4", {**runtime.driver_pod(image, "6.12.102-flatcar", "t4"), **pod})
        inputs = {**named(name), "spec": spec}
        found = evaluate("kubernetes:apps/v1:DaemonSet", name, inputs, site, frozenset({Level.REFUSE}))
        return [message for message in found if message.startswith("P-GPU")]

    assert refused("driver-t4", image) == []
    assert any("is privileged" in each for each in refused("driver-other", image))
    assert any("is privileged" in each for each in refused("driver-t4", image.replace("@sha256:0", "@sha256:1")))
    beside = {
        "name": "x",
        "image": "registry.example.edu/x@sha256:" + "1" * 64,
        "securityContext": {"privileged": True},
    }
    assert any("is privileged" in each for each in refused("driver-t4", image, containers=[beside]))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "is_refused"), [("dsmlp-fall", True), ("dsmlp-next", False)])
def test_an_image_for_cuda_10_2_is_refused_before_the_upgrade_and_not_after_it(
    name: str, is_refused: bool, tmp_path: Path
) -> None:
    images = shutil.copytree(IMAGES, tmp_path / "images")
    spec = images / ML / "image.yaml"
    text = spec.read_text()
    for old, new in CUDA_10_2.items():
        assert old in text
        text = text.replace(old, new)
    spec.write_text(text)
    site = replace(site_of_stack(name), uses_of=lambda image: uses_of(load_family(image, images=images)))
    found = [message for message in messages(name, site) if "440.33" in message]
    assert bool(found) is is_refused
    assert all(message.startswith("P-RUN: ") for message in found)
    assert is_refused or not list(messages(name, site))
