"""What holds for every case: laws of the engine, tried on cases drawn from the tables."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from dataclasses import asdict, replace
from itertools import islice, pairwise
from random import Random

import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st
from known import DECIDES

from compat import Answer, Case, CaseError, Severity, Verdict, check
from compat.evidence.case import FIELDS
from compat.evidence.drivers import newest_cuda
from compat.evidence.names.builds import read_build
from compat.evidence.names.gpu_names import find_gpus
from compat.facts.rows import Build, GpuModel
from compat.facts.tables import architectures, builds, driver_branches, frameworks, gpu_models, gpu_rows, toolkits
from compat.values.versions import ComputeCapability, CudaVersion, DriverVersion, VersionError

RANK = {Verdict.COMPATIBLE: 0, Verdict.WITH_WARNING: 1, Verdict.UNKNOWN: 2, Verdict.INCOMPATIBLE: 3}
EXAMPLES = int(os.environ.get("GPU_COMMONS_TEST_EXAMPLES", "25"))  # `make test` tries 150, `make soak` 400
law = settings(
    max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)
few = settings(law, max_examples=EXAMPLES // 3)

CARDS = tuple(model for model in gpu_models() if model.product_class != "jetson")
CAPABILITIES = tuple(sorted(architectures()))
LINES = tuple(sorted({toolkit.version.line for toolkit in toolkits()}))
FLOORS = {floor for each in toolkits() for floor in (each.floor, each.minor_floor) if floor}
DRIVERS = tuple(
    sorted(
        {*FLOORS}
        | {DriverVersion(floor.branch, max(floor.minor - 1, 0), 0) for floor in FLOORS}
        | {DriverVersion(branch, minor, 0) for branch in driver_branches() for minor in (10, 120)}
    )
)
BUILDS = tuple(build for framework in frameworks() for build in builds(framework))
SUFFIXED = ("9.0a", "10.0a", "10.0f", "12.0a", "12.0f")
IMAGES = (
    *(
        f"nvidia/cuda:{each.version}-{flavour}-ubuntu22.04"
        for each in toolkits()
        for flavour in ("base", "cudnn-runtime")
    ),
    "pytorch/pytorch:2.3.0-cuda12.1-cudnn8-runtime",
    "pytorch/pytorch:2.7.0-cuda12.8-cudnn9-runtime",
    "tensorflow/tensorflow:2.15.0-gpu",
    "tensorflow/tensorflow:1.14.0-gpu-py3",
    *(f"nvcr.io/nvidia/pytorch:{year}.{month}-py3" for year in (20, 22, 24, 25) for month in ("03", "11")),
    "quay.io/jupyter/pytorch-notebook:cuda12-2024-11-04",
    "rapidsai/base:24.10-cuda12.5-py3.12",
    "ghcr.io/somebody/lab:cuda11.8",
)


def _written(build: Build) -> str:
    """The variant as `build` accepts it; empty for one that only the tables call so."""
    try:
        read_build(build.variant)
    except VersionError:
        return ""
    return build.variant


targets = st.sampled_from([*map(str, CAPABILITIES), *SUFFIXED])
drivers = st.sampled_from(DRIVERS)
contents = st.one_of(
    st.sampled_from(LINES).map(lambda line: {"cuda": str(line)}),
    st.sampled_from(toolkits()).map(lambda each: {"cuda": str(each.version)}),
    st.builds(
        lambda line, cubins, ptx: {"cuda": str(line), "sm_list": ";".join(cubins), "ptx": ptx},
        st.sampled_from(LINES),
        st.lists(targets, min_size=1, max_size=4, unique=True),
        st.sampled_from(["", "none", *map(str, CAPABILITIES)]),
    ),
    st.sampled_from(IMAGES).map(lambda image: {"image": image}),
    st.sampled_from(BUILDS).map(
        lambda build: {"framework": build.framework, "framework_version": build.version, "build": _written(build)}
    ),
    st.sampled_from(BUILDS).map(lambda build: {"framework": build.framework, "framework_version": build.version}),
    st.builds(
        lambda build, image: {"framework": build.framework, "framework_version": build.version, "image": image},
        st.sampled_from(BUILDS),
        st.sampled_from(IMAGES),
    ),
)
surroundings = st.fixed_dictionaries(
    {},
    optional={
        "host": st.sampled_from(["bare", "docker", "kubernetes", "apptainer"]),
        "container_toolkit": st.sampled_from(["1.14.3", "1.17.3", "1.17.4", "1.17.5", "1.18.1"]),
        "cuda_compat": st.sampled_from(["yes", "no", "unknown"]),
        "kernel_module": st.sampled_from(["open", "proprietary"]),
        "cudnn": st.sampled_from(["7.6.5", "8.9.7", "9.1.0", "9.17.0"]),
        "cpu_arch": st.sampled_from(["amd64", "arm64"]),
        "os": st.sampled_from(["linux", "Ubuntu 22.04"]),
    },
)


@st.composite
def cases(draw: st.DrawFn, *, driver: st.SearchStrategy[DriverVersion | None] = drivers) -> Case:
    """A case of known things: a card by name, by instance or by capability alone, a driver, a content, a host."""
    model = draw(st.sampled_from(CARDS))
    gpu = draw(st.sampled_from([{"gpu": model.name}, {"compute_capability": str(model.compute_capability)}]))
    chosen = draw(driver)
    driver_field = {"driver": str(chosen)} if chosen is not None else {}
    return Case(**{**gpu, **driver_field, **draw(contents), **draw(st.one_of(st.just({}), surroundings))})


def _answered(case: Case, *, with_remedy: bool = False) -> Answer:
    """The answer, for cases that read; a drawn case may contradict itself in a way that is refused."""
    try:
        return check(case, with_remedy=with_remedy)
    except CaseError:
        assume(condition=False)
        raise


def _text(case: Case, answer: Answer) -> str:
    findings = "".join(f"\n  {finding.rule} {finding.severity}: {finding.message}" for finding in answer.findings)
    given_ = {name: value for name, value in asdict(case).items() if value}
    remedy = f"\n  remedy: {answer.remedy.text} {answer.remedy.changes}" if answer.remedy else ""
    return f"{given_}\n{answer.verdict}{findings}{remedy}"


# --- drivers and targets ---

# What may turn a verdict although the GPU still takes the driver. R-DROP: the branch is beyond the last one of the GPU.
# R-FWD: a compat package is for listed host branches, and a newer branch need not be one of them. R-COMPATHOOK: a package  # noqa: E501
# that an old driver needed is put before a newer driver that it is older than, or that would do without it. R-REQ: a
# clause lists branches one by one (driver>=535,driver<536), so that a branch between two of them misses all.
MAY_TURN = {"R-DROP", "R-FWD", "R-COMPATHOOK", "R-REQ"}


SHARE = 0.1  # of the examples of a law, at least, meet its premise; about 0.4 do


@pytest.mark.slow
def test_a_newer_driver_never_breaks_what_ran_unless_a_documented_rule_says_so() -> None:
    tried: Counter[bool] = Counter()

    @few
    @given(case=cases())
    def holds(case: Case) -> None:
        ran = False
        for driver in DRIVERS:  # every one of the tables, oldest first
            this = replace(case, driver=str(driver))
            answer = _answered(this)
            refusing = {finding.rule for finding in answer.findings if finding.severity is Severity.REFUSE}
            assert not ran or answer.verdict is not Verdict.INCOMPATIBLE or refusing & MAY_TURN, _text(this, answer)
            # R-FWD: a compat package that serves this branch need not serve a newer one.
            ran = ran or (answer.verdict.runs and "R-FWD" not in {finding.rule for finding in answer.findings})
        tried[ran] += 1

    holds()
    assert tried[True] >= SHARE * tried.total(), f"a driver that runs it: {tried}"


PACKAGE_FIRST = {"gpu": "A100", "cuda": "12.4", "cuda_compat": "yes", "env": "LD_LIBRARY_PATH=/usr/local/cuda/compat"}
ASKING = {"gpu": "T4", "image": "nvidia/cuda:12.4.1-base-ubuntu22.04", "host": "docker", "container_toolkit": "1.17.3"}


@pytest.mark.parametrize(
    ("rule", "older", "newer", "fields"),
    [
        ("R-DROP", "580.95.05", "595.71.05", {"gpu": "V100", "cuda": "12.4"}),
        ("R-FWD", "450.80.02", "460.32.03", {"gpu": "A100", "cuda": "12.0", "cuda_compat": "yes"}),
        ("R-COMPATHOOK", "535.104.05", "595.71.05", PACKAGE_FIRST),
        ("R-REQ", "535.104.05", "545.23.08", ASKING),
    ],
)
def test_each_of_the_documented_rules_does_turn_a_verdict(
    rule: str, older: str, newer: str, fields: dict[str, str]
) -> None:
    assert check(Case(driver=older, **fields)).verdict.runs
    after = check(Case(driver=newer, **fields))
    assert rule in {finding.rule for finding in after.findings if finding.severity is Severity.REFUSE}


@st.composite
def coded(draw: st.DrawFn) -> tuple[Case, str]:
    """A card, a driver that may know it, machine code for some targets, and one more target, often the card's own."""
    model = draw(st.sampled_from(CARDS))
    arch = architectures()[model.compute_capability]
    known = [each for each in DRIVERS if (arch.first_branch or 0) <= each.branch <= (arch.last_branch or 999)]
    driver = draw(st.sampled_from(known or DRIVERS))
    lines = [line for line in LINES if line <= newest_cuda(driver)] if driver >= min(FLOORS) else LINES
    cubins = draw(st.lists(targets, min_size=1, max_size=4, unique=True))
    case = Case(
        gpu=model.name,
        driver=str(driver),
        cuda=str(draw(st.one_of(st.sampled_from(lines), st.sampled_from(LINES)))),
        sm_list=";".join(cubins),
        ptx=draw(st.sampled_from(["", "none", *map(str, CAPABILITIES)])),
    )
    return case, draw(st.one_of(st.just(str(model.compute_capability)), targets))


