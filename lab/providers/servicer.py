"""Pulumi's ResourceProvider protocol: gRPC messages to a `Handler`'s values and back. Decides nothing.

Protocol: proto/pulumi/provider.proto of pulumi/pulumi.
"""

# ruff: noqa: N802 - the methods' names are the protocol's

from __future__ import annotations

import contextlib
import traceback
from collections.abc import Iterator
from typing import Any, Protocol

import grpc
from google.protobuf import empty_pb2
from pulumi.runtime.proto import plugin_pb2, provider_pb2, provider_pb2_grpc, status_pb2

from lab.providers.handler import (
    Autonaming,
    CancelledError,
    Checked,
    Difference,
    Handler,
    PartialFailureError,
    PluginError,
    Request,
)
from lab.providers.values import from_struct, to_struct


class EngineLink(Protocol):
    """What the protocol asks of the engine's side (see `lab.providers.plugin.Engine`)."""

    def connect(self, address: str) -> None: ...
    def cancel(self) -> None: ...


class Servicer(provider_pb2_grpc.ResourceProviderServicer):
    """Messages to values and back; decides nothing."""

    def __init__(self, version: str, handler: Handler, engine: EngineLink) -> None:
        self._version = version
        self._handler = handler
        self._engine = engine

    def Handshake(
        self, request: provider_pb2.ProviderHandshakeRequest, context: grpc.ServicerContext
    ) -> provider_pb2.ProviderHandshakeResponse:
        del context
        self._engine.connect(request.engine_address)
        return provider_pb2.ProviderHandshakeResponse(accept_secrets=True, supports_autonaming_configuration=True)

    def Attach(self, request: plugin_pb2.PluginAttach, context: grpc.ServicerContext) -> empty_pb2.Empty:
        del context
        self._engine.connect(request.address)
        return empty_pb2.Empty()

    def GetPluginInfo(self, request: empty_pb2.Empty, context: grpc.ServicerContext) -> plugin_pb2.PluginInfo:
        del request, context
        return plugin_pb2.PluginInfo(version=self._version)

    def Cancel(self, request: empty_pb2.Empty, context: grpc.ServicerContext) -> empty_pb2.Empty:
        del request, context
        self._engine.cancel()
        return empty_pb2.Empty()

    def GetSchema(
        self, request: provider_pb2.GetSchemaRequest, context: grpc.ServicerContext
    ) -> provider_pb2.GetSchemaResponse:
        del request
        with _errors(context):
            raise PluginError("this stand-in plugin carries no schema: use the released SDK, or the official plugin")

    def Construct(
        self, request: provider_pb2.ConstructRequest, context: grpc.ServicerContext
    ) -> provider_pb2.ConstructResponse:
        with _errors(context):
            raise PluginError(
                f"{request.type}: this stand-in plugin has no component resources: "
                "declare the resources themselves, or use the official plugin"
            )

    def CheckConfig(
        self, request: provider_pb2.CheckRequest, context: grpc.ServicerContext
    ) -> provider_pb2.CheckResponse:
        with _errors(context):
            return _check_response(self._handler.check_config(_check_request(request)))

    def DiffConfig(self, request: provider_pb2.DiffRequest, context: grpc.ServicerContext) -> provider_pb2.DiffResponse:
        with _errors(context):
            return _diff_response(self._handler.diff_config(_diff_request(request)))

    def Configure(
        self, request: provider_pb2.ConfigureRequest, context: grpc.ServicerContext
    ) -> provider_pb2.ConfigureResponse:
        with _errors(context):
            self._handler.configure(from_struct(request.args))
            return provider_pb2.ConfigureResponse(
                acceptSecrets=True, supportsPreview=True, supports_autonaming_configuration=True
            )

    def Check(self, request: provider_pb2.CheckRequest, context: grpc.ServicerContext) -> provider_pb2.CheckResponse:
        with _errors(context):
            return _check_response(self._handler.check(_check_request(request)))

    def Diff(self, request: provider_pb2.DiffRequest, context: grpc.ServicerContext) -> provider_pb2.DiffResponse:
        with _errors(context):
            return _diff_response(self._handler.diff(_diff_request(request)))

    def Create(self, request: provider_pb2.CreateRequest, context: grpc.ServicerContext) -> provider_pb2.CreateResponse:
        with _errors(context):
            created = self._handler.create(
                Request(
                    request.urn,
                    _type_of(request),
                    _name_of(request),
                    inputs=from_struct(request.properties),
                    timeout_s=request.timeout,
                    is_preview=request.preview,
                )
            )
            return provider_pb2.CreateResponse(id=created.identifier, properties=to_struct(created.properties))

    def Read(self, request: provider_pb2.ReadRequest, context: grpc.ServicerContext) -> provider_pb2.ReadResponse:
        with _errors(context):
            found = self._handler.read(
                Request(
                    request.urn,
                    _type_of(request),
                    _name_of(request),
                    identifier=request.id,
                    state=from_struct(request.properties),
                    old_inputs=from_struct(request.inputs),
                    timeout_s=request.timeout,
                )
            )
            if found is None:
                return provider_pb2.ReadResponse()  # an empty id says that the resource is gone
            return provider_pb2.ReadResponse(
                id=found.identifier, properties=to_struct(found.properties), inputs=to_struct(found.inputs)
            )

    def Update(self, request: provider_pb2.UpdateRequest, context: grpc.ServicerContext) -> provider_pb2.UpdateResponse:
        with _errors(context):
            properties = self._handler.update(
                Request(
                    request.urn,
                    _type_of(request),
                    _name_of(request),
                    identifier=request.id,
                    state=from_struct(request.olds),
                    old_inputs=from_struct(request.old_inputs),
                    inputs=from_struct(request.news),
                    timeout_s=request.timeout,
                    is_preview=request.preview,
                    ignore_changes=tuple(request.ignoreChanges),
                )
            )
            return provider_pb2.UpdateResponse(properties=to_struct(properties))

    def Delete(self, request: provider_pb2.DeleteRequest, context: grpc.ServicerContext) -> empty_pb2.Empty:
        with _errors(context):
            self._handler.delete(
                Request(
                    request.urn,
                    _type_of(request),
                    _name_of(request),
                    identifier=request.id,
                    state=from_struct(request.properties),
                    old_inputs=from_struct(request.old_inputs),
                    timeout_s=request.timeout,
                )
            )
            return empty_pb2.Empty()

    def Invoke(self, request: provider_pb2.InvokeRequest, context: grpc.ServicerContext) -> provider_pb2.InvokeResponse:
        with _errors(context):
            result = self._handler.invoke(request.tok, from_struct(request.args))
            response = provider_pb2.InvokeResponse()
            getattr(response, "return").CopyFrom(to_struct(result))  # the field's name is a word of Python
            return response


