"""What import contracts and type checkers cannot see: how the project is laid out, and what starts cheaply."""

from __future__ import annotations

import ast
import itertools
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
import yaml

from lab import suites
from tests.conftest import WITH_SERVERS
from tests.stacks.contract import ALONE, REAL_NODE
from tests.stacks.test_contracts import CONTRACTS

ROOT = Path(__file__).parent.parent
# From the ground up: what stands on a floor imports from those below it (the import contracts hold it to that).
FLOORS = (
    "errors",
    "compat",
    "fleet",
    "imaging",
    "workloads",
    "platforms",
    "settings",
    "components",
    "policies",
    "cli",
    "lab",
    "tools",
)
# The program stands on the components, and the pack knows nothing of it.
PROGRAM = "__main__.py"
COMPONENTS = [
    "DockerGpuContainer",
    "DockerHost",
    "DockerHub",
    "EcrRepository",
    "EksGpuCluster",
    "EksGpuNodeGroup",
    "ExistingEksCluster",
    "FlatcarGpuNodeGroup",
    "GpuImage",
    "GpuJob",
    "GpuNodePool",
    "NotebookHub",
    "NvidiaRuntime",
    "PrePuller",
    "SifImage",
    "SlurmGpuJob",
    "SlurmHub",
    "SlurmSite",
    "StackRecord",
    "Vpc",
]
ENGINE = ("pulumi", "pulumi_kubernetes", "pulumi_docker_build", "pulumi_policy", "grpc")
# Registries and sites that everybody can reach; a lock file that names another one works on one machine only.
PUBLIC_HOSTS = {"pypi.org", "files.pythonhosted.org", "registry.npmjs.org"}


def modules(*folders: str) -> list[str]:
    """Dotted names of the modules in these folders of the project, programs (`__main__`) left out."""
    found = sorted(path for folder in folders for path in (ROOT / folder).glob("*.py"))
    names = [path.relative_to(ROOT).with_suffix("").as_posix() for path in found if path.stem != "__main__"]
    return [name.replace("/", ".").removesuffix(".__init__") for name in names]


def loaded_by(names: list[str]) -> set[str]:
    """Top-level packages that a fresh interpreter has loaded after it imported these modules."""
    program = "import importlib, json, sys\nfor name in sys.argv[1:]: importlib.import_module(name)\n"
    program += "print(json.dumps(sorted({name.partition('.')[0] for name in sys.modules})))"
    done = subprocess.run(
        [sys.executable, "-c", program, *names], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout))


def test_compat_needs_neither_the_engine_nor_pydantic_nor_a_network_library() -> None:
    names = modules(*(path.parent.relative_to(ROOT).as_posix() for path in (ROOT / "compat").rglob("__init__.py")))
    assert "compat.values.versions" in names
    assert not loaded_by(names) & {*ENGINE, "pydantic", "yaml", "httpx", "click", "rich"}


