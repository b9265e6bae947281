"""An IAM role from a plain description, with the managed policies that it needs and no other."""

import json
from collections.abc import Mapping, Sequence

import pulumi
from pulumi_aws import iam

from platforms.aws.roles import Policy


class MadeRole:
    """A role, and the attachments that must be there before anybody counts on it."""

    def __init__(
        self,
        name: str,
        trust: Policy,
        policies: Sequence[str],
        tags: Mapping[str, str],
        opts: pulumi.ResourceOptions,
    ) -> None:
        made = iam.Role(name, assume_role_policy=json.dumps(trust), tags={**tags}, opts=opts)
        self.arn = made.arn
        self.name = made.name
        self.attachments = [
            iam.RolePolicyAttachment(
                f"{name}-{policy.rpartition('/')[2]}", role=made.name, policy_arn=policy, opts=opts
            )
            for policy in policies
        ]
