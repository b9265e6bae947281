"""From people's words for a host (its system, containers and kernel modules) to those of the tables."""

from __future__ import annotations

import re

from compat.evidence.prose.patterns import pattern

# WSL by its names and its kernel's, and Linux on Windows; `no WSL` means none.
_WSL = pattern(
    r"(?<!\bno )(?<!\bnot )(?<!\bnon-)(?<!without )(?:\bwsl|windows subsystem for linux|microsoft-standard"
    r"|\b(?:ubuntu|debian|linux)\b[^;]{0,24}\bon windows)",
    re.IGNORECASE,
)
# In order: the first that is found counts. Debian, Ubuntu and the rest are Linux to a driver.
_SYSTEMS = (
    (pattern(r"\b(?:l4t|jetpack|jetson|tegra)"), "l4t"),
    (_WSL, "windows"),
    (
        pattern(r"\bwindows\b|\bwin[ -]?(?:7|8|10|11|32|64)\b|^w1[01]$|\bmsys2?\b|\bcygwin\b|\bmingw(?:32|64)?"),
        "windows",
    ),
    (
        pattern(
            r"linux|ubuntu\b|raspbian|\b(?:ubuntu|debian|centos|rhel|red ?hat|rocky|alma|fedora|arch|manjaro"
            r"|endeavour|pop!?[ _]?os|suse"
            r"|opensuse|sles|gentoo|nixos|alpine|al2|al2023|flatcar|coreos|talos|bottlerocket|kali|proxmox|pve|unraid|truenas"
            r"|dgx ?(?:os|spark)|kylin|deepin|slackware|void|mint|zorin|cachyos|garuda|photon|openeuler|anolis|el[789]"
            r"|endeavouros|nobara|bazzite|hiveos|elementary|container-optimized|bookworm|bullseye|buster|trixie|noble|jammy|focal"
            r"|bionic|xenial|trusty|colab|kaggle)(?:\b|[_\d])"
        ),
        "linux",
    ),
)
_RUNTIMES = (
    (pattern(r"^(?:jetson|jetpack|l4t|tegra)\b.{0,20}$"), ""),  # the machine, and nothing of what starts programs
    (_WSL, "wsl"),
    (
        pattern(
            r"kube|\bk[38]s\b|\b(?:eks|gke|aks|openshift|okd|minikube|rke2?|microk8s|talos|kserve|helm|pods?|kind)\b"
        ),
        "kubernetes",
    ),
    (pattern(r"apptainer|singularity|\bsif\b"), "apptainer"),
    (
        pattern(r"\b(?:no|without|not in an?|outside) (?:docker|containers?)\b|\bnot containeri[sz]ed|^\W*none\W*$"),
        "bare",
    ),
    (pattern(r"docker|podman|containerd|nerdctl|compose|swarm|dev ?container|nvidia-container|\bmoby\b"), "docker"),
    (
        pattern(
            r"\bbare|\bnative|\b(?:metal|(?:mini)?conda|micromamba|venv|virtualenv|desktop|workstation|laptop|notebook"
            r"|local(?: machine)?|server|vms?|virtual machine|kvm|esxi|slurm|hpc|ec2)\b|^(?:the )?host$"
        ),
        "bare",
    ),
)
_NOT_OPEN = pattern(
    r"\b(?:not|non|no|isn['\u2019]t|without)[\s-]+(?:the )?(?:\w+[\s-])?-?open\b|proprietary|closed|\bnon-?free\b"
    r"|^nvidia-dkms$|nvidia unix (?!open)\w+ kernel module"
)
_MODULES = (
    (_NOT_OPEN, "proprietary"),
    (pattern(r"\bopen\b|-open\b|\bmit/gpl\b|\bopenrm\b"), "open"),
)
_SHORT_TYPE = pattern(r"[a-z]\w*\.\d{1,2}x", re.IGNORECASE)  # of EC2
_FIRST = pattern(r"\bfirst\b|\bforced\b|ld_library_path|ld\.so\.conf|ldconfig|loader")
_PRESENT = (
    (pattern(r"unknown|not known|unsure|^\?+$"), "unknown"),
    (
        pattern(
            r"^no\b|^none$|^false$|^0$|\bnot\b|without|absent|deleted|removed|missing|stripped|purged|^none\b"
            r"|\b(?:sass|cubins?) only\b|^-+$"
        ),
        "no",
    ),
    (_FIRST, "yes"),
    (
        pattern(
            r"^yes\b|^true$|^1$|present|installed|included|\bhas\b|^cuda-compat|\bships?\b|\bcomes with\b|\bin"
            r" (?:the image|there)\b"
            r"|\bembedded$|\bbundled\b|\bloaded from\b"
        ),
        "yes",
    ),
)


def system(text: str) -> str:
    """`Ubuntu 22.04` is linux, `Windows 11` windows, `JetPack 6` l4t; other words stay as they are."""
    return _first(_SYSTEMS, text)


def is_wsl(text: str) -> bool:
    """`Windows 11 (WSL2)`: the driver is that of Windows, the programs are those of Linux."""
    return bool(_WSL.search(text))


def runtime(text: str) -> str:
    """`podman` and `nvidia-docker` are docker, `EKS` is kubernetes, `Singularity 3.8` is apptainer."""
    return _first(_RUNTIMES, text)


def module(text: str) -> str:
    """`nvidia-open`, `open kernel module`, `closed source`."""
    return _first(_MODULES, text)


def instance_type(text: str) -> str:
    """`g4dn.2x` is g4dn.2xlarge."""
    plain = text.lower().strip()
    return f"{plain}large" if _SHORT_TYPE.fullmatch(plain) else plain


def is_put_first(text: str) -> bool:
    """`first in the loader's path`: a compat package that is used with any driver."""
    return presence(text) == "yes" and bool(_FIRST.search(text.lower()))


def presence(text: str) -> str:
    """`removed` is no, `installed` is yes."""
    return _first(_PRESENT, text)


def _first(table: tuple[tuple[re.Pattern[str], str], ...], text: str) -> str:
    if not text:
        return text
    lower = text.lower().strip()
    return next((word for found, word in table if found.search(lower)), text)
