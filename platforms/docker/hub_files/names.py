"""Names and labels of what a hub makes on its engine. Pure, standard library only.

Objects are addressed by name alone: what a hub may reach is decided by names, between it and the engine.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

HUB = "gpu-commons.org/hub"
USER = "gpu-commons.org/user"
POOL = "gpu-commons.org/pool"
PART = "gpu-commons.org/part"

# A container's name is its name on its networks, where a label has 63 characters: 22 of the hub, these, 13 of a kernel.
LONGEST_SLUG = 20
_DIGEST = 10


def slug(user: str) -> str:
    """A user's name within names of objects: itself where it can be, else its beginning and a digest.

    No two users share one: a plain name has no two dashes in a row, and what has a digest has.
    """
    if len(user) <= LONGEST_SLUG and re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", user):
        return user
    kept = re.sub(r"[^a-z0-9]+", "-", user.lower()).strip("-")[: LONGEST_SLUG - _DIGEST - 2].strip("-")
    return f"{kept or 'u'}--{hashlib.sha256(user.encode()).hexdigest()[:_DIGEST]}"


@dataclass(frozen=True)
class Names:
    """What belongs to one user of one hub; `user` is the slug."""

    hub: str
    user: str

    @property
    def server(self) -> str:
        """The container of the Jupyter server."""
        return f"{self.hub}-server-{self.user}"

    @property
    def gateway(self) -> str:
        """The container that starts the kernels."""
        return f"{self.hub}-gateway-{self.user}"

    @property
    def network(self) -> str:
        """Where server, gateway and kernels meet, and nobody else."""
        return f"{self.hub}-user-{self.user}"

    @property
    def home(self) -> str:
        """The volume with the user's files; it outlives the server, the account and the stack."""
        return f"{self.hub}-home-{self.user}"

    def kernel(self, kernel_id: str) -> str:
        """The container of one kernel; the id is Jupyter's."""
        return f"{self.hub}-kernel-{self.user}-{re.sub(r'[^0-9a-f]', '', kernel_id)[:12]}"

    def labels(self, part: str, pool: str) -> dict[str, str]:
        """What marks an object as the user's; `part` is server, gateway, kernel or network."""
        return {HUB: self.hub, USER: self.user, PART: part, POOL: pool}
