"""Configures a user's kernel gateway: the kernels of the user's profile, each in its own container.

Read by jupyter_kernel_gateway 3.0 inside the gateway's container, never imported by this project.
"""

import json
import os
import sys
import tempfile
from importlib.metadata import EntryPoint
from pathlib import Path

c = get_config()  # type: ignore[name-defined]  # noqa: F821 - traitlets puts it there

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from hub_files import kernel_provisioner  # type: ignore[import-not-found]  # noqa: E402 - found by the path above
from jupyter_client.provisioning.factory import KernelProvisionerFactory  # noqa: E402

PROVISIONER = "gpu-commons-container"
# As an entry point of an installed package would: the factory reads this table before it looks for packages.
KernelProvisionerFactory.provisioners[PROVISIONER] = EntryPoint(
    PROVISIONER, "hub_files.kernel_provisioner:ContainerProvisioner", KernelProvisionerFactory.GROUP_NAME
)

profile, first = kernel_provisioner.chosen("")
specs = Path(tempfile.mkdtemp(prefix="kernels-"))
for kernel in profile["kernels"]:
    folder = specs / "kernels" / kernel["name"]
    folder.mkdir(parents=True)
    spec = {
        "argv": ["python3", "-m", "ipykernel_launcher", "-f", "{connection_file}"],
        "display_name": kernel["title"],
        "language": "python",
        "metadata": {"kernel_provisioner": {"provisioner_name": PROVISIONER, "config": {"kernel": kernel["name"]}}},
    }
    (folder / "kernel.json").write_text(json.dumps(spec))
os.environ["JUPYTER_PATH"] = str(specs)

# The gateway's own Python runs no kernels.
c.KernelSpecManager.ensure_native_kernel = False
c.KernelSpecManager.allowed_kernelspecs = {kernel["name"] for kernel in profile["kernels"]}
c.KernelGatewayApp.default_kernel_name = first["name"]
c.KernelGatewayApp.ip = "0.0.0.0"  # noqa: S104 - of a container, in the user's own network
c.KernelGatewayApp.port = 8888
c.KernelGatewayApp.port_retries = 0
c.JupyterWebsocketPersonality.list_kernels = True
cull = kernel_provisioner.HUB["cull"]
c.AsyncMappingKernelManager.cull_idle_timeout = cull["kernel_idle_s"]
c.AsyncMappingKernelManager.cull_interval = min(cull["every_s"], 300)

kernel_provisioner.end_kernels()
