"""Starts, checks and stops hubs on a site's login node, as the hub's account."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from platforms.slurm.controllers import SlurmError
from platforms.slurm.controllers.access import Done, run_by
from platforms.slurm.controllers.files import put_files, remove_folder
from platforms.slurm.hub import FOLDER, folder_of
from platforms.slurm.hub_model import hubs_of
from platforms.slurm.site_model import SlurmAccess

_START_WITHIN_S: Final = 420
_STOP_WITHIN_S: Final = 300


def start(site: SlurmAccess, hub: str, files: Mapping[str, str]) -> str:
    """Write the hub's files and start outdated processes; returns its state folder. Raises SlurmError."""
    put_files(site, f"{site.image_store.rstrip('/')}/{FOLDER}", files, own=hub)
    return str(_reply(site, hub, _ask(site, hub, ["start"], _START_WITHIN_S))["state"])


def is_right(site: SlurmAccess, hub: str) -> bool:
    """Whether hub and proxy match the files on the login node. Raises SlurmError if unknown."""
    done = _ask(site, hub, ["status"], _STOP_WITHIN_S)
    return not done.code and not json.loads(done.out)["wrong"]


def end_servers(site: SlurmAccess, hub: str, accounts: Sequence[str]) -> None:
    """Stop servers of accounts without a user. Raises SlurmError."""
    if accounts and (left := _reply(site, hub, _ask(site, hub, ["end", *accounts], _STOP_WITHIN_S))["left"]):
        raise SlurmError(f"hub {hub}: servers of {'; '.join(left)} could not be ended; run the command again")


def stop(site: SlurmAccess, hub: str, files: Mapping[str, str]) -> None:
    """Stop hub, servers and proxy, then remove the hub's files; keep its state. Raises SlurmError."""
    put_files(site, f"{site.image_store.rstrip('/')}/{FOLDER}", files, own=hub)  # they may have been removed
    _reply(site, hub, _ask(site, hub, ["stop"], _STOP_WITHIN_S))
    remove_folder(site, folder_of(site, hub))


def _ask(site: SlurmAccess, hub: str, words: Sequence[str], within_s: int) -> Done:
    argv = ["python3", "-I", f"{folder_of(site, hub)}/service.py", *words]
    return run_by(hubs_of(site).access, argv, {}, within_s=within_s)


def _reply(site: SlurmAccess, hub: str, done: Done) -> dict[str, Any]:
    if done.code:
        access = hubs_of(site).access
        where = "this machine" if access.kind == "local" else access.address
        raise SlurmError(f"hub {hub} on {where}: {(done.err or done.out).strip() or f'ended with {done.code}'}")
    found: dict[str, Any] = json.loads(done.out)
    return found
