"""A row that no question reaches is useless: for each row of each table, a question that rests on it.

A row is reached when an answer is made from it: its source stands behind a finding. A few tables are read without
being quoted (names, C libraries, requirement clauses); for those the test looks at what was read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache

import known
import pytest
from packaging.version import Version

from compat import Answer, Case, CaseError, Severity, check
from compat.evidence.case import FIELDS
from compat.evidence.drivers import reaches
from compat.evidence.host import read_host
from compat.evidence.names.image_name import ImageName, read_image
from compat.evidence.names.typed import read_cudas
from compat.facts.lookup import facts, table_names
from compat.facts.rows import Origin
from compat.rules import ALL_RULES
from compat.rules.rule import Rule
from compat.values.fact import Fact
from compat.values.hosts import Platform
from compat.values.versions import CudaVersion, DriverVersion, VersionError

Row = Mapping[str, str]
Fields = dict[str, str]
Key = tuple[tuple[str, str], ...]
ANCIENT, TODAY, FUTURE = "100.10", "580.95.05", "999.10"  # below every floor of the tables, usual, above every branch
CARDS = ("H100", "GTX 1080 Ti", "Tesla K20")


def _key(row: Row) -> Key:
    return tuple(row.items())


@pytest.fixture(scope="module")
def quoted() -> Iterator[set[Key]]:
    """Rows whose source was put behind a statement since this module began; every answer is made anew."""
    found: set[Key] = set()
    keys: dict[int, tuple[Origin, Key]] = {}  # the origin too, so that its id stays its own
    made, make_fact = Origin.of, Origin.fact

    def origin(row: dict[str, str]) -> Origin:
        own = made(row)
        keys[id(own)] = own, _key(row)
        return own

    def fact(self: Origin, text: str, *columns: str) -> Fact:
        if id(self) in keys:
            found.add(keys[id(self)][1])
        return make_fact(self, text, *columns)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Origin, "of", origin)
        patch.setattr(Origin, "fact", fact)
        known.forget()
        yield found
    known.forget()


def _answer(fields: Fields) -> Answer | None:
    try:
        return check(Case(**fields), with_remedy=False)
    except CaseError:
        return None


# --- tables that are quoted: questions that should rest on a row


def gpu_model(row: Row) -> Iterator[Fields]:
    yield {"gpu": row["model"], "driver": "535.104.05", "cuda": "12.2", "compute_capability": row["compute_capability"]}


def gpu_arch(row: Row) -> Iterator[Fields]:
    own = {"compute_capability": row["compute_capability"]}
    for driver in (ANCIENT, "535.104.05", FUTURE):
        for cuda in (row["first_cuda"] or "12.2", "5.0", "13.0"):
            yield {**own, "driver": driver, "cuda": cuda}


def cuda_driver(row: Row) -> Iterator[Fields]:
    """Drivers around every floor, on each processor."""
    for system in ({}, {"cpu_arch": "arm64"}):
        for driver in (ANCIENT, FUTURE):
            yield {"gpu": "H100", **system, "driver": driver, "cuda": row["cuda_version"]}


def framework(row: Row) -> Iterator[Fields]:
    """The build by name, on its system, on several GPUs, and inside an image with a CUDA of its own."""
    system = {"cpu_arch": "arm64"} if "aarch64" in row["distribution"] else {}
    version = row["version"] if row["version"][:1].isdigit() else ""
    fields = {"framework": row["framework"], "framework_version": version, "driver": TODAY, **system}
    conda = " conda" if "conda" in row["distribution"] else ""
    written = [f"{row['variant']}{conda}", f"cu{row['cuda'].replace('.', '')}{conda}", conda.strip(), ""]
    for build in dict.fromkeys(written):
        for cuda in ("", row["cuda"]):
            for gpu in CARDS:
                yield {**fields, "gpu": gpu, "build": build, "cuda": cuda}
    if container := row["distribution"].removeprefix("container "):
        yield {"gpu": "H100", "driver": TODAY, "image": container}


def cudnn(row: Row) -> Iterator[Fields]:
    lines = row["cuda_versions"].replace("|", "-").split("-")
    written = [part.strip() for part in row["cudnn_version"].split("-")]
    for version in (*written, f"{written[0]}.0"):
        for gpu in (row["cc_min"], row["cc_max"], "3.0", "12.0"):
            for line in (lines[0], lines[-1]):
                yield {"compute_capability": gpu, "driver": TODAY, "cuda": line, "cudnn": version}


def nccl(row: Row) -> Iterator[Fields]:  # noqa: ARG001 - no field of a case names NCCL: only notes on images do
    for each in facts("image_tag"):
        if each["nccl"]:
            yield {"gpu": "H100", "driver": TODAY, "image": f"{each['repository']}:{each['tag'].rstrip('*')}"}


def forward_compat(row: Row) -> Iterator[Fields]:
    line = row["compat_line"].replace("-", ".")
    for gpu in ("Tesla P100-PCIE-16GB", "A100", "H100"):
        for minor in ("10", "99"):
            driver = f"{row['host_branch']}.{minor}"
            yield {"gpu": gpu, "driver": driver, "cuda": line, "cuda_compat": "yes", "host": "bare"}
            yield {"gpu": gpu, "driver": driver, "cuda": line, "cuda_compat": "yes", "sm_list": "none", "ptx": "6.0"}
            path = "LD_LIBRARY_PATH=/usr/local/cuda/compat"
            yield {"gpu": gpu, "driver": driver, "cuda": line, "cuda_compat": "yes", "env": path, "host": "docker"}


def image_tag(row: Row) -> Iterator[Fields]:
    for tag in (row["tag"].removesuffix("*"), *(row["tag"].replace("*", tail) for tail in ("-x", "1", ".1"))):
        image = f"{row['repository']}:{tag}".rstrip(":")
        yield {"gpu": "T4", "driver": "535.104.05", "image": image}


def image_repository(row: Row) -> Iterator[Fields]:
    for reference in _references():
        if reference.startswith(row["repository"].partition("*")[0]):
            yield {"gpu": "T4", "driver": "535.104.05", "image": reference}


@cache
def _references() -> tuple[str, ...]:
    written = [*REFERENCES, *(row["reference"] for row in facts("image_example"))]
    written += [f"{row['repository']}:{row['tag'].replace('*', '-x')}".rstrip(":") for row in facts("image_tag")]
    return tuple(dict.fromkeys(written))


# One reference for each family that neither image_example.csv nor a note on a tag has one of.
REFERENCES = (
    "ghcr.io/ikawrakow/ik-llama-cpp:cu12-server-4574",
    "763104351884.dkr.ecr.us-east-1.amazonaws.com/mxnet-inference:1.9.0-gpu-py38-cu112-ubuntu20.04",
    "763104351884.dkr.ecr.us-east-1.amazonaws.com/sagemaker-tritonserver:24.05-py3",
    "763104351884.dkr.ecr.us-east-1.amazonaws.com/tensorflow-inference:2.14.1-gpu-py310-cu118-ubuntu20.04-ec2",
    "chainer/chainer:v6.0.0",
    "ghcr.io/ggerganov/llama.cpp:server-cuda",
    "ghcr.io/ggml-org/llama.cpp:full-cuda12-b4000",
    "ghcr.io/huggingface/text-embeddings-inference:turing-latest",
    "ghcr.io/huggingface/text-generation-inference:2.0.4",
    "ghcr.io/pytorch/pytorch:2.3.0-cuda12.1-cudnn8-devel",
    "ghcr.io/pytorch/pytorch:2.11.0-cuda12.8-cudnn9-devel",
    "pytorch/pytorch:2.11.0-cuda12.8-cudnn9-devel",
    "huggingface/transformers-pytorch-gpu:4.35.0",
    "jupyterhub/k8s-hub:3.3.7",
    "nvcr.io/nvidia/cuda:12.4.1-cudnn-runtime-ubuntu22.04",
    "nvcr.io/nvidia/cuda-dl-base:25.01-cuda12.8-devel-ubuntu24.04",
    "nvcr.io/nvidia/jax:24.04-py3",
    "nvcr.io/nvidia/rapidsai/base:24.10-cuda12.5-py3.12",
    "nvcr.io/nvidia/rapidsai/notebooks:24.10-cuda12.5-py3.12",
    "nvcr.io/nim/meta/llama3-8b-instruct:1.0.3",
    *(f"nvcr.io/nvidia/{name}" for name in ("caffe:18.07-py2", "caffe2:18.05-py3", "cntk:18.04-py3")),
    *(f"nvcr.io/nvidia/{name}" for name in ("sglang:25.10-py3", "vllm:25.10-py3")),
    "ollama/ollama:0.3.12",
    "quay.io/jupyterhub/k8s-singleuser-sample:3.3.7",
    "rapidsai/rapidsai:22.10-cuda11.5-base-ubuntu20.04-py3.9",
    "rapidsai/rapidsai-core:22.10-cuda11.5-base-ubuntu20.04-py3.9",
    "rapidsai/rapidsai-dev:22.10-cuda11.5-devel-ubuntu20.04-py3.9",
    "tensorflow/serving:2.8.0-gpu",
    "xprobe/xinference:v1.8.1.post1-cu128",
)


def gpu_operator(row: Row) -> Iterator[Fields]:
    yield {"gpu": "T4", "cuda": "11.8", "operator": row["operator_version"], "host": "kubernetes"}


def container_toolkit(row: Row) -> Iterator[Fields]:
    """A toolkit that still asks for NVIDIA_REQUIRE_*, or not; that loads a compat package, or not."""
    fields = {"gpu": "L4", "driver": "535.230.02", "host": "docker", "container_toolkit": row["version"]}
    yield {**fields, "cuda": "13.0", "cuda_compat": "yes"}
    yield {**fields, "cuda": "12.8", "env": "NVIDIA_REQUIRE_CUDA=cuda>=12.8"}
    yield {**fields, "gpu": "RTX 4090", "cuda": "12.4", "cuda_compat": "yes"}


def framework_floor(row: Row) -> Iterator[Fields]:
    """Versions at both ends of its span on GPUs from the oldest to the newest."""
    key = row["framework"].partition("[")[0]
    part = {"framework": "vllm", "env": "VLLM_USE_V1=1"} if key == "vllm-v1" else {"framework": key}
    first = row["from_version"] if row["from_version"] not in {"", "0"} else ""
    for version in dict.fromkeys((first, first or "0.0.1", "3.0.0")):
        for gpu in ("2.1", "3.0", "3.5", "5.0", "6.1", "7.0", "7.5", "8.0", "9.0", "12.0"):
            if key.startswith("ngc"):
                image = f"nvcr.io/nvidia/{key[4:] or 'pytorch'}:{row['from_version']}-py3"
                yield {"compute_capability": gpu, "driver": TODAY, "image": image}
            for cuda in ("10.2", "11.8", "12.4", "13.0"):
                fields = {"compute_capability": gpu, "driver": TODAY, "cuda": cuda, "framework_version": version}
                yield {**fields, **part}


def framework_library(row: Row) -> Iterator[Fields]:
    """A build in images whose libraries are too old, too new, and of another CUDA."""
    name, _, extra = row["framework"].partition("[")
    version = row["version"].replace(".*", ".0")
    fields = {"gpu": "A100", "framework": name, "framework_version": version, "driver": TODAY}
    if row["library"] == "glibc":
        arm = {"cpu_arch": "arm64"} if row["variant"] == "aarch64" else {}
        for cuda in ("", "11.8", "12.4", "13.0"):
            yield {**fields, **arm, "build": f"{name}[{extra}" if extra else "", "image_glibc": "1.0", "cuda": cuda}
        return
    written = (row["variant"], f"{row['variant']}_local" if row["variant"] else "", f"{name}[{extra}" if extra else "")
    for build in dict.fromkeys((*written, "")):
        for more in ({"cudnn": "1.0"}, {"cudnn": "99.0"}):
            for cuda in ("", "10.0", "10.1", "10.2", "11.0", "11.2", "11.8", "12.4", "13.0"):
                yield {**fields, "build": build, **more, "cuda": cuda}


def eks_ami(row: Row) -> Iterator[Fields]:
    """The machine image of its type and release, for each Kubernetes version of the row."""
    for version in row["k8s_versions"].split("|"):
        for release in (f"{row['ami_type']} {version}-{row['release']}", f"{row['ami_type']} {row['release']}"):
            fields = {"gpu": "T4", "cuda": "11.8", "ami_release": release, "host": "kubernetes"}
            yield fields
            yield {**fields, "driver": row["nvidia_driver"].split("|")[0].removesuffix(".x")}


# --- tables that are read without being quoted


def ec2_gpu_instances(row: Row) -> bool:
    """An instance by its type has the GPU and the processor of its row, and takes drivers within its limits."""
    fields = {"instance_type": row["instance_type"], "cuda": "12.2"}
    if row["gpu_vendor"] != "nvidia":
        with pytest.raises(CaseError, match="no NVIDIA GPU"):
            check(Case(**fields))
        return True
    by_type, by_name = (read_host(Case(**each)).may_be for each in (fields, {"gpu": row["gpu_model"]}))
    gpus = [
        [(p.gpu.capability, p.gpu.product_class, p.gpu.drivers is None) for p in pools] for pools in (by_type, by_name)
    ]
    is_host = all(pool.cpu_architecture == row["host_arch"] for pool in by_type)
    return gpus[0] == gpus[1] and is_host and all(_takes(fields, driver) is takes for driver, takes in _limits(row))


def _limits(row: Row) -> Iterator[tuple[str, bool]]:
    """Drivers at the limits of an instance and just beyond them, with whether it takes them."""
    lowest, last = row["min_driver"], row["max_driver_branch"]
    if lowest:
        yield lowest if "." in lowest else f"{lowest}.10", True
        yield f"{int(lowest.partition('.')[0]) - 1}.99", False
    if last:
        yield f"{last}.10", True
        yield f"{int(last) + 1}.10", False
    if not lowest and not last:
        yield from (("450.80.02", True), (FUTURE, True))


def _takes(fields: Fields, driver: str) -> bool:
    answer = _answer({**fields, "driver": driver})
    return answer is not None and not any(
        each.rule == "R-EKS" and each.severity is not Severity.NOTE for each in answer.findings
    )


def driver_branch(row: Row) -> bool:
    """NVIDIA_REQUIRE_CUDA of the branch's own CUDA holds, of the next one not."""
    fields = {"compute_capability": "7.5", "driver": f"{row['branch']}.99", "cuda": "10.0", "host": "docker"}
    fields["container_toolkit"] = "1.17.3"
    major, _, minor = row["native_cuda"].partition(".")
    answers = [
        _answer({**fields, "env": f"NVIDIA_REQUIRE_CUDA=cuda>={each}"})
        for each in (row["native_cuda"], f"{major}.{int(minor) + 1}")
    ]
    return [_refuses(answer, "R-REQ") for answer in answers] == [False, True]


