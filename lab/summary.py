"""The summary at the end of `make up`, and the output of `make status`."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from fleet.pools import Variant
from lab import engine, fleet, health, operations, processes, site, slurm_summary
from lab.cluster import Cluster
from lab.instance import Instance
from lab.machine import docker_host
from lab.servers import moto
from settings import sdks
from settings.host_pools import HostPool
from settings.instance_pools import InstancePool
from settings.instance_table import table_lines
from settings.reading import Stack, load_stack

# Secret and key of a password in a hub's namespace.
USERS = ("hub-credentials", "dummy-password")
LAST_LINES = 10  # of a log
ADMINS = ("hub-admin", "admin-password")
WITHOUT_A_CLUSTER = frozenset({"docker", "slurm"})  # kinds of site whose stacks have nothing on Kubernetes


@dataclass(frozen=True, slots=True)
class Deployed:
    """What `make up` has just brought up."""

    stack: str
    stack_file: Path
    outputs: Mapping[str, Any]
    verdict: operations.Verdict
    checked: health.Checked
    notices: Sequence[str] = ()


def text(instance: Instance, deployed: Deployed) -> str:
    """Hub, login, nodes and GPUs, and what is not real here."""
    settings = load_stack(deployed.stack_file, site=site.path(instance))
    lines = ["", f"{deployed.stack} is up."]
    for name, url in (deployed.outputs.get("hubs") or {}).items():
        logins = _logins(instance, settings, name, url)
        lines += ["", f"  hub {name}: {url}", *(f"    {line}" for line in logins)]
    if not (settings.hubs or settings.jobs or settings.containers):
        lines += images(deployed.outputs)
    lines += host_lines(settings, deployed.outputs)
    if settings.site.kind == "slurm":
        lines += slurm_summary.lines(instance, settings, deployed.outputs)
    if settings.fleet.pools and settings.site.kind not in WITHOUT_A_CLUSTER:
        found = fleet.summary(instance)
        lines += ["", f"  {len(found.nodes)} nodes, {found.gpus} GPUs:"]
        for pool in settings.fleet.pools:
            if not isinstance(pool, InstancePool):
                lines += [f"    {pool.name:<12} {_nodes(each)}" for each in pool.variants()]
        lines += [f"    {line}" for line in table_lines(settings)]
        real = ", ".join(node.name for node in found.nodes if not node.is_simulated) or "no node"
        pods = f"{found.simulated_pods} of {found.pods} pods are only simulated"
        lines += [
            "",
            f"  this is a lab: {real} really runs pods, the other nodes are simulated ({pods});",
            "  GPUs are device files with nothing behind them, and their driver is a stand-in;",
            "  network policies are stored, but not enforced.",
            *moved_hub(load_stack(deployed.stack_file), settings),
        ]
    if processes.is_running(instance, moto.NAME):
        lines.append(f"  {moto.summary(moto.answered(instance))}")
    lines += limits(instance)
    lines += stand_ins(settings.site.kind, engine.installed_plugins(instance))
    lines += ["", f"  checked: {deployed.checked}", f"  policies: {deployed.verdict}"]
    lines += notices(deployed.notices)
    look = {"docker": "docker ps", "slurm": "sinfo"}.get(settings.site.kind, "kubectl get nodes")
    env = instance.make("-s env", deployed.stack)
    lines += ["", f'  next: eval "$({env})"; pulumi preview; {look}; {instance.make("down")}']
    return "\n".join(lines)


def moved_hub(written: Stack, here: Stack) -> list[str]:
    """Where the hub runs instead of the stack file's pool; empty if it is the same."""
    if written.site.core_pool == here.site.core_pool:
        return []
    return [f"  the hub runs in pool {here.site.core_pool}, not in {written.site.core_pool}: there is one real node."]


def stand_ins(kind: str, origins: Mapping[str, str]) -> list[str]:
    """Stand-in provider plugins that stacks on this kind of site use; empty if there are none."""
    needed = sdks.EXTRAS.get(kind, ())
    names = [name for name, origin in origins.items() if origin == "stand-in" and name in needed]
    return [f"  provider plugins that are stand-ins of this project: {', '.join(names)}"] if names else []


def limits(instance: Instance) -> list[str]:
    """Limits that containers requested and this machine cannot give; empty if there are none."""
    lowered = docker_host.lowered_limits(instance)
    return [f"  limits of containers that this machine cannot give: {', '.join(lowered)}"] if lowered else []


def host_lines(stack: Stack, outputs: Mapping[str, Any]) -> list[str]:
    """Docker hosts: what each should be, what its engine reports, who has which GPU, and where ports answer."""
    hosts = [pool for pool in stack.fleet.pools if isinstance(pool, HostPool)]
    if not hosts:
        return []
    lines = []
    for pool in hosts:
        lines += ["", f"  host {pool.name}: {_nodes(pool.variants()[0]).strip()}"]
        facts = (outputs.get("hosts") or {}).get(pool.name) or {}
        wide = max(map(len, facts), default=0)
        lines += [f"    {name:<{wide}}  {value}" for name, value in sorted(facts.items())]
        cards = (outputs.get("cards") or {}).get(pool.name) or {}
        lines += [f"    GPU {', '.join(map(str, held))}: {name}" for name, held in sorted(cards.items()) if held]
    lines += [f"  {name}: http://{address}/" for name, address in sorted((outputs.get("ports") or {}).items())]
    for name, log in sorted((outputs.get("logs") or {}).items()):
        lines += ["", f"  {name} has ended; its log is the output logs.{name} of the stack:"]
        lines += [f"    {line}" for line in (log or "").splitlines()[-LAST_LINES:]]
    lines += [
        "",
        "  this is a lab: one Docker engine of this machine plays every host; NVIDIA's container runtime gives each",
        "  container its GPUs, which are device files with nothing behind them, and a driver that is a stand-in.",
    ]
    return lines


