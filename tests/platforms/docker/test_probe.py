"""The probe: what it reads of a host, from a stand-in of NVML and made-up roots, and on Python 3.6."""

from __future__ import annotations

import ast
import datetime as dt
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from platforms.docker import probe
from platforms.docker.probe import as_yaml, host_facts, pool_keys
from settings.host_pools import HostPool
from settings.partition_pools import PartitionPool
from tests.components.running_engine import running_engine

AT = dt.datetime(2026, 11, 24, 9, 30, tzinfo=dt.UTC)
FILE = Path(probe.__file__)
MODULE = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  470.256.02  Thu May  2 14:37:44 UTC 2024\nGCC version:  gcc\n"
SOURCE = Path(__file__).parents[3] / "lab" / "stand_ins" / "nvml.c"
P100 = (  # two GPUs, of which the second is not kept initialised; no device files are requested
    'DRIVER="470.256.02"', "CUDA=11040", 'NAME="Tesla P100-PCIE-16GB"', "MAJOR=6", "MINOR=0", "MIB=16276",
    'GPUS={"GPU-11111111-2222-3333-4444-555555555555",1},{"GPU-66666666-7777-8888-9999-000000000000",0}',
    "WITHOUT_FILES",
)  # fmt: skip
NO_LIBRARY = "libno-such-nvml.so.1"
Write = Callable[..., Path]
Compile = Callable[..., str]


@pytest.fixture
def root(tmp_path: Path) -> Write:
    """`root({"etc/x": "text"})`: the root of a host with these files."""

    def write(files: dict[str, str]) -> Path:
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tmp_path

    return write