def _refuses(answer: Answer | None, rule: str) -> bool | None:
    return answer and any(each.rule == rule and each.severity is Severity.REFUSE for each in answer.findings)


def require(row: Row) -> bool:
    """The clause of the newest release of a line stands for the line; that of an older one for its own tags."""
    name = _read(f"{row['repository']}:{row['cuda_version']}-base-ubuntu22.04")
    return name is not None and name.requires == ((row["clause"],) if row["clause"] else ())


def image_example(row: Row) -> bool:
    """A reference that a remedy may name is read as its known content, as far as its name states that."""
    name = _read(row["reference"])
    if name is None:
        return False
    seen = {column: row[column] for column in row if row[column] and column not in row["unverified_cells"].split(";")}
    cuda = seen.get("cuda", "")
    return (
        (not cuda or name.gpu_free is (cuda == "none"))
        and (cuda in {"", "none"} or not {*read_cudas(cuda)}.isdisjoint(name.cudas))
        and name.cudnn in {"", seen.get("cudnn", name.cudnn)}
        and name.framework == seen.get("framework", name.framework)
        and name.framework_version == seen.get("framework_version", name.framework_version)
        and name.os == seen.get("os", name.os)
    )


def glibc(row: Row) -> bool:
    """A tag that names the system determines the image's C library."""
    names = [_read(f"{image}-{row['os']}") for image in ("nvidia/cuda:12.4.1-base", "somebody/tool:cuda12.4")]
    return any(name is not None and name.os == row["os"] for name in names)


