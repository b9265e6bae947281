"""An IAM role from a plain description, with only the managed policies it needs."""

import json
from collections.abc import Mapping, Sequence

import pulumi
from pulumi_aws import iam

from platforms.aws.roles import Policy


class MadeRole:
    """A role and the policy attachments its users must wait for."""

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
