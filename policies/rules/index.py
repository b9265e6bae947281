"""All rules, listed by hand in reference page order."""

from typing import Final

from policies.model import Rule
from policies.rules import base as base_support
from policies.rules import batch as batch_text
from policies.rules import course_capacity, disk_capacity, resource_claims, start_time
from policies.rules import disk as image_disk
from policies.rules import driver as pool_driver
from policies.rules import gpu as gpu_request
from policies.rules import host as hosting_pool
from policies.rules import limit as container_limits
from policies.rules import nodriver as driver_inside
from policies.rules import onecuda as one_cuda
from policies.rules import pin as pinned_image
from policies.rules import port as published_ports
from policies.rules import read as pods_read
from policies.rules import region as offered_region
from policies.rules import run as image_runs
from policies.rules import size as image_size

ALL_RULES: Final[tuple[Rule, ...]] = (
    pods_read.RULE,
    gpu_request.RULE,
    pinned_image.RULE,
    published_ports.RULE,
    container_limits.RULE,
    batch_text.RULE,
    hosting_pool.RULE,
    image_runs.RULE,
    pool_driver.RULE,
    offered_region.RULE,
    resource_claims.RULE,
    driver_inside.RULE,
    one_cuda.RULE,
    base_support.RULE,
    image_size.RULE,
    image_disk.RULE,
    disk_capacity.RULE,
    start_time.RULE,
    course_capacity.RULE,
)

# IDs of findings about the pack itself, instead of a rule, and when they are reported.
ABOUT_THE_PACK: Final = {
    "P-SITE": "The fleet of the stack is not known, so nothing can be proved: refused. If the fleet comes from "
    "elsewhere than the stack's own file, the source is reported.",
    "P-WAIVER": "A waiver is in force or has expired: reported in every run, with reason, owner and last day.",
    "P-LEVEL": "The site turned the refusals of a rule into advice: reported in every run.",
}
