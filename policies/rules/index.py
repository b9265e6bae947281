"""All rules, by hand, in the order of the reference page."""

from typing import Final

from policies.model import Rule
from policies.rules import (
    base_support,
    cold_start,
    driver_inside,
    gpu_request,
    hosting_pool,
    image_disk,
    image_runs,
    image_size,
    one_cuda,
    pinned_image,
    pool_disk,
    pool_driver,
    term,
)

ALL_RULES: Final[tuple[Rule, ...]] = (
    gpu_request.RULE,
    pinned_image.RULE,
    hosting_pool.RULE,
    image_runs.RULE,
    pool_driver.RULE,
    driver_inside.RULE,
    one_cuda.RULE,
    base_support.RULE,
    image_size.RULE,
    image_disk.RULE,
    pool_disk.RULE,
    cold_start.RULE,
    term.RULE,
)
