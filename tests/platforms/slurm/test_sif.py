"""SIF files: their names, their definition, and the script that makes them, run by a real shell."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from platforms.slurm.controllers import SlurmError
from platforms.slurm.controllers.files import build_sif, size_of
from platforms.slurm.sif import NoDigest, build_script, definition, sif_path
from platforms.slurm.site_model import SlurmAccess

DIGEST = "0123456789abcdef" * 4
REF = f"127.0.0.1:5000/gpu-commons/cupy@sha256:{DIGEST}"

# Stands in for Singularity: writes what it was given, or fails as it was told.
PROGRAM = """\
#!/bin/sh
case "$1" in
  build) echo "$@" >> {folder}/calls; shift; [ "$1" = --no-https ] && shift
    [ -e {folder}/says ] && {{ cat {folder}/says >&2; exit 255; }}
    cat "$2" > "$1" ;;
  inspect) [ -s "$2" ] ;;
esac
"""


@pytest.fixture
def site(tmp_path: Path) -> SlurmAccess:
    program = tmp_path / "singularity"
    program.write_text(PROGRAM.format(folder=tmp_path))
    program.chmod(0o755)
    return SlurmAccess.model_validate(
        {
            "access": {"kind": "local"},
            "program": str(program),
            "program_version": "4.3.3",
            "image_store": str(tmp_path / "store"),
            "insecure_registries": ("127.0.0.1:5000",),
        }
    )


def test_a_file_is_named_after_the_image_and_its_digest() -> None:
    assert sif_path("/images/", "cupy-notebook", REF) == "/images/cupy-notebook/0123456789ab.sif"
    with pytest.raises(NoDigest, match="'cupy:latest' names no digest"):
        sif_path("/images", "cupy", "cupy:latest")


def test_a_definition_takes_the_image_as_it_is_and_says_where_it_is_from(golden: Any) -> None:
    golden("sif/image.def").equals(definition(REF, name="cupy", builder="singularity 4.3.3"))


def path(site: SlurmAccess) -> Path:
    return Path(sif_path(site.image_store, "cupy", REF))


def test_a_file_is_made_once_and_again_when_it_is_not_whole(site: SlurmAccess, tmp_path: Path) -> None:
    made = build_sif(site, REF, str(path(site)), name="cupy")
    whole = path(site).read_bytes()
    assert (made.size_bytes, size_of(site, str(path(site)))) == (len(whole), len(whole))
    assert build_sif(site, REF, str(path(site)), name="cupy") == made
    assert len((tmp_path / "calls").read_text().splitlines()) == 1
    path(site).write_bytes(whole[:-5])
    assert build_sif(site, REF, str(path(site)), name="cupy") == made
    assert path(site).read_bytes() == whole
    calls = (tmp_path / "calls").read_text().splitlines()
    assert len(calls) == 2
    assert all(call.startswith("build --no-https ") for call in calls)
    assert sorted(each.name for each in path(site).parent.iterdir()) == ["0123456789ab.sif", "0123456789ab.sif.sha256"]


@pytest.mark.parametrize(
    ("says", "expected"),
    [
        ("FATAL: while creating squashfs: write failed: No space left on device", "the image store .* is full"),
        ('Error for command "build": unknown flag: --no-https', "is too old for what the image needs"),
        (
            "FATAL: conveyor failed to get: manifest unknown",
            "could not make .*: FATAL: conveyor failed to get: manifest",
        ),
    ],
)
def test_why_a_file_cannot_be_made_is_reported_and_nothing_is_left(
    site: SlurmAccess, tmp_path: Path, says: str, expected: str
) -> None:
    (tmp_path / "says").write_text(f"{says}\n")
    with pytest.raises(SlurmError, match=expected):
        build_sif(site, REF, str(path(site)), name="cupy")
    assert not [*path(site).parent.iterdir()]


def test_a_script_is_one_that_every_shell_reads(site: SlurmAccess) -> None:
    odd = site.model_copy(update={"program": "/opt/odd name/it's"})
    script = build_script(odd, REF, "/store with 'quotes'/cupy/0.sif", name="cupy")
    assert subprocess.run(["sh", "-n"], input=script, text=True, check=False).returncode == 0
