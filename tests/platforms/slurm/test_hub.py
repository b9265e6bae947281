"""A hub on a cluster with Slurm as data: the text of a server, and what the programs of the hub know."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest
from rows import each_row

from errors.problems import SettingsError
from platforms.slurm.batch_script import options_of
from platforms.slurm.hub import agent_path, files, server_script
from platforms.slurm.hub_model import Hub, parse_hub
from platforms.slurm.site_model import SlurmAccess
from workloads.hub_programs import hub_programs

IMAGE = f"notebook@sha256:{'0' * 64}"
STORE = "/projects/gpu-commons/images"
SIFS = {"slurm-hub": f"{STORE}/slurm-hub/1.sif", "proxy": f"{STORE}/proxy/1.sif", "notebook": f"{STORE}/notebook/1.sif"}
OAUTH = {
    "kind": "oauth", "client_id": "quest", "client_secret": {"secret": "quest", "key": "client-secret"},
    "callback_url": "https://hub.example.edu/hub/oauth_callback", "authorize_url": "https://login.example.edu/authorize",
    "token_url": "https://login.example.edu/token", "userdata_url": "https://login.example.edu/user", "allow_all": True,
}  # fmt: skip
PROFILE: dict[str, Any] = {
    "name": "one-gpu", "title": "One GPU", "image": IMAGE, "image_name": "notebook", "gpus": 1, "cpu": 2,
    "memory_gib": 8, "time_min": 240, "gpu": "Tesla P100-PCIE-16GB",
    "partitions": [{"pool": "gpu", "partition": "gpu", "gres": "p100"}],
}  # fmt: skip


def site(**given: Any) -> SlurmAccess:
    hubs = {
        "access": {"kind": "ssh", "address": "jupyter@login.example.edu"},
        "inside": "login-1",
        "identity": "/var/lib/jupyter/.ssh/hubs",
        "accounts": {"ada": "ada01", "bob": "bob02"},
    }
    access = {"access": {"kind": "local"}, "program": "singularity", "image_store": STORE, "hubs": hubs}
    return SlurmAccess.model_validate({**access, **given})


def hub(**given: Any) -> Hub:
    args = {
        **{f"{part}_image": IMAGE for part in ("hub", "proxy")},
        "expose": {"kind": "login_node"},
        "authenticator": OAUTH,
        "profiles": [PROFILE],
    }
    return parse_hub("quest", {**args, **given}, site())


def document(made: Hub) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        files("quest", made, site(), SIFS, hub_programs("platforms.slurm"))["quest/hub.json"]
    )
    return found


def test_a_server_is_a_job_with_the_options_of_its_profile(golden: Any) -> None:
    made = hub()
    text = server_script(made.profiles[0], site(account="teaching"), SIFS["notebook"], made.cull)
    golden("batch-script/server.sbatch").equals(text)
    options = options_of(text)
    assert (options["partition"], options["gres"], options["time"]) == ("gpu", "gpu:p100:1", "240")
    assert options["export"] == "NONE"
    subprocess.run(["bash", "-n"], input=text, text=True, check=True)


def test_a_server_without_gpus_sees_none() -> None:
    made = hub(profiles=[{**PROFILE, "gpus": 0}])
    text = server_script(made.profiles[0], site(), SIFS["notebook"], made.cull)
    assert "gres" not in options_of(text)
    assert "export CUDA_VISIBLE_DEVICES=\n" in text
    assert "--nv" not in text


def test_only_people_with_an_account_log_in_whoever_the_sites_login_knows() -> None:
    everybody = document(hub())["options"]["Authenticator"]
    assert (everybody["allow_all"], everybody["allowed_users"]) == (False, ["ada", "bob"])
    assert everybody["allow_existing_users"] is False
    listed = document(hub(authenticator={**OAUTH, "allow_all": False, "allowed_users": ["bob", "cleo"]}))
    assert listed["options"]["Authenticator"]["allowed_users"] == ["bob"]


def test_administrators_are_a_whole_list_for_the_role_of_jupyterhub() -> None:
    def admins(made: Hub) -> list[str]:
        (role,) = [each for each in document(made)["options"]["JupyterHub"]["load_roles"] if each["name"] == "admin"]
        return list(role["users"])

    assert admins(hub()) == []
    assert admins(hub(authenticator={**OAUTH, "admins": ["ada"]})) == ["ada"]


def test_no_secret_is_in_a_file_of_the_stack() -> None:
    made = files("quest", hub(), site(), SIFS, hub_programs("platforms.slurm"))
    where = json.loads(made["quest/hub.json"])["client_secret"]
    assert where == "/etc/gpu-commons/secrets/quest/client-secret"
    assert {"agent.py", "quest/service.py", "quest/profiles/one-gpu.sbatch"} <= {*made}
    assert agent_path(site()) == f"{STORE}/hubs/agent.py"


def test_people_read_how_much_they_get_and_for_how_long() -> None:
    (card,) = document(hub())["page"]["cards"]
    assert card["gpu"] == "Tesla P100-PCIE-16GB"
    assert card["choices"][0]["size"] == "1 GPU, 2 CPU cores, 8 GiB memory, at most 4 hours"


@each_row(
    ("given", "words"),
    [
        ({"profiles": [{**PROFILE, "time_min": 0}]}, "time_min"),
        ({"expose": {"kind": "login_node", "port": 443}}, "port"),
        ({"authenticator": {**OAUTH, "admins": ["cleo"]}}, "has no account on the cluster"),
        ({"expose": {"kind": "login_node", "key": "/etc/hub.key"}}, "is missing beside key"),
        ({"profiles": [PROFILE, {**PROFILE, "title": "Other"}]}, "is taken by"),
    ],
)
def test_arguments_that_cannot_be_are_refused(given: dict[str, Any], words: str) -> None:
    with pytest.raises(SettingsError) as caught:
        hub(**given)
    assert words in str(caught.value)


def test_a_site_that_says_nothing_of_hubs_has_none() -> None:
    with pytest.raises(SettingsError, match="what hubs need here"):
        parse_hub("quest", {"profiles": [PROFILE]}, site(hubs=None))
