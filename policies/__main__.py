"""Starts the policy pack. Created only here: PolicyPack(...) never returns."""

import pulumi_policy

from policies.crossguard import looks_at, pack_policies
from policies.sdk_handlers import listen
from policies.stacks import configure, site_of_stack

policies = pack_policies(site_of_stack)
listen(configure, looks_at)
pulumi_policy.PolicyPack(name="gpu-commons", policies=list(policies))