def _read(reference: str) -> ImageName | None:
    try:
        return read_image(reference)
    except VersionError:
        return None


QUOTED: dict[str, Callable[[Row], Iterator[Fields]]] = {
    ask.__name__: ask
    for ask in (
        gpu_model, gpu_arch, cuda_driver, framework, cudnn, nccl, forward_compat, image_tag,
        image_repository, gpu_operator, container_toolkit, framework_floor, framework_library, eks_ami,
    )
}  # fmt: skip
READ: dict[str, Callable[[Row], bool]] = {
    reads.__name__: reads for reads in (driver_branch, ec2_gpu_instances, glibc, image_example, require)
}


def test_every_table_has_a_question_here() -> None:
    assert {*QUOTED, *READ} == set(table_names())


def _missed(table: str, quoted: set[Key]) -> list[Row]:
    if table in READ:
        return [row for row in facts(table) if not READ[table](row)]
    return [
        row
        for row in facts(table)
        if not any(_answer(fields) is not None and _key(row) in quoted for fields in QUOTED[table](row))
    ]


def _says_what_jaxlib_says(row: Row) -> bool:
    """The wheel that brings CUDA asks for no newer C library than jaxlib beside it."""
    if row["library"] != "glibc" or not row["framework"].startswith("jax["):
        return False
    same = facts("framework_library", framework="jax", library="glibc", version=row["version"], variant=row["variant"])
    return any(Version(row["minimum"]) <= Version(each["minimum"]) for each in same)


