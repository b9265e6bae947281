"""A stack of the tests' own: another team's hub and job on the fleet that the user's stack manages.

Its project and its backend are in a temporary folder, so that nothing of it is in the checkout or in the user's state.
What it makes in the cluster lies in two namespaces: without them, nothing of it is left.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from running_lab import PROJECT, STACK_FILE, Ended, Object, RunningLab, wait_for

from lab.cluster import name_of

NAME = "e2e"
HUB = "e2e-hub"
JOBS = "e2e-batch"
PORT = 30081
LINKED = (
    *("compat", "components", "errors", "fleet", "images", "imaging", "platforms", "policies", "settings", "workloads"),
    *("__main__.py", "pyproject.toml", "uv.lock"),
)
STATE = Path("state", ".pulumi", "stacks", "gpu-commons", f"{NAME}.json")


def settings(hub_name: str = HUB, jobs: str = JOBS, port: int = PORT, file: Path = STACK_FILE) -> Object:
    """The user's stack with hub and job under other names, and without what it has for the whole fleet."""
    stack: Object = yaml.safe_load(file.read_text())
    config = stack["config"]
    config["gpu-commons:fleet"]["managed_by"] = "dsmlp-fall"
    del config["gpu-commons:runtime"]
    (hub,), (job,) = config["gpu-commons:hubs"], config["gpu-commons:jobs"]
    hub.update(name=hub_name, expose={"kind": "node_port", "port": port}, pre_pull=True)
    job.update(namespace=jobs)
    for course in config["gpu-commons:courses"]:
        course["hub"] = hub_name
    return stack


@dataclass(frozen=True)
class Project:
    """A project that is this one by link, with a stack file, a state and, if requested, image specs of its own."""

    lab: RunningLab
    project: Path
    stack: str = NAME

    def make(self, *, own_images: bool = False) -> None:
        """Everything but the stack file."""
        for name in LINKED:
            if name != "images" or not own_images:
                (self.project / name).symlink_to(PROJECT / name)
        if own_images:
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(PROJECT / "images", self.project / "images", ignore=ignored)
        (self.project / ".venv").symlink_to(sys.prefix)
        shutil.copy(PROJECT / "Pulumi.yaml", self.project)
        (self.project / "state").mkdir()
        (self.project / "stacks").mkdir()

    @property
    def file(self) -> Path:
        """The stack file."""
        return self.project / "stacks" / f"Pulumi.{self.stack}.yaml"

    def write(self, stack: Object) -> None:
        self.file.write_text(yaml.safe_dump(stack, sort_keys=False))

    def pulumi(self, *arguments: str, **variables: str) -> Ended:
        """A `pulumi` command about this stack."""
        ours = {
            "PULUMI_BACKEND_URL": f"file://{self.project}/state",
            "GPU_COMMONS_STACKS": str(self.project / "stacks"),
        }
        argv = (self.lab.pulumi, *arguments, "--stack", self.stack, "--non-interactive", "--color", "never")
        return self.lab.run(*argv, cwd=self.project, **{**ours, **variables})


class OwnStack(Project):
    """The stack, from nothing to nothing."""

    def up(self) -> set[str]:
        """Make project and stack, and deploy. Returns the resources that passed the pack's policy `workloads`."""
        self.make()
        self.write(settings())
        succeeded(self.pulumi("stack", "init", "--no-select"))
        events = self.project / "events.json"
        command = ("up", "--yes", "--skip-preview", "--suppress-progress", "--event-log", str(events))
        succeeded(self.pulumi(*command, PULUMI_DEBUG_COMMANDS="true"))
        looks = [json.loads(line).get("policyAnalyzeSummaryEvent") or {} for line in events.read_text().splitlines()]
        return {look["resourceUrn"].rpartition("::")[2] for look in looks if "workloads" in look.get("passed", ())}

    def preview(self, changed: Object) -> Ended:
        """A streamed preview with other settings."""
        folder = self.project / "changed"
        folder.mkdir(exist_ok=True)
        file = folder / f"Pulumi.{NAME}.yaml"
        file.write_text(yaml.safe_dump(changed, sort_keys=False))
        options = ("preview", "--json", "--config-file", str(file))
        return self.pulumi(*options, PULUMI_ENABLE_STREAMING_JSON_PREVIEW="true", GPU_COMMONS_STACKS=str(folder))

    def outputs(self) -> dict[str, Any]:
        return dict(json.loads(succeeded(self.pulumi("stack", "output", "--json"))))

    def resources(self) -> Counter[str]:
        """How many resources of each type the engine knows."""
        exported = json.loads(succeeded(self.pulumi("stack", "export")))
        return Counter(each["type"] for each in exported["deployment"].get("resources", ()))

    def remove(self) -> None:
        """Destroy it, and then what outlives that, as docs/run-a-stack.md says. Safe to repeat."""
        if (self.project / STATE).exists():
            succeeded(self.pulumi("destroy", "--yes", "--skip-preview", "--suppress-progress"))
            succeeded(self.pulumi("stack", "rm", "--yes"))
        remove_namespaces(self.lab)


@contextmanager
def all_gpus_in_use(lab: RunningLab, pool: str) -> Iterator[None]:
    """Pods of somebody else on every GPU of a pool: more of them than there are GPUs."""
    toleration = {"key": "nvidia.com/gpu", "operator": "Exists"}
    resources = {"requests": {"cpu": "10m", "memory": "16Mi"}, "limits": {"nvidia.com/gpu": "1"}}
    container = {"name": "hold", "image": "registry.invalid/hold", "resources": resources}
    pod = {
        "nodeSelector": {"gpu-commons.org/pool": pool},
        "tolerations": [toleration],
        "containers": [container],
        "terminationGracePeriodSeconds": 0,
    }
    labels = {"app": "hold"}
    holding = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "hold", "namespace": JOBS},
        "spec": {
            "replicas": 34,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }
    file = lab_file(holding)
    try:
        succeeded(lab.run("kubectl", "apply", "--filename", str(file)))
        yield
    finally:
        succeeded(lab.run("kubectl", "delete", "--filename", str(file), "--wait", "--ignore-not-found"))
        file.unlink()


def lab_file(manifest: Object) -> Path:
    """A file for kubectl."""
    with tempfile.NamedTemporaryFile("w", suffix=".json", delete=False) as file:
        json.dump(manifest, file)
    return Path(file.name)


def remove_namespaces(lab: RunningLab) -> None:
    """All that the stack makes in the cluster, also that of a run that was killed."""
    succeeded(lab.run("kubectl", "delete", "namespace", HUB, JOBS, "--ignore-not-found"))
    wait_for(lambda: not volumes(lab), what=f"the volumes of {HUB} are gone", within_s=120)


def volumes(lab: RunningLab) -> set[str]:
    """Names of the volumes that the hub's database and its users' homes are on."""
    found = lab.cluster.items("/api/v1/persistentvolumes")
    return {name_of(each) for each in found if (each["spec"].get("claimRef") or {}).get("namespace") == HUB}


def succeeded(ended: Ended) -> str:
    assert ended.code == 0, ended.shown
    return ended.out