@pytest.fixture(scope="module")
def nvml(tmp_path_factory: pytest.TempPathFactory) -> Compile:
    """`nvml("OLD")`: the path of a stand-in for NVIDIA's library."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler: the stand-in for libnvidia-ml.so.1 is built from nvml.c")
    folder = tmp_path_factory.mktemp("nvml")

    def build(*flags: str) -> str:
        target = folder / f"libnvidia-ml-{'-'.join(flags)}.so"  # one that is loaded stays loaded under its name
        if not target.exists():
            words = ["-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", *(f"-D{flag}" for flag in (*P100, *flags))]
            words += [str(SOURCE), "-o", str(target)]
            subprocess.run([compiler, *words], check=True)
        return str(target)

    return build


def gpus(count: int, model: str = "Tesla P100-PCIE-16GB") -> dict[str, str]:
    """What /proc has of GPUs."""
    files = {f"proc/driver/nvidia/gpus/0000:0{at}:00.0/information": f"Model: \t\t {model}\n" for at in range(count)}
    return {"proc/driver/nvidia/version": MODULE, **files}


def facts(root: Path, library: str = NO_LIBRARY, **environ: str) -> dict[str, Any]:
    return host_facts(root, environ, AT, library)


def test_each_gpu_is_listed_with_what_the_drivers_library_says(root: Write, nvml: Compile) -> None:
    found = facts(root({}), nvml())
    assert (found["driver"], found["cuda"]) == ("470.256.02", "11.4")
    assert found["gpus"] == [
        {
            "index": 0, "model": "Tesla P100-PCIE-16GB", "uuid": "GPU-11111111-2222-3333-4444-555555555555",
            "memory_gib": 15.9, "compute_capability": "6.0", "persistence_mode": "on",
        },
        {
            "index": 1, "model": "Tesla P100-PCIE-16GB", "uuid": "GPU-66666666-7777-8888-9999-000000000000",
            "memory_gib": 15.9, "compute_capability": "6.0", "persistence_mode": "off",
        },
    ]  # fmt: skip
    assert found["probed"] == "2026-11-24T09:30:00Z"


def test_what_an_old_library_does_not_have_is_unknown_and_the_rest_is_there(root: Write, nvml: Compile) -> None:
    (gpu, _) = facts(root({}), nvml("OLD"))["gpus"]
    why = "the library of this driver has no nvmlDeviceGetCudaComputeCapability"
    assert gpu["compute_capability"] == {"unknown": why}
    assert gpu["memory_gib"] == 15.9


def test_a_gpu_that_does_not_answer_leaves_the_others(root: Write, nvml: Compile) -> None:
    first, second = facts(root({}), nvml("LOST"))["gpus"]
    assert first["model"] == "Tesla P100-PCIE-16GB"
    assert second["uuid"] == {"unknown": "nvmlDeviceGetHandleByIndex_v2: GPU is lost"}


def test_where_library_and_kernel_module_do_not_fit_proc_says_driver_and_models(root: Write, nvml: Compile) -> None:
    found = facts(root(gpus(4)), nvml("MISMATCH"))
    assert found["gpus"] == {"unknown": "nvmlInit_v2: Driver/library version mismatch"}
    keys = pool_keys(found)
    assert (keys["driver"], keys["gpu"], keys["gpus_per_node"]) == ("470.256.02", "Tesla P100-PCIE-16GB", 4)


def test_the_library_of_a_driver_container_is_read_where_the_loader_knows_none(root: Write, nvml: Compile) -> None:
    folder = root({}) / "run/nvidia/driver/usr/lib64"
    folder.mkdir(parents=True)
    shutil.copy(nvml(), folder / "libnvidia-ml.so.470.256.02")
    assert facts(root({}))["cuda"] == "11.4"


def test_without_a_driver_every_fact_of_it_is_unknown_with_the_reason(root: Write) -> None:
    found = facts(root({}))
    for name in ("driver", "cuda", "gpus"):
        assert found[name]["unknown"].startswith(f"{NO_LIBRARY}: cannot open shared object file"), name
    assert found["kernel_module"]["unknown"].endswith("proc/driver/nvidia/version: No such file or directory")


@pytest.mark.parametrize(
    ("line", "flavour", "version"),
    [
        ("NVRM version: NVIDIA UNIX x86_64 Kernel Module  470.256.02  Thu May", "proprietary", "470.256.02"),
        # https://github.com/nix-community/nixGL/issues/186
        ("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  565.57.01  Release Build", "open", "565.57.01"),
        # https://github.com/nix-community/nixGL/issues/220
        ("NVRM version: NVIDIA UNIX Open Kernel x86_64 Kernel Module  590.48.01  Mon Dec", "open", "590.48.01"),
    ],
)
def test_the_kernel_module_is_open_or_proprietary(root: Write, line: str, flavour: str, version: str) -> None:
    found = facts(root({"proc/driver/nvidia/version": f"{line}\nGCC version:  gcc 12\n"}))
    assert found["kernel_module"] == {"flavour": flavour, "version": version}


def test_a_line_that_nobody_has_seen_is_no_version_and_is_shown_in_any_locale(root: Write) -> None:
    found = facts(root({"proc/driver/nvidia/version": "NVRM version: quelque chose d\u2019autre\n"}))
    assert "no version in its first line" in found["kernel_module"]["unknown"]
    text = as_yaml(pool_keys(found), found)
    assert "quelque chose d\\u2019autre" in text
    assert text.isascii()


ONE = {"usr/lib64/libcuda.so.470.256.02": "elf", "usr/lib64/libnvidia-ml.so.470.256.02": "elf"}


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({}, "none"),
        ({"usr/lib64/libcuda.so.535.54.03": ""}, "none"),  # an empty file is none of a driver
        ({"opt/cuda/compat/libcuda.so.535.54.03": "elf", "etc/ld.so.conf.d/c.conf": "/opt/cuda/compat"}, "none"),
        ({"usr/lib64/libcuda.so.535.54.03": "elf"}, "libraries of 470.256.02 in /usr/lib64, 535.54.03 in /usr/lib64"),
        (
            {"opt/old/lib/libnvidia-ml.so.450.80.02": "elf", "etc/ld.so.conf.d/old.conf": "# old\n/opt/old/lib\n"},
            "libraries of 450.80.02 in /opt/old/lib, 470.256.02 in /usr/lib64",
        ),
        (  # a driver container beside the driver of the host, of whatever version
            {"run/nvidia/driver/usr/lib/x86_64-linux-gnu/libcuda.so.470.256.02": "elf"},
            "libraries of 470.256.02 in /usr/lib64, 470.256.02 in /run/nvidia/driver/usr/lib/x86_64-linux-gnu",
        ),
        (
            {"proc/driver/nvidia/version": MODULE.replace("470.256.02", "470.199.02")},
            "kernel module 470.199.02, libraries of 470.256.02 in /usr/lib64",
        ),
    ],
)  # fmt: skip
def test_a_second_source_of_the_driver_is_found(root: Write, more: dict[str, str], expected: str) -> None:
    assert facts(root({**ONE, **more}))["second_driver"] == expected


def test_libraries_that_are_links_count_once(root: Write) -> None:
    folder = root(ONE) / "usr/local/nvidia/lib64"
    folder.mkdir(parents=True)
    (folder / "libcuda.so.470.256.02").symlink_to(root({}) / "usr/lib64/libcuda.so.470.256.02")
    found = facts(root({}), LD_LIBRARY_PATH="/usr/lib64:")
    assert found["driver_libraries"] == [{"version": "470.256.02", "folders": ["/usr/lib64"]}]


@pytest.mark.slow
def test_the_engine_says_where_images_are_and_which_runtimes_it_has(root: Write) -> None:
    folder = root({})
    (folder / "var/lib/docker").mkdir(parents=True)
    with running_engine(folder) as address:
        found = facts(folder, DOCKER_HOST=address)
    assert found["docker"] == {
        "engine": "20.10.24", "api": "1.41", "data_root": "/var/lib/docker", "runtimes": ["nvidia", "runc"],
        "default_runtime": "runc", "cdi_spec_dirs": [],
    }  # fmt: skip
    assert found["data_root"]["path"] == "/var/lib/docker"
    assert 0 < found["data_root"]["free_gib"] < found["data_root"]["total_gib"]


def test_an_engine_that_may_not_be_read_is_unknown_with_the_reason(root: Write) -> None:
    folder = root({})
    why = facts(folder)["docker"]["unknown"]
    assert why == f"the Docker engine at {folder}/var/run/docker.sock does not answer: No such file or directory"
    assert "elsewhere" in facts(folder, DOCKER_HOST="tcp://box:2376")["docker"]["unknown"]


def test_devices_of_cdi_are_nvidias_by_their_full_names(root: Write) -> None:
    spec = (
        'cdiVersion: "0.5.0"\nkind: nvidia.com/gpu\ndevices:\n    - name: "0"\n      containerEdits:\n        hooks:\n'
    )
    spec += "            - hookName: createContainer\n    - name: GPU-11111111-2222\n    - name: all\n"
    other = '{"cdiVersion": "0.5.0", "kind": "vendor.example/net", "devices": [{"name": "eth0"}]}'
    more = '{"cdiVersion": "0.5.0", "kind": "management.nvidia.com/gpu", "devices": [{"name": "all"}]}'
    found = facts(root({"etc/cdi/nvidia.yaml": spec, "var/run/cdi/net.json": other, "var/run/cdi/m.json": more}))
    assert found["cdi_devices"] == [
        "nvidia.com/gpu=0", "nvidia.com/gpu=GPU-11111111-2222", "nvidia.com/gpu=all", "management.nvidia.com/gpu=all",
    ]  # fmt: skip


TOOLKIT = ("nvidia-ctk", "NVIDIA Container Toolkit CLI version 1.18.1")
SPEC = "kind: nvidia.com/gpu\ndevices:\n- name: all\n  # /usr/lib/libcuda.so.{}\n"
OLD, NEW = {"ApiVersion": "1.43"}, {"ApiVersion": "1.44", "CDISpecDirs": ["/etc/cdi"]}
CONFIGURE, RELOAD = "sudo nvidia-ctk runtime configure --runtime=docker", "sudo systemctl reload docker"
RESTART = "sudo systemctl restart docker # ends containers, unless live-restore is on"
RUNC = {"Runtimes": {"runc": {}}}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("engine", "files", "lacks"),
    [
        (OLD, {}, []),
        (NEW, {"etc/cdi/n.yaml": SPEC.format("470.256.02")}, []),
        (
            {**OLD, **RUNC},
            {},
            [("runtime", "its engine has no runtime nvidia, only runc", f"{CONFIGURE} && {RELOAD}")],
        ),
        (
            {**OLD, **RUNC},
            {"etc/docker/daemon.json": '{"runtimes": {"nvidia": {}}}'},
            [("runtime", "its engine has not read the runtime nvidia in /etc/docker/daemon.json", RELOAD)],
        ),
        (
            {**NEW, "CDISpecDirs": []},
            {},
            [
                (
                    "cdi",
                    "CDI is off in its engine",
                    f"{CONFIGURE} --cdi.enabled && {RESTART}",
                ),
                (
                    "cdi",
                    "it has no CDI spec of NVIDIA's devices",
                    "sudo nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml",
                ),
            ],
        ),
        (
            NEW,
            {"var/run/cdi/n.yaml": SPEC.format("535.54.03")},
            [
                (
                    "cdi",
                    "/var/run/cdi/n.yaml is for driver 535.54.03, and 470.256.02 runs",
                    "sudo nvidia-ctk cdi generate --output=/var/run/cdi/n.yaml",
                )
            ],
        ),
    ],
)
def test_what_an_engine_lacks_is_said_with_the_command_that_mends_it(
    root: Write, nvml: Compile, engine: dict[str, Any], files: dict[str, str], lacks: list[tuple[str, str, str]]
) -> None:
    folder = root(files)
    with running_engine(folder, **engine) as address:
        found = facts(folder, nvml(), DOCKER_HOST=address, PATH=program(folder, *TOOLKIT))
    assert [(each["gpu_access"], each["lacks"], each["command"]) for each in found["lacking"]] == lacks


def test_without_an_engine_or_the_toolkit_that_is_what_is_said(root: Write) -> None:
    folder = root({})
    assert "does not answer" in facts(folder)["lacking"]["unknown"]
    with running_engine(folder, **RUNC) as address:
        toolkit, runtime = facts(folder, DOCKER_HOST=address, PATH="/nowhere")["lacking"]
    assert toolkit["command"].startswith("sudo apt-get install nvidia-container-toolkit")
    assert runtime["diff"] == {"unknown": "nvidia-ctk: not on PATH"}


@pytest.mark.parametrize(("kind", "is_memory"), [("tmpfs", True), ("xfs", False)])
def test_temporary_files_in_memory_are_reported(root: Write, kind: str, *, is_memory: bool) -> None:
    mounts = f"x /tmp {kind} rw 0 0\n/dev/sda1 / ext4 rw 0 0\ny /tmpfs tmpfs rw 0 0\n"
    folder = root({"proc/mounts": mounts, "tmp/a": "", "scratch/a": ""})
    assert facts(folder)["temporary"]["is_memory"] is is_memory
    assert facts(folder, TMPDIR="/scratch")["temporary"]["is_memory"] is False


def test_the_persistence_daemon_is_seen_by_its_process_or_its_socket(root: Write) -> None:
    assert facts(root({"proc/7/comm": "bash\n"}))["persistence_daemon"] == "not running"
    assert facts(root({"proc/8/comm": "nvidia-persiste\n"}))["persistence_daemon"] == "running"
    (root({}) / "proc/8/comm").unlink()
    assert facts(root({"run/nvidia-persistenced/socket": ""}))["persistence_daemon"] == "running"


def program(folder: Path, name: str, output: str) -> str:
    path = folder / "bin" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\ncat <<'END'\n{output}\nEND\n")
    path.chmod(0o755)
    return f"{path.parent}:/bin:/usr/bin"


@pytest.mark.parametrize(
    ("name", "output", "version"),
    [
        # https://github.com/NVIDIA/nvidia-container-toolkit/issues/50
        ("nvidia-ctk", "NVIDIA Container Toolkit CLI version 1.12.0\ncommit: 62bd01", "1.12.0"),
        ("nvidia-ctk", "NVIDIA Container Toolkit CLI version 1.18.0-rc.1\ncommit: 62bd01", "1.18.0-rc.1"),
        # https://github.com/OE4T/meta-tegra/pull/1475
        ("nvidia-container-runtime", "NVIDIA Container Runtime version 1.11.0\ncommit: 67\nrunc version 1.1", "1.11.0"),
        ("nvidia-container-runtime", "runc version 1.1.4", None),  # an old one says nothing of itself
    ],
)  # fmt: skip
def test_the_container_toolkit_says_its_version(root: Write, name: str, output: str, version: str | None) -> None:
    found = facts(root({}), PATH=program(root({}), name, output))["container_toolkit"]
    assert found.get("version") == version


@pytest.mark.parametrize(
    ("name", "output", "version"),
    [
        ("apptainer", "apptainer version 1.3.1-1.el8", "1.3.1-1.el8"),
        ("singularity", "singularity-ce version 4.3.3", "4.3.3"),
        ("singularity", "2.6.1-dist", "2.6.1-dist"),
    ],
)
def test_what_starts_images_says_its_version(root: Write, name: str, output: str, version: str) -> None:
    found = facts(root({}), PATH=program(root({}), name, output))["apptainer"]
    assert (found["version"], found["says"]) == (version, output)


def test_in_a_container_nothing_of_the_image_is_taken_for_the_hosts(root: Write) -> None:
    found = facts(root({".dockerenv": ""}))
    assert found["container"] == "docker"
    for name in ("glibc", "data_root", "persistence_daemon"):
        assert found[name]["unknown"].startswith("this runs in a container (docker), which "), name


@pytest.fixture
def slurm(root: Write) -> str:
    """PATH with Slurm's commands."""
    return program(root({}), "sbatch", "")