def _nodes(alike: Variant) -> str:
    """`  4 x 8 GeForce RTX 2080 Ti, driver 418.88: n18, n21, n22, n24`"""
    gpus = alike.gpus
    each = f"{gpus.count} {gpus.model.name}, driver {gpus.driver}" if gpus else "no GPU"
    return f"{len(alike.node_names):>3} x {each}: {', '.join(alike.node_names)}"


def notices(about_images: Sequence[str]) -> list[str]:
    """Where images differ from their specs, a line for each image."""
    if not about_images:
        return []
    return ["", "  images that are not what their specs ask for:", *(f"    {each}" for each in sorted(about_images))]


def images(outputs: Mapping[str, Any]) -> list[str]:
    """The images of a stack that has nothing else: reference by digest, and size."""
    references, sizes = outputs.get("images") or {}, outputs.get("image_sizes") or {}
    if not references:
        return []
    measured = {name: sizes.get(name, {}).get("compressed_mb") for name in references}
    shown = {name: f", {size:g} MB compressed" if size else "" for name, size in measured.items()}
    count = f"{len(references)} image{'' if len(references) == 1 else 's'}"
    return ["", f"  {count}:", *(f"    {reference}{shown[name]}" for name, reference in sorted(references.items()))]


def logins(instance: Instance, hub: str, url: str) -> list[str]:
    """How users and the administrator log in to a hub; without a password in the Secrets, with an account."""
    with Cluster(instance) as cluster:
        users, admins = (_password(cluster, hub, *where) for where in (USERS, ADMINS))
    if users is None:
        return ["log in with your account"]
    lines = [f"log in with any user name and the password {users}"]
    if admins is not None:
        lines.append(f"as administrator: user {site.ADMIN}, password {admins} (page: {url}hub/admin)")
    return lines


def _logins(instance: Instance, stack: Stack, hub: str, url: str) -> list[str]:
    """How people log in, wherever the hub runs."""
    if stack.site.kind == "docker":
        return host_logins(hub, url)
    if stack.site.kind == "slurm":
        return slurm_summary.logins(instance, stack, hub, url)
    return logins(instance, hub, url)


def host_logins(hub: str, url: str) -> list[str]:
    """The same for a hub on a Docker host, whose passwords are in a volume there."""
    printed = f"docker exec {hub}-hub cat /credentials"
    return [
        f"log in with any user name and the password that `{printed}/login-password` prints",
        f"as administrator: user {site.ADMIN}, `{printed}/admin-password` (page: {url}hub/admin)",
        "its certificate is self-signed: a browser asks for confirmation",
    ]


def _password(cluster: Cluster, namespace: str, secret: str, key: str) -> str | None:
    found = cluster.get(f"/api/v1/namespaces/{namespace}/secrets/{secret}")
    encoded = ((found or {}).get("data") or {}).get(key)
    return None if encoded is None else base64.b64decode(encoded).decode()


def status_rows(instance: Instance) -> list[dict[str, Any]]:
    """One row per server: name, whether it runs, PID, since when, log."""
    rows = []
    for record in processes.records(instance):
        running = record.process() is not None
        rows.append(
            {
                "name": record.name,
                "running": running,
                "pid": record.pid if running else None,
                "since": datetime.fromtimestamp(record.started, UTC).isoformat(timespec="seconds") if running else None,
                "log": str(processes.log_path(instance, record.name)),
            }
        )
    return rows


def status_json(instance: Instance) -> str:
    """Servers, ports and plugins as JSON."""
    return json.dumps(
        {
            "instance": instance.name,
            "home": str(instance.home),
            "servers": status_rows(instance),
            "ports": instance.ports,
            "plugins": engine.installed_plugins(instance),
        },
        indent=2,
    )


def is_up(rows: Sequence[Mapping[str, Any]]) -> bool:
    """Whether something was started, and all of it runs."""
    return bool(rows) and all(row["running"] for row in rows)


def status_text(instance: Instance) -> str:
    """The same as text, with what to do."""
    rows = status_rows(instance)
    lines = [f"instance {instance.name} in {instance.home}"]
    lines += [
        f"  {row['name']:<26} {'pid ' + str(row['pid']) if row['running'] else 'ended':<12} since {row['since'] or '-'}"
        for row in rows
    ]
    if not is_up(rows):
        what = "some have ended" if rows else "nothing runs"
        lines.append(f"  {what}; to start the lab, with its STACK if it is another one: {instance.make('up')}")
    lines += [f"  port {port:<6} {name}" for name, port in instance.ports.items()]
    lines += [f"  plugin {name}: {origin}" for name, origin in engine.installed_plugins(instance).items()]
    return "\n".join(lines)