def test_a_folder_of_compat_has_two_floors_at_most() -> None:
    """A module that imports a neighbour imports only neighbours that import none; a folder counts as one."""
    imports: dict[str, dict[str, set[str]]] = {}
    for path in (ROOT / "compat").rglob("*.py"):
        for folder in [each for each in path.relative_to(ROOT).parents if len(each.parts) > 1]:
            own = path.relative_to(ROOT / folder).parts[0].removesuffix(".py")
            prefix = ".".join(folder.parts) + "."
            found = {
                f"{node.module}.{each.name}".removeprefix(prefix).partition(".")[0]
                for node in ast.walk(ast.parse(path.read_text()))
                if isinstance(node, ast.ImportFrom) and f"{node.module}.".startswith(prefix)
                for each in node.names
            }
            if own != "__init__":
                imports.setdefault(prefix, {}).setdefault(own, set()).update(found - {own})
    assert len(imports) >= 6
    wrong = [
        f"{folder}{name} imports {below}, which imports {', '.join(sorted(of[below]))}"
        for folder, of in imports.items()
        for name, found in of.items()
        for below in sorted(found & of.keys())
        if of[below] & of.keys()
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.slow
def test_what_decides_is_imported_without_the_engine() -> None:
    # The configuration of the hub and its credentials are programs that run in the cluster.
    run_in_the_cluster = {"platforms.kubernetes.jupyterhub_config", "platforms.kubernetes.hub_credentials"}
    pure = [
        *modules("workloads", "platforms/aws", "platforms/kubernetes", "platforms/docker", "policies/rules"),
        "policies.model",
        "platforms.slurm.job_model",
        "policies.pod_workloads",
    ]
    pure += ["fleet.labels", "fleet.scheduling", "imaging.references"]
    assert not loaded_by([name for name in pure if name not in run_in_the_cluster]) & {*ENGINE, "httpx", "yaml"}


@pytest.mark.slow
def test_settings_and_images_are_read_without_the_engine() -> None:
    assert not loaded_by(["settings.reading", *modules("imaging/spec", "imaging/size")]) & {*ENGINE, "httpx"}


@pytest.mark.slow
def test_a_stack_becomes_arguments_of_components_without_the_engine() -> None:
    names = [f"components.{folder}to_args" for folder in ("", "on_aws.", "on_docker.", "on_kubernetes.", "on_slurm.")]
    assert not loaded_by(["settings.resolve", *names]) & {*ENGINE, "pulumi_aws", "pulumi_docker", "docker"}


@pytest.mark.slow  # loads every SDK
def test_every_module_can_be_imported() -> None:
    run_in_the_cluster = {  # need JupyterHub and its `get_config`, or what only some image has
        "platforms.kubernetes.jupyterhub_config",
        "workloads.hub_files.base_spawner",
        "workloads.hub_files.configuration",
        "workloads.hub_files.pages",
        "workloads.hub_files.profiles",
        "platforms.kubernetes.hub_files.spawner",
        "platforms.docker.hub_files.docker_spawner",
        "platforms.docker.hub_files.gateway_config",
        "platforms.docker.hub_files.jupyterhub_config",
        "platforms.docker.hub_files.kernel_provisioner",
        "platforms.slurm.hub_files.jupyterhub_config",
        "platforms.slurm.hub_files.slurm_spawner",
    }
    packages = sorted({path.parent for top in FLOORS for path in sources(top)})
    folders = [path.relative_to(ROOT).as_posix() for path in packages if (path / "__init__.py").exists()]
    loaded_by([name for name in modules(*folders) if name not in run_in_the_cluster])


def test_the_picture_the_import_contract_and_the_folders_show_the_same_floors() -> None:
    drawn = re.search(r"^  (errors -->.*)$", (ROOT / "docs" / "architecture.md").read_text(), re.MULTILINE)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]
    contract = next(each for each in project["importlinter"]["contracts"] if each["type"] == "layers")
    folders = {path.parent.name for name in ("__init__", "__main__") for path in ROOT.glob(f"*/{name}.py")}
    assert drawn is not None
    assert tuple(drawn[1].split(" --> ")) == FLOORS
    assert tuple(reversed(contract["layers"])) == FLOORS
    assert sorted(project["importlinter"]["root_packages"]) == sorted(FLOORS)
    assert folders == set(FLOORS)


def imported(path: Path) -> set[str]:
    """What a file of the project names in its imports, at the top and inside functions."""
    nodes = [*ast.walk(ast.parse(path.read_text()))]
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module}
    return {name.partition(".")[0] for name in names}


@pytest.mark.slow
def test_the_program_is_between_the_components_and_the_pack() -> None:
    # Import contracts look at packages, and this is a file.
    assert not imported(ROOT / PROGRAM) & {*FLOORS[FLOORS.index("policies") :]}


