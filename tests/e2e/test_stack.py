"""The stack as the engine sees it right after `make up`: previews, policies, state. Nothing is changed."""

from __future__ import annotations

import base64
import json
import re
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import yaml
from running_lab import HUB_NAMESPACE, PROJECT, STACK, STACK_FILE, Ended, Object, RunningLab

from policies.report import for_people

SAME = {"same", "read", "refresh"}  # a node that is only read is no change of the stack


def changes(ended: Ended) -> dict[str, str]:
    """Operation of every resource that a streamed preview would change, by type and logical name."""
    return {
        f"{step['type'].rpartition(':')[2]} {name}": step["op"]
        for name, step in ended.steps().items()
        if step["op"] not in SAME
    }


def changed_inputs(ended: Ended, name: str) -> set[str]:
    """Top-level inputs of a resource that a streamed preview would change. (Components have no detailed diff.)"""
    step = ended.steps()[name]
    old, new = step["old"]["inputs"], step["new"]["inputs"]
    return {key for key in old | new if old.get(key) != new.get(key)}


def changed_stack(folder: Path, change: str, **values: object) -> Path:
    """A copy of the stack file with one entry changed: `pools gtx1070ti`, `jobs gpu-smoke`."""
    stack: Object = yaml.safe_load(STACK_FILE.read_text())
    section, name = change.split()
    entries = (
        stack["config"]["gpu-commons:fleet"]["pools"]
        if section == "pools"
        else stack["config"][f"gpu-commons:{section}"]
    )
    (entry,) = [each for each in entries if each["name"] == name]
    entry.update(values)
    path = folder / STACK_FILE.name
    path.write_text(yaml.safe_dump(stack, sort_keys=False))
    return path


def preview_of(lab: RunningLab, stack_file: Path) -> Ended:
    """A streamed preview of the stack with that file in place of its own, for engine and pack alike."""
    return lab.preview("--config-file", str(stack_file), GPU_COMMONS_STACKS=str(stack_file.parent))


def test_a_preview_right_after_up_loads_the_pack_and_shows_no_change(lab: RunningLab) -> None:
    preview = lab.preview("--expect-no-changes")
    assert changes(preview) == {}
    assert preview.code == 0, preview.messages() + preview.err
    loaded = [event for event in preview.events() if "policyLoadEvent" in event]
    assert loaded, "no policy pack was loaded: nothing was proved"
    (summary,) = [event["summaryEvent"] for event in preview.events() if "summaryEvent" in event]
    assert list(summary["PolicyPacks"]) == [f"gpu-commons|local|{PROJECT}/policies"]
    proved = {
        event["policyAnalyzeSummaryEvent"]["resourceUrn"].rpartition("::")[2]
        for event in preview.events()
        if "workloads" in (event.get("policyAnalyzeSummaryEvent") or {}).get("passed", ())
    }
    assert {"datahub", "datahub-hub", "datahub-proxy", "gpu-smoke-job", "nvidia-device-plugin"} <= proved
    refused = [event["policyEvent"] for event in preview.events() if "policyEvent" in event]
    assert [each for each in refused if each["enforcementLevel"] == "mandatory"] == []


def test_another_driver_for_one_pool_shows_exactly_that_change(lab: RunningLab, tmp_path: Path) -> None:
    preview = preview_of(lab, changed_stack(tmp_path, "pools gtx1070ti", driver="580.95.05"))
    assert preview.code == 0, preview.errors()
    assert changes(preview) == {"GpuNodePool gtx1070ti": "update", "NodePatch gtx1070ti-n10": "update"}
    assert changed_inputs(preview, "gtx1070ti") == {"driver_version"}
    assert changed_inputs(preview, "gtx1070ti-n10") == {"metadata"}
    # Who installs drivers has not done so yet, and the preview says so.
    assert "driver 580.95.05 is declared, but n10 reports 418.88" in preview.messages()


def test_a_job_with_more_gpus_than_its_pool_has_is_refused_with_the_pools_that_could(
    lab: RunningLab, tmp_path: Path
) -> None:
    stack_file = changed_stack(tmp_path, "jobs gpu-smoke", pool="gtx1070ti", gpus=8)
    preview = preview_of(lab, stack_file)
    assert preview.code != 0
    assert preview.errors() == [
        """\
stack configuration: 1 problem
  jobs[0].gpus: 8 is more than any node of pool gtx1070ti has (7)
    one pod runs on one node: request at most 7, or choose pool gtx1080ti or rtx2080ti
"""
    ]


def test_a_stack_without_a_pack_stops_with_one_clear_error(lab: RunningLab) -> None:
    preview = lab.preview(without="PULUMI_OPTION_POLICY_PACK")
    assert preview.code != 0
    assert preview.errors() == [
        """\
settings: 1 problem
  PULUMI_OPTION_POLICY_PACK: is not set: nothing would prove that this stack can run
    eval "$(make -s env)" sets it; to go without, give a reason: GPU_COMMONS_WITHOUT_POLICIES="…"
"""
    ]


def test_a_reason_lets_a_stack_go_on_without_a_pack_and_is_printed(lab: RunningLab) -> None:
    preview = lab.preview(without="PULUMI_OPTION_POLICY_PACK", GPU_COMMONS_WITHOUT_POLICIES="measured by the tests")
    assert preview.code == 0, preview.errors()
    assert "no policy pack proves this stack: measured by the tests" in preview.messages()
    assert [event for event in preview.events() if "policyLoadEvent" in event] == []


