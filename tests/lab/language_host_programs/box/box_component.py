"""A component with one input and one output."""

from typing import Optional, TypedDict

import pulumi


class BoxArgs(TypedDict):
    size: pulumi.Input[str]


class Box(pulumi.ComponentResource):
    label: pulumi.Output[str]

    def __init__(self, name: str, args: BoxArgs, opts: Optional[pulumi.ResourceOptions] = None) -> None:  # noqa: UP045 - hosted components spell it out
        super().__init__("box:index:Box", name, {**args}, opts)
        self.label = pulumi.Output.concat("box of ", args["size"])
        self.register_outputs({"label": self.label})
