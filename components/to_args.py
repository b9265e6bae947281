"""Arguments that are of no platform: those of images and of the stack's record, and those of every hub.

Without Pulumi, so that checks need no SDK; `on_*/to_args.py` have those of each platform.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from workloads.arguments import stated
from workloads.hub import Course
from workloads.resolved import ResolvedHub

if TYPE_CHECKING:
    import pulumi

    from components.gpu_image import GpuImageArgs
    from components.stack_record import StackRecordArgs


def stack_record(sections: Mapping[str, Any]) -> StackRecordArgs:
    """Arguments of the StackRecord."""
    return cast("StackRecordArgs", {**sections})


def gpu_image(
    name: str,
    build: Mapping[str, Any],
    base: pulumi.Output[str] | None = None,
    deployed: pulumi.Output[Mapping[str, Any]] | None = None,
) -> GpuImageArgs:
    """Arguments of a GpuImage. `build`: those that are known; `base`: its parent's `ref`; `deployed`: last `sizes`."""
    before = None if deployed is None else deployed.apply(lambda sizes: sizes.get(name, {}))
    return cast("GpuImageArgs", stated({**build, "base": base, "deployed": before}))


def every_hub(hub: ResolvedHub, refs: Mapping[str, Any]) -> dict[str, Any]:
    """Images, courses and login of a hub. `refs`: repository@digest by image name."""
    login = stated(hub.authenticator.model_dump(exclude_none=True))
    fields = {*Course.model_fields}
    return {
        **{f"{part}_image": refs[image] for part, image in hub.images.items()},
        **{f"{part}_image_name": image for part, image in hub.images.items()},
        "courses": [each.model_dump(mode="json", exclude_none=True, include=fields) for each in hub.courses] or None,
        # In the component's form: an empty list means an omitted key.
        "authenticator": {key: value for key, value in login.items() if value != []},
        "site_name": hub.site_name,
    }