@pytest.mark.slow
def test_who_works_on_a_rule_needs_no_package_of_the_lab() -> None:
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]
    names = {group: {re.split(r"[<>=\[]", each)[0].replace("-", "_") for each in groups[group]} for group in groups}
    of_the_lab = names["lab"] - names["dev"] - {"grpcio", "protobuf"}  # which Pulumi brings
    assert {"moto", "kubernetes"} <= of_the_lab
    product = FLOORS[: FLOORS.index("lab")]
    files = [
        path for floor in product for folder in (ROOT / floor, ROOT / "tests" / floor) for path in folder.rglob("*.py")
    ]
    assert not {str(path) for path in [*files, *(ROOT / "tests").glob("*.py")] if imported(path) & of_the_lab}


def sources(folder: str) -> Iterator[Path]:
    # `pulumi package get-schema ./components` leaves an environment of the plug-in in its folder.
    found = sorted((ROOT / folder).rglob("*.py"))
    return (path for path in found if not {"__pycache__", ".venv"} & set(path.parts[len(ROOT.parts) :]))


def test_nothing_hides_another_module_where_a_folder_is_first_on_the_path() -> None:
    # A plug-in and a policy pack run with their own folder first: a `types.py` there would replace Python's, and an
    # `images.py` ours.
    for folder in ("components", "policies"):
        entries = {path.stem for path in (ROOT / folder).iterdir() if path.suffix == ".py" or any(path.glob("*.py"))}
        assert not entries & {*sys.stdlib_module_names, *FLOORS} - {folder}, folder


@cache
def component_classes() -> dict[str, ast.ClassDef]:
    found = {}
    for path in sources("components"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef) and "pulumi.ComponentResource" in map(ast.unparse, node.bases):
                found[node.name] = node
    return found


def test_these_are_the_components() -> None:
    assert sorted(component_classes()) == COMPONENTS


def test_every_component_registers_its_outputs_once_and_last() -> None:
    for name, component in component_classes().items():
        calls = [node for node in ast.walk(component) if "self.register_outputs" in called(node)]
        constructor = next(
            each for each in component.body if isinstance(each, ast.FunctionDef) and each.name == "__init__"
        )
        last = constructor.body[-1]
        assert len(calls) == 1, name
        assert isinstance(last, ast.Expr), name
        assert last.value is calls[0], name


def test_every_component_hands_its_arguments_to_the_engine_under_its_own_token() -> None:
    for name, component in component_classes().items():
        constructions = [node for node in ast.walk(component) if "super().__init__" in called(node)]
        assert len(constructions) == 1, name
        (construction,) = constructions
        assert isinstance(construction, ast.Call)
        token, _, inputs, _ = construction.args
        assert ast.unparse(token) == f"'gpu-commons:index:{name}'"
        # Else a preview shows no change of them, and no policy sees them.
        assert "**args" in ast.unparse(inputs), name


def called(node: ast.AST) -> str:
    return ast.unparse(node.func) if isinstance(node, ast.Call) else ""


def test_a_module_of_a_component_has_annotations_that_can_be_read_at_run_time() -> None:
    # `from __future__ import annotations` makes the engine's schema inference fail for hosted components.
    hosts = [path for path in sources("components") if "(pulumi.ComponentResource):" in path.read_text()]
    assert len(hosts) == len(COMPONENTS)
    assert not [path.name for path in hosts if "from __future__ import annotations" in path.read_text()]


def test_every_pinned_tool_has_its_module_file_and_its_sums() -> None:
    tools = ROOT / "lab" / "tools"
    pins = {name for name, pin in tomllib.loads((tools / "pins.toml").read_text()).items() if "packages" in pin}
    assert {path.name for path in tools.iterdir() if path.is_dir()} == pins
    for name in pins:
        assert (tools / name / "go.mod").is_file()
        assert (tools / name / "go.sum").is_file()