def test_one_more_target_never_makes_it_worse() -> None:
    tried: Counter[bool] = Counter()

    @law
    @given(drawn=coded())
    def holds(drawn: tuple[Case, str]) -> None:
        case, more = drawn
        richer = replace(case, sm_list=f"{case.sm_list};{more}")
        before, after = check(case, with_remedy=False), check(richer, with_remedy=False)
        assert RANK[after.verdict] <= RANK[before.verdict], f"{_text(case, before)}\n{_text(richer, after)}"
        tried[before.verdict.runs or after.verdict is not before.verdict] += 1

    holds()
    assert tried[True] >= SHARE * tried.total(), f"the target could make it worse, or made it better: {tried}"


# --- the same question, the same answer ---

REPEATED = """
import json, sys
from compat import Case, CaseError, check
def answer_to(given):
    try:
        answer = check(Case(**given))
    except CaseError as error:
        return str(error)
    return repr(answer)
given = json.load(sys.stdin)
print(json.dumps({json.dumps(each, sort_keys=True): answer_to(each) for each in given}))
"""


def _in_a_process(questions: list[dict[str, str]], seed: str) -> dict[str, str]:
    done = subprocess.run(
        [sys.executable, "-c", REPEATED],
        input=json.dumps(questions),
        env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        check=True,
    )
    answers: dict[str, str] = json.loads(done.stdout)
    return answers