INTRUDER = """
import pulumi_kubernetes as kubernetes

labels = {"app": "intruder"}
container = {
    "name": "intruder",
    "image": "busybox:latest",
    "env": [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}],
}
kubernetes.apps.v1.Deployment(
    "intruder",
    metadata={"namespace": "default", "name": "intruder"},
    spec={
        "selector": {"match_labels": labels},
        "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
    },
)
"""


@pytest.fixture
def intruder(tmp_path: Path) -> Path:
    """Somebody's own program for a stack of the same name, that takes every GPU of the node it lands on."""
    (tmp_path / "state").mkdir()
    (tmp_path / "Pulumi.yaml").write_text(
        yaml.safe_dump(
            {"name": "intruder", "runtime": {"name": "python", "options": {"virtualenv": sys.prefix}}}, sort_keys=False
        )
    )
    (tmp_path / "__main__.py").write_text(INTRUDER)
    return tmp_path


def test_the_engine_refuses_a_workload_that_takes_gpus_and_is_not_pinned(lab: RunningLab, intruder: Path) -> None:
    backend = {"PULUMI_BACKEND_URL": f"file://{intruder}/state"}
    made = lab.run(lab.pulumi, "stack", "init", STACK, "--non-interactive", cwd=intruder, **backend)
    assert made.code == 0, made.shown
    preview = lab.preview(cwd=intruder, **backend)
    assert preview.code != 0
    reported = [event["policyEvent"] for event in preview.events() if "policyEvent" in event]
    refused = [each for each in reported if each["enforcementLevel"] == "mandatory"]
    assert {each["policyName"] for each in refused} == {"workloads"}
    # A message begins with what its policy is for; its last line for people, up to places and advice, is the finding.
    shown = [for_people(each["message"]).splitlines()[-1] for each in refused]
    found = sorted(re.split(r" \(|: what |; the |\. ", each)[0] for each in shown)
    intruder = "Deployment default/intruder"
    assert found == [
        f"P-GPU: {intruder}: containers[0].env.NVIDIA_VISIBLE_DEVICES selects GPUs and bypasses the scheduler",
        f"P-HOST: {intruder}: no pool can host it",
        f"P-PIN: {intruder}: containers[0].image busybox:latest has no digest",
        f"P-PIN: {intruder}: containers[0].image busybox:latest is not from an allowed registry",
    ]


def test_the_state_holds_no_credential_of_the_hub(lab: RunningLab) -> None:
    credentials = {**lab.credentials(HUB_NAMESPACE), **lab.credentials(HUB_NAMESPACE, "hub-admin")}
    assert set(credentials) == {"proxy-token", "cookie-secret", "dummy-password", "admin-password"}
    export = lab.run(lab.pulumi, "stack", "export", "--stack", STACK, "--show-secrets")
    assert export.code == 0, export.err
    assert "hub-credentials" in export.out  # the search below looks at the right thing
    files = Path(urlsplit(lab.environ["PULUMI_BACKEND_URL"]).path).rglob("*")
    state = {str(path): path.read_bytes() for path in files if path.is_file()}
    assert any(path.endswith(f"{STACK}.json") for path in state)
    state["pulumi stack export"] = export.out.encode()
    found = {
        (key, place)
        for key, value in credentials.items()
        for place, content in state.items()
        for written in (value.encode(), base64.b64encode(value.encode()))
        if written in content
    }
    assert found == set()


def test_the_job_ran_on_the_real_node(lab: RunningLab) -> None:
    job = lab.cluster.get("/apis/batch/v1/namespaces/batch/jobs/gpu-smoke")
    assert job is not None
    assert job["status"].get("succeeded") == 1, job["status"]
    (pod,) = [
        pod for pod in lab.pods("batch") if pod["metadata"]["labels"]["batch.kubernetes.io/job-name"] == "gpu-smoke"
    ]
    assert pod["spec"]["nodeName"] == "n01"
    assert pod["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] == "1"


def test_the_server_knows_every_field_of_what_the_stack_makes(lab: RunningLab, tmp_path: Path) -> None:
    """The plugin creates an object without its misspelt fields and says nothing; an apply names them."""
    exported = json.loads(lab.run(lab.pulumi, "stack", "export", "--stack", STACK).out)
    objects = [
        {key: value for key, value in each["inputs"].items() if not key.startswith("__")}
        for each in exported["deployment"]["resources"]
        if each["type"].startswith("kubernetes:") and not each["type"].endswith("Patch") and not each.get("external")
    ]
    assert len(objects) > 20
    file = tmp_path / "objects.json"
    apply = ["kubectl", "apply", "--server-side", "--force-conflicts", "--dry-run=server", "--filename", str(file)]
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    assert lab.run(*apply).code == 0, lab.run(*apply).err
    misspelt = {**objects[-1], "metadata": {**objects[-1]["metadata"], "lables": {"a": "b"}}}
    file.write_text(json.dumps(misspelt))
    assert "lables" in lab.run(*apply).err


def test_the_cluster_has_what_the_stack_needs(lab: RunningLab) -> None:
    asked = lab.run(str(PROJECT / ".venv" / "bin" / "gpu-commons"), "stack", "check", STACK, "--cluster")
    assert asked.code == 0, asked.shown
    assert "✓ the cluster has what this stack needs" in asked.out