def test_a_node_with_slurms_commands_and_nothing_of_a_gpu_is_a_login_node(root: Write, slurm: str) -> None:
    assert probe.is_login_node(root({}), {"PATH": slurm})
    assert not probe.is_login_node(root({}), {"PATH": slurm, "SLURM_JOB_ID": "7"})
    assert not probe.is_login_node(root({}), {"PATH": "/nowhere"})
    assert not probe.is_login_node(root({"dev/nvidia0": ""}), {"PATH": slurm})


IN_JOB = {"SLURM_JOB_ID": "4711", "SLURM_JOB_PARTITION": "gpu-shared", "SLURMD_NODENAME": "comet-30-03"}


def test_what_an_allocation_prints_is_a_pool_of_a_stack_file(root: Write, nvml: Compile) -> None:
    found = facts(root({**gpus(4), "proc/meminfo": "MemTotal:       131072000 kB\n"}), nvml(), **IN_JOB)
    keys = pool_keys({**found, "glibc": "2.17", "data_root": {"total_gib": 300.7}})
    text = as_yaml(keys, found)
    assert text.splitlines()[0].endswith(", probed 2026-11-24T09:30:00Z, job 4711 of partition gpu-shared")
    pool = yaml.safe_load(text)["pool"]
    read = PartitionPool.model_validate({"name": "p", "partition": "gpu-shared", "nodes": 1, **pool})
    # The node has four, of which the allocation sees two.
    assert (read.gpus_per_node, str(read.driver), read.glibc, read.root_disk_gib) == (4, "470.256.02", "2.17", 300)
    assert read.gpu is not None
    assert read.gpu.name == "Tesla P100-PCIE-16GB"


