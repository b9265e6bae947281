"""The settings of a hub of the tests: hub.json, as the component renders it, with images and sizes of the tests."""

from __future__ import annotations

from typing import Any, Final

from platforms.docker.hub import hub_document
from platforms.docker.hub_model import parse_hub

HUB: Final = "dcsg"
CARDS: Final = 2


def hub_json(images: dict[str, str]) -> dict[str, Any]:
    """Two GPUs, and a profile for each way to have one."""

    def workload(name: str, title: str, image: str, gpus: int, **more: Any) -> dict[str, Any]:
        size = {"cpu": 1, "memory_gib": 1, "shm_gib": 0.0625, "gpus": gpus}
        return {"name": name, "title": title, "image": image, "image_name": "lab", **size, **more}

    kernels = [
        workload("gpu", "GPU kernel", images["kernel"], 1),
        workload("cpu", "Kernel without GPU", images["kernel"], 0),
    ]
    lost = images["server"].partition("@")[0] + "@sha256:" + "0" * 64
    args = {
        "pool": "server",
        "engine": "unix:///run/docker.sock",
        "expose": {"kind": "host_port"},
        "authenticator": {"kind": "dummy"},
        "access": "runtime",
        "cards": [
            {"index": index, "device": str(index), "network": f"gpu-commons-card-{index}"} for index in range(CARDS)
        ],
        **{f"{part}_image": images[part] for part in ("hub", "proxy", "filter", "gateway")},
        "profiles": [
            workload("with-gpu", "Python with a GPU", images["server"], 1, is_default=True),
            workload("two-gpus", "Python with two GPUs", images["server"], 2),
            workload("kernels", "A GPU for each kernel", images["server"], 0, kernels=kernels),
            workload("lost-image", "Lost image", lost, 0),
        ],
        "kernels_per_user": 2,
        "start_timeout_s": 120,
        "http_timeout_s": 60,
        "cull": {"idle_s": 3600, "kernel_idle_s": 1800},
    }
    return hub_document(HUB, parse_hub(HUB, args))
