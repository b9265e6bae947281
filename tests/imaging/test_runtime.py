"""What an image needs from the engine that runs it, in each engine's words; what an engine cannot express is named."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from rows import each_row

from imaging.build.labels import labels
from imaging.spec.load import load_family
from imaging.spec.plan import plan_image
from imaging.spec.runtime import Ipc, Runtime, docker_flags, engines

NGC = Runtime(shm_gib=1, memlock="unlimited", stack_mib=64)  # the flags that NVIDIA's framework images ask for


def test_docker_gets_the_flags_that_ngc_images_ask_for() -> None:
    assert docker_flags(NGC) == ("--shm-size=1g", "--ulimit memlock=-1", "--ulimit stack=67108864")


@each_row(
    ("runtime", "flags"),
    [
        (Runtime(), ()),
        (Runtime(shm_gib=0.5), ("--shm-size=512m",)),
        (Runtime(memlock=65536), ("--ulimit memlock=65536",)),
        (Runtime(memlock=0), ("--ulimit memlock=0",)),
        (Runtime(ipc=Ipc.HOST), ("--ipc=host",)),
        (Runtime(ipc=Ipc.PRIVATE), ("--ipc=private",)),
    ],
)
def test_only_what_is_given_becomes_a_flag(runtime: Runtime, flags: tuple[str, ...]) -> None:
    assert docker_flags(runtime) == flags


def test_a_pod_gets_shared_memory_and_a_note_that_it_cannot_set_process_limits() -> None:
    _, pod, _ = engines(NGC)
    assert "emptyDir: {medium: Memory, sizeLimit: 1024Mi}" in pod.says[0]
    assert "mountPath: /dev/shm" in pod.says[1]
    (message,) = pod.cannot
    assert "memlock -1 and stack 67108864" in message
    assert "default limits" in message


def test_the_hosts_ipc_is_possible_in_a_pod_and_refused_by_the_usual_standards() -> None:
    _, pod, _ = engines(Runtime(ipc=Ipc.HOST))
    assert pod.says == ("hostIPC: true",)
    assert "Pod Security Standards" in pod.cannot[0]


def test_apptainer_takes_limits_of_the_shell_and_the_hosts_shared_memory() -> None:
    *_, apptainer = engines(NGC)
    assert apptainer.says[0].startswith("ulimit -l unlimited && ulimit -s 65536 # before the start")
    assert "/dev/shm is the host's" in apptainer.cannot[0]


def test_what_is_given_becomes_labels_and_nothing_else_does(tiny: Callable[..., Path]) -> None:
    folder = tiny(runtime={"shm_gib": 1, "memlock": "unlimited", "stack_mib": 64})
    found = labels(plan_image(load_family("tiny", images=folder.parent)))
    assert {key: value for key, value in found.items() if ".runtime." in key} == {
        "org.gpu-commons.runtime.shm-gib": "1",
        "org.gpu-commons.runtime.memlock": "unlimited",
        "org.gpu-commons.runtime.stack-mib": "64",
    }
    assert not [key for key in labels(plan_image(load_family("hub"))) if ".runtime." in key]