def test_where_nothing_tells_how_many_gpus_a_node_has_an_allocation_does_not_guess(root: Write, nvml: Compile) -> None:
    keys = pool_keys(facts(root({}), nvml(), **IN_JOB))
    assert "an allocation shows no other GPUs" in keys["gpus_per_node"]["unknown"]
    assert pool_keys(facts(root({}), nvml()))["gpus_per_node"] == 2


@pytest.mark.slow
def test_what_a_docker_host_prints_is_a_pool_of_a_stack_file(root: Write, nvml: Compile) -> None:
    folder = root({**gpus(2), "proc/meminfo": "MemTotal:       131072000 kB\n", "var/lib/docker/a": ""})
    path = program(folder, "nvidia-ctk", "NVIDIA Container Toolkit CLI version 1.18.1\n")
    with running_engine(folder) as address:
        found = facts(folder, nvml(), DOCKER_HOST=address, PATH=path)
    pool = yaml.safe_load(as_yaml(pool_keys(found), found))["pool"]
    read = HostPool.model_validate_json(json.dumps({"name": "p", "engine": "ssh://ops@box", **pool}))
    assert (read.gpu_access, read.container_toolkit) == ("runtime", "1.18.1")
    assert read.gpu_uuids[1] == "GPU-66666666-7777-8888-9999-000000000000"


