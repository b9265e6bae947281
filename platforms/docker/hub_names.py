"""Names on an engine of what belongs to a hub: all begin with the hub's own. Pure.

Those of users' containers end in the user; the programs in `hub_files` make them.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Names:
    """Containers and volumes of one hub; its network has the hub's own name."""

    hub: str

    @property
    def engine(self) -> str:
        """The filter before the engine, and the volume with the socket that the hub uses."""
        return f"{self.hub}-engine"

    @property
    def kernels(self) -> str:
        """The volume with the socket that kernel gateways use."""
        return f"{self.hub}-kernels"

    @property
    def setup(self) -> str:
        """Writes credentials and programs, and ends."""
        return f"{self.hub}-setup"

    @property
    def proxy(self) -> str:
        """Where people come in."""
        return f"{self.hub}-proxy"

    @property
    def process(self) -> str:
        """JupyterHub itself."""
        return f"{self.hub}-hub"

    @property
    def database(self) -> str:
        """Users, and who may do what."""
        return f"{self.hub}-database"

    @property
    def credentials(self) -> str:
        """What only the hub may read."""
        return f"{self.hub}-credentials"

    @property
    def tls(self) -> str:
        """What only the proxy may read: its certificate, and the token by which the hub commands it."""
        return f"{self.hub}-tls"

    @property
    def program(self) -> str:
        """What hub and gateways run."""
        return f"{self.hub}-program"
