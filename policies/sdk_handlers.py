"""Captures run facts that version 1.21 of the SDK drops or hides: whether it is a preview, the pack's configuration,
and which values are secrets.

The SDK drops the first (`ConfigureStack`), passes the second (`Configure`) to each policy separately and only with a
resource, and unwraps the third (`Analyze`). It has no public API for them, so its handlers are wrapped before the
pack is created, only here, and only if they have the known signatures. The SDK also converts each
resource again for each policy, which takes longer than all rules together, so resources that no policy judges are
skipped here.
"""

import importlib.metadata
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from typing import Any, Final

import grpc
from google.protobuf.json_format import MessageToDict
from pulumi.runtime.proto import analyzer_pb2
from pulumi_policy import policy as sdk
from pulumi_policy.proxy import UnknownValueError

from errors.problems import SettingsError
from fleet.unknown import UNKNOWN
from policies import phase
from policies.configuration import PolicyConfig
from policies.redaction import secret_words

HANDLERS: Final = ("Configure", "ConfigureStack", "Analyze", "AnalyzeStack")
_secrets: ContextVar[Mapping[str, frozenset[str]]] = ContextVar("secrets")


def _everything(_: str) -> bool:
    return True


def known_servicer() -> Any:
    """The SDK's servicer, if its handlers can be wrapped; otherwise ends the pack with one line."""
    servicer = getattr(sdk, "_PolicyAnalyzerServicer", object)
    missing = [name for name in HANDLERS if not _takes_a_request(vars(servicer).get(name))]
    if missing:
        version = importlib.metadata.version("pulumi-policy")
        raise SystemExit(
            f"error: the policy pack does not know pulumi-policy {version}: its servicer has no "
            f"{', '.join(f'{name}(self, request, context)' for name in missing)}, and nothing would be proved. "
            "Install the version that uv.lock pins: make .venv/synced"
        )
    return servicer


def _takes_a_request(handler: object) -> bool:
    """Whether the parameters are gRPC's: self, a request and a context."""
    return callable(handler) and len(inspect.signature(handler).parameters) == len(("self", "request", "context"))


def listen(
    configure: Callable[[Mapping[str, PolicyConfig]], None], looks_at: Callable[[str], bool] = _everything
) -> None:
    """Wrap the SDK's handlers to record these facts. Call it before creating the pack.

    `configure` receives each policy's configuration; if it raises SettingsError, the run ends before the first
    resource. `looks_at` returns whether any policy judges resources of a type; all others pass.
    """
    servicer = known_servicer()
    configured: Any = servicer.Configure
    configured_stack = servicer.ConfigureStack

    def configuring(self: Any, request: Any, context: Any) -> Any:
        try:
            configure({name: _policy_config(each) for name, each in request.policyConfig.items()})
        except SettingsError as error:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))
        return configured(self, request, context)

    def remembering(self: Any, request: Any, context: Any) -> Any:
        phase.remember(is_preview=bool(request.dry_run))
        return configured_stack(self, request, context)

    servicer.Configure = configuring
    servicer.ConfigureStack = remembering
    analyzed = _with_secrets(servicer.Analyze, lambda request: (request,))
    analyzed_stack = _with_secrets(servicer.AnalyzeStack, lambda request: request.resources)

    def analyzing(self: Any, request: Any, context: Any) -> Any:
        return analyzed(self, request, context) if looks_at(request.type) else analyzer_pb2.AnalyzeResponse()

    def analyzing_stack(self: Any, request: Any, context: Any) -> Any:
        resources = [each for each in request.resources if looks_at(each.type)]
        return analyzed_stack(self, analyzer_pb2.AnalyzeStackRequest(resources=resources), context)

    servicer.Analyze = analyzing
    servicer.AnalyzeStack = analyzing_stack


def _with_secrets(analyze: Any, resources_of: Callable[[Any], Iterable[Any]]) -> Any:
    """The handler, with its request's secrets available while it runs."""

    def remembering(self: Any, request: Any, context: Any) -> Any:
        token = _secrets.set({each.urn: secret_words(each.properties) for each in resources_of(request)})
        try:
            return analyze(self, request, context)
        finally:
            _secrets.reset(token)

    return remembering


def secrets_of(urn: str) -> frozenset[str]:
    """Texts that no message about this resource may repeat. Empty outside engine calls."""
    return _secrets.get({}).get(urn, frozenset())


def _policy_config(config: Any) -> PolicyConfig:
    level = analyzer_pb2.EnforcementLevel.Name(config.enforcementLevel).lower()
    return PolicyConfig(level, plain(MessageToDict(config.properties)))


def plain(value: Any) -> Any:
    """An SDK value as plain Python: proxies become dicts and lists, whole floats ints, unknowns UNKNOWN.

    Touching an unknown raises in the SDK and would end the policy with a mere note; here it is a value.
    """
    if isinstance(value, str | bool) or value is None:
        return value  # most are; a mapping check takes longer
    if isinstance(value, Mapping):
        return {str(key): _item(value, key) for key in value}
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        return [_item(value, index) for index in range(len(value))]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def _item(container: Any, key: Any) -> Any:
    try:
        return plain(container[key])
    except UnknownValueError:
        return UNKNOWN
