"""Constructs a component that another process hosts."""

import pulumi


class Box(pulumi.ComponentResource):
    """What a generated SDK has: the token, the inputs, the outputs."""

    label: pulumi.Output[str]

    def __init__(self, name: str, size: pulumi.Input[str]) -> None:
        super().__init__("box:index:Box", name, {"size": size, "label": None}, remote=True)


pulumi.export("label", Box("one", "12").label)