def _needs_no_package(row: Row) -> bool:
    """The oldest driver of the host's branch that is tried here reaches the line by itself."""
    line, driver = CudaVersion.parse(row["compat_line"].replace("-", ".")), f"{row['host_branch']}.10"
    return row["works"] == "no" and reaches(line, DriverVersion.parse(driver), Platform.LINUX) is True


def _has_the_code_of_what_it_pins(row: Row) -> bool:
    return bool(row["pins"]) and not row["sm_list"]


JETSON_CHIPS = {row["compute_capability"] for row in facts("gpu_model") if row["product_class"] == "jetson"}

# Rows that no answer needs, by table: which, and why they stay. Each reason fits only rows that no question reaches,
# and at least one of those; so the test reports both a row that is reached after all and a reason that is out of date.
SILENT: dict[str, tuple[tuple[str, Callable[[Row], bool]], ...]] = {
    "cuda_driver": (("only the release is known, no driver", lambda row: row["driver_precision"] == "unknown"),),
    "forward_compat": (("the driver of the host needs no package", _needs_no_package),),
    "framework": (
        ("its code is that of the PyTorch which it pins", _has_the_code_of_what_it_pins),
        ("18.12 has the same version for the same CUDA", lambda row: row["distribution"].endswith(":19.02-py3")),
    ),
    "framework_floor": (("its project is asked for as numba", lambda row: row["framework"].startswith("numba-cuda")),),
    "framework_library": (
        ("no field of a case says it", lambda row: row["library"] in {"nccl", "python"}),
        ("the CUDA of a build is in framework", lambda row: row["library"] == "cuda"),
        ("jaxlib asks for as much", _says_what_jaxlib_says),
    ),
    "gpu_arch": (("lists of targets name chips of Jetson", lambda row: row["compute_capability"] in JETSON_CHIPS),),
    "gpu_model": (("a Jetson is not covered", lambda row: row["product_class"] == "jetson"),),
    "image_repository": (
        ("another name of nvidia/cuda", lambda row: row["repository"] == "nvcr.io/nvidia/cuda"),
        (
            "an image for Jetson is not covered",
            lambda row: row["kind"] == "jetson" and row["repository"][:5] == "nvcr.",
        ),
    ),
    "require": (("a tag of a line's first release may be of its last", lambda row: row["cuda_version"] == "12.9.0"),),
}


