"""The checks of `make up` before it reports success: every server, and every hub through its Service or port.

A hub is queried as a browser reaches it: kube-proxy's node port leads to the hub's proxy, and from there the Service
`hub` leads to the hub; on a Docker host a port leads to the proxy. An answer from the hub alone would prove neither.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import httpx

from lab import processes
from lab.cluster import SIMULATED_NODE, Cluster, name_of
from lab.instance import LabError

if TYPE_CHECKING:
    from lab.cluster import Object
    from lab.instance import Instance

WITHIN_S = 180  # a machine that has just booted restarts hub and proxy
PAUSE_S = 0.5
PUBLIC_SERVICE = "proxy-public"
HUB_POD = "hub-0"


@dataclass(frozen=True, slots=True)
class Checked:
    """What was found healthy."""

    servers: int
    answering: Sequence[str] = ()  # hubs
    simulated: Sequence[str] = ()  # hubs with only simulated pods
    on_hosts: Sequence[str] = ()  # hubs that answer on Docker hosts and login nodes

    def __str__(self) -> str:
        parts = ["1 server runs" if self.servers == 1 else f"{self.servers} servers run"]
        parts += [f"hub {name} answers through its Service" for name in self.answering]
        parts += [f"hub {name} answers on its port" for name in self.on_hosts]
        parts += [f"hub {name} is only simulated, and nothing answers there" for name in self.simulated]
        return ", ".join(parts)


def check(
    instance: Instance,
    hubs: Iterable[str] = (),
    *,
    on_hosts: Mapping[str, str] | None = None,
    within_s: float = WITHIN_S,
) -> Checked:
    """Check that every started server still runs, and every hub answers in time.

    `hubs` are those of the cluster, each in the namespace of its name; `on_hosts` those of Docker hosts and login
    nodes, with addresses. Raises LabError naming failed ones, with logs.
    """
    answering: list[str] = []
    simulated: list[str] = []
    _check_servers(instance)  # first: without kube-proxy, waiting for a hub is in vain
    for hub in hubs:
        with Cluster(instance) as cluster:
            if _is_simulated(cluster, hub):
                simulated.append(hub)
            else:
                _wait_for_hub(instance, cluster, hub, within_s)
                answering.append(hub)
    for hub, url in (on_hosts or {}).items():
        _wait(instance, lambda url=url: _refusal(f"{url}hub/api/"), within_s, _on_host(hub))  # type: ignore[misc]
    return Checked(_check_servers(instance), answering, simulated, tuple(on_hosts or ()))


def _check_servers(instance: Instance) -> int:
    records = processes.records(instance)
    ended = [record.name for record in records if record.process() is None]
    if ended:
        logs = [processes.log_path(instance, name) for name in ended]
        last = "\n".join(f"the last lines of {log}:\n{processes.tail(log)}" for log in logs)
        raise LabError(f"{', '.join(ended)} ended after the start; `{instance.make('up')}` starts it again\n{last}")
    return len(records)


def _is_simulated(cluster: Cluster, namespace: str) -> bool:
    pod = cluster.get(f"/api/v1/namespaces/{namespace}/pods/{HUB_POD}")
    node = (pod or {}).get("spec", {}).get("nodeName")
    return node is not None and node in {name_of(each) for each in cluster.nodes(labels=SIMULATED_NODE)}


def _wait_for_hub(instance: Instance, cluster: Cluster, hub: str, within_s: float) -> None:
    pods = instance.logs / "pods" / f"{hub}_{HUB_POD}_*"
    failure = f"hub {hub} does not answer through its Service {hub}/{PUBLIC_SERVICE}"
    logs = f"the hub's log: kubectl logs --namespace {hub} {HUB_POD} (files: {pods})"
    logs += f"\nkube-proxy's log: {processes.log_path(instance, 'kube-proxy')}"
    _wait(instance, lambda: _reason(cluster, hub), within_s, (failure, logs))


def _on_host(hub: str) -> tuple[str, str]:
    logs = (
        f"docker logs {hub}-hub, docker logs {hub}-proxy; on a login node in the folder that its resource has as state"
    )
    return f"hub {hub} does not answer on its port", f"its logs: {logs}"


def _wait(instance: Instance, reason: Callable[[], str], within_s: float, texts: tuple[str, str]) -> None:
    """Wait until there is no reason. Raises LabError with `texts`: what fails, and where to read."""
    deadline = time.monotonic() + within_s
    while why := reason():
        if time.monotonic() > deadline:
            raise LabError(f"{texts[0]} after {within_s:.0f} s: {why}\n{texts[1]}")
        _check_servers(instance)
        time.sleep(PAUSE_S)


def _reason(cluster: Cluster, namespace: str) -> str:
    """Why the hub does not answer; empty if it does."""
    service = cluster.get(f"/api/v1/namespaces/{namespace}/services/{PUBLIC_SERVICE}")
    if service is None:
        return "there is no such Service"
    return _refusal(f"{address(service)}/hub/api/")


def _refusal(url: str) -> str:
    try:
        # A lab's hub signs its own certificate; this only checks for an answer, and sends no secret.
        answer = httpx.get(url, timeout=5, trust_env=False, verify=False)  # noqa: S501
    except httpx.HTTPError as error:
        return f"{url}: {error or type(error).__name__}"
    if answer.status_code != httpx.codes.OK or "version" not in answer.text:
        return f"{url} answers {answer.status_code} {answer.reason_phrase}"
    return ""


def address(service: Object) -> str:
    """Where kube-proxy listens for it: the node port if it has one, else its cluster address; https if it has that."""
    ports = {port.get("name", "http"): port for port in service["spec"]["ports"]}
    scheme = "https" if "https" in ports else "http"
    port = ports[scheme]
    if "nodePort" in port:
        return f"{scheme}://127.0.0.1:{port['nodePort']}"
    return f"{scheme}://{service['spec']['clusterIP']}:{port['port']}"
