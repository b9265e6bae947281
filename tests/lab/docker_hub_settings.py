"""The settings of a hub of the tests: hub.json, as the component renders it, with images and sizes of the tests."""

from __future__ import annotations

from typing import Any, Final

HUB: Final = "dcsg"
CARDS: Final = 2
_SAFE: Final = {"CapDrop": ["ALL"], "SecurityOpt": ["no-new-privileges:true"], "IpcMode": "private"}


def hub_json(images: dict[str, str]) -> dict[str, Any]:
    """Two GPUs, and a profile for each way to have one."""
    return {
        "hub": HUB,
        "pool": "server",
        "network": HUB,
        "home": "/home/jovyan",
        "timeouts": {"start_s": 120, "http_s": 60},
        "cards": [
            {"index": index, "device": str(index), "network": f"gpu-commons-card-{index}"} for index in range(CARDS)
        ],
        "access": "runtime",
        "engine": {"hub": "unix:///run/engine/hub.sock", "kernels": "unix:///run/engine/kernels.sock"},
        "profiles": [
            {
                "name": "with-gpu",
                "title": "Python with a GPU",
                "description": "The server has it.",
                "is_default": True,
                "gpus": 1,
                "body": _server(images["server"]),
                "kernels": [],
            },
            {
                "name": "two-gpus",
                "title": "Python with two GPUs",
                "description": "",
                "is_default": False,
                "gpus": 2,
                "body": _server(images["server"]),
                "kernels": [],
            },
            {
                "name": "kernels",
                "title": "A GPU for each kernel",
                "description": "Kernels have it.",
                "is_default": False,
                "gpus": 0,
                "body": _server(images["server"], NVIDIA_VISIBLE_DEVICES="void"),
                "kernels": [
                    {"name": "gpu", "title": "GPU kernel", "gpus": 1, "body": _kernel(images["kernel"])},
                    {
                        "name": "cpu",
                        "title": "Kernel without GPU",
                        "gpus": 0,
                        "body": _kernel(images["kernel"], NVIDIA_VISIBLE_DEVICES="void"),
                    },
                ],
            },
            {
                "name": "lost-image",
                "title": "Lost image",
                "description": "",
                "is_default": False,
                "gpus": 0,
                "body": _server(images["server"].partition("@")[0] + "@sha256:" + "0" * 64),
                "kernels": [],
            },
        ],
        "gateway": {
            "body": {
                "Cmd": ["jupyter", "kernelgateway", "--config", "/program/hub_files/gateway_config.py"],
                "Env": ["NVIDIA_VISIBLE_DEVICES=void", "PYTHONPATH=/program"],
                "HostConfig": {
                    **_SAFE,
                    "Memory": 512 << 20,
                    "Mounts": [
                        {"Type": "volume", "Source": f"{HUB}-program", "Target": "/program", "ReadOnly": True},
                        {"Type": "volume", "Source": f"{HUB}-kernels", "Target": "/run/engine", "ReadOnly": True},
                    ],
                },
                "Image": images["gateway"],
            },
            "max_kernels": 2,
        },
        "cull": {"idle_s": 3600, "max_age_s": 0, "every_s": 600, "kernel_idle_s": 1800},
        "options": {
            "JupyterHub": {"authenticator_class": "shared-password"},
            "Authenticator": {"allow_all": True},
        },
    }


def _server(image: str, **env: str) -> dict[str, Any]:
    return {
        "Cmd": ["jupyterhub-singleuser"],
        "Env": [f"{name}={value}" for name, value in env.items()],
        "HostConfig": {
            **_SAFE,
            "Memory": 1 << 30,
            "MemorySwap": 1 << 30,
            "NanoCpus": 1_000_000_000,
            "ShmSize": 64 << 20,
        },
        "Image": image,
    }


def _kernel(image: str, **env: str) -> dict[str, Any]:
    return {key: value for key, value in _server(image, **env).items() if key != "Cmd"}
