"""Names of a hub's objects on an engine, with the hub's name as prefix. Pure.

User container names end in the user; the programs in `hub_files` make them.
"""


class Names:
    """Containers and volumes of one hub; the network of its servers has the hub's name."""

    def __init__(self, hub: str) -> None:
        self.hub = hub
        self.control = f"{hub}-control"  # the network on which the hub commands the proxy
        self.engine = f"{hub}-engine"  # the engine filter, and the volume with the hub's socket
        self.kernels = f"{hub}-kernels"  # the volume with the kernel gateways' socket
        self.setup = f"{hub}-setup"  # writes credentials and programs, and ends
        self.proxy = f"{hub}-proxy"  # the public entry
        self.process = f"{hub}-hub"  # JupyterHub itself
        self.database = f"{hub}-database"  # users and their rights
        self.credentials = f"{hub}-credentials"  # readable by the hub only
        self.tls = f"{hub}-tls"  # readable by the proxy only: its certificate, and the token for commands from the hub
        self.program = f"{hub}-program"  # hub and gateway programs