@pytest.mark.slow  # asks about each row
@pytest.mark.parametrize("table", sorted({*QUOTED, *READ}))
def test_every_row_of_a_table_is_reached_by_a_question(table: str, quoted: set[Key]) -> None:
    missed = _missed(table, quoted)
    reached = [row for row in facts(table) if row not in missed]
    for why, fits in SILENT.get(table, ()):
        assert any(map(fits, missed)), f"{table}.csv: every row is reached of those left out because {why}"
        wide = [list(row.values())[:5] for row in reached if fits(row)]
        assert not wide, f"{table}.csv: these are reached, and left out because {why}: {wide}"
        missed = [row for row in missed if not fits(row)]
    shown = "\n".join(" | ".join(list(row.values())[:5]) for row in missed)
    message = f"{len(missed)} of {len(facts(table))} rows of {table}.csv are reached by no question:\n{shown}"
    assert not shown, message


# --- fields and rules

# For fields that no example of a rule turns alone.
TURNS = (
    {"compute_capability": "7.5", "gpu_class": "geforce", "driver": "535.54.03", "cuda": "13.0", "cuda_compat": "yes"},
    {"gpu": "H100", "cpu_arch": "arm64", "driver": "580.95.05", "framework": "torch", "framework_version": "2.1.0"},
    {"gpu": "RTX 4070", "os": "windows", "driver": "552.22", "cuda": "12.4"},
    {"gpu": "A100", "driver": "470.57.02", "framework": "torch", "framework_version": "2.6.0", "build": "cu118"},
)


@pytest.mark.parametrize("field", [field for field in FIELDS if field != "id"])
def test_every_field_of_a_case_turns_an_answer(field: str) -> None:
    cases = [fields for fields in (*known.examples(), *TURNS) if fields.get(field)]
    assert any(_answer(fields) != _answer({**fields, field: ""}) for fields in cases)


@pytest.mark.slow
@pytest.mark.parametrize("rule", ALL_RULES, ids=lambda rule: rule.id)
def test_every_rule_speaks_in_an_answer_at_its_worst(rule: Rule) -> None:
    answers = [_answer(fields) for fields in known.examples()]
    assert rule.text.severity in {
        each.severity for answer in answers if answer for each in answer.findings if each.rule == rule.id
    }
