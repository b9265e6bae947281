"""The text of a first stack file, from the user's answers. Pure.

Unanswered questions get planning figures, listed under `assumptions`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

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
_DAEMONS: Final = {
    "device_plugin": "nvcr.io/nvidia/k8s-device-plugin:v0.17.1"
    "@sha256:af31e2b7c7f89834c4e5219860def7ac2e49a207b3d4e8610d5a26772b7738e5",
    "persistence_daemon": "docker.io/library/busybox:1.36.1"
    "@sha256:73aaf090f3d85aa34ee199857f03fa3a95c8ede2ffd4cc2cdb5b94e566b11662",
}
_RUNTIME: Final = """\
  gpu-commons:runtime:
    # Digests of these tags as public projects pin them; check with the registry before you change one.
    device_plugin: {device_plugin}
    persistence_daemon: {persistence_daemon}
    assumptions: [device_plugin, persistence_daemon]
"""
_LTI: Final = """\
    authenticator: # of your learning platform; these paths are Canvas's
      kind: lti13
      issuer: {url}
      authorize_url: {url}/api/lti/authorize_redirect
      jwks_endpoint: {url}/api/lti/security/jwks
      client_ids: ["client-id-of-the-hub"]
      username_key: email
"""
_OAUTH: Final = """\
    authenticator: # of your identity provider
      kind: oauth
      client_id: client-id-of-the-hub
      client_secret: {{ secret: {hub}-oauth, key: client-secret }} # a Kubernetes Secret, never the value
      callback_url: https://{hub}.example.edu/hub/oauth_callback
      authorize_url: {url}/authorize
      token_url: {url}/token
      userdata_url: {url}/userinfo
      allow_all: true
"""


_HEAD: Final = """\
# {name}: written by gpu-commons init from your answers. Everything else is an assumption and is listed under
# `assumptions` beside it: check each, correct it, and remove it from the list.
# This file contains no secret. Its keys: docs/reference/stack.md
config:
"""


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
    """The whole file."""
    return "".join(
        [
            *([f"# yaml-language-server: $schema={schema}\n#\n"] if schema else []),
            _HEAD.format(name=answers.name),
            *_site(answers),
            *_fleet(answers),
            *(["\n", _RUNTIME.format(**_DAEMONS)] if answers.runs_daemons else []),
            *_images(answers),
            *_hub(answers),
        ]
    )


def _site(answers: Answers) -> Iterator[str]:
    registry = answers.registry or REGISTRY
    host = registry.partition("/")[0]
    registries = dict.fromkeys([host, *(("nvcr.io", "docker.io") if answers.runs_daemons else ())])
    assumed = ["name", *([] if answers.registry else ["registry"]), "allowed_registries"]
    yield "  gpu-commons:site:\n"
    yield f"    name: {answers.name}\n"
    yield f"    registry: {_text(registry)} # our images are pushed there\n"
    yield f"    allowed_registries: [{', '.join(map(_text, registries))}]\n"
    if answers.hub:
        yield f"    core_pool: {answers.core_pool} # runs the hub, the proxy and profiles without a pool\n"
        text = _LTI if answers.login == "lti13" else _OAUTH
        yield text.format(url=answers.login_url or PLATFORM, hub=answers.hub)
        assumed += ["core_pool", "authenticator"]
    yield f"    assumptions: [{', '.join(assumed)}]\n"


def _fleet(answers: Answers) -> Iterator[str]:
    yield "\n  gpu-commons:fleet:\n"
    if answers.managed_by:
        yield f"    managed_by: {_text(answers.managed_by)} # who manages these nodes; the stack leaves them alone\n"
    yield f"    total_gpus: {answers.total_gpus} # sum of the pools, as a cross-check\n"
    yield "    pools:\n"
    for pool in answers.pools:
        values = {**PLANNED, **pool.given}
        yield f"      - name: {pool.name}\n"
        for key in pool.wanted:
            value = json.dumps(values[key]) if key in _QUOTED else _value(key, values[key])
            yield f"        {key}: {value}\n"
        if pool.assumed:
            yield f"        assumptions: [{', '.join(pool.assumed)}]\n"


def _value(key: str, value: str) -> str:
    if key == "nodes":
        return f"[{', '.join(map(_text, re.split(r'[,;]?[ ]+|,', value.strip())))}]"
    return _text(value) if key == "gpu" else value


def _images(answers: Answers) -> Iterator[str]:
    if answers.hub:
        yield "\n  gpu-commons:images: # folders in images/; gpu-commons image new creates one\n"
        for image in dict.fromkeys(["hub", "proxy", BASE_IMAGE, *answers.images.values()]):
            yield f"    - name: {image}\n"


def _hub(answers: Answers) -> Iterator[str]:
    if not answers.hub:
        return
    yield "\n  gpu-commons:hubs:\n"
    yield f"    - name: {answers.hub}\n"
    yield "      hub_image: hub\n      proxy_image: proxy\n      expose: { kind: node_port, port: 30080 }\n"
    yield "      start_timeout_s: 600 # JupyterHub's default of 60 s is too short to pull a GPU image\n"
    yield "      profiles:\n"
    yield _profile("cpu", "CPU only", BASE_IMAGE, "cpu: 1\n          memory_gib: 2\n          is_default: true")
    for pool in answers.pools:
        if image := answers.images.get(pool.name):
            rest = f"pool: {pool.name}\n          gpus: 1\n          cpu: 4\n          memory_gib: 16"
            yield _profile(f"gpu-{pool.name}"[:63].rstrip("-"), f"One {pool.given['gpu']}", image, rest)
        elif pool.has_gpus:
            yield f"        # no image of this project runs on pool {pool.name}: create one (gpu-commons image new)\n"
    yield "      assumptions: [hub_image, proxy_image, expose, start_timeout_s, profiles]\n"


def _profile(name: str, title: str, image: str, rest: str) -> str:
    return f"        - name: {name}\n          title: {_text(title)}\n          image: {image}\n          {rest}\n"


def _text(value: str) -> str:
    """Plain if every YAML parser reads it as the same text, else quoted."""
    is_plain = re.fullmatch(r"[A-Za-z][\w./-]*(?:[ :][\w./-]+)*", value, re.ASCII)
    is_word = value.lower() in {"true", "false", "yes", "no", "on", "off", "null", "y", "n"}
    return value if is_plain and not is_word and ": " not in value else json.dumps(value, ensure_ascii=False)


def assumptions(answers: Answers) -> Sequence[str]:
    """Unanswered questions, for the end of the output."""
    pools = [f"{pool.name}: {', '.join(pool.assumed)}" for pool in answers.pools if pool.assumed]
    return [*([] if answers.registry else ["registry"]), *pools, *(["how people log in"] if answers.hub else [])]
