"""Names and labels of the objects that a hub creates on its engine. Pure, standard library only.

Objects are addressed by name alone: what a hub may reach is decided by names, between it and the engine.
"""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import dataclass

HUB = "gpu-commons.org/hub"
USER = "gpu-commons.org/user"
POOL = "gpu-commons.org/pool"
PART = "gpu-commons.org/part"
LOGIN = "gpu-commons.org/login"  # of a home: the name by which its user logs in
HOME_OF = "gpu-commons.org/home"  # of a record: the name of an earlier home in place of this one

# A container's name is its name on its networks, where a label has 63 characters: 22 of the hub, these, 13 of a kernel.
LONGEST_SLUG = 20
_DIGEST = 13  # letters of 5 bits: nobody finds a second name for 64 bits
_EARLIER_DIGEST = 10  # of 4 bits: a second name for 40 bits is found in seconds


def slug(user: str) -> str:
    """A user's name within names of objects: itself where it can be, else its beginning and a digest.

    No two users share one: a plain name has no two dashes in a row, and what has a digest has.
    """
    digest = base64.b32encode(hashlib.sha256(user.encode()).digest()).decode().lower()
    return _with_digest(user, digest[:_DIGEST])


def earlier_slug(user: str) -> str:
    """As names were until homes had an owner's label."""
    return _with_digest(user, hashlib.sha256(user.encode()).hexdigest()[:_EARLIER_DIGEST])


def _with_digest(user: str, digest: str) -> str:
    if len(user) <= LONGEST_SLUG and re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", user):
        return user
    kept = re.sub(r"[^a-z0-9]+", "-", user.lower()).strip("-")[: LONGEST_SLUG - len(digest) - 2].strip("-")
    return f"{kept or 'u'}--{digest}"


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
