"""Where a hub keeps homes and its database: volumes of a storage class, or one NFS export for all homes. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal

from pydantic import BaseModel, Field

from errors.agreements import check, given
from errors.faults import FORM
from errors.problems import Fault
from workloads.addresses import HostName
from workloads.amounts import Gib
from workloads.names import AbsolutePath, Line, ObjectName

DEFAULT_ACCESS: Final = "ReadWriteOnce"
_OF_A_CLAIM: Final = ("size_gib", "storage_class", "access")


class NfsExport(BaseModel):
    """An export of an NFS server, with a folder for each user that the user's first start makes."""

    model_config = FORM
    server: HostName = Field(description="Host name or address of the NFS server, as the nodes reach it.")
    path: AbsolutePath = Field(description="Path of the export, writable for user 1000: /export/homes.")
    options: tuple[Line, ...] = Field((), description="Options of the mount: [nfsvers=4.1, hard].")


class Volumes(BaseModel):
    """Volumes that the cluster makes."""

    model_config = FORM
    storage_class: ObjectName | None = Field(None, description="Their storage class; none: the cluster's default.")


class Homes(Volumes):
    """Homes of a hub's users: a volume for each, or folders of one NFS export."""

    size_gib: Gib = Field(10, description="Size of each user's volume in GiB; an existing one keeps its size.")
    access: Literal["ReadWriteOnce", "ReadWriteOncePod", "ReadWriteMany"] = Field(
        DEFAULT_ACCESS,
        description="Access mode of a volume: ReadWriteOnce, ReadWriteOncePod, or ReadWriteMany where the class can.",
    )
    nfs: NfsExport | None = Field(None, description="One export for all homes, in place of volumes.")

    @check
    def _one_kind(self) -> Iterator[Fault]:
        if self.nfs is not None and (besides := [key for key in _OF_A_CLAIM if given(self, key)]):
            yield Fault(
                (besides[0],), "is given beside nfs", "leave it out: an export has no size, class or access mode"
            )


class Database(Volumes):
    """The volume of the hub's database, one file of SQLite: block storage suits it, NFS does not."""

    size_gib: Gib = Field(1, description="Size of the hub's own volume in GiB; an existing one keeps its size.")


class Storage(BaseModel):
    """Where homes and database are kept. Both outlive the stack."""

    model_config = FORM
    homes: Homes = Field(Homes(), description="Homes of the users.")
    database: Database = Field(Database(), description="The hub's own volume.")
