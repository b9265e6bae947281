"""Every rule: listed, sourced, and true to its own examples."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import known
import pytest

from cli.check.mapping import case_from
from compat import Finding, Severity, Verdict, check
from compat import rules as rules_package
from compat.rules import ALL_RULES, BY_ID
from compat.rules.rule import Rule

RANK = {Severity.NOTE: 0, Severity.WARN: 1, Severity.UNKNOWN: 2, Severity.REFUSE: 3}
# The headings of compat_rules.md, and those that the issue adds.
NAMED = frozenset(
    {
        "R-BACK", "R-MINOR", "R-FWD", "R-ARCH", "R-PTX", "R-DROP", "R-KMOD", "R-REQ", "R-COMPATHOOK", "R-VIS", "R-PERSIST",  # noqa: E501
        "R-APPT", "R-GFD", "R-EKS", "R-OPERATOR", "R-CUDNN", "R-NCCL", "R-FRAMEWORK", "R-CPU", "R-MATHLIB",
        "R-COMPRESS",
    }
)  # fmt: skip
# The rules of this machinery, not of compatibility.
NO_RULE = frozenset({"__init__", "rule", "solve"})

OPENS = re.compile(r"https://\S|NVIDIA_Changelog \S")

each_rule = pytest.mark.parametrize("rule", [pytest.param(rule, id=rule.id) for rule in ALL_RULES])


def _tried(rule: Rule, example: Mapping[str, str]) -> tuple[Verdict, list[Finding], str]:
    answer = known.checked(**example)
    own = [finding for finding in answer.findings if finding.rule == rule.id]
    return answer.verdict, own, f"{answer.verdict}: {known.told(answer)}"


@each_rule
def test_the_passing_example_of_a_rule_runs_and_the_rule_is_at_ease(rule: Rule) -> None:
    verdict, own, text = _tried(rule, rule.text.passing)
    assert verdict.runs, text
    # PTX alone always warns (a slow first start): that is how R-PTX passes.
    allowed = RANK[Severity.WARN] if rule.id == "R-PTX" else RANK[Severity.NOTE]
    assert all(RANK[finding.severity] <= allowed for finding in own), text


@each_rule
def test_the_failing_example_of_a_rule_is_decided_by_its_worst(rule: Rule) -> None:
    verdict, own, text = _tried(rule, rule.text.failing)
    worst = [finding for finding in own if finding.severity is rule.text.severity]
    assert worst, f"no finding of {rule.id} with severity {rule.text.severity}: {text}"
    assert verdict is known.DECIDES[rule.text.severity], text


@each_rule
def test_the_undecided_example_of_a_rule_names_what_is_missing(rule: Rule) -> None:
    verdict, own, text = _tried(rule, rule.text.undecided)
    if rule.text.severity in {Severity.WARN, Severity.NOTE}:
        # A rule that cannot refuse leaves the verdict alone and says in a note what it does not know.
        assert own, text
        assert all("not known" in finding.message for finding in own), text
        return
    unknown = [finding for finding in own if finding.severity is Severity.UNKNOWN]
    assert unknown, f"no finding of {rule.id} with severity unknown: {text}"
    assert verdict is Verdict.UNKNOWN, text
    assert all(finding.message for finding in unknown)


@each_rule
def test_the_examples_of_a_rule_differ_where_it_matters(rule: Rule) -> None:
    assert rule.text.passing != rule.text.failing != rule.text.undecided != rule.text.passing


@each_rule
def test_a_rule_says_what_it_is_and_where_to_read_it(rule: Rule) -> None:
    assert re.fullmatch(r"R-[A-Z]+", rule.id)
    assert rule.text.title, rule.id
    assert not rule.text.title.endswith("."), rule.id
    assert rule.text.says.endswith("."), rule.id
    assert rule.sources, rule.id
    for source in rule.sources:
        assert re.match(r"https://[\w.-]+/\S*$|github:[\w.-]+/[\w.-]+($| \S)", source), source


def test_ids_are_unique_and_none_is_missing() -> None:
    ids = [rule.id for rule in ALL_RULES]
    assert len(set(ids)) == len(ids)
    assert set(ids) >= NAMED
    assert dict(BY_ID) == {rule.id: rule for rule in ALL_RULES}


def test_every_module_of_the_folder_is_a_rule_of_the_index_under_its_own_name() -> None:
    (folder,) = rules_package.__path__
    modules = {path.stem for path in Path(folder).glob("*.py")} - NO_RULE
    assert modules == {rule.id.removeprefix("R-").lower() for rule in ALL_RULES}


def test_no_answer_speaks_in_the_name_of_a_rule_that_is_not_in_the_index() -> None:
    rules = {finding.rule for example in known.examples() for finding in check(case_from(example)).findings}
    assert rules <= set(BY_ID)


def _verdict_and_text(**case: str) -> tuple[Verdict, str]:
    answer = check(case_from(case))
    return answer.verdict, "; ".join(finding.message for finding in answer.findings)


@pytest.mark.parametrize(
    ("gpu", "driver", "verdict"),
    [
        ("GeForce GTX 1650", "410.104", Verdict.INCOMPATIBLE),  # Turing, but younger than the branch
        ("GeForce GTX 1650", "418.56", Verdict.INCOMPATIBLE),
        ("GeForce GTX 1650", "418.74", Verdict.COMPATIBLE),
        ("GeForce GTX 1650", "430.09", Verdict.COMPATIBLE),  # a newer branch
        ("GeForce GTX 1650", "418", Verdict.UNKNOWN),  # its first driver lies inside the branch
        ("Tesla T4", "410.72", Verdict.COMPATIBLE),  # no source tells its first one: its architecture's counts
    ],
)
def test_a_gpu_model_has_a_first_driver_of_its_own(gpu: str, driver: str, verdict: Verdict) -> None:
    found, text = _verdict_and_text(gpu=gpu, driver=driver, cuda="10.0", sm_list="7.5")
    assert found is verdict, text


def test_a_bare_branch_is_open_where_a_floor_lies_inside_it() -> None:
    found, text = _verdict_and_text(gpu="GTX 1080", driver="367", cuda="8.0", sm_list="6.1")
    assert found is Verdict.UNKNOWN, text
    assert "which release of branch 367 it is" in text
    assert "(runs on 367." in text
    assert ".999" not in text


@pytest.mark.parametrize(
    ("driver", "cuda", "verdict"),
    [
        ("396", "9.2", Verdict.WITH_WARNING),
        ("410.44", "10.0", Verdict.WITH_WARNING),
        ("440.31", "10.2", Verdict.WITH_WARNING),
        ("435.21", "10.2", Verdict.INCOMPATIBLE),  # of another branch
        ("375.20", "8.0", Verdict.COMPATIBLE),
        ("367.44", "8.0", Verdict.INCOMPATIBLE),
    ],
)
def test_from_cuda_9_on_any_release_of_the_branch_runs_the_cuda_that_it_reports(
    driver: str, cuda: str, verdict: Verdict
) -> None:
    found, text = _verdict_and_text(gpu="GTX 1080", driver=driver, cuda=cuda, sm_list="6.1")
    assert found is verdict, text


def test_what_a_driver_lacks_is_reported_once_with_the_number_of_the_case() -> None:
    for driver in ("418.88", "418.88.00"):
        _, text = _verdict_and_text(gpu="T4", driver=driver, cuda="10.2", sm_list="7.5")
        assert (text.count("440.33"), text.count(f"this one is {driver}.")) == (1, 1), text
    _, text = _verdict_and_text(gpu="T4", cuda="10.2", sm_list="7.5")
    assert "this one" not in text


@pytest.mark.parametrize(
    ("release", "verdict"),
    [("20251023", Verdict.UNKNOWN), ("1.34-20251023", Verdict.COMPATIBLE), ("20260120", Verdict.COMPATIBLE)],
)
def test_a_machine_image_with_two_drivers_is_open_until_its_kubernetes_is_stated(
    release: str, verdict: Verdict
) -> None:
    found, text = _verdict_and_text(instance_type="g6.xlarge", ami_release=release, cuda="13.0", sm_list="8.9")
    assert found is verdict, text


@pytest.mark.parametrize(
    ("instance", "driver", "verdict"),
    [
        ("g6f.large", "580.95.05", Verdict.COMPATIBLE),
        ("g6f.4xlarge", "595.71.05", Verdict.INCOMPATIBLE),
        ("gr6f.4xlarge", "595.71.05", Verdict.WITH_WARNING),  # the source names G6f alone
        ("g6.xlarge", "595.71.05", Verdict.COMPATIBLE),
        ("p3.2xlarge", "595.71.05", Verdict.INCOMPATIBLE),
    ],
)
def test_an_instance_has_a_last_driver_branch_of_its_own(instance: str, driver: str, verdict: Verdict) -> None:
    answer = check(case_from({"instance_type": instance, "driver": driver, "cuda": "12.8", "host": "kubernetes"}))
    assert answer.verdict is verdict, answer.findings
    findings = [each for each in answer.findings if each.rule == "R-EKS" and each.severity is not Severity.NOTE]
    assert bool(findings) is (verdict is not Verdict.COMPATIBLE)
    if "6f" in instance and findings:
        assert "g7-ami.md" in findings[0].fact.source


def test_what_is_known_of_one_framework_is_no_source_for_another() -> None:
    arm = {"gpu": "GH200", "driver": "580.95.05", "cuda": "12.4", "cpu_arch": "arm64"}
    other = check(case_from({**arm, "framework": "tensorflow"}))
    (finding,) = (each for each in other.findings if each.rule == "R-CPU")
    assert (finding.severity, finding.fact.verified) == (Severity.UNKNOWN, False)
    assert "torch" not in finding.fact.text + finding.fact.source
    torch = check(case_from({**arm, "framework": "torch", "framework_version": "2.9.1"}))
    (finding,) = (each for each in torch.findings if each.rule == "R-CPU")
    assert "pypi.org/project/torch" in finding.fact.source


@pytest.mark.parametrize(
    ("driver", "text"),
    [
        ("418.88", "driver branch 418 reached its end of life in 2022-03"),
        ("535", "driver branch 535 reached its end of life in 2026-06"),
        ("515.65.01", "driver branch 515 is past its end of life"),  # no source names the day
        ("580.95.05", "driver branch 580 is supported until 2028-06"),
        ("455.45.01", ""),  # a branch to try things with
    ],
)
def test_the_end_of_life_of_a_branch_is_reported_and_decides_nothing(driver: str, text: str) -> None:
    answer = check(case_from({"gpu": "T4", "driver": driver, "cuda": "10.0"}))
    findings = [each for each in answer.findings if each.rule == "R-EOL"]
    assert [each.message for each in findings] == [text] * bool(text)
    assert all(each.severity is Severity.NOTE and each.fact.verified for each in findings)
    assert all(each.fact.date and OPENS.match(each.fact.source) for each in findings)
    assert answer.verdict is Verdict.COMPATIBLE, answer.findings


def test_the_end_of_life_is_reported_for_stated_branches() -> None:
    answer = check(case_from({"gpu": "T4", "cuda": "10.0"}))
    assert "R-EOL" not in {each.rule for each in answer.findings}


@pytest.mark.parametrize(
    ("kind", "instance", "instead"),
    [
        ("AL2023_x86_64_STANDARD", "g6.xlarge", "AL2023_x86_64_NVIDIA"),
        ("BOTTLEROCKET_x86_64 Bottlerocket 1.40.0", "g6.xlarge", "AL2023_x86_64_NVIDIA"),
        ("AL2023_ARM_64_STANDARD", "g5g.xlarge", "AL2023_ARM_64_NVIDIA"),
        ("AL2023_x86_64_NVIDIA 20251023", "g5g.xlarge", "AL2023_ARM_64_NVIDIA"),
    ],
)
def test_a_machine_image_without_a_driver_for_the_instance_is_refused_with_one_that_has(
    kind: str, instance: str, instead: str
) -> None:
    case = case_from({"instance_type": instance, "ami_release": kind, "cuda": "12.4", "host": "kubernetes"})
    answer = check(case)
    assert answer.verdict is Verdict.INCOMPATIBLE, answer.findings
    assert {each.rule for each in answer.findings if each.severity is Severity.REFUSE} == {"R-EKS"}
    assert answer.remedy is not None
    assert answer.remedy.text == f"Use the machine image {instead}."
    assert check(case.with_changes(answer.remedy.changes)).verdict.runs


def test_who_names_the_type_of_a_machine_image_alone_gets_its_newest_release() -> None:
    case = {"instance_type": "g6.xlarge", "ami_release": "AL2023_x86_64_NVIDIA", "cuda": "13.0", "host": "kubernetes"}
    answer = check(case_from(case))
    assert answer.verdict is Verdict.COMPATIBLE, answer.findings
    assert "AL2023_x86_64_NVIDIA 2026" in " ".join(each.message for each in answer.findings)


@pytest.mark.parametrize(
    ("cpu_arch", "glibc", "is_enough"),
    [
        ("amd64", "2.31", True),
        ("amd64", "2.27", False),
        ("arm64", "2.31", False),  # its wheels for arm64 are made on a newer system
        ("arm64", "2.34", True),
    ],
)
def test_a_wheel_asks_for_the_c_library_of_its_own_processor(cpu_arch: str, glibc: str, *, is_enough: bool) -> None:
    case = {"gpu": "GH200" if cpu_arch == "arm64" else "H100", "driver": "580.95.05", "cpu_arch": cpu_arch}
    case |= {"framework": "onnxruntime", "framework_version": "1.29.0", "image_glibc": glibc}
    answer = check(case_from(case))
    findings = [each for each in answer.findings if "needs glibc" in each.message]
    assert (findings == []) is is_enough, answer.findings
    assert all(each.severity is Severity.REFUSE for each in findings)
