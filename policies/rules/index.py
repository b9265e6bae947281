"""All rules, by hand, in the order of the reference page."""

from typing import Final

from policies.findings import Rule
from policies.rules import gpu_request, hosting_pool, pinned_image

ALL_RULES: Final[tuple[Rule, ...]] = (gpu_request.RULE, pinned_image.RULE, hosting_pool.RULE)
