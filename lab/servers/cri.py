"""The lab's few calls of the container runtime interface (CRI): check readiness, and end pods.

crictl would do, but its module is not available on a registry-only machine. Only the fields in use are declared:
protobuf skips the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from lab.instance import LabError

if TYPE_CHECKING:
    from pathlib import Path

SERVICE = "/runtime.v1.RuntimeService/"
CALL_WITHIN_S = 120
_TYPES = descriptor_pb2.FieldDescriptorProto

# Message → fields: name, number, type (a message's name for nested ones, always repeated here).
# Source: k8s.io/cri-api v0.34.2, pkg/apis/runtime/v1/api.proto.
_MESSAGES: dict[str, list[tuple[str, int, str]]] = {
    "Empty": [],
    "Item": [("id", 1, "string")],
    "Sandboxes": [("items", 1, "Item")],
    "Containers": [("containers", 1, "Item")],
    "SandboxId": [("pod_sandbox_id", 1, "string")],
    "StopContainer": [("container_id", 1, "string"), ("timeout", 2, "int64")],
}


def answers(socket: Path) -> bool:
    """Whether the runtime has loaded its data. It listens earlier, and a kubelet that asks it then ends."""
    with grpc.insecure_channel(f"unix:{socket}") as channel:
        try:
            _future(channel, "Version", "Empty", within_s=5).result()
        except grpc.RpcError:
            return False
    return True


def end_pods(socket: Path, *, grace_s: int = 10) -> int:
    """Stop all containers at once, with `grace_s` to end, then remove all pods. Returns their number.

    Raises LabError if the runtime does not answer or cannot end a pod.
    """
    with grpc.insecure_channel(f"unix:{socket}") as channel:
        try:
            grpc.channel_ready_future(channel).result(timeout=20)
            return _end_pods(channel, grace_s)
        except (grpc.RpcError, grpc.FutureTimeoutError) as error:
            reason = error.details() if isinstance(error, grpc.Call) else "no answer within 20 s"
            raise LabError(f"the container runtime at {socket} could not end its pods: {reason}") from error


def _end_pods(channel: grpc.Channel, grace_s: int) -> int:
    containers = _call(channel, "ListContainers", "Empty", "Containers").containers
    stops = [
        _future(channel, "StopContainer", "StopContainer", container_id=one.id, timeout=grace_s) for one in containers
    ]
    for stop in stops:
        stop.result()
    sandboxes = _call(channel, "ListPodSandbox", "Empty", "Sandboxes").items
    for verb in ("StopPodSandbox", "RemovePodSandbox"):
        for done in [_future(channel, verb, "SandboxId", pod_sandbox_id=one.id) for one in sandboxes]:
            done.result()
    return len(sandboxes)


def _future(
    channel: grpc.Channel,
    method: str,
    request: str,
    answer: str = "Empty",
    *,
    within_s: float = CALL_WITHIN_S,
    **fields: object,
) -> Any:
    call = channel.unary_unary(
        SERVICE + method,
        request_serializer=lambda message: message.SerializeToString(),
        response_deserializer=_CLASSES[answer].FromString,
    )
    return call.future(_CLASSES[request](**fields), timeout=within_s)


def _call(channel: grpc.Channel, method: str, request: str, answer: str) -> Any:
    return _future(channel, method, request, answer).result()


def _classes() -> dict[str, Any]:
    package = "gpu_commons.lab.cri"
    file = descriptor_pb2.FileDescriptorProto(name="gpu_commons/lab/cri.proto", package=package, syntax="proto3")
    scalars = {"string": _TYPES.TYPE_STRING, "int64": _TYPES.TYPE_INT64}
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for field, number, kind in fields:
            if kind in scalars:
                message.field.add(name=field, number=number, type=scalars[kind], label=_TYPES.LABEL_OPTIONAL)
            else:
                message.field.add(
                    name=field,
                    number=number,
                    type=_TYPES.TYPE_MESSAGE,
                    type_name=f".{package}.{kind}",
                    label=_TYPES.LABEL_REPEATED,
                )
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{package}.{name}")) for name in _MESSAGES
    }


_CLASSES = _classes()
