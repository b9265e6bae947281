"""Translates people's words for a host (system, containers, kernel modules) to those of a case."""

import re

_RUNTIMES = {
    "docker": "docker podman containerd nerdctl compose docker-compose nvidia-docker",
    "kubernetes": "kubernetes k8s k3s eks gke aks openshift rke2 minikube microk8s",
    "apptainer": "apptainer singularity singularityce singularity-ce",
    "bare": "bare bare-metal baremetal native host none conda venv",
    "wsl": "wsl wsl2 wsl-2",
}
_MODULES = {
    "open": "open nvidia-open open-kernel-module open-kernel-modules",
    "proprietary": "proprietary closed nvidia-dkms nvidia",
}
_SYSTEMS = (  # the first match counts
    ("l4t", r"l4t|jetpack|jetson|tegra"),
    ("windows", r"windows|wsl|microsoft-standard|win(?:7|8|10|11)?"),
    (
        "linux",
        (
            r"linux|ubuntu|debian|centos|rhel|red ?hat|rocky|alma(?:linux)?|fedora|arch|suse|opensuse|sles|gentoo|nixos"
            r"|alpine|al2|al2023|amazon|flatcar|coreos|talos|bottlerocket|dgx|el[789]"
        ),
    ),
)


def runtime(text: str) -> str:
    """`podman` is docker, `EKS` kubernetes, `Singularity 3.8` apptainer; other words stay as they are."""
    return _meant(_RUNTIMES, re.sub(r"\s+v?\d+(?:\.\d+)+$", "", text.lower().strip())) or text


def module(text: str) -> str:
    """`nvidia-open` is open, `closed` proprietary; other words stay as they are."""
    return _meant(_MODULES, text.lower().strip()) or text


def system(text: str) -> str:
    """`Ubuntu 22.04` is linux, `Windows 11 (WSL2)` windows, `JetPack 6` l4t; other words stay as they are."""
    plain = text.lower()
    return next((name for name, words in _SYSTEMS if re.search(rf"(?<![a-z])(?:{words})(?![a-z])", plain)), text)


def _meant(table: dict[str, str], word: str) -> str:
    plain = word.replace(" ", "-")
    return next((name for name, words in table.items() if plain in words.split()), "")


def names_jetson(gpu: str) -> bool:
    """`Jetson AGX Orin`, `Tegra X1`, `Xavier NX`: a GPU that is part of a Jetson module."""
    return re.search(r"(?<![a-z])(?:jetson|tegra|orin|xavier|drive)(?![a-z])", gpu.lower()) is not None
