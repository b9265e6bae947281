"""Pulumi's ResourceProvider protocol: gRPC messages to the provider's values and back. Decides nothing.

Protocol: proto/pulumi/provider.proto of pulumi/pulumi.
"""

# ruff: noqa: N802 - the methods' names are the protocol's

from __future__ import annotations

import functools
import traceback
from collections.abc import Callable
from typing import Any, Final, TypeVar

import grpc
from google.protobuf import empty_pb2, struct_pb2
from pulumi.runtime.proto import plugin_pb2, provider_pb2, provider_pb2_grpc, status_pb2

from lab.providers.values import from_struct, to_struct
from lab.providers.vocabulary import (
    Autonaming,
    CancelledError,
    Checked,
    Conversation,
    Difference,
    PartialFailureError,
    PluginError,
    Provider,
    Request,
)

Message = TypeVar("Message")
Answer = TypeVar("Answer")

# The protocol's names for fields of a Request, apart from properties.
FIELDS: Final = {"id": "identifier", "timeout": "timeout_s", "preview": "is_preview", "randomSeed": "seed"}


def _answers(
    method: Callable[[Servicer, Message], Answer],
) -> Callable[[Servicer, Message, grpc.ServicerContext], Answer]:
    """A method of the service. The only place where exceptions become gRPC errors.

    The code matters: for UNKNOWN and INTERNAL, the engine assumes that the resource may be anything and keeps a pending
    operation; every other code means that nothing changed.
    """

    @functools.wraps(method)
    def answer(self: Servicer, request: Message, context: grpc.ServicerContext) -> Answer:
        try:
            return method(self, request)
        except PartialFailureError as error:
            context.abort_with_status(_PartialStatus(error))
        except CancelledError as error:
            context.abort(grpc.StatusCode.CANCELLED, str(error))
        except PluginError as error:
            context.abort(grpc.StatusCode.FAILED_PRECONDITION, str(error))
        except Exception as error:  # noqa: BLE001 - whatever it is, the user gets one line and the search gets the rest
            traceback.print_exc()
            fault = f"a fault of the stand-in plugin itself: {type(error).__name__}: {error}"
            context.abort(grpc.StatusCode.INTERNAL, fault)
        raise AssertionError("abort raises")

    return answer


