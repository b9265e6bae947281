"""The stand-in as a process: its launcher, and how it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import grpc
import psutil
import pytest
from google.protobuf import empty_pb2
from pulumi.runtime.proto import provider_pb2, provider_pb2_grpc

from lab.providers.plugin import STARTED_BY, write_launcher


@pytest.fixture
def launcher(tmp_path: Path) -> Path:
    return write_launcher(
        tmp_path / "a folder" / "pulumi-resource-kubernetes", Path(sys.executable), "lab.providers.kubernetes"
    )


def port_of(process: subprocess.Popen[str]) -> int:
    assert process.stdout is not None
    return int(process.stdout.readline())


@pytest.mark.slow
def test_the_launcher_starts_the_module_whatever_the_caller_has_on_its_path(launcher: Path, tmp_path: Path) -> None:
    (tmp_path / "grpc.py").write_text("raise SystemExit('the caller shadowed a module')")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    with subprocess.Popen([launcher], cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True) as process:
        with grpc.insecure_channel(f"127.0.0.1:{port_of(process)}") as channel:
            info = provider_pb2_grpc.ResourceProviderStub(channel).GetPluginInfo(empty_pb2.Empty(), timeout=20)
        process.terminate()
    assert info.version == "4.34.2"


def test_the_launcher_says_that_it_is_a_stand_in(launcher: Path) -> None:
    assert "stand-in" in launcher.read_text()


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_silently(launcher: Path, number: signal.Signals) -> None:
    with subprocess.Popen([launcher], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        port_of(process)
        process.send_signal(number)
        _, err = process.communicate(timeout=20)
    assert (process.returncode, err) == (0, "")


@pytest.mark.slow
def test_it_ends_with_the_engine_that_started_it(launcher: Path) -> None:
    starter = f"import subprocess, time; subprocess.Popen([{str(launcher)!r}]); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", starter], stdout=subprocess.PIPE, text=True) as engine:
        port_of(engine)
        (plugin,) = psutil.Process(engine.pid).children()
        engine.kill()  # as an operator would: nothing is sent to the plugin
        psutil.wait_procs([plugin], timeout=10)
        assert not plugin.is_running()


@pytest.mark.slow
def test_it_ends_with_an_engine_that_was_killed_before_it_served(launcher: Path) -> None:
    starter = f"import subprocess, time; print(subprocess.Popen([{str(launcher)!r}]).pid, flush=True); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", starter], stdout=subprocess.PIPE, text=True) as engine:
        plugin = psutil.Process(port_of(engine))
        while STARTED_BY not in plugin.environ():  # the shell of the launcher has not yet become the interpreter
            time.sleep(0.001)
        engine.kill()
        psutil.wait_procs([plugin], timeout=20)
        assert not plugin.is_running()


@pytest.mark.slow
def test_a_missing_feature_is_one_clear_error(launcher: Path) -> None:
    with subprocess.Popen([launcher], stdout=subprocess.PIPE, text=True) as process:
        with grpc.insecure_channel(f"127.0.0.1:{port_of(process)}") as channel:
            stub = provider_pb2_grpc.ResourceProviderStub(channel)
            request = provider_pb2.ConstructRequest(type="kubernetes:helm.sh/v4:Chart")
            with pytest.raises(grpc.RpcError) as refused:
                stub.Construct(request, timeout=20)
        process.terminate()
    assert "helm.sh/v4:Chart: this stand-in plugin has no component resources" in str(refused.value)


@pytest.mark.slow
def test_it_loads_nothing_that_is_slow_to_load() -> None:
    # No timing: what costs time must not be loaded. The official client alone takes a quarter of a second.
    code = "import sys; sys.argv = ['x']; import lab.providers.kubernetes.provider; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2]
    ).stdout.split()
    assert not {"kubernetes", "pulumi_kubernetes", "httpx", "requests", "pydantic"} & set(loaded)
