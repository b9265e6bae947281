"""The real node's container runtime: Debian's containerd with its own folders, socket and registry.

Its second runtime handler, `nvidia`, is NVIDIA's container runtime: a RuntimeClass selects it, and it adds devices and
driver of the node's GPUs, which are stand-ins (`lab.machine.stand_in_gpus`).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from lab import files
from lab.instance import LabError
from lab.machine import network
from lab.processes import Server
from lab.servers import cri, nvidia_runtime

if TYPE_CHECKING:
    from lab.instance import Instance
    from lab.servers import Tools

NVIDIA_HANDLER = "nvidia"
MAX_SOCKET_PATH = 107  # bytes, sun_path of Linux without its closing zero
# Useless here, and some would create folders outside ours.
DISABLED = (
    "io.containerd.internal.v1.opt",
    *(f"io.containerd.snapshotter.v1.{name}" for name in ("aufs", "btrfs", "devmapper", "zfs")),
)


def server(instance: Instance, tools: Tools) -> Server:
    """The runtime of `instance`, as `configure` set it up.

    Raises LabError if the instance's folder is too long for a socket.
    """
    path = socket_path(instance)
    if len(str(path).encode()) > MAX_SOCKET_PATH:
        raise LabError(
            f"{path} is too long for a socket ({MAX_SOCKET_PATH} bytes at most): "
            "set XDG_STATE_HOME to a shorter folder, or give the instance a shorter name"
        )
    path.parent.mkdir(exist_ok=True)
    config = instance.config / "containerd" / "config.toml"
    return Server(
        name="containerd",
        argv=[str(tools.path("containerd")), "--config", str(config)],
        ready=lambda: cri.answers(path),
        ready_within_s=40,
        env={"NO_PROXY": f"127.0.0.1,localhost,{instance.networks.node_address}"},
        files=[config],
        stop_within_s=20,
    )


def configure(instance: Instance, tools: Tools, pause_image: str, specs: Path) -> None:
    """Write all configuration of the runtime; `specs` is the folder of CDI specs for the GPUs.

    `pause_image` must be in the lab's registry before the first pod.
    """
    folder = instance.config / "containerd"
    # Network and registry are read again for each pod and each pull.
    files.write(folder / "cni" / "10-lab.conflist", json.dumps(cni_configuration(instance), indent=2) + "\n")
    files.write(folder / "registries" / instance.registry_address / "hosts.toml", registry_hosts(instance))
    nvidia_runtime.write(tools, folder / "nvidia-runtime", specs=specs, below=tools.path("runc"))
    files.write(folder / "config.toml", configuration(instance, tools, pause_image))


def socket_path(instance: Instance) -> Path:
    return instance.run / "containerd" / "containerd.sock"


def state(instance: Instance) -> Path:
    """Bundles, named pipes and network namespaces of what runs."""
    return instance.run / "containerd" / "state"


def root(instance: Instance) -> Path:
    """Images and container metadata."""
    return instance.data / "containerd"


def configuration(instance: Instance, tools: Tools, pause_image: str) -> str:
    cri = "io.containerd.grpc.v1.cri"
    folder = instance.config / "containerd"
    return f"""\
version = 2
root = "{root(instance)}"
state = "{state(instance)}"
oom_score = 0
disabled_plugins = {json.dumps(DISABLED)}

[grpc]
  address = "{socket_path(instance)}"

[plugins."{cri}"]
  sandbox_image = "{pause_image}"
  # Without CAP_SYS_RESOURCE runc could not lower the score and would end with "can't get final child's PID".
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
  stream_server_address = "127.0.0.1"

[plugins."{cri}".cni]
  bin_dir = "{tools.path("/usr/lib/cni/bridge").parent}"
  conf_dir = "{folder / "cni"}"

[plugins."{cri}".registry]
  config_path = "{folder / "registries"}"

[plugins."{cri}".containerd]
  default_runtime_name = "runc"

[plugins."{cri}".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"

[plugins."{cri}".containerd.runtimes.runc.options]
  BinaryName = "{tools.path("runc")}"
  Root = "{instance.run / "containerd" / "runc"}"

[plugins."{cri}".containerd.runtimes.{NVIDIA_HANDLER}]
  runtime_type = "io.containerd.runc.v2"

[plugins."{cri}".containerd.runtimes.{NVIDIA_HANDLER}.options]
  BinaryName = "{folder / "nvidia-runtime"}"
  Root = "{instance.run / "containerd" / "runc"}"
"""


def registry_hosts(instance: Instance) -> str:
    url = f"http://{instance.registry_address}"
    return f'server = "{url}"\n\n[host."{url}"]\n  capabilities = ["pull", "resolve"]\n'


def network_name(instance: Instance) -> str:
    """The name of the pods' network; the CNI library's files outside our folders begin with it."""
    return f"gpu-commons-{instance.slot}"


def cni_configuration(instance: Instance) -> dict[str, object]:
    """One bridge of the lab; pod addresses are stored with the running state, not with the machine."""
    networks = instance.networks
    subnet = {"subnet": str(network.pod_subnet(networks))}
    return {
        "cniVersion": "0.4.0",
        "name": network_name(instance),
        "plugins": [
            {
                "type": "bridge",
                "bridge": networks.bridge,
                "isGateway": True,
                "ipMasq": True,
                "hairpinMode": True,  # a pod that reaches itself through its Service
                "ipam": {
                    "type": "host-local",
                    "ranges": [[subnet]],
                    "routes": [{"dst": "0.0.0.0/0"}],
                    "dataDir": str(instance.run / "cni"),
                },
            },
            {"type": "portmap", "capabilities": {"portMappings": True}},
            # Pods may forward even if Docker has set the machine's policy to drop.
            {"type": "firewall", "backend": "iptables"},
        ],
    }
