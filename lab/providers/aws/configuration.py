"""The provider's own configuration: typed settings, and missing ones. Pure.

A stand-in never talks to AWS itself: its endpoint is a lab's, on loopback, or it refuses to start.
"""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit

from lab.providers.values import UNKNOWN, Properties, plain
from lab.providers.vocabulary import Change, Difference, Failure

# Decides where resources are: another value means other resources.
DECISIVE: Final = ("region",)
KNOWN: Final = frozenset(
    {
        "region", "accessKey", "secretKey", "token", "profile", "endpoints", "defaultTags",
        # Known to the official provider; without effect in this stand-in.
        "allowedAccountIds", "forbiddenAccountIds", "httpProxy", "httpsProxy", "noProxy", "insecure", "maxRetries",
        "retryMode", "s3UsePathStyle", "sharedConfigFiles", "sharedCredentialsFiles", "skipCredentialsValidation",
        "skipMetadataApiCheck", "skipRegionValidation", "skipRequestingAccountId", "stsRegion", "useDualstackEndpoint",
        "useFipsEndpoint", "version", "pluginDownloadURL",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Settings:
    region: str = ""
    access_key: str = ""
    secret_key: str = field(default="", repr=False)
    token: str = field(default="", repr=False)
    endpoint: str = ""
    endpoints: Mapping[str, str] = field(default_factory=dict)  # by service
    default_tags: Mapping[str, str] = field(default_factory=dict)

    def endpoint_of(self, service: str) -> str:
        return self.endpoints.get(service, self.endpoint)


def parse_settings(config: Properties, environment: Mapping[str, str]) -> Settings:
    """The settings of a checked configuration; missing ones come from the environment, as for any client."""
    values = {key: decoded(value) for key, value in config.items()}
    by_service: dict[str, str] = {}
    for each in values.get("endpoints") or []:
        by_service.update(each)
    tags = values.get("defaultTags") or {}
    return Settings(
        region=str(values.get("region") or environment.get("AWS_REGION") or environment.get("AWS_DEFAULT_REGION", "")),
        access_key=str(values.get("accessKey") or environment.get("AWS_ACCESS_KEY_ID", "")),
        secret_key=str(values.get("secretKey") or environment.get("AWS_SECRET_ACCESS_KEY", "")),
        token=str(values.get("token") or environment.get("AWS_SESSION_TOKEN", "")),
        endpoint=environment.get("AWS_ENDPOINT_URL", ""),
        endpoints=by_service,
        default_tags=dict(tags.get("tags") or {}),
    )


def missing(settings: Settings) -> list[str]:
    """Why nothing can be called with these settings, all reasons at once."""
    reasons = []
    if not settings.region:
        reasons.append("no region: set aws:region in the stack, or AWS_REGION")
    if not (settings.access_key and settings.secret_key):
        reasons.append("no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or accessKey and secretKey")
    given = {settings.endpoint, *settings.endpoints.values()} - {""}
    if not given:
        reasons.append("no endpoint: set AWS_ENDPOINT_URL to a lab's; this stand-in never talks to AWS itself")
    reasons += [
        f"{each} is not on this machine, and this stand-in never talks to AWS itself: use the official plugin for it"
        for each in sorted(given)
        if not _is_loopback(each)
    ]
    return reasons


def _is_loopback(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def check_settings(config: Properties) -> list[Failure]:
    """Mistakes in a configuration, all at once."""
    return [
        Failure(key, f"{key}: the provider has no such setting; it has {', '.join(sorted(KNOWN))}")
        for key in config
        if key not in KNOWN and not key.startswith("__")
    ]


def compare_settings(old: Properties, new: Properties) -> Difference:
    """What changed; another region means that everything is new."""
    changes = {}
    for key in sorted({**old, **new}):
        before, after = decoded(old.get(key)), decoded(new.get(key))
        if key.startswith("__") or before == after:
            continue
        replaces = key in DECISIVE and before is not None and after is not UNKNOWN
        changes[key] = Change.UPDATE_REPLACE if replaces else Change.UPDATE
    return Difference(changes)


def decoded(raw: Any) -> Any:
    """Provider configuration arrives as JSON inside a text, or as the text itself."""
    value = plain(raw)
    if isinstance(value, str) and value[:1] in ("[", "{", '"', "t", "f"):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value
