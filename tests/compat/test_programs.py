"""Programs that bring builds of their own: what their releases are built for decides, from their name and version."""

from __future__ import annotations

import pytest

from compat import Verdict, case_from, check


def verdict(**case: str) -> Verdict:
    return check(case_from(case), with_remedy=False).verdict


@pytest.mark.parametrize(
    ("version", "gpu", "driver", "runs"),
    [
        ("0.1.30", "Tesla K80", "470.199.02", False),  # https://github.com/ollama/ollama/issues/1756
        ("0.1.30", "GTX 970", "470.199.02", True),
        ("0.3.6", "H100", "550.54.15", True),  # PTX of CUDA 11.3
        ("0.9.0", "RTX 2080 Ti", "470.199.02", True),  # the runner for CUDA 11
        ("0.11.0", "RTX 2080 Ti", "470.199.02", False),  # which went with pull request 10694
        ("0.12.0", "RTX 5090", "570.124.06", True),
        ("0.20.0", "Tesla P40", "550.54.15", True),
        ("0.30.5", "Tesla P40", "550.54.15", False),  # docs/gpu.mdx: Maxwell and Pascal need driver 570
        ("0.30.5", "Tesla P40", "570.124.06", True),
        ("0.30.5", "V100", "535.104.05", True),
    ],
)
def test_a_release_of_ollama_runs_where_one_of_its_runners_does(
    version: str, gpu: str, driver: str, runs: bool
) -> None:
    by_name = verdict(gpu=gpu, driver=driver, framework="Ollama", framework_version=version)
    by_image = verdict(gpu=gpu, driver=driver, image=f"ollama/ollama:{version}")
    assert by_name.runs is by_image.runs is runs


def test_the_cuda_of_the_driver_says_nothing_of_what_a_release_of_ollama_is_built_for() -> None:
    asked = {"gpu": "Tesla K80", "driver": "470.199.02", "cuda": "11.4", "framework": "ollama"}
    assert verdict(**asked, framework_version="0.3.0") is Verdict.INCOMPATIBLE


def test_a_program_around_a_framework_is_read_as_the_framework_that_its_build_names() -> None:
    asked = {"gpu": "RTX 5090", "driver": "570.124.06", "framework": "ComfyUI", "framework_version": "0.3.40"}
    assert verdict(**asked) is Verdict.UNKNOWN
    assert verdict(**asked, build="torch 2.6.0+cu124") is Verdict.INCOMPATIBLE
    assert verdict(**asked, build="torch 2.7.0+cu128").runs
