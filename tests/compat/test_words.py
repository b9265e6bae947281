"""Words that people write for a host, to those of the tables."""

from __future__ import annotations

import pytest

from compat import Case, Verdict, check
from compat.evidence.case import HOSTS, MODULES, SYSTEMS
from compat.evidence.host import read_host
from compat.evidence.names import words

ROWS: list[tuple[str, str, str]] = [
    *(
        ("system", text, "linux")
        for text in ("Ubuntu 22.04", "debian 12", "CentOS 7", "RHEL8", "Amazon Linux 2", "AL2023")
    ),
    *(("system", text, "linux") for text in ("Pop!_OS 22.04", "NixOS", "openSUSE Leap", "Arch", "Linux Mint 21")),
    *(
        ("system", text, "windows")
        for text in ("Windows 11", "Windows Server 2019", "win10", "Windows 11 (WSL2)", "WSL")
    ),
    *(("system", text, "l4t") for text in ("L4T R35.4.1", "JetPack 5.1", "Ubuntu 20.04 (L4T 35.4)", "Jetson Linux")),
    *(("system", text, text) for text in ("TempleOS", "macOS 14", "")),
    *(
        ("runtime", text, "docker")
        for text in ("podman", "nvidia-docker2", "Docker 24.0", "docker compose", "containerd")
    ),
    *(("runtime", text, "kubernetes") for text in ("EKS", "k8s", "k3s", "Kubernetes 1.28", "minikube")),
    *(("runtime", text, "apptainer") for text in ("Singularity 3.8", "Apptainer 1.2")),
    *(("runtime", text, "wsl") for text in ("WSL2", "docker in WSL2")),
    *(("runtime", text, "bare") for text in ("bare metal", "native", "host", "conda")),
    *(("runtime", text, text) for text in ("vmware", "")),
    *(("module", text, "open") for text in ("nvidia-open", "Open kernel module", "open")),
    *(("module", text, "proprietary") for text in ("proprietary", "closed source")),
    *(("module", text, text) for text in ("reopened", "")),
    *(("presence", text, "no") for text in ("no", "removed", "not installed", "deleted", "false")),
    *(("presence", text, "yes") for text in ("yes", "installed", "true")),
    *(("presence", text, text) for text in ("perhaps", "")),
]


@pytest.mark.parametrize(("kind", "text", "word"), ROWS)
def test_a_word_that_people_write_is_one_of_the_tables_or_stays_as_it_is(kind: str, text: str, word: str) -> None:
    assert getattr(words, kind)(text) == word


@pytest.mark.parametrize(
    ("kind", "known"),
    [("system", SYSTEMS), ("runtime", HOSTS), ("module", MODULES), ("presence", ("yes", "no", "unknown"))],
)
def test_a_word_of_the_tables_is_itself(kind: str, known: tuple[str, ...]) -> None:
    assert [getattr(words, kind)(each) for each in known] == [*known]


@pytest.mark.parametrize(
    "case",
    [
        Case(gpu="RTX 4090", driver="560.94", os="Windows 11 (WSL2)"),
        Case(gpu="RTX 4090", driver="560.94", os="Windows 10", host="Docker Desktop"),
        Case(gpu="RTX 4090", driver="560.94", host="wsl2"),
    ],
)
def test_containers_on_windows_run_in_wsl(case: Case) -> None:
    assert {pool.host for pool in read_host(case).may_be} == {"wsl"}


def test_a_distribution_is_no_reason_to_give_no_answer() -> None:
    case = Case(gpu="T4", driver="535.183.01", os="Ubuntu 22.04", framework="torch", framework_version="2.1.0+cu118")
    assert check(case).verdict is Verdict.COMPATIBLE


@pytest.mark.parametrize(
    "case",
    [
        Case(gpu="A100", driver="450.51.06", image="a,b,c", cuda="12.4"),
        Case(gpu="A100", driver="450.51.06", image="sm_70;;sm_80", framework="torch", framework_version="2.6.0+cu124"),
        Case(gpu="A100", driver="450.51.06", framework="torch==2.6.0+câu124", cuda="12.4"),
        Case(gpu="A100", driver="450.51.06", framework="torch", build="pip torch==2.6.0+câu124", cuda="12.4"),
    ],
)
def test_a_remedy_does_not_start_from_what_cannot_be_read(case: Case) -> None:
    answer = check(case)
    assert answer.verdict is Verdict.INCOMPATIBLE
    assert [each.rule for each in answer.findings].count("CASE") == 1
    assert answer.remedy is not None
