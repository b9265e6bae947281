"""The AWS stand-in without its AWS: ended, started anew, without credentials."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # folders of tests are no packages here
from aws_account import Account

from lab import processes
from lab.instance import Instance
from lab.providers.aws.provider import AwsProvider
from lab.providers.plugin import Engine
from lab.providers.vocabulary import PluginError
from lab.servers import moto

pytestmark = pytest.mark.slow  # an emulator of AWS starts, and answers in its own time


@pytest.fixture
def account(running_aws: Instance, monkeypatch: pytest.MonkeyPatch) -> Account:
    for name, value in moto.environment(running_aws).items():
        monkeypatch.setenv(name, value)
    provider = AwsProvider(Engine())
    provider.configure({})
    return Account(provider)


def test_an_emulator_that_was_started_anew_has_nothing_and_a_refresh_says_so(
    account: Account, running_aws: Instance
) -> None:
    for name in ("nodes", "may-all", "cni", "in-private", "worker"):
        account.make(name)
    processes.stop(running_aws, moto.NAME)
    processes.start(running_aws, moto.server(running_aws))
    assert [name for name in account.made if account.read(name) is not None] == []
    with pytest.raises(PluginError, match=r"eks NodeGroup .*pulumi refresh"):
        account.update("nodes", {"updateConfig": {"maxUnavailable": 1}})


def test_an_emulator_that_ended_is_one_clear_error(account: Account, running_aws: Instance) -> None:
    account.make("vpc")
    processes.stop(running_aws, moto.NAME)
    try:
        with pytest.raises(PluginError, match=r"ec2 Subnet .*127\.0\.0\.1.* does not answer .*make up"):
            account.provider.create(account.request("subnet-a", inputs={"vpcId": "vpc-1", "cidrBlock": "10.0.0.0/24"}))
    finally:
        processes.start(running_aws, moto.server(running_aws))


def test_without_anything_every_reason_is_reported_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_ENDPOINT_URL"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(PluginError) as refused:
        AwsProvider(Engine()).configure({})
    assert [line.split(":")[0].strip() for line in str(refused.value).splitlines()] == [
        "AWS cannot be queried",
        "no region",
        "no credentials",
        "no endpoint",
    ]


@pytest.mark.parametrize("endpoint", ["https://eks.us-east-1.amazonaws.com", "http://10.0.0.1:4566"])
def test_it_never_talks_to_aws_itself(endpoint: str, account: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
    with pytest.raises(PluginError, match="never talks to AWS itself"):
        AwsProvider(Engine()).configure({})
    with pytest.raises(PluginError, match="never talks to AWS itself"):
        account.provider.configure({"endpoints": f'[{{"eks": "{endpoint}"}}]'})
