"""Policy pack configuration for stacks without a stack file: `pulumi preview --policy-pack-config FILE.json`.

The engine's file has a mapping per policy. Ours is under `workloads` and applies to all of them.
Its sections are those of a stack file, read by the same models, so that the same mistake gets the same message.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field

from errors.problems import Problem, SettingsError, nearest
from fleet import labels
from platforms.node_keys import TaintEffect
from settings.models import AllowedRegistries, ImageLimits, LimitsOfImages, Policies, Strictness
from settings.pools import Fleet, NodePool
from settings.reading import read_sections
from workloads.addresses import Reference
from workloads.names import LabelValue

POLICIES: Final = ("workloads", "workloads-advice", "fleet-advice")  # the pack's policies
SECTION: Final = POLICIES[0]  # key of our configuration
CALLED: Final = "configuration of the policy pack"
REFUSING: Final = ("mandatory", "remediate")  # engine levels
_FORM: Final = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


@dataclass(frozen=True, slots=True)
class PolicyConfig:
    """One policy's configuration from the engine: its level, and its keys with values."""

    level: str = "mandatory"
    keys: Mapping[str, Any] = field(default_factory=dict)


class PackSite(BaseModel):
    """Site of the checked stacks."""

    model_config = _FORM
    allowed_registries: AllowedRegistries
    image_limits: LimitsOfImages = ImageLimits()
    runtime_images: tuple[Reference, ...] = Field(
        (),
        description="Images of the daemons of an NvidiaRuntime, which may see every GPU. Other daemons are named in "
        "runtime_daemons.",
    )
    runtime_daemons: dict[str, Reference] = Field(
        default={},
        description="The site's own GPU daemons, which may see every GPU: namespace/name and the image of each. No "
        "other DaemonSet with that image may.",
    )


class GpuTaint(BaseModel):
    """Taint that repels pods without GPUs."""

    model_config = _FORM
    value: LabelValue = Field(labels.GPU_TAINT.value, description="Its value; its key is nvidia.com/gpu.")
    effect: TaintEffect = "NoSchedule"


class PackFleet(Fleet):
    """All GPU pools of the cluster. Pods without GPUs may run on nodes outside these pools."""

    pools: tuple[NodePool, ...] = Field(min_length=1, description="The pools whose nodes have GPUs.")
    gpu_taint: GpuTaint | None = Field(
        GpuTaint(),
        description="Taint nvidia.com/gpu that every node of the fleet has, in addition to those of its pool; null if "
        "the nodes have none, or if an admission plugin adds the toleration to every pod that requests GPUs.",
    )


class Configuration(BaseModel):
    """Site facts and strictness for stacks of another project."""

    model_config = _FORM
    site: PackSite = Field(description="Where the stacks run.")
    fleet: PackFleet | None = Field(
        None,
        description="The pools with GPUs, as in a stack file; none: the Node resources of the stack are its pools.",
    )
    policies: Strictness = Policies()


def sections() -> dict[str, dict[str, Any]]:
    """The engine's schema. It has only descriptions, so that every mistake gets one message: ours."""
    return {name: {"description": field.description} for name, field in Configuration.model_fields.items()}


def json_schema() -> dict[str, Any]:
    """JSON Schema of the file, for editors and the reference page."""
    schema = Configuration.model_json_schema()
    definitions = schema.pop("$defs")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "gpu-commons policy pack configuration",
        "type": "object",
        "required": [SECTION],
        "properties": {SECTION: schema},
        "$defs": definitions,
    }


def read_configuration(configs: Mapping[str, PolicyConfig]) -> Configuration | None:
    """The pack's configuration, from the engine's configurations by policy; None if all are empty.

    Raises SettingsError with every mistake, including keys under an unknown policy or one that reads none, and a
    level that would disable refusals or hide unproved findings.
    """
    if found := [problem for policy, each in configs.items() for problem in _misplaced(policy, each)]:
        raise SettingsError(found)
    keys = configs[SECTION].keys if SECTION in configs else {}
    return read_sections(Configuration, keys, called=f"{CALLED}, {SECTION}") if keys else None


def _misplaced(policy: str, config: PolicyConfig) -> Iterator[Problem]:
    if policy not in POLICIES:
        fix = nearest(policy, POLICIES, what="policy name")
        yield Problem(policy, "", "is not a policy of this pack", fix, CALLED)
    elif config.keys and policy != SECTION:
        yield Problem(
            policy, "", "reads no configuration", f"write it under {SECTION}: it applies to all policies", CALLED
        )
    path, value = f"{policy}.enforcementLevel", f'"{config.level}"'
    if policy == SECTION and config.level not in REFUSING:
        fix = "leave it out: policies.levels and policies.waivers allow single findings, and every run reports them"
        yield Problem(path, value, "would let everything through", fix, CALLED)
    elif config.level == "disabled":
        yield Problem(path, value, "would hide what could not be proved", "leave it out", CALLED)