@pytest.mark.slow
def test_an_answer_depends_on_the_case_alone_and_not_on_earlier_cases() -> None:
    cards = CARDS[:: max(7, 500 // EXAMPLES)]
    asked = ({"cuda": "12.4"}, {"image": IMAGES[-3]}, {"framework": "torch"}, {"cuda": "11", "cuda_compat": "yes"})
    questions = [
        {"gpu": model.name, "driver": str(driver), **content}
        for model, driver in zip(cards, DRIVERS[:: len(DRIVERS) // len(cards) or 1], strict=False)
        for content in asked
    ]
    questions += [{name: value for name, value in each.items() if name != "driver"} for each in questions[::5]]
    forward, backward = _in_a_process(questions, "1"), _in_a_process(questions[::-1], "2")
    assert len(forward) > 100
    assert forward == backward


@law
@given(case=cases(driver=st.one_of(drivers, st.none())), name=st.text(max_size=20))
def test_the_name_of_a_case_is_no_part_of_the_question(case: Case, name: str) -> None:
    answer, named = _answered(case, with_remedy=True), _answered(replace(case, id=name), with_remedy=True)
    assert replace(named, id="") == replace(answer, id="")
    assert named.id == name


def _verdict_and_rules(case: Case) -> tuple[Verdict, list[tuple[str, Severity]]]:
    answer = _answered(case)
    return answer.verdict, [(finding.rule, finding.severity) for finding in answer.findings]


DRIVER_FORMS = ("{}", " {} ", "v{}", "{}\n", "driver {}", "NVIDIA driver {}", '"{}"')
CUDA_FORMS = ("{0}.{1}", " {0}.{1} ", "v{0}.{1}", "cuda{0}.{1}", "CUDA {0}.{1}", "cu{0}{1}", "{0}-{1}")
CAPABILITY_FORMS = ("{0}.{1}", "sm_{0}{1}", " {0}.{1} ", "compute_{0}{1}", "sm{0}{1}", "{0}{1}", "SM_{0}{1}")


@law
@given(case=cases(), form=st.sampled_from(DRIVER_FORMS))
def test_a_driver_written_otherwise_is_the_same_driver(case: Case, form: str) -> None:
    assert _verdict_and_rules(replace(case, driver=form.format(case.driver))) == _verdict_and_rules(case)


@law
@given(case=cases())
@example(case=Case(gpu="GTX 1080 Ti", driver="418.88", cuda="10.1"))
@example(case=Case(gpu="GTX 1080 Ti", driver="418.88", cuda="10.2"))
def test_a_driver_with_and_without_its_zero_patch_is_the_same_driver(case: Case) -> None:
    assume(case.driver.count(".") == 1)
    assert _verdict_and_rules(replace(case, driver=f" {case.driver}.00 ")) == _verdict_and_rules(case)


@law
@given(model=st.sampled_from(CARDS), driver=drivers, line=st.sampled_from(LINES), form=st.sampled_from(CUDA_FORMS))
def test_a_cuda_line_written_otherwise_is_the_same_line(
    model: GpuModel, driver: DriverVersion, line: CudaVersion, form: str
) -> None:
    case = Case(gpu=model.name, driver=str(driver), cuda=str(line))
    assert _verdict_and_rules(replace(case, cuda=form.format(line.major, line.minor))) == _verdict_and_rules(case)


@law
@given(
    capability=st.sampled_from(CAPABILITIES),
    driver=drivers,
    line=st.sampled_from(LINES),
    target=st.sampled_from(CAPABILITIES),
    form=st.sampled_from(CAPABILITY_FORMS),
)
def test_a_capability_written_otherwise_is_the_same_capability(
    capability: ComputeCapability, driver: DriverVersion, line: CudaVersion, target: ComputeCapability, form: str
) -> None:
    case = Case(compute_capability=str(capability), driver=str(driver), cuda=str(line), sm_list=str(target), ptx="none")
    other = replace(
        case,
        compute_capability=form.format(capability.major, capability.minor),
        sm_list=form.format(target.major, target.minor) if not form.startswith("compute") else f"sm_{target.digits}",
    )
    assert _verdict_and_rules(other) == _verdict_and_rules(case)


@law
@given(model=st.sampled_from([model for model in CARDS if model.gfd_product]), case=cases())
def test_a_gpu_by_its_label_is_the_gpu_by_its_name(model: GpuModel, case: Case) -> None:
    by_name = replace(case, gpu=model.name, compute_capability="")
    # GT 730 is the name and the label of three chips, and GT 730 2GB of one of them: that is another question.
    meant = find_gpus(model.name)
    aliases = filter(None, gpu_rows()[model.name]["also_called"].split("|"))
    same = [name for name in (model.gfd_product, *islice(aliases, 1)) if find_gpus(name) == meant]
    for name in (*same, model.name.lower(), f" {model.name} "):
        assert _answered(replace(by_name, gpu=name)).verdict == _answered(by_name).verdict, name


# --- what an answer owes its reader ---


@law
@given(case=cases(driver=st.one_of(drivers, st.none())))
def test_a_fact_from_memory_never_refuses(case: Case) -> None:
    answer = _answered(case)
    from_memory = [f for f in answer.findings if f.severity is Severity.REFUSE and not f.fact.verified]
    assert not from_memory, _text(case, answer)


@law
@given(case=cases(driver=st.one_of(drivers, st.none())))
def test_the_verdict_is_the_worst_finding(case: Case) -> None:
    answer = _answered(case)
    worst = max((finding.severity for finding in answer.findings), key=list(Severity).index, default=Severity.NOTE)
    assert answer.verdict is DECIDES[worst], _text(case, answer)
    ranks = [list(Severity).index(finding.severity) for finding in answer.findings]
    assert all(left >= right for left, right in pairwise(ranks)), _text(case, answer)  # worst first


@pytest.mark.slow
@law
@given(case=cases(driver=st.one_of(drivers, st.none())))
def test_an_unknown_names_what_is_missing(case: Case) -> None:
    answer = _answered(case)
    assume(answer.verdict is Verdict.UNKNOWN)
    messages = [finding.message for finding in answer.findings if finding.severity is Severity.UNKNOWN]
    assert messages, _text(case, answer)
    assert all(re.search(r"not known|depends on \w|nothing says", text) for text in messages), _text(case, answer)
    assert any(
        re.search(r"gpu-commons (inspect --deep|probe|facts)|NVIDIA lists|write its value", text) for text in messages
    ), _text(case, answer)


@law
@given(case=cases(driver=st.one_of(drivers, st.none())))
def test_only_a_refusal_has_a_remedy_and_every_refusal_has_one(case: Case) -> None:
    answer = _answered(case, with_remedy=True)
    assert (answer.remedy is not None) == (answer.verdict is Verdict.INCOMPATIBLE), _text(case, answer)
    if answer.remedy is not None:
        assert answer.remedy.text.endswith("."), _text(case, answer)
        assert all(change.field in FIELDS for change in answer.remedy.changes), _text(case, answer)


ONE_CHIP = tuple(model for model in CARDS if find_gpus(model.name) == (model,))  # by name: what to do is one thing


def test_a_remedy_for_a_cuda_line_works() -> None:
    tried: Counter[bool] = Counter()

    @law
    @given(model=st.sampled_from(ONE_CHIP), driver=drivers, line=st.sampled_from(LINES))
    def holds(model: GpuModel, driver: DriverVersion, line: CudaVersion) -> None:
        case = Case(gpu=model.name, driver=str(driver), cuda=str(line))
        answer = check(case)
        has_changes = answer.remedy is not None and bool(answer.remedy.changes)
        tried[has_changes] += 1
        if answer.remedy is not None and has_changes:
            changed = case.with_changes(answer.remedy.changes)
            after = check(changed, with_remedy=False)
            assert after.verdict.runs, f"{_text(case, answer)}\n--- with the changes ---\n{_text(changed, after)}"

    holds()
    assert tried[True] >= SHARE * tried.total(), f"a remedy with changes: {tried}"


def _works(case: Case, answer: Answer) -> bool | None:
    """Does the case run with the changes of its remedy? None where there are none."""
    if answer.remedy is None or not answer.remedy.changes:
        return None
    try:
        return check(case.with_changes(answer.remedy.changes), with_remedy=False).verdict.runs
    except CaseError:
        return False


@pytest.mark.slow
def test_remedies_for_builds_and_images_work() -> None:
    random = Random(20261121)
    failed: list[str] = []
    tried: Counter[bool | None] = Counter()
    versioned = [build for build in BUILDS if re.fullmatch(r"[0-9.]+", build.version)]
    for build in random.sample(versioned, k=500):
        model = random.choice(CARDS)
        fields = {"framework": build.framework, "framework_version": build.version}
        image = random.choice(["", "", random.choice(IMAGES)])
        case = Case(gpu=model.name, driver=str(random.choice(DRIVERS)), image=image, **fields)
        answer = check(case)
        works = _works(case, answer)
        tried[works] += 1
        if works is False:
            failed.append(_text(case, answer))
    assert not failed, f"{len(failed)} of {tried}\n" + "\n\n".join(failed[:3])
    assert tried[True] >= 200, f"remedies that were tried: {tried}"
