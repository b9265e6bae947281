"""The Job that probes a node: its whole manifest, and that it can do nothing but look."""

from __future__ import annotations

from typing import Any

import yaml

from platforms.kubernetes.probe_job import probe_job

IMAGE = "registry.example.edu/tools/python@sha256:" + "0" * 64


def job(**changes: Any) -> dict[str, Any]:
    inputs = {"node": "n18.example.edu", "image": IMAGE, "program": "print('facts')\n", "deadline_s": 960}
    return probe_job("gpu-commons-probe-0a1b2c3d", **{**inputs, "runtime_class": "nvidia", **changes})


def test_the_manifest_asks_for_one_gpu_of_that_node_and_for_no_right(golden: Any) -> None:
    golden("probe/job.yaml").equals(yaml.safe_dump(job(), sort_keys=False, allow_unicode=True))


def test_where_gpus_are_the_nodes_default_there_is_no_runtime_class() -> None:
    assert "runtimeClassName" not in job(runtime_class=None)["spec"]["template"]["spec"]


def test_nothing_of_the_node_and_no_account_is_handed_to_the_pod() -> None:
    pod = job()["spec"]["template"]["spec"]
    assert not {"volumes", "hostPID", "hostIPC", "hostNetwork", "serviceAccountName"} & pod.keys()
    assert pod["automountServiceAccountToken"] is False
