"""An IAM role from a plain description, with the managed policies that it needs and no other."""

from collections.abc import Mapping

import pulumi
from aws.roles import Role
from pulumi_aws import iam


class MadeRole:
    """A role and the attachments that must be there before anybody counts on it."""

    def __init__(self, name: str, role: Role, tags: Mapping[str, str], opts: pulumi.ResourceOptions) -> None:
        made = iam.Role(name, assume_role_policy=role.trust, tags={**tags}, opts=opts)
        self.arn = made.arn
        self.name = made.name
        self.attachments = [
            iam.RolePolicyAttachment(
                f"{name}-{policy.rpartition('/')[2]}", role=made.name, policy_arn=policy, opts=opts
            )
            for policy in role.managed_policies
        ]
