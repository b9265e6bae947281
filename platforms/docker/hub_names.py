"""Names of a hub's objects on an engine, with the hub's name as prefix. Pure.

User container names end in the user; the programs in `hub_files` make them.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Names:
    """Containers and volumes of one hub; the network of its servers has the hub's name."""

    hub: str

    @property
    def control(self) -> str:
        """The network on which the hub commands the proxy."""
        return f"{self.hub}-control"

    @property
    def engine(self) -> str:
        """The engine filter, and the volume with the hub's socket."""
        return f"{self.hub}-engine"

    @property
    def kernels(self) -> str:
        """The volume with the kernel gateways' socket."""
        return f"{self.hub}-kernels"

    @property
    def setup(self) -> str:
        """Writes credentials and programs, and ends."""
        return f"{self.hub}-setup"

    @property
    def proxy(self) -> str:
        """The public entry."""
        return f"{self.hub}-proxy"

    @property
    def process(self) -> str:
        """JupyterHub itself."""
        return f"{self.hub}-hub"

    @property
    def database(self) -> str:
        """Users and their rights."""
        return f"{self.hub}-database"

    @property
    def credentials(self) -> str:
        """Readable by the hub only."""
        return f"{self.hub}-credentials"

    @property
    def tls(self) -> str:
        """Readable by the proxy only: its certificate, and the token for commands from the hub."""
        return f"{self.hub}-tls"

    @property
    def program(self) -> str:
        """Hub and gateway programs."""
        return f"{self.hub}-program"