def tracked_texts() -> Iterator[tuple[str, str]]:
    done = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    for name in done.stdout.splitlines():
        path = ROOT / name
        if path.is_file() and path != Path(__file__):
            yield name, path.read_text(errors="replace")


@pytest.mark.slow
def test_no_file_names_a_folder_of_a_developers_machine() -> None:
    # /root/.cache is root's home inside an image: the target of a cache mount.
    private = re.compile(
        r"(?<![\w.])(/work/\w|/tmp/(state|gc|bash)[\w.-]*|/home/(?!jovyan)\w+/|/Users/\w|/root/(?!\.))"
    )
    found = [(name, match[0]) for name, text in tracked_texts() for match in private.finditer(text)]
    assert not found


def test_lock_files_name_public_registries_only() -> None:
    resolved = re.compile(r'(?:registry = |url = |"resolved": )"https?://(?P<host>[^/"]+)')
    locks = {name: text for name, text in tracked_texts() if Path(name).name in {"uv.lock", "package-lock.json"}}
    hosts = {match["host"] for text in locks.values() for match in resolved.finditer(text)}
    assert "uv.lock" in locks
    assert "pypi.org" in hosts
    assert hosts <= PUBLIC_HOSTS
    sources_of_wheels = re.compile(r"^--(index-url|extra-index-url|find-links|trusted-host)", re.MULTILINE)
    assert not [name for name, text in tracked_texts() if name.endswith(".lock") and sources_of_wheels.search(text)]


# What a workflow may beside reading, and then it runs no code of a pull request.
MAY_WRITE = {"comment": {"actions": "read", "contents": "read", "pull-requests": "write"}}


WORKFLOWS = sorted((ROOT / ".github" / "workflows").iterdir())


def test_workflows_may_only_read_and_name_exact_versions_of_what_they_use() -> None:
    for path in WORKFLOWS:
        workflow = yaml.safe_load(path.read_text())
        used = [step["uses"] for job in workflow["jobs"].values() for step in job["steps"] if "uses" in step]
        exact = r"[\w-]+/[\w-]+@(v\d+\.\d+\.\d+|[0-9a-f]{40})"
        assert workflow["permissions"] == MAY_WRITE.get(path.stem, {"contents": "read"}), path.name
        assert not [job for job in workflow["jobs"].values() if "permissions" in job], path.name
        assert used, path.name
        assert not [name for name in used if not re.fullmatch(exact, name)], path.name


def test_a_workflow_that_may_write_runs_the_default_branch_and_no_text_of_a_pull_request() -> None:
    may_write = {path.stem: yaml.safe_load(path.read_text()) for path in WORKFLOWS if path.stem in MAY_WRITE}
    assert may_write.keys() == MAY_WRITE.keys()
    for name, workflow in may_write.items():
        assert list(workflow[True]) == ["workflow_run"], name  # YAML reads the key `on` as true
        every = [step for job in workflow["jobs"].values() for step in job["steps"]]
        checkouts = [step for step in every if step.get("uses", "").startswith("actions/checkout")]
        assert not [step for step in checkouts if "ref" in step["with"]], name
        assert not [step for step in every if "${{" in step.get("run", "")], name  # values come by the environment


def test_no_workflow_of_a_pull_request_knows_a_secret() -> None:
    assert not [path.name for path in WORKFLOWS if re.search(r"secrets\.|pull_request_target", path.read_text())]


class Soak(str):
    """What `soak` in an expression of markers is for a test: nothing, or the part that its marker names."""

    __slots__ = ()

    def __call__(self, part: str) -> bool:
        return self == part


def test_every_test_runs_in_one_suite_of_make_test_or_in_one_part_of_soak() -> None:
    parts = [name for name, suite in suites.SOAK.items() if "soak(" in suite.marked]
    for lab, browser, slow, soak in itertools.product((True, False), (True, False), (True, False), ("", *parts)):
        names = {"lab": lab, "browser": browser, "slow": slow, "soak": Soak(soak)}
        in_test = {each.marked for each in suites.TEST if eval(each.marked, {}, names)}  # noqa: S307 - our own expressions
        in_soak = [name for name in parts if eval(suites.SOAK[name].marked, {}, names)]  # noqa: S307
        assert (len(in_test), in_soak) == ((0, [soak]) if soak else (1, [])), names


