"""`gpu-commons probe`: on this machine, by ssh, as a job of Slurm, and compared with a stack file."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import Result
from rows import each_row

from cli.probe.differences import State, compare, compared_text, is_fine
from cli.probe.script import Job, Probed, read, script
from cli.probe.transport import by_slurm
from cli.stacks import read_stack
from cli.words import plain
from platforms.slurm.controllers import SlurmError, Unreachable
from platforms.slurm.site_model import LocalAccess
from settings.pool import Pool

Run = Callable[..., Result]
PROJECT = Path(__file__).resolve().parents[2]
HERE = LocalAccess(kind="local")
# Runs the job at once, as a node would; a site's prolog is heard first.
SBATCH = """#!/bin/sh
echo "$*" > argv
for word; do case "$word" in --output=*) output="${{word#--output=}}" ;; esac; done
{before}
{{ echo 'prolog: {{welcome}}'; SLURM_JOB_ID=42 SLURM_JOB_PARTITION=gpu-shared {node}; }} > "$output" 2>&1
code=$?
echo 42
exit $code
"""


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """`machine(sbatch="…")`: a folder to work in, and these programs first on PATH beside a Python."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GPU_COMMONS_SITE", raising=False)
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "python3").symlink_to(sys.executable)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")

    def write(**programs: str) -> None:
        for name, text in programs.items():
            (folder / name).write_text(text)
            (folder / name).chmod(0o755)

    return write


@pytest.fixture
def without_gpu() -> None:
    if Path("/dev/nvidiactl").exists():
        pytest.skip("this machine has a GPU")


def sbatch(*, before: str = "", node: str = "sh") -> str:
    return SBATCH.format(before=before, node=node)


@pytest.mark.usefixtures("without_gpu")
def test_on_a_login_node_nothing_is_probed_and_the_job_is_named(run: Run, machine: Callable[..., None]) -> None:
    machine(sbatch=sbatch())
    result = run("probe")
    assert (result.exit_code, result.stdout) == (3, "")
    assert result.stderr == (
        "error: this is a login node: it has Slurm's commands but no GPU; nothing was probed. "
        "Probe from a job instead: gpu-commons probe --via-slurm PARTITION\n"
    )


def test_on_a_host_the_facts_are_printed_as_yaml_or_json(
    run: Run, machine: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    result, data = run("probe"), json.loads(run("probe", "--json").stdout)
    assert result.exit_code == 0
    shown = yaml.safe_load(result.stdout)
    assert (shown["pool"]["cpu"], shown["host"]["kernel"]) == (data["pool"]["cpu"], data["host"]["kernel"])


@pytest.mark.slow
def test_via_slurm_a_job_with_one_gpu_is_waited_for_and_leaves_nothing(
    run: Run, machine: Callable[..., None], tmp_path: Path
) -> None:
    machine(sbatch=sbatch())
    result = run("probe", "--via-slurm", "gpu-shared", "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    host = json.loads(result.stdout)["host"]
    assert host["slurm"] == {"job": "42", "partition": "gpu-shared", "node": ""}
    arguments = (tmp_path / "argv").read_text().split()
    assert {"--wait", "--partition=gpu-shared", "--gres=gpu:1", "--export=NONE", "--time=5"} <= {*arguments}
    assert not [*tmp_path.glob("gpu-commons-probe-*")]


REFUSING = "#!/bin/sh\necho 'sbatch: error: Batch job submission failed: Invalid partition name' >&2; exit 1"


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (REFUSING, "Error: Slurm rejected the job: Invalid partition name\n"),
        (
            sbatch(node="sh -c 'echo no Python; exit 127'"),
            "Error: job 42 ended with exit code 127 and printed no facts: prolog: {welcome}; no Python\n",
        ),
    ],
)
def test_a_job_that_finds_out_nothing_is_one_line_with_the_reason(
    run: Run, machine: Callable[..., None], program: str, message: str
) -> None:
    machine(sbatch=program)
    result = run("probe", "--via-slurm", "gpu-shared")
    assert (result.exit_code, result.stdout, result.stderr) == (2, "", message)


