"""AWS for a lab without an account: moto and the lab's own EKS, on loopback, in memory.

Its resources vanish when it ends; a stack notices at its next refresh and creates them again.
"""

from __future__ import annotations

import json
import sys
import urllib.request
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import botocore.session

from lab.instance import Instance
from lab.processes import Server

NAME = "aws"
REGION = "us-east-1"
# 32 zero bytes: there never was a private half.
KEY_OF_NOBODY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA lab"
PROJECT = Path(__file__).parents[2]
# https://docs.getmoto.org/en/latest/docs/configuration/environment_variables.html
OPTIONS = {
    "MOTO_IAM_LOAD_MANAGED_POLICIES": "true",
    "MOTO_EC2_ENABLE_INSTANCE_TYPE_VALIDATION": "1",
    "MOTO_ENABLE_AMI_VALIDATION": "1",
}


def url(instance: Instance) -> str:
    return f"http://127.0.0.1:{instance.ports[NAME]}"


def server(instance: Instance, *, cluster_endpoint: str = "", cluster_authority: Path | None = None) -> Server:
    """The emulator; its EKS clusters report the address `cluster_endpoint`, with that authority (a PEM file)."""
    argv = [sys.executable, "-m", "lab.aws_emulator", f"--port={instance.ports[NAME]}"]
    if cluster_endpoint:
        argv.append(f"--cluster-endpoint={cluster_endpoint}")
    if cluster_authority:
        argv.append(f"--cluster-authority={cluster_authority}")
    return Server(
        NAME,
        argv=argv,
        ready=lambda: _answers(f"{url(instance)}/lab/answered"),
        ready_within_s=60,
        env={**OPTIONS, "PYTHONPATH": str(PROJECT), "NO_PROXY": "*"},
        files=[cluster_authority] if cluster_authority else [],
    )


def environment(instance: Instance, region: str = REGION) -> dict[str, str]:
    """Points a program, its plugin and every AWS client to this lab, with made-up credentials."""
    return {
        "AWS_ENDPOINT_URL": url(instance),
        "AWS_ACCESS_KEY_ID": "lab",
        "AWS_SECRET_ACCESS_KEY": "lab",
        "AWS_SESSION_TOKEN": "",  # from somebody's own login: it would be used with the lab's keys
        "AWS_REGION": region,
        "AWS_DEFAULT_REGION": region,
        "AWS_EC2_METADATA_DISABLED": "true",
    }


def keep_keys(instance: Instance, names: Iterable[str], region: str) -> None:
    """Put a made-up public key where a stack's pools expect one; a site has its own there."""
    given = {"aws_access_key_id": "lab", "aws_secret_access_key": "lab"}  # made up: the emulator takes any
    client = botocore.session.Session().create_client("ssm", region_name=region, endpoint_url=url(instance), **given)
    for name in names:
        client.put_parameter(Name=name, Value=KEY_OF_NOBODY, Type="String", Overwrite=True)


def answered(instance: Instance) -> dict[str, int]:
    """Calls since the start by who answered them: `lab eks CreateCluster`, `moto ec2`."""
    return _reported(instance, "answered")


def account(instance: Instance) -> str:
    """The account's id: a new one after each start, because everything in the last one is gone."""
    return str(_reported(instance, "account")["id"])


def _reported(instance: Instance, what: str) -> dict[str, Any]:
    with urllib.request.urlopen(f"{url(instance)}/lab/{what}", timeout=5) as answer:  # noqa: S310 - our own http://
        return dict(json.load(answer))


def summary(calls: Mapping[str, int]) -> str:
    """One line for `make up`: how much of AWS the lab answered."""
    own = sum(count for who, count in calls.items() if who.startswith("lab "))
    return f"AWS is a stand-in: moto answered {sum(calls.values()) - own} calls, the lab's own EKS {own}"


def _answers(address: str) -> bool:
    with urllib.request.urlopen(address, timeout=2) as answer:  # noqa: S310 - our own http:// URL
        return bool(answer.status == 200)
