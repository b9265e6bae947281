"""A hub on a cluster with Slurm whose agent is a stand-in: jobs wait for room, and some end at once.

Read by JupyterHub. FILES is the folder with the hub's files as its login node has them.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from no_proxy import alone

FILES = Path(os.environ["FILES"])
c = get_config()  # type: ignore[name-defined]  # noqa: F821 - traitlets puts it there
sys.path.insert(0, str(FILES.parent))

from hub_files import slurm_spawner  # noqa: E402 - found by the path above
from hub_files.configuration import configure_from_files  # noqa: E402 - found by the path above

slurm_spawner.NODES = FILES.with_name("nodes.json")
slurm_spawner.NODES.write_text(json.dumps({"gpu": ["gpu01", "10.0.0.1"], "other": ["127.0.0.1"]}))
configure_from_files(c, FILES.parent / "credentials")
alone(c, int(os.environ["PORT"]))

FULL = {"gpus": 2, "busy_gpus": 2, "free_gpus": 0, "servers": 0, "lack": "gpus", "waiting": 3}
FREE = {"gpus": 0, "busy_gpus": 0, "free_gpus": 0, "servers": 5, "lack": "", "waiting": 0}
JOBS = {
    "one": "PENDING Resources",
    "crash": "GONE FAILED ImportError: No module named 'numpy'",
    "cpu": "PENDING None",
    "elsewhere": "RUNNING 127.0.0.1",  # what an account says that wants the proxy to lead there
}


async def answer(spawner: Any, cmd: str, **_: Any) -> str:
    """In place of ssh and the agent."""
    words = cmd.rpartition("@127.0.0.1 ")[2].split()
    if words[0] == "submit":
        if words[2] == "lost":
            raise RuntimeError("\nsbatch: error: Batch job submission failed: Invalid account")
        spawner.submitted = words[2]
        return "17"
    if words[0] == "query":
        return JOBS[spawner.submitted]
    if words[0] == "free":
        return json.dumps({"one": FULL, "cpu": FREE})
    print("ended", spawner.user.name)  # noqa: T201 - into the log
    spawner.submitted = "crash"
    return "ended 1"


slurm_spawner.CommonsSlurmSpawner.run_command = answer
