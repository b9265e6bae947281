"""A Docker host of a stack file: one machine with an engine, as a pool of its own."""

from collections.abc import Iterator
from typing import ClassVar

from errors.agreements import check
from errors.problems import Fault
from platforms.docker.addresses import needs_certificates
from platforms.docker.gpu_leases import subnet
from platforms.docker.host_model import HostKeys
from platforms.node_keys import Labels, Taints
from settings.pool import MachinePool
from settings.values import Assumptions


class HostPool(HostKeys, MachinePool):
    """One machine with a Docker engine and its GPUs."""

    assumptions: Assumptions = ()

    default_runtime: ClassVar[None] = None  # for pods only
    labels: ClassVar[Labels] = {}
    extra_taints: ClassVar[Taints] = ()

    @check
    def _certificates(self) -> Iterator[Fault]:
        has_them, needs_them = self.certificates is not None, needs_certificates(self.engine)
        if needs_them and not has_them:
            fix = "name the folder with ca.pem, cert.pem and key.pem: whoever reaches an engine is root on its host"
            yield Fault(("certificates",), "is missing for an engine at tcp://", fix)
        if has_them and not needs_them:
            yield Fault(("certificates",), "is for an engine at tcp:// only", "leave it out")

    @check
    def _uuids(self) -> Iterator[Fault]:
        uuids, gpus = self.gpu_uuids, self.gpus_per_node
        if uuids and len(uuids) != gpus:
            fix = "list every GPU in the order of nvidia-smi -L, or none"
            yield Fault(("gpu_uuids",), f"has {len(uuids)} entries for {gpus} GPUs", fix)
        for index, uuid in enumerate(uuids):
            if uuid in uuids[:index]:
                yield Fault(("gpu_uuids", index), "is listed twice", "each GPU has a UUID of its own", uuid)

    @check
    def _room_for_cards(self) -> Iterator[Fault]:
        network, gpus = str(self.card_network), self.gpus_per_node
        if gpus:
            try:
                subnet(network, gpus - 1)
            except ValueError:
                fix = f"write one with {4 * gpus} addresses or more, four for each GPU"
                yield Fault(("card_network",), f"is too small for {gpus} GPUs, or no network", fix, network)

    @property
    def node_names(self) -> tuple[str, ...]:
        """The host itself."""
        return (self.name,)
