"""Arguments of the Docker components, from models. Without an SDK, so that checks need none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from components.to_args import every_hub
from platforms.docker.container_model import ContainerKeys
from platforms.docker.gpu_leases import Grant
from platforms.docker.host_model import Host
from platforms.docker.hub_model import hosted
from workloads.arguments import stated
from workloads.hub import HubKeys
from workloads.resolved import Choice, ResolvedHub, UsedImage
from workloads.workload import JobKeys

if TYPE_CHECKING:
    import pulumi

    from components.on_docker.docker_gpu_container_args import DockerGpuContainerArgs
    from components.on_docker.docker_host_args import DockerHostArgs
    from components.on_docker.docker_hub_args import DockerHubArgs

    Texts = Sequence[pulumi.Input[str]]


def docker_host(host: Host) -> DockerHostArgs:
    """Arguments of a DockerHost."""
    its, gpus = host.keys, host.gpus
    args: dict[str, Any] = {
        "pool": host.pool,
        "engine": host.engine,
        "is_stand_in": host.is_stand_in or None,
        "certificates": its.certificates,
        "cpu": host.cpu,
        "memory_gib": host.memory_gib,
        "gpu_uuids": its.gpu_uuids or None,
        "shared_gpus": its.shared_gpus or None,
    }
    if gpus:
        args |= {
            "gpu": gpus.model.name,
            "gpus_per_node": gpus.count,
            "driver_version": str(gpus.driver),
            "container_toolkit_version": gpus.container_toolkit,
            "gpu_access": its.gpu_access,
            "card_network": str(its.card_network),
        }
    return cast("DockerHostArgs", stated(args))


def docker_gpu_container(
    workload: ContainerKeys | JobKeys, image: UsedImage, ref: pulumi.Input[str], host: Host, gpus: Grant | None
) -> DockerGpuContainerArgs:
    """Arguments of a DockerGpuContainer, except networks."""
    keys = ContainerKeys.model_fields.keys() - {"pools", "cards"}
    written = stated(workload.model_dump(mode="json", exclude_none=True, include={*keys}))
    args = {
        **image.runtime,
        **{key: value for key, value in written.items() if value not in ([], False, 0)},
        **({"runs_to_end": True} if isinstance(workload, JobKeys) else {}),
        "pool": host.pool,
        "image": ref,
        "image_name": image.name,
        **({"devices": [card.device for card in gpus.cards], "access": host.keys.gpu_access} if gpus else {}),
    }
    return cast("DockerGpuContainerArgs", args)


def docker_hub(
    hub: ResolvedHub, refs: Mapping[str, pulumi.Input[str]], host: Host, card_networks: Texts
) -> DockerHubArgs:
    """Arguments of a DockerHub. `card_networks`: of its host's GPUs by index; none if shared."""
    cards, its = host.cards, host.keys
    networks: Sequence[Any] = card_networks or [None] * len(cards)
    args = {
        **hub.keys.model_dump(include={*HubKeys.model_fields, "expose", "kernels_per_user"}, exclude_none=True),
        **every_hub(hub, refs),
        "pool": host.pool,
        "profiles": [_profile(each, refs) for each in hub.choices],
        "access": its.gpu_access if cards else None,
        "cards": [hosted(card, network) for card, network in zip(cards, networks, strict=True)] or None,
        "engine": host.engine,
        "certificates": its.certificates,
        "engine_socket": its.engine_socket,
    }
    return cast("DockerHubArgs", stated(args))


def _profile(choice: Choice, refs: Mapping[str, Any]) -> dict[str, Any]:
    kernels = [_on_its_image(kernel, refs, "pool") for kernel in choice.kernels]
    return _on_its_image(choice, refs) | ({"kernels": kernels} if kernels else {})


def _on_its_image(choice: Choice, refs: Mapping[str, Any], *unused: str) -> dict[str, Any]:
    """With its image's runtime profile, overridden by its own keys."""
    values = choice.keys.model_dump(exclude_none=True, exclude={"image", "kernels", *unused})
    image = choice.image
    return {**image.runtime, **values, **choice.shown, "image": refs[image.name], "image_name": image.name}
