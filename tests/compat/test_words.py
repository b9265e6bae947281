"""Words that people write for a host, to those of the tables."""

from __future__ import annotations

import pytest

from compat import Case, Verdict, check
from compat.evidence.case import HOSTS, MODULES, SYSTEMS
from compat.evidence.names import words

READ = {
    ("system", "linux"): "Ubuntu 22.04|debian 12|CentOS 7|RHEL8|Amazon Linux 2|AL2023|Rocky Linux 9.2|Arch|NixOS",
    ("system", "windows"): "Windows 11|Windows Server 2019|win10|Windows 11 (WSL2)",
    ("system", "l4t"): "L4T R35.4.1|JetPack 6|JetPack 5.1|Ubuntu 20.04 (L4T 35.4)",
    ("runtime", "docker"): "podman|Docker 24.0|docker compose|containerd",
    ("runtime", "kubernetes"): "EKS|k8s|k3s|Kubernetes 1.28|minikube",
    ("runtime", "apptainer"): "Singularity 3.8|Apptainer 1.2",
    ("runtime", "wsl"): "WSL2|wsl",
    ("runtime", "bare"): "bare metal|native|host|conda",
    ("module", "open"): "nvidia-open|Open kernel module|open",
    ("module", "proprietary"): "proprietary|closed",
}
UNREAD = {"system": "TempleOS|", "runtime": "vmware|", "module": "reopened|"}
ROWS = [(kind, text, word) for (kind, word), texts in READ.items() for text in texts.split("|")]
ROWS += [(kind, text, text) for kind, texts in UNREAD.items() for text in texts.split("|")]


@pytest.mark.parametrize(("kind", "text", "word"), ROWS)
def test_a_word_that_people_write_is_one_of_the_tables_or_stays_as_it_is(kind: str, text: str, word: str) -> None:
    assert getattr(words, kind)(text) == word


@pytest.mark.parametrize(("kind", "known"), [("system", SYSTEMS), ("runtime", HOSTS), ("module", MODULES)])
def test_a_word_of_the_tables_is_itself(kind: str, known: tuple[str, ...]) -> None:
    assert [getattr(words, kind)(each) for each in known] == [*known]


def test_a_distribution_is_no_reason_to_give_no_answer() -> None:
    case = Case(gpu="T4", driver="535.183.01", os="Ubuntu 22.04", framework="torch", framework_version="2.1.0+cu118")
    assert check(case).verdict is Verdict.COMPATIBLE
