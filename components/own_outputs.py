"""What this stack said of itself when it was last deployed whole: its own outputs, read from its state."""

from collections.abc import Mapping
from typing import Any

import pulumi


def own_output(name: str) -> pulumi.Output[Mapping[str, Any]]:
    """An output of this stack that is a mapping, as its last whole update left it; empty where there is none.

    There is none before the first update and after a destroy. An update that is running, or that failed, changes
    nothing of it.
    """
    # The function behind `pulumi.StackReference`. That one is a resource: its state is a copy of all outputs, so after
    # each change of them a refresh would tell of drift.
    stack = f"{pulumi.get_organization()}/{pulumi.get_project()}/{pulumi.get_stack()}"

    async def read() -> Mapping[str, Any]:
        answer = await pulumi.runtime.invoke_async("pulumi:pulumi:readStackOutputs", {"name": stack})
        found = (answer.get("outputs") or {}).get(name)
        return found if isinstance(found, Mapping) else {}

    return pulumi.Output.from_input(read())
