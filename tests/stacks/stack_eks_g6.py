"""eks-g6: a cluster on EKS with managed groups of instances, a hub, and a job that takes whichever GPU is free."""

from __future__ import annotations

from aws_lab import AwsLab, aws_lab

from lab.cluster import Cluster
from tests.stacks.contract import Contract, Window


def use(lab: AwsLab, window: Window) -> None:
    """The groups in AWS are what the stack asks for, their instances are nodes, and the job ran on one with a GPU."""
    del window
    eks = lab.aws("eks")
    (name,) = eks.list_clusters()["clusters"]
    found = {
        group["labels"]["gpu-commons.org/pool"]: group
        for each in eks.list_nodegroups(clusterName=name)["nodegroups"]
        if (group := eks.describe_nodegroup(clusterName=name, nodegroupName=each)["nodegroup"])
    }
    assert sorted(found) == ["l4", "l40s", "system"]
    assert found["l4"]["scalingConfig"] == {"minSize": 0, "maxSize": 8, "desiredSize": 1}
    assert found["l4"]["amiType"] == "AL2023_x86_64_NVIDIA"
    assert found["l4"]["taints"] == [{"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}]
    assert "taints" not in found["system"] or not found["system"]["taints"]

    with Cluster(lab.instance) as cluster:
        nodes = {node["metadata"]["name"]: node for node in cluster.nodes()}
        (pod,) = [each for each in cluster.pods() if each["metadata"]["namespace"] == "batch"]
        log = cluster.text(f"/api/v1/namespaces/batch/pods/{pod['metadata']['name']}/log")
    assert sorted(nodes) == ["l4-1", "system-1"]
    assert nodes["l4-1"]["metadata"]["labels"]["gpu-commons.org/driver"] == "580.159.03"
    assert "nvidia.com/gpu" in {taint["key"] for taint in nodes["l4-1"]["spec"]["taints"]}
    assert (pod["spec"]["nodeName"], pod["status"]["phase"]) == ("l4-1", "Succeeded")
    assert log.splitlines()[-1] == "gpu-smoke done"


CONTRACT = Contract(
    "eks-g6",
    printed=(
        r"\n +l4 .*g6\.2xlarge.*1 x NVIDIA L4.*580\.159\.03.*1\.34\.9-20260714.*200 GiB.*\$0\.9776/h.*64 vCPUs",
        r"96 vCPUs of Running On-Demand G and VT instances \(L-DB2E81BA\)",
        r"hub eks-hub answers through its Service",
        r"AWS is a stand-in: moto answered \d+ calls, the lab's own EKS \d+",
        r"l4-1 really runs pods",
        r"the hub runs in pool l4, not in system: there is one real node",
    ),
    use=use,
    other_driver="535",
    refusal=r"fleet\.pools\[1\]\.driver: leaves no machine image: no such image has driver R535",
    left=AwsLab.assert_empty,
    new_lab=aws_lab,
)