@pytest.mark.slow
@pytest.mark.parametrize(("api", "access"), [("1.43", "runtime"), ("1.44", "cdi")])
def test_cdi_is_named_from_the_engine_on_that_has_it(root: Write, nvml: Compile, api: str, access: str) -> None:
    folder = root({"etc/cdi/nvidia.yaml": "kind: nvidia.com/gpu\ndevices:\n- name: all\n"})
    with running_engine(folder, ApiVersion=api, CDISpecDirs=["/etc/cdi"]) as address:
        assert pool_keys(facts(folder, nvml(), DOCKER_HOST=address))["gpu_access"] == access


def test_gpus_of_several_models_are_no_pool(root: Write) -> None:
    more = "proc/driver/nvidia/gpus/0000:09:00.0/information"
    keys = pool_keys(facts(root({**gpus(1), more: "Model: Tesla K80\n"})))
    assert keys["gpu"]["unknown"] == 'GPUs of several models ("Tesla K80", "Tesla P100-PCIE-16GB"): a pool has one'
    assert keys["gpus_per_node"] == 2


def test_yaml_says_what_json_says_and_why_something_is_missing(root: Write, nvml: Compile) -> None:
    found = facts(root({"tmp/a": ""}), nvml("LOST"))
    text = as_yaml(pool_keys(found), found)
    read = yaml.safe_load(text)["host"]
    assert read["driver"] == found["driver"]
    assert read["gpus"][0] == found["gpus"][0]
    assert read["gpus"][1]["uuid"] == "unknown"
    assert "      uuid: unknown # nvmlDeviceGetHandleByIndex_v2: GPU is lost" in text
    assert read["temporary"] == found["temporary"]