class Servicer(provider_pb2_grpc.ResourceProviderServicer):
    """Messages to values and back; decides nothing."""

    def __init__(self, version: str, provider: Provider, engine: Conversation) -> None:
        self._version = version
        self._provider = provider
        self._engine = engine

    @_answers
    def Handshake(self, request: provider_pb2.ProviderHandshakeRequest) -> provider_pb2.ProviderHandshakeResponse:
        self._engine.connect(request.engine_address)
        return provider_pb2.ProviderHandshakeResponse(accept_secrets=True, supports_autonaming_configuration=True)

    @_answers
    def Attach(self, request: plugin_pb2.PluginAttach) -> empty_pb2.Empty:
        self._engine.connect(request.address)
        return empty_pb2.Empty()

    @_answers
    def GetPluginInfo(self, _: empty_pb2.Empty) -> plugin_pb2.PluginInfo:
        return plugin_pb2.PluginInfo(version=self._version)

    @_answers
    def Cancel(self, _: empty_pb2.Empty) -> empty_pb2.Empty:
        self._engine.cancel()
        return empty_pb2.Empty()

    @_answers
    def GetSchema(self, _: provider_pb2.GetSchemaRequest) -> provider_pb2.GetSchemaResponse:
        raise PluginError("this stand-in plugin carries no schema: use the released SDK, or the official plugin")

    @_answers
    def Construct(self, request: provider_pb2.ConstructRequest) -> provider_pb2.ConstructResponse:
        raise PluginError(
            f"{request.type}: this stand-in plugin has no component resources: "
            "declare the resources themselves, or use the official plugin"
        )

    @_answers
    def CheckConfig(self, request: provider_pb2.CheckRequest) -> provider_pb2.CheckResponse:
        return _check_response(self._provider.check_config(_check_request(request)))

    @_answers
    def DiffConfig(self, request: provider_pb2.DiffRequest) -> provider_pb2.DiffResponse:
        return _diff_response(self._provider.diff_config(_change_request(request)))

    @_answers
    def Configure(self, request: provider_pb2.ConfigureRequest) -> provider_pb2.ConfigureResponse:
        self._provider.configure(from_struct(request.args))
        return provider_pb2.ConfigureResponse(
            acceptSecrets=True, supportsPreview=True, supports_autonaming_configuration=True
        )

    @_answers
    def Check(self, request: provider_pb2.CheckRequest) -> provider_pb2.CheckResponse:
        return _check_response(self._provider.check(_check_request(request)))

    @_answers
    def Diff(self, request: provider_pb2.DiffRequest) -> provider_pb2.DiffResponse:
        return _diff_response(self._provider.diff(_change_request(request)))

    @_answers
    def Create(self, request: provider_pb2.CreateRequest) -> provider_pb2.CreateResponse:
        created = self._provider.create(_request(request, inputs=request.properties))
        return provider_pb2.CreateResponse(id=created.identifier, properties=to_struct(created.properties))

    @_answers
    def Read(self, request: provider_pb2.ReadRequest) -> provider_pb2.ReadResponse:
        found = self._provider.read(_request(request, state=request.properties, old_inputs=request.inputs))
        if found is None:
            return provider_pb2.ReadResponse()  # an empty id means that the resource is gone
        return provider_pb2.ReadResponse(
            id=found.identifier, properties=to_struct(found.properties), inputs=to_struct(found.inputs)
        )

    @_answers
    def Update(self, request: provider_pb2.UpdateRequest) -> provider_pb2.UpdateResponse:
        return provider_pb2.UpdateResponse(properties=to_struct(self._provider.update(_change_request(request))))

    @_answers
    def Delete(self, request: provider_pb2.DeleteRequest) -> empty_pb2.Empty:
        self._provider.delete(_request(request, state=request.properties, old_inputs=request.old_inputs))
        return empty_pb2.Empty()

    @_answers
    def Invoke(self, request: provider_pb2.InvokeRequest) -> provider_pb2.InvokeResponse:
        response = provider_pb2.InvokeResponse()
        result = self._provider.invoke(request.tok, from_struct(request.args))
        getattr(response, "return").CopyFrom(to_struct(result))  # the field's name is a Python keyword
        return response


def _request(message: Any, *, autonaming: Autonaming | None = None, **properties: struct_pb2.Struct) -> Request:
    """A message about one resource; `properties` maps its properties to our names."""
    has = message.DESCRIPTOR.fields_by_name
    fields: dict[str, Any] = {ours: getattr(message, theirs) for theirs, ours in FIELDS.items() if theirs in has}
    fields |= {name: from_struct(struct) for name, struct in properties.items()}
    return Request(
        urn=message.urn,
        # The message's own fields are newer than the URN, which has both:
        # urn:pulumi:STACK::PROJECT::PARENT$TYPE::NAME
        type=message.type or str(message.urn).split("::")[2].rsplit("$", 1)[-1],
        name=message.name or str(message.urn).split("::", 3)[3],
        ignore_changes=tuple(message.ignoreChanges) if "ignoreChanges" in has else (),
        autonaming=autonaming,
        **fields,
    )


def _change_request(request: provider_pb2.DiffRequest | provider_pb2.UpdateRequest) -> Request:
    return _request(request, state=request.olds, old_inputs=request.old_inputs, inputs=request.news)


def _check_request(request: provider_pb2.CheckRequest) -> Request:
    autonaming = None
    if request.HasField("autonaming"):
        disabled = request.autonaming.mode == provider_pb2.CheckRequest.AutonamingOptions.DISABLE
        autonaming = Autonaming(request.autonaming.proposed_name, disabled)
    return _request(request, autonaming=autonaming, old_inputs=request.olds, inputs=request.news)


def _check_response(checked: Checked) -> provider_pb2.CheckResponse:
    failures = [provider_pb2.CheckFailure(property=each.property, reason=each.reason) for each in checked.failures]
    return provider_pb2.CheckResponse(inputs=to_struct(checked.inputs), failures=failures)


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
    """A gRPC status with the half-created resource in its details."""

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
