"""Files of hubs on a cluster: only where nobody else can change what users run."""

from __future__ import annotations

from pathlib import Path

import pytest

from platforms.slurm.controllers import SlurmError
from platforms.slurm.controllers.files import put_files
from tests.platforms.slurm.test_hub import site


@pytest.mark.slow
def test_files_are_written_and_what_else_the_hub_had_is_removed(tmp_path: Path) -> None:
    put_files(site(), str(tmp_path / "hubs"), {"agent.py": "1", "quest/a": "1", "quest/b": "1"}, own="quest")
    put_files(site(), str(tmp_path / "hubs"), {"agent.py": "2", "quest/a": "2"}, own="quest")
    found = {str(path.relative_to(tmp_path)): path.read_text() for path in tmp_path.rglob("*") if path.is_file()}
    assert found == {"hubs/agent.py": "2", "hubs/quest/a": "2"}


@pytest.mark.slow
@pytest.mark.parametrize("mode", [0o775, 0o757])
def test_a_folder_that_others_may_write_is_refused_with_what_to_do(tmp_path: Path, mode: int) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(mode)
    with pytest.raises(SlurmError, match=f"chmod go-w {shared}"):
        put_files(site(), str(shared / "images" / "hubs"), {"agent.py": "1"}, own="quest")
    assert [*shared.iterdir()] == []


@pytest.mark.slow
def test_a_folder_where_nobody_removes_what_is_anothers_will_do(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    put_files(site(), str(shared / "hubs"), {"agent.py": "1"}, own="quest")
    assert (shared / "hubs" / "agent.py").read_text() == "1"
