"""`gpu-commons stack check --cluster`, through what a stand-in for kubectl answers; tests/e2e asks the real one."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

Run = Callable[..., Result]
VERSION = "/version"
CLASSES = "/apis/storage.k8s.io/v1/storageclasses"
STAND_IN = """#!{python}
import json, pathlib, sys, urllib.parse
given = json.loads((pathlib.Path(__file__).parent / "cluster.json").read_text())
path = urllib.parse.urlsplit(sys.argv[-1]).path
if path not in given or isinstance(given[path], str):
    print("Error from server " + given.get(path, "(NotFound): not found"), file=sys.stderr)
    sys.exit(1)
print(json.dumps({{"items": given[path]}}))
"""


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[dict[str, Any]], None]:
    """What the API server has, by path; a text is the error that it answers with."""
    program = tmp_path / "kubectl"
    program.write_text(STAND_IN.format(python=sys.executable))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    return lambda given: (tmp_path / "cluster.json").write_text(json.dumps({VERSION: [], **given})) and None


def test_a_cluster_that_has_everything_is_one_line(run: Run, cluster: Callable[[dict[str, Any]], None]) -> None:
    classes = [{"metadata": {"name": name}, "reclaimPolicy": "Retain"} for name in ("campus-files", "campus-blocks")]
    cluster({CLASSES: classes})
    result = run("stack", "check", "dsmlp-fall", "--cluster")
    assert result.exit_code == 0, result.output
    assert result.stdout.endswith("\n\n✓ the cluster has what this stack needs\n")


def test_what_it_lacks_ends_with_1_in_text_and_json(run: Run, cluster: Callable[[dict[str, Any]], None]) -> None:
    cluster({CLASSES: []})
    result = run("stack", "check", "dsmlp-fall", "--cluster")
    assert result.exit_code == 1
    assert (
        '✕ the cluster lacks what this stack needs:\n  hubs[0].storage.database.storage_class: "campus-blocks" is no'
        in result.stdout
    )
    data = json.loads(run("stack", "check", "dsmlp-fall", "--cluster", "--json").stdout)
    assert [each["path"] for each in data["cluster"]["problems"]] == [
        "hubs[0].storage.database.storage_class",
        "hubs[0].storage.homes.storage_class",
    ]


def test_what_an_account_may_not_read_is_listed(run: Run, cluster: Callable[[dict[str, Any]], None]) -> None:
    cluster({CLASSES: "(Forbidden): storageclasses is forbidden"})
    result = run("stack", "check", "dsmlp-fall", "--cluster")
    assert result.exit_code == 0
    assert "! the cluster lacks nothing that could be read" in result.stdout
    assert f"  not read: {CLASSES}: kubectl reported: " in result.stdout


def test_a_cluster_that_does_not_answer_is_one_error(run: Run, cluster: Callable[[dict[str, Any]], None]) -> None:
    cluster({VERSION: "connection refused"})
    result = run("stack", "check", "dsmlp-fall", "--cluster")
    assert result.exit_code == 2
    assert "kubectl reported: " in result.stderr
    assert "Traceback" not in result.output


@pytest.mark.parametrize(("stack", "said"), [("dcsg", "of the kind docker"), ("eks-g6", "needs site.kubeconfig")])
def test_a_stack_that_has_no_cluster_to_ask_says_so(run: Run, stack: str, said: str) -> None:
    result = run("stack", "check", stack, "--cluster")
    assert result.exit_code == 2
    assert said in result.stderr
