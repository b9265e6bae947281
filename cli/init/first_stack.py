"""The text of a first stack file, from the user's answers. Pure.

Unanswered questions get planning figures, listed under `assumptions`.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from platforms.templates import rendered

REGISTRY: Final = "registry.example.edu/gpu-commons"
PLATFORM: Final = "https://login.example.edu"
LOGINS: Final = ("lti13", "oauth")
BASE_IMAGE: Final = "datahub-base-notebook"
# Planning figures: those of the project's own example, and the oldest toolkit that works with all drivers.
PLANNED: Final[Mapping[str, str]] = {
    "container_toolkit": "1.17.8",
    "cpu": "32",
    "memory_gib": "192",
    "root_disk_gib": "480",
}
_QUOTED: Final = frozenset({"driver", "container_toolkit"})
_ORDER: Final = ("gpu", "gpus_per_node", "nodes", "driver", "container_toolkit", "cpu", "memory_gib", "root_disk_gib")
_OF_GPUS: Final = frozenset({"gpu", "gpus_per_node", "driver", "container_toolkit"})


@dataclass(frozen=True, slots=True)
class Pool:
    """The answers for a pool, as text; always `name` and `nodes`. Missing keys get planning figures."""

    given: Mapping[str, str]

    @property
    def name(self) -> str:
        return self.given["name"]

    @property
    def has_gpus(self) -> bool:
        return "gpu" in self.given

    @property
    def wanted(self) -> tuple[str, ...]:
        """The keys it needs, in the order of the file."""
        return tuple(key for key in _ORDER if self.has_gpus or key not in _OF_GPUS)

    @property
    def assumed(self) -> tuple[str, ...]:
        """The keys without an answer."""
        return tuple(key for key in self.wanted if key not in self.given)


@dataclass(frozen=True, slots=True)
class Answers:
    """The answers; None for a skipped question. `images` has an image for each GPU pool that can run one."""

    name: str
    pools: tuple[Pool, ...]
    total_gpus: int
    registry: str | None = None
    managed_by: str | None = None
    has_runtime: bool = True  # this stack runs NVIDIA's daemons
    hub: str | None = None
    login: str = "lti13"
    login_url: str | None = None
    images: Mapping[str, str] = field(default_factory=dict)  # by pool

    @property
    def runs_daemons(self) -> bool:
        return self.has_runtime and not self.managed_by and any(pool.has_gpus for pool in self.pools)

    @property
    def core_pool(self) -> str:
        """The hub and the proxy run on nodes without GPUs, if there are any."""
        return next((pool.name for pool in self.pools if not pool.has_gpus), self.pools[0].name)


def stack_text(answers: Answers, *, schema: str | None = None) -> str:
    """The whole file, from the template stack.yaml.j2."""
    registry = answers.registry or REGISTRY
    hosts = dict.fromkeys([registry.partition("/")[0], *(("nvcr.io", "docker.io") if answers.runs_daemons else ())])
    return rendered(
        Path(__file__).with_name("stack.yaml.j2"),
        answers=answers,
        schema=schema,
        registry=registry,
        registries=[*map(_text, hosts)],
        url=answers.login_url or PLATFORM,
        base_image=BASE_IMAGE,
        images=dict.fromkeys(["hub", "proxy", BASE_IMAGE, *answers.images.values()]),
        text=_text,
        value=_value,
    )


def _value(key: str, pool: Pool) -> str:
    value = pool.given.get(key) or PLANNED[key]
    if key == "nodes":
        return f"[{', '.join(map(_text, node_entries(value.strip())))}]"
    return json.dumps(value) if key in _QUOTED else _text(value) if key == "gpu" else value


def node_entries(text: str) -> list[str]:
    """`n01-n08` and `n10` of "n01-n08 n10"."""
    return re.split(r"[,;]?[ ]+|,", text)


def _text(value: str) -> str:
    """Plain if every YAML parser reads it as the same text, else quoted."""
    is_plain = re.fullmatch(r"[A-Za-z][\w./-]*(?:[ :][\w./-]+)*", value, re.ASCII)
    is_word = value.lower() in {"true", "false", "yes", "no", "on", "off", "null", "y", "n"}
    return value if is_plain and not is_word and ": " not in value else json.dumps(value, ensure_ascii=False)


def assumptions(answers: Answers) -> Sequence[str]:
    """Unanswered questions, for the end of the output."""
    pools = [f"{pool.name}: {', '.join(pool.assumed)}" for pool in answers.pools if pool.assumed]
    return [*([] if answers.registry else ["registry"]), *pools, *(["how people log in"] if answers.hub else [])]
