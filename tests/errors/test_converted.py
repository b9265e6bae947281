"""What is advised for a value with a unit, a share in per cent, a day in another order: the value as it should be."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from rows import each_row

from errors.converted import converted, days
from settings.reading import SettingsError, from_pulumi, load_stack

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "stacks" / "Pulumi.dsmlp-fall.yaml").read_text()
SALT = re.compile(r"encryptionsalt: .*\n")

CONVERTED = [
    # share
    ("peak_share", "20%", "0.2"),
    ("peak_share", "12.5 %", "0.125"),
    ("peak_share", "1/5", "0.2"),
    ("peak_share", "0,2", "0.2"),
    ("peak_share", 20, "0.2"),
    # GiB
    ("memory_gib", "16Gi", "16"),
    ("memory_gib", "16 GiB", "16"),
    ("memory_gib", "16384Mi", "16"),
    ("memory_gib", "1.5Ti", "1536"),
    ("memory_gib", "16GB", "14.9"),
    ("memory_gib", "16", "16, without quotes"),
    # GB
    ("compressed_gb", "6GB", "6"),
    ("compressed_gb", "6000 MB", "6"),
    ("compressed_gb", "6GiB", "6.44"),
    # MB/s
    ("pull_mb_per_s", "50MB/s", "50"),
    ("pull_mb_per_s", "1Gbit/s", "125"),
    ("pull_mb_per_s", "10Gbps", "1250"),
    ("pull_mb_per_s", "400 MiB/s", "419.43"),
    # seconds
    ("start_timeout_s", "10m", "600"),
    ("start_timeout_s", "1h", "3600"),
    ("start_timeout_s", "1h30m", "5400"),
    ("start_timeout_s", "90 seconds", "90"),
    ("start_timeout_s", "00:10:00", "600"),
    # counts and cores
    ("gpus_per_node", "8x", "8"),
    ("gpus_per_node", "8 GPUs", "8"),
    ("gpus_per_node", "8.0", "8, without quotes"),
    ("seats", "1,200", "1200"),
    ("cpu", "500m", "0.5"),
    ("cpu", "4 cores", "4"),
    # true and false
    ("pre_pull", "yes", "true"),
    ("pre_pull", "Off", "false"),
    ("pre_pull", "true", "true, without quotes"),
    # lists
    ("nodes", "n11, n12", "[n11, n12]"),
    # days
    ("first_day", "10/13/2020", '"2020-10-13"'),
    ("first_day", "10/01/2020", '"2020-10-01" or "2020-01-10"'),
    ("first_day", "2020/10/1", '"2020-10-01"'),
    ("first_day", "01.10.2020", '"2020-10-01"'),
    ("first_day", "1 Oct 2020", '"2020-10-01"'),
    ("first_day", "October 1st, 2020", '"2020-10-01"'),
    ("first_day", "2020-10-01T08:00:00Z", '"2020-10-01"'),
    # versions
    ("driver", "NVIDIA-SMI 418.88", '"418.88"'),
    ("container_toolkit", "v1.7.0", '"1.7.0"'),
]
WHERE = {
    "peak_share": "courses[0]",
    "seats": "courses[0]",
    "first_day": "courses[0]",
    "memory_gib": "fleet.pools[0]",
    "pull_mb_per_s": "fleet.pools[0]",
    "gpus_per_node": "fleet.pools[0]",
    "cpu": "fleet.pools[0]",
    "nodes": "fleet.pools[0]",
    "driver": "fleet.pools[0]",
    "container_toolkit": "fleet.pools[0]",
    "compressed_gb": "images[0].limit",
    "start_timeout_s": "hubs[0]",
    "pre_pull": "hubs[0]",
}


def written(key: str, value: Any, tmp_path: Path) -> Path:
    """The stack file of dsmlp-fall with one key set to a value of this form."""
    data = yaml.safe_load(TEXT)
    data["config"]["gpu-commons:images"][0]["limit"] = {"compressed_gb": 7, "reason": "x", "until": "2999-01-01"}
    section, *steps = re.findall(r"\w+", WHERE[key])
    here = data["config"][f"gpu-commons:{section}"]
    for step in steps:
        here = here[int(step) if step.isdigit() else step]
    here[key] = value
    path = tmp_path / "Pulumi.changed.yaml"
    path.write_text(yaml.safe_dump(data))
    return path


@pytest.mark.slow
@each_row(("key", "value", "meant"), CONVERTED, ids=lambda it: str(it).replace("/", "_"))
def test_the_message_has_the_value_as_it_should_be(key: str, value: Any, meant: str, tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as caught:
        load_stack(written(key, value, tmp_path))
    (problem,) = [each for each in caught.value.problems if each.path == f"{WHERE[key]}.{key}"]
    assert problem.value == json.dumps(value)
    assert problem.fix in {f"write {key}: {meant}", f"write {meant}"}


@pytest.mark.slow
@each_row(("key", "meant"), sorted({(key, meant) for key, _, meant in CONVERTED if "," not in meant}))
def test_what_the_message_says_is_accepted(key: str, meant: str, tmp_path: Path) -> None:
    load_stack(written(key, yaml.safe_load(meant.partition(" or ")[0]), tmp_path))


@each_row(
    ("key", "kind", "value"),
    [
        ("memory_gib", "number", "lots"),
        ("memory_gib", "number", "16 apples"),
        ("memory_gib", "number", ""),
        ("memory_gib", "number", True),
        ("memory_gib", "number", None),
        ("memory_gib", "number", "9" * 400),
        ("peak_share", "number", "a fifth"),
        ("peak_share", "number", "1/0"),
        ("start_timeout_s", "integer", "soon"),
        ("start_timeout_s", "integer", "1.5s"),
        ("pre_pull", "boolean", "maybe"),
        ("gpus_per_node", "integer", "8.5"),
        ("pull_mb_per_s", "number", "fast"),
        ("nodes", "array", "n01 and {n02}"),
        ("nodes", "array", {}),
        ("name", "string", 10),
    ],
)
def test_nothing_is_guessed(key: str, kind: str, value: Any) -> None:
    found = converted(key, kind, value)
    assert found is None or value == "9" * 400


@each_row("text", ["summer", "32.13.2020", "2020-02-30", "10/01/20", "", "99/99/2020"])
def test_a_text_that_is_no_day_means_none(text: str) -> None:
    assert days(text) == ()


@pytest.fixture
def misspelt(tmp_path: Path) -> Iterator[Any]:
    def write(*pairs: tuple[str, str]) -> tuple[Any, ...]:
        text = TEXT
        for old, new in pairs:
            assert old in text
            text = text.replace(old, new, 1)
        path = tmp_path / "Pulumi.misspelt.yaml"
        path.write_text(text)
        with pytest.raises(SettingsError) as caught:
            load_stack(path)
        return caught.value.problems

    return write


@each_row(
    ("written_as", "meant"),
    [
        ("gpu-common:site", "gpu-commons:site"),
        ("gpu_commons:fleet", "gpu-commons:fleet"),
        ("gpucommons:hubs", "gpu-commons:hubs"),
        ("GPU-Commons:courses", "gpu-commons:courses"),
        ("gpu-comons:imges", "gpu-commons:images"),
    ],
)
def test_a_misspelt_section_is_one_problem_with_the_section_that_was_meant(
    written_as: str, meant: str, misspelt: Any
) -> None:
    (problem,) = misspelt((f"  {meant}:", f"  {written_as}:"))
    assert (problem.path, problem.fix) == (written_as, f"did you mean {meant}?")
    assert problem.line == TEXT[: TEXT.index(f"  {meant}:")].count("\n") + 1


@pytest.mark.slow
def test_what_is_in_a_misspelt_section_is_checked_as_well(misspelt: Any) -> None:
    found = misspelt(("gpu-commons:site", "gpu-common:site"), ("name: dsmlp", "nmae: dsmlp"))
    assert {each.path for each in found} >= {"gpu-common:site", "site.nmae"}


def test_the_engines_configuration_gets_the_same_suggestion(monkeypatch: pytest.MonkeyPatch) -> None:
    data = yaml.safe_load(TEXT)["config"]
    config = {key.replace("gpu-commons:site", "gpu-common:site"): json.dumps(value) for key, value in data.items()}
    monkeypatch.setenv("PULUMI_CONFIG", json.dumps(config))
    with pytest.raises(SettingsError) as caught:
        from_pulumi()
    (problem,) = caught.value.problems
    assert (problem.path, problem.fix) == ("gpu-common:site", "did you mean gpu-commons:site?")


@each_row("key", ["aws:region", "gpu:site", "commons:site", "gpu-commons-extra:site", "kubernetes:site"])
def test_sections_of_other_programs_are_ignored(key: str, tmp_path: Path) -> None:
    path = tmp_path / "Pulumi.other.yaml"
    path.write_text(TEXT.replace("config:\n", f"config:\n  {key}: x\n", 1))
    assert load_stack(path).site.name == "dsmlp"
