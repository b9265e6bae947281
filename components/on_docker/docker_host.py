"""DockerHost: one machine with a Docker engine, checked against its pool, with a network for each GPU."""

from collections.abc import Mapping, Sequence
from typing import Any

import pulumi
import pulumi_docker as docker

from components.on_docker.docker_host_args import DockerHostArgs
from components.on_docker.engine import EngineState, EngineUnreachable, read_engine
from fleet import labels
from platforms.docker.facts import refusals
from platforms.docker.gpu_leases import CARD_NETWORK, Grant, HostGpu, NoFreeGpu, Request, grant, shared_grant, subnet

NETWORK = "gpu-commons"  # network for the host's containers


class DockerHost(pulumi.ComponentResource):
    """Networks of one Docker host. Nothing else on the host is changed.

    A container with a GPU must join the GPU's network, which has room for one container: the engine refuses a
    second one, from this or any other stack.
    """

    network: pulumi.Output[str]
    """Network of the host's containers."""
    card_networks: pulumi.Output[Sequence[str]]
    """Networks of the GPUs, by index; empty if GPUs are shared."""
    facts: pulumi.Output[Mapping[str, str]]
    """Facts reported by the engine, by label."""

    def __init__(self, name: str, args: DockerHostArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        self._host, self.are_shared = args["pool"], bool(args.get("shared_gpus"))
        self.state = _state(name, args)
        super().__init__("gpu-commons:index:DockerHost", name, {**args}, opts)
        own = pulumi.ResourceOptions(parent=self)
        network = docker.Network(f"{name}-network", name=NETWORK, driver="bridge", opts=own)
        self.cards = tuple(HostGpu(args["pool"], index, uuid) for index, uuid in enumerate(_uuids(args)))
        within = args.get("card_network") or CARD_NETWORK
        held = [] if self.are_shared else self.cards
        networks = [_card_network(f"{name}-card-{card.index}", card, within, own) for card in held]
        self.network = network.name
        self.card_networks = pulumi.Output.all(*[each.name for each in networks]).apply(list)
        self.facts = pulumi.Output.from_input(dict(self.state.facts.rows()))
        self.register_outputs({"network": self.network, "card_networks": self.card_networks, "facts": self.facts})

    def grant(self, requests: Sequence[Request]) -> dict[str, Grant]:
        """Assign GPUs to this stack's containers by name: those already held, else free ones.

        Raises pulumi.RunError, which lists the holders of the requested GPUs.
        """
        own = {request.name for request in requests}
        held: dict[int, str] = {}
        kept: dict[str, tuple[int, ...]] = {}
        for holder in self.state.holders:
            if holder.name in own:
                kept[holder.name] = holder.cards
            elif not holder.has_ended:
                held |= dict.fromkeys(holder.cards, f"container {holder.name}")
        try:
            if self.are_shared:
                return {each.name: shared_grant(self.cards, each) for each in requests if each.count}
            return grant(self.cards, requests, held, kept)
        except NoFreeGpu as error:
            raise pulumi.RunError(f"host {self._host}: {error}") from None

    def networks_of_cards(self) -> list[pulumi.Output[str]]:
        """Networks of all cards, by index; none if GPUs are shared."""
        return [] if self.are_shared else [self.card_networks[card.index] for card in self.cards]

    def networks_of(self, granted: Grant | None) -> list[pulumi.Output[str]]:
        """Networks of the cards in a grant."""
        if granted is None or self.are_shared:
            return []
        return [self.card_networks[card.index] for card in granted.cards]


def _state(name: str, args: DockerHostArgs) -> EngineState:
    try:
        state = read_engine(args["engine"], args.get("certificates"))
    except EngineUnreachable as error:
        raise pulumi.RunError(f"host {name}: {error}") from None
    access: Any = (args.get("gpu_access") or "cdi") if args.get("gpus_per_node") else None
    if found := [*refusals(state.facts, access, args["cpu"], args["memory_gib"])]:
        text = f"host {name} is not what its pool says: {'; '.join(found)}"
        if not args.get("is_stand_in"):
            raise pulumi.RunError(text)
        pulumi.log.warn(f"{text} (another machine plays it here)")
    return state


def _uuids(args: DockerHostArgs) -> list[str | None]:
    uuids: list[str | None] = [*(args.get("gpu_uuids") or ())]
    return uuids or [None] * int(args.get("gpus_per_node") or 0)


def _card_network(name: str, card: HostGpu, within: str, opts: pulumi.ResourceOptions) -> docker.Network:
    addresses = subnet(within, card.index)
    ipam: Any = [{"subnet": str(addresses), "gateway": str(addresses[1])}]
    mark: Any = [{"label": f"{labels.OWN_PREFIX}card", "value": card.device}]
    return docker.Network(
        name, name=card.network, driver="bridge", internal=True, ipam_configs=ipam, labels=mark, opts=opts
    )
