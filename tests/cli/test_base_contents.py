"""`image plan` lists what another project's base brings, and the first driver for it."""

from __future__ import annotations

from rows import each_row

from cli.image.plan_report import brings


@each_row(
    ("reference", "expected"),
    [
        ("nvcr.io/nvidia/tensorflow:19.01-py3", "tensorflow 1.12.0, CUDA 10.0.130 for drivers from 410.48 on"),
        (
            "nvcr.io/nvidia/tensorflow:25.02-tf2-py3",
            "tensorflow 2, CUDA 12.8.0 for drivers from 570.26 on; by minor versions from 525.60.13 on",
        ),
        ("nvidia/cuda:10.1-base-ubuntu18.04", "CUDA 10.1 for drivers from 418.39 on"),
        ("docker.io/library/debian:bookworm-slim", ""),
        ("quay.io/jupyter/datascience-notebook:2026-08-24", ""),
        ("", ""),
    ],
)
def test_what_a_base_brings_is_listed_with_its_drivers(reference: str, expected: str) -> None:
    assert brings(reference) == expected
