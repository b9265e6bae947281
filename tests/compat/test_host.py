"""A host from values is the host that its words mean, and a rule looks at nothing else of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import known
import pytest

from cli.check.mapping import case_from
from compat import Case, CaseError, Severity, Verdict, check, check_on, host_of, read_host
from compat.evidence.drivers import turning_drivers
from compat.evidence.image import read_images
from compat.evidence.names.gpu_names import find_gpu, vgpu_profile
from compat.facts.rows import GpuModel
from compat.facts.tables import gpu_models
from compat.rules import ALL_RULES
from compat.rules.rule import Rule
from compat.values.hosts import PoolFacts
from compat.values.images import ImageFacts
from compat.values.versions import DriverVersion, parse_release

KNOWN = [*known.reported(), *map(case_from, known.examples())]
SERVERS = [each for each in gpu_models() if each.product_class != "jetson" and not vgpu_profile(each.name)]
IMAGES = (
    Case(cuda="10.2"),
    Case(framework="torch", framework_version="2.6.0+cu124"),
    Case(image="nvidia/cuda:12.4.1-base-ubuntu22.04"),
)


@pytest.mark.slow
@pytest.mark.parametrize("driver", ["418.88", "535.183.01", "580.95.05"])
def test_a_host_from_values_gets_the_answers_of_the_same_host_in_words(driver: str) -> None:
    for model in SERVERS[::9]:
        typed = host_of(model, DriverVersion.parse(driver), container_toolkit=parse_release("1.17.4"))
        words = Case(gpu=model.name, driver=driver, container_toolkit="1.17.4", host="kubernetes")
        assert typed.shown == words
        for image in IMAGES:
            of_image = {"cuda": image.cuda, "framework": image.framework, "image": image.image}
            case = replace(words, framework_version=image.framework_version, **of_image)
            assert check_on(image, typed) == check(case), f"{model} {image}"


def test_a_name_that_is_sold_with_several_chips_leaves_open_which_it_is() -> None:
    model: GpuModel = find_gpu("GeForce GT 640")
    host = host_of(model, DriverVersion.parse("390.157"))
    assert len(host.may_be) > 1
    assert [axis.field for axis in host.open] == ["gpu"]


def test_a_gpu_that_is_built_into_arm_machines_gets_wheels_for_arm() -> None:
    host = host_of(find_gpu("GH200"), DriverVersion.parse("580.95.05"))
    assert {pool.cpu_architecture for pool in host.may_be} == {"arm64"}


def test_of_a_case_with_a_host_only_the_image_counts_beside_a_host_from_values() -> None:
    host = host_of(find_gpu("Tesla T4"), DriverVersion.parse("580.95.05"))
    assert check_on(Case(cuda="12.4", gpu="GTX 970", driver="304.64", host="docker"), host).verdict.runs


class Watched:
    """Passes on what is read of it, and notes what that was."""

    def __init__(self, watched: object, seen: set[str]) -> None:
        self._watched = watched
        self._seen = seen

    def __getattr__(self, name: str) -> Any:
        self._seen.add(name)
        return getattr(self._watched, name)


def _possible(case: Case) -> Iterator[tuple[ImageFacts, PoolFacts]]:
    """Images and pools that a case may mean, a few of each."""
    pools = read_host(case).may_be
    for image in read_images(case, pools[0].wheels_for).values[:2] if pools else ():
        for pool in pools[:2]:
            for driver in (pool.driver,) if pool.driver is not None else turning_drivers(image, pool)[::3]:
                yield image, replace(pool, driver=driver)


@pytest.mark.slow
@pytest.mark.parametrize("rule", [pytest.param(rule, id=rule.id) for rule in ALL_RULES])
def test_a_rule_looks_at_nothing_of_a_pool_but_what_it_names(rule: Rule) -> None:
    seen: set[str] = set()
    for case in KNOWN:
        for image, pool in _possible(case):
            watched: Any = Watched(pool, seen)
            rule.check(image, watched)
    assert seen <= set(rule.text.of_pool)


# --- hosts that are not covered

NOT_COVERED = (
    "gpu-commons answers for Linux hosts with NVIDIA's data-centre, workstation and GeForce GPUs; it does not cover "
    "Windows, WSL or Jetson"
)
RUNS = {"gpu": "RTX 4090", "driver": "550.54.14", "cuda": "12.4"}
ELSEWHERE: tuple[dict[str, str], ...] = (
    {"host": "wsl"},
    {"host": "WSL2"},
    {"gpu_class": "jetson"},
    {"os": "windows"},
    {"os": "l4t"},
    {"os": "Windows 11 (WSL2)"},
    {"os": "JetPack 6"},
    {"os": "l4t", "driver": "36.4.3", "gpu": "Jetson AGX Orin"},
    {"gpu": "Jetson Orin Nano"},
    {"gpu": "NVIDIA Jetson Xavier NX Developer Kit"},
    {"gpu": "Jetson AGX Thor", "driver": "JetPack 7.0"},
)


@pytest.mark.parametrize("more", ELSEWHERE)
def test_windows_wsl_and_jetson_are_answered_unknown_in_one_sentence(more: dict[str, str]) -> None:
    answer = check(case_from({**RUNS, **more, "id": "lab-7"}))
    (finding,) = answer.findings
    assert (answer.id, answer.verdict, answer.remedy) == ("lab-7", Verdict.UNKNOWN, None)
    assert (finding.rule, finding.severity, finding.message) == ("CASE", Severity.UNKNOWN, NOT_COVERED)


def test_every_jetson_of_the_tables_is_one_and_so_is_a_host_made_of_it() -> None:
    for model in (each for each in gpu_models() if each.product_class == "jetson"):
        assert [each.message for each in check(case_from({**RUNS, "gpu": model.name})).findings] == [NOT_COVERED]
        assert [each.message for each in check_on(IMAGES[0], host_of(model, None)).findings] == [NOT_COVERED]


def test_an_image_for_jetson_is_unknown_on_a_server() -> None:
    answer = check(case_from({"gpu": "A100", "driver": "550.54.15", "image": "nvcr.io/nvidia/l4t-ml:r35.2.1-py3"}))
    assert answer.verdict is Verdict.UNKNOWN
    assert "is made for Jetson, which gpu-commons does not cover" in answer.findings[0].message


@pytest.mark.parametrize("gpu", ["Tesla C2050", "GTX 580", "Quadro FX 3800", "GeForce 8800 GTX"])
def test_gpus_below_compute_capability_3_0_are_no_models_of_the_tables(gpu: str) -> None:
    with pytest.raises(CaseError, match="is not a GPU"):
        check(case_from({**RUNS, "gpu": gpu}))


def test_equal_versions_print_as_they_are_written() -> None:
    for cuda in ("12.4", "12.4.0"):
        found = check(Case(gpu="T4", driver="470.57.02", cuda=cuda)).findings
        assert f"CUDA {cuda} " in " ".join(finding.message for finding in found)
    for driver in ("418.88", "418.88.00"):
        found = check(Case(gpu="T4", driver=driver, cuda="10.2")).findings
        (refused,) = (each for each in found if each.severity is Severity.REFUSE)
        assert f"this one is {driver}." in f"{refused.message}."


def test_a_version_is_answered_alike_whatever_was_checked_before() -> None:
    """7.6 and 7.6.0 compare equal, and 7.6 may be any of its patches."""
    words = {"gpu": "GeForce MX130", "driver": "440.100", "cuda": "10.1"}
    check(Case(**words, cudnn="7.6.0"))
    (text,) = [each.fact.text for each in check(Case(**words, cudnn="7.6")).findings if each.rule == "R-CUDNN"]
    assert text.startswith("cuDNN 7.6.5 ")


@pytest.mark.parametrize("first", ["1.3.0", "1.3"])
def test_a_framework_is_answered_alike_whatever_was_checked_before(first: str) -> None:
    """1.3 and 1.3.0 compare equal, and only 1.3 may be 1.3.0.post0, whose build for CUDA 9.2 runs on Turing."""
    answers = {"1.3.0": Verdict.INCOMPATIBLE, "1.3": Verdict.UNKNOWN}
    for version in sorted(answers, key=first.__ne__):
        answer = check(Case(gpu="T4", driver="418.88", framework="mxnet", framework_version=version))
        assert answer.verdict is answers[version]
        assert ("1.3.0.post0 cu80" in answer.findings[0].message) is (version == "1.3")