def pythons() -> Iterator[str]:
    """Interpreters of 3.6, from PATH, of RHEL 8, or of pyenv."""
    places = [shutil.which("python3.6"), "/usr/libexec/platform-python"]
    places += map(str, (Path.home() / ".pyenv/versions").glob("3.6.*/bin/python"))
    for place in filter(None, places):
        snippet = "import sys; sys.exit(sys.version_info[:2] != (3, 6))"
        if (
            Path(place).is_file()
            and not subprocess.run([place, "-c", snippet], capture_output=True, check=False).returncode
        ):
            yield place


def run(python: str) -> dict[str, Any]:
    """What the file prints, handed to an interpreter that finds nothing but its own library, in a C locale."""
    environ = {"PATH": "/nowhere", "LC_ALL": "C", "HOME": os.environ.get("HOME", "/")}
    argv = [python, "-I", "-W", "error", "-", "--json"]
    done = subprocess.run(argv, input=FILE.read_bytes(), capture_output=True, env=environ, check=False, timeout=60)
    assert done.returncode == 0, done.stderr.decode()
    return dict(json.loads(done.stdout))


@pytest.mark.slow
def test_it_runs_on_python_3_6_and_says_the_same_as_on_this_one() -> None:
    old = next(pythons(), None)
    if old is None:
        pytest.skip("no Python 3.6 on this machine")
    then, now = run(old), run(sys.executable)
    changing = {"probed", "data_root", "temporary"}
    assert {k: v for k, v in then["host"].items() if k not in changing} == {
        k: v for k, v in now["host"].items() if k not in changing
    }


@pytest.mark.slow
def test_it_is_plain_ascii_in_the_grammar_of_python_3_6_and_imports_the_standard_library_alone() -> None:
    text = FILE.read_text()
    assert text.isascii()
    tree = ast.parse(text, feature_version=(3, 6))
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    names |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {name.partition(".")[0] for name in names} <= sys.stdlib_module_names
    assert "__future__" not in names  # of annotations: since 3.7