def test_where_no_slurm_is_nothing_is_called_cancelled(
    run: Run, machine: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    result = run("probe", "--via-slurm", "gpu-shared")
    assert result.stderr == "Error: sbatch is not on this machine: install it, or reach a login node by ssh\n"
    assert result.exit_code == 2


JOB = Job("gpu", "0a1b2c3d")


@pytest.mark.slow
def test_a_job_that_waits_too_long_is_cancelled_by_its_own_name(machine: Callable[..., None], tmp_path: Path) -> None:
    machine(sbatch="#!/bin/sh\nexec sleep 60", scancel="#!/bin/sh\necho $* > cancelled")
    with pytest.raises(Unreachable, match="gave no answer within 1 s; the job was cancelled"):
        by_slurm(HERE, {}, JOB, within_s=1)
    assert (tmp_path / "cancelled").read_text() == "--name=gpu-commons-probe-0a1b2c3d\n"


def test_an_output_that_only_the_node_sees_is_reported_with_what_to_do(machine: Callable[..., None]) -> None:
    machine(sbatch="#!/bin/sh\ncat > /dev/null; echo '42;cluster'")
    with pytest.raises(SlurmError, match="is not in this folder: use a folder that login and compute nodes share"):
        by_slurm(HERE, {}, JOB, within_s=20, file_within_s=0)


@pytest.mark.slow
def test_an_output_that_comes_late_is_waited_for(machine: Callable[..., None]) -> None:
    # The job writes elsewhere; a second after it has ended the file comes to where it is looked for.
    copied = '{ while kill -0 $$; do sleep 0.1; done; sleep 1; cat late > "$output"; } >/dev/null 2>&1 &\noutput=late'
    machine(sbatch=sbatch(before=copied))
    assert by_slurm(HERE, {}, JOB, within_s=20, file_within_s=20).host["slurm"]["job"] == "42"


def test_types_and_accounts_are_those_of_the_stack() -> None:
    arguments = Job("gpu", "0a", gres="k80", account="teaching").sbatch
    assert {"--gres=gpu:k80:1", "--account=teaching"} <= {*arguments}


@pytest.mark.slow
def test_a_host_is_probed_by_ssh_with_nothing_but_its_shell_and_python(
    run: Run, machine: Callable[..., None], tmp_path: Path
) -> None:
    text = '#!/bin/sh\necho "$*" > argv\necho "{ motd }"\nfor word; do last="$word"; done\nexec sh -c "$last"\n'
    machine(ssh=text)
    (tmp_path / "bin/env").write_text('#!/bin/sh\nPATH="${0%/*}" exec /bin/sh')  # where no Slurm is
    (tmp_path / "bin/env").chmod(0o755)
    result = run("probe", "--ssh", "ops@box.example.edu")
    assert (result.exit_code, result.stderr) == (0, "")
    assert yaml.safe_load(result.stdout)["host"]["slurm"] == "none"
    assert "BatchMode=yes" in (tmp_path / "argv").read_text()


def test_a_shell_without_python_says_so(machine: Callable[..., None], tmp_path: Path, run: Run) -> None:
    machine(ssh='#!/bin/sh\nfor word; do last="$word"; done\nexec sh -c "$last"\n')
    (tmp_path / "bin/env").write_text("#!/bin/sh\nPATH=/nowhere exec /bin/sh")
    (tmp_path / "bin/env").chmod(0o755)
    if Path("/usr/libexec/platform-python").exists():
        pytest.skip("this machine has a Python beside PATH")
    result = run("probe", "--ssh", "box")
    assert result.exit_code == 2
    assert result.stderr == (
        "Error: box was not probed: "
        "no Python 3.6 or later here: neither python3 nor /usr/libexec/platform-python\n"
    )  # fmt: skip


def test_the_script_holds_the_probe_as_it_is() -> None:
    assert "\nline one $HOME `x`\n'two'\nGPU_COMMONS_PROBE\n" in script("line one $HOME `x`\n'two'\n", "/opt/a b")
    assert "--program='/opt/a b' <<'GPU_COMMONS_PROBE'" in script("", "/opt/a b")


def test_what_a_login_prints_beside_the_facts_is_passed_over() -> None:
    facts = json.dumps({"pool": {"cpu": 2}, "host": {"host": "n"}}, indent=2)
    assert read(f"{{\nno facts\n}}\nwelcome {{ }}\n{facts}\nbye\n") == Probed({"cpu": 2}, {"host": "n"})
    assert read("{\nno facts\n}\n") is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--pool", "gpu-k80"), "--pool needs --stack"),
        (("--stack", "comet"), "--stack needs --pool"),
        (("--ssh", "box", "--via-slurm", "gpu"), "--ssh and --via-slurm cannot be combined"),
        (("--ssh", "-oProxyCommand=x"), "is not an address: write user@host, or host"),
        (("--stack", "comet", "--pool", "gpu-k81"), 'there is no pool "gpu-k81"; did you mean gpu-k80'),
        (("--stack", "comet", "--pool", "gpu-k80", "--via-slurm", "x"), "pool gpu-k80 is in partition gpu"),
        (("--stack", "perceptron", "--pool", "workstation", "--via-slurm", "x"), "is not a partition of Slurm"),
        (("--stack", "perceptron", "--via-slurm", "x"), "the site of this stack has no Slurm"),
    ],
)
def test_a_mistake_in_the_options_is_reported_before_any_probe(
    run: Run, machine: Callable[..., None], arguments: tuple[str, ...], message: str
) -> None:
    machine()
    result = run("probe", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in " ".join(result.stderr.split())


def pool_of(stack: str, name: str) -> Pool:
    """A pool of one of our stacks; on Slurm with a glibc, which those leave out."""
    pools = {pool.name: pool for pool in read_stack(str(PROJECT / f"stacks/Pulumi.{stack}.yaml")).fleet.pools}
    return pools[name].model_copy(update={"glibc": "2.17"} if stack == "comet" else {})


def probed(pool: Pool, **changes: Any) -> Probed:
    """A host as its pool states it, except for these facts or keys."""
    gpus = pool.gpus_of_node
    assert gpus is not None
    models = [{"index": at, "model": gpus.model.name, "uuid": f"GPU-{at}"} for at in range(gpus.count)]
    host = {
        "probed": "2026-11-24T09:30:00Z", "host": "gpu-07.example.edu", "slurm": "none", "gpus": models,
        "glibc": getattr(pool, "glibc", None) or "2.28", "apptainer": {"version": "3.8.0"}, "second_driver": "none",
        "container_toolkit": {"version": gpus.container_toolkit}, "cdi_devices": [], "cpu": 64, "memory_gib": 500.0,
        "docker": {"engine": "27.1.0", "api": "1.46", "runtimes": ["nvidia", "runc"]},
        "data_root": {"total_gib": 2000.0}, "temporary": {"path": "/tmp", "is_memory": False},
        "persistence_daemon": "running", "lacking": [],
    }  # fmt: skip
    keys = {
        "gpu": gpus.model.name, "gpus_per_node": gpus.count, "driver": str(gpus.driver),
        "gpu_uuids": [each["uuid"] for each in models],
    }  # fmt: skip
    return Probed(
        {**keys, **{k: v for k, v in changes.items() if k in keys}},
        {**host, **{k: v for k, v in changes.items() if k in host}},
    )


def lines(pool: Pool, *, program_version: str | None = None, **changes: Any) -> list[str]:
    """The report on a host, without its headline."""
    found = probed(pool, **changes)
    text = compared_text(pool.name, found, compare(found, pool, program_version), plain)
    return [line.strip() for line in text.splitlines()[1:]]


POOLS = [("comet", "gpu-k80"), ("perceptron", "workstation"), ("dsmlp-fall", "gtx1080ti")]


@pytest.mark.parametrize(("stack", "name"), POOLS)
def test_a_host_that_is_what_its_pool_says_has_no_line(stack: str, name: str) -> None:
    pool = pool_of(stack, name)
    found = probed(pool)
    rows = [each for each in compare(found, pool) if each.state is not State.UNDECLARED]
    assert is_fine(rows)
    text = compared_text(name, found, rows, plain)
    assert text.startswith(f"gpu-07 (probed 2026-11-24) matches pool {name}; the same: gpu, gpus_per_node, driver")
    assert len(text.splitlines()) == 1


SECOND = "libraries of 535.54.03 in /usr/lib64, 580.95.05 in /opt"
DIFFERENCES: dict[str, list[tuple[dict[str, Any], str]]] = {
    "comet": [
        ({"driver": "470.199.02"}, "driver: the pool says 470.256.02, the host has 470.199.02"),
        ({"gpu": "Tesla P100-PCIE-16GB"}, "gpu: the pool says Tesla K80, the host has Tesla P100-PCIE-16GB"),
        ({"gpu": "Some Future GPU"}, "gpu: the pool says Tesla K80, the host has Some Future GPU"),
        ({"gpus_per_node": 2}, "gpus_per_node: the pool says 4, the host has 2"),
        ({"glibc": "2.28"}, "glibc: the pool says 2.17, the host has 2.28"),
        ({"cpu": 8}, "cpu: the pool says 24, the host has 8"),
        ({"apptainer": {"version": "2.6.1-dist"}}, "program_version: the site says 3.8.0, the host has 2.6.1-dist"),
    ],
    "dsmlp-fall": [({"data_root": {"total_gib": 20.0}}, "root_disk_gib: the pool says 480, the host has 20")],
    "perceptron": [
        (
            {"container_toolkit": {"version": "1.0.0"}},
            "container_toolkit: the pool says 1.18.1, the host has 1.0.0",
        ),
        (
            {"second_driver": SECOND},
            f"second_driver: the host has two drivers, {SECOND}; remove the one that nothing updates",
        ),
        (
            {"temporary": {"path": "/tmp", "is_memory": True}},
            "temporary: /tmp is in memory: what programs write there takes up part of the 128 GiB",
        ),
        (
            {"docker": {"engine": "18.09", "api": "1.39", "runtimes": ["nvidia"]}},
            "docker: its engine 18.09 speaks API 1.39; 1.40 is the lowest (Docker 19.03)",
        ),
        (
            {"lacking": [{"gpu_access": "runtime", "lacks": "its engine has no runtime nvidia", "command": "mend"}]},
            "docker: its engine has no runtime nvidia: run mend",
        ),
    ],
}


@pytest.mark.slow
@each_row(
    ("stack", "name", "changes", "line"),
    [(stack, name, *each) for stack, name in POOLS for each in DIFFERENCES[stack]],
)
def test_each_difference_is_one_line(stack: str, name: str, changes: dict[str, Any], line: str) -> None:
    pool = pool_of(stack, name)
    assert lines(pool, program_version="3.8.0", **changes) == [line]
    assert not is_fine(compare(probed(pool, **changes), pool, "3.8.0"))


def test_what_a_kernel_takes_of_the_memory_is_no_difference() -> None:
    assert lines(pool_of("perceptron", "workstation"), memory_gib=125.6) == []
    assert lines(pool_of("perceptron", "workstation"), memory_gib=62.8) == [
        "memory_gib: the pool says 128, the host has 62.8"
    ]


def test_uuids_are_compared_in_their_order() -> None:
    pool = pool_of("perceptron", "workstation").model_copy(update={"gpu_uuids": ("GPU-0", "GPU-1")})
    assert lines(pool) == []
    turned = lines(pool, gpu_uuids=["GPU-1", "GPU-0"])
    assert turned == ["gpu_uuids: the pool says GPU-0, GPU-1, the host has GPU-1, GPU-0"]


def test_what_another_way_to_gpus_lacks_is_no_difference() -> None:
    lacks = [{"gpu_access": each, "lacks": f"no {each}", "command": "mend"} for each in ("runtime", "cdi")]
    pool = pool_of("perceptron", "workstation").model_copy(update={"gpu_access": "cdi"})
    assert lines(pool, lacking=lacks) == ["docker: no cdi: run mend"]


def test_a_fact_that_cannot_be_read_proves_nothing() -> None:
    pool = pool_of("comet", "gpu-k80")
    missing = {"unknown": "nvmlInit_v2: Driver/library version mismatch"}
    line = f"driver: the pool says 470.256.02, but the host's value is unknown: {missing['unknown']}"
    assert lines(pool, program_version="3.8.0", driver=missing) == [line]
    assert not is_fine(compare(probed(pool, driver=missing), pool))


def test_what_the_pool_leaves_out_is_shown_and_is_no_difference() -> None:
    pool = pool_of("comet", "gpu-k80").model_copy(update={"driver": None, "glibc": None})
    found = probed(pool, driver="470.256.02", glibc="2.17")
    rows = compare(found, pool, "3.8.0")
    assert is_fine(rows)
    assert [each.text for each in rows if each.text] == [
        "driver: the pool does not say; the host has 470.256.02",
        "glibc: the pool does not say; the host has 2.17",
    ]


def test_a_daemon_that_does_not_run_is_a_remark() -> None:
    pool = pool_of("comet", "gpu-k80")
    line = "persistence_daemon: not running: the first program on an idle GPU waits for its driver"
    assert lines(pool, program_version="3.8.0", persistence_daemon="not running") == [line]
    assert is_fine(compare(probed(pool, persistence_daemon="not running"), pool, "3.8.0"))


def test_a_node_with_its_own_driver_is_compared_with_that(tmp_path: Path) -> None:
    text = (PROJECT / "stacks/Pulumi.dsmlp-fall.yaml").read_text()
    file = tmp_path / "Pulumi.x.yaml"
    lead = "      - name: gtx1080ti\n"
    assert lead in text
    override = '        node_overrides:\n          - { nodes: [n01], driver: "470.256.02" }\n'
    file.write_text(text.replace(lead, f"{lead}{override}", 1))
    pool = next(each for each in read_stack(str(file)).fleet.pools if each.name == "gtx1080ti")
    found = probed(pool, driver="470.256.02")
    n01 = replace(found, host={**found.host, "host": "n01.cluster.local"})
    assert is_fine(compare(n01, pool))
    assert not is_fine(compare(found, pool))


@pytest.mark.slow
def test_the_command_ends_with_1_where_the_node_is_not_what_the_pool_says(
    run: Run, machine: Callable[..., None], tmp_path: Path
) -> None:
    machine(sbatch=sbatch())
    text = (PROJECT / "stacks/Pulumi.comet.yaml").read_text()
    stack = tmp_path / "Pulumi.here.yaml"
    access = next(line.strip() for line in text.splitlines() if line.strip().startswith("access:"))
    stack.write_text(text.replace(access, "access: { kind: local }"))
    arguments = ("probe", "--stack", str(stack), "--pool", "shared-k80", "--via-slurm", "gpu-shared")
    result, data = run(*arguments), json.loads(run(*arguments, "--json").stdout)
    assert result.exit_code == 1
    assert "--gres=gpu:k80:1" in (tmp_path / "argv").read_text()
    head, *rows = result.stdout.splitlines()
    assert "does not match pool shared-k80" in head
    assert any(row.startswith("  cpu: the pool says 24, the host has ") for row in rows)
    assert (data["stack"], data["is_fine"]) == ("here", False)
    assert {"key": "cpu", "state": "differs"}.items() <= next(
        each for each in data["compared"] if each["key"] == "cpu"
    ).items()