def _type_of(request: Any) -> str:
    # The request's own field is newer than the URN, which has it as well:
    # urn:pulumi:STACK::PROJECT::PARENT$TYPE::NAME
    return request.type or str(request.urn).split("::")[2].rsplit("$", 1)[-1]


def _name_of(request: Any) -> str:
    return request.name or str(request.urn).split("::", 3)[3]


def _check_request(request: provider_pb2.CheckRequest) -> Request:
    autonaming = None
    if request.HasField("autonaming"):
        disabled = request.autonaming.mode == provider_pb2.CheckRequest.AutonamingOptions.DISABLE
        autonaming = Autonaming(request.autonaming.proposed_name, disabled)
    return Request(
        request.urn,
        _type_of(request),
        _name_of(request),
        old_inputs=from_struct(request.olds),
        inputs=from_struct(request.news),
        seed=request.randomSeed,
        autonaming=autonaming,
    )


def _check_response(checked: Checked) -> provider_pb2.CheckResponse:
    failures = [provider_pb2.CheckFailure(property=each.property, reason=each.reason) for each in checked.failures]
    return provider_pb2.CheckResponse(inputs=to_struct(checked.inputs), failures=failures)


def _diff_request(request: provider_pb2.DiffRequest) -> Request:
    return Request(
        request.urn,
        _type_of(request),
        _name_of(request),
        identifier=request.id,
        state=from_struct(request.olds),
        old_inputs=from_struct(request.old_inputs),
        inputs=from_struct(request.news),
        ignore_changes=tuple(request.ignoreChanges),
    )


def _diff_response(difference: Difference) -> provider_pb2.DiffResponse:
    detailed = {
        path: provider_pb2.PropertyDiff(kind=provider_pb2.PropertyDiff.Kind.ValueType(change), inputDiff=True)
        for path, change in difference.changes.items()
    }
    return provider_pb2.DiffResponse(
        changes=provider_pb2.DiffResponse.DIFF_SOME if detailed else provider_pb2.DiffResponse.DIFF_NONE,
        diffs=sorted({path.split(".", 1)[0].split("[", 1)[0] for path in detailed}),
        replaces=sorted(path for path, change in difference.changes.items() if change.replaces),
        detailedDiff=detailed,
        hasDetailedDiff=True,
        deleteBeforeReplace=difference.delete_before_replace,
    )


class _PartialStatus(grpc.Status):
    """A gRPC status that carries the half-made resource in its details."""

    def __init__(self, error: PartialFailureError) -> None:
        details = provider_pb2.ErrorResourceInitFailed(
            id=error.identifier,
            properties=to_struct(error.properties),
            inputs=to_struct(error.inputs),
            reasons=error.reasons,
        )
        status = status_pb2.Status(code=grpc.StatusCode.FAILED_PRECONDITION.value[0], message=str(error))
        status.details.add().Pack(details)
        self.code = grpc.StatusCode.FAILED_PRECONDITION
        self.details = str(error)
        self.trailing_metadata = (("grpc-status-details-bin", status.SerializeToString()),)


@contextlib.contextmanager
def _errors(context: grpc.ServicerContext) -> Iterator[None]:
    """The one place where exceptions become gRPC errors.

    The code matters: the engine takes UNKNOWN and INTERNAL for "the resource may be anything now" and keeps a pending
    operation; every other code says that nothing was changed.
    """
    try:
        yield
    except PartialFailureError as error:
        context.abort_with_status(_PartialStatus(error))
    except CancelledError as error:
        context.abort(grpc.StatusCode.CANCELLED, str(error))
    except PluginError as error:
        context.abort(grpc.StatusCode.FAILED_PRECONDITION, str(error))
    except Exception as error:  # noqa: BLE001 - whatever it is, the user gets one line and the search gets the rest
        traceback.print_exc()
        context.abort(
            grpc.StatusCode.INTERNAL, f"a fault of the stand-in plugin itself: {type(error).__name__}: {error}"
        )
