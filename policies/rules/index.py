"""All rules, by hand, in the order of the reference page."""

from typing import Final

from policies.findings import Rule
from policies.rules import cold_start, gpu_request, hosting_pool, image_disk, image_runs, image_size, pinned_image, term

ALL_RULES: Final[tuple[Rule, ...]] = (
    gpu_request.RULE,
    pinned_image.RULE,
    hosting_pool.RULE,
    image_runs.RULE,
    image_size.RULE,
    image_disk.RULE,
    cold_start.RULE,
    term.RULE,
)