def test_every_test_that_needs_servers_or_names_a_part_of_soak_lies_where_its_suite_looks() -> None:
    every = (*suites.TEST, *suites.SOAK.values())
    written = {path: path.read_text() for path in (ROOT / "tests").rglob("*.py") if path.parent != ROOT / "tests"}
    with_servers = {path.parent for path, text in written.items() if "pytest.mark.lab" in text}
    with_servers |= {ROOT / "tests" / folder for folder in WITH_SERVERS}
    assert {str(path.relative_to(ROOT)) for path in with_servers} <= {place for each in every for place in each.places}
    named = {(path, part) for path, text in written.items() for part in re.findall(r'soak\(part="(\w+)"\)', text)}
    assert {part for _, part in named} <= {*suites.SOAK}
    astray = [
        path for path, part in named if not any(path.is_relative_to(ROOT / place) for place in suites.SOAK[part].places)
    ]
    assert astray == []


def test_labs_that_may_have_the_one_real_node_of_a_machine_are_brought_up_one_after_the_other() -> None:
    faults = [path for path in (ROOT / "tests" / "faults").glob("test_*.py") if not path.name.endswith("_stack.py")]
    assert not [path.name for path in faults if re.search(r"import .*\b(own|aws)_lab\b", path.read_text())]


def kinds_of_stacks() -> dict[str, str | None]:
    return {
        path.name.split(".")[1]: yaml.safe_load(path.read_text())["config"].get("gpu-commons:site", {}).get("kind")
        for path in (ROOT / "stacks").glob("Pulumi.*.yaml")
    }


def test_labs_that_run_beside_the_one_with_the_real_node_have_no_cluster() -> None:
    kinds = kinds_of_stacks()
    faults = ROOT / "tests" / "faults"
    beside = [*faults.glob("test_docker_*stack.py"), *faults.glob("test_slurm_*stack.py")]
    named = {
        stack
        for path in beside
        for stack in kinds
        if re.search(rf'own_lab\("{stack}"|stack_{stack} import', path.read_text())
    }
    assert named == {"perceptron", "comet", "quest"}
    assert {kinds[stack] for stack in named} == {"docker", "slurm"}


def test_every_stack_of_a_site_has_a_contract() -> None:
    previewed = {"cupy", "dsmlp-next"}  # what they bring up others do too
    assert {contract.stack for contract in CONTRACTS} | {"dsmlp-fall"} == kinds_of_stacks().keys() - previewed


def test_stacks_that_need_the_real_node_or_the_same_port_come_up_one_after_the_other() -> None:
    kinds = kinds_of_stacks()
    published = re.compile(r"kind: (?:host_port|login_node), port: (\d+)|\bhost: (\d+)")
    needed: dict[str, set[str]] = {}
    for contract in CONTRACTS:
        if kinds[contract.stack] in {"docker", "slurm"}:
            text = (ROOT / "stacks" / f"Pulumi.{contract.stack}.yaml").read_text()
            for port in {"".join(found) for found in published.findall(text)}:
                needed.setdefault(f"port {port}", set()).add(contract.stack)
        else:
            needed.setdefault(REAL_NODE, set()).add(contract.stack)
    twice = {stack: what for what, stacks in needed.items() if len(stacks) > 1 for stack in stacks}
    assert twice == ALONE


def test_no_script_of_bench_hides_a_package() -> None:
    # A script's own folder comes first on its path: bench/compat.py would be imported in place of compat.
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    assert len(packages) > 5
    assert not packages & {path.stem for path in (ROOT / "bench").glob("*.py")}
