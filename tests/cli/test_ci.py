"""The script that puts a comment on a pull request, against a `gh` that records its input."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

PROJECT = Path(__file__).resolve().parents[2]
MARKER = "<!-- gpu-commons comment: dsmlp-fall -->"
GH = """#!/usr/bin/env python3
import json, os, pathlib, sys
folder = pathlib.Path(os.environ["ANSWERS"])
args = sys.argv[1:]
place = next(each for each in args if each.startswith("repos/"))
method = args[args.index("-X") + 1] if "-X" in args else "GET"
with (folder / "calls").open("a") as calls:
    calls.write(json.dumps([method, place, *[each for each in args if each.startswith(("head=", "body="))]]) + "\\n")
if method != "GET":
    print("written")
elif place.endswith("/pulls"):
    print((folder / "pulls").read_text())
else:  # pages, one list after the other
    for each in json.loads((folder / "comments").read_text()):
        print(json.dumps([each]))
"""
Post = Callable[..., list[list[str]]]


@pytest.fixture
def post(tmp_path: Path) -> Post:
    """`post(pulls, comments)` runs the script and returns what `gh` was called with."""
    gh = tmp_path / "bin" / "gh"
    gh.parent.mkdir()
    gh.write_text(GH)
    gh.chmod(0o755)
    (tmp_path / "comment.md").write_text(f"{MARKER}\n### text\n")

    def call(pulls: list[Any], comments: list[Any]) -> list[list[str]]:
        (tmp_path / "pulls").write_text(json.dumps(pulls))
        (tmp_path / "comments").write_text(json.dumps(comments))
        ours = {"GITHUB_REPOSITORY": "team/fleet", "HEAD": "fork:branch", "SHA": "abc", "ANSWERS": str(tmp_path)}
        path = f"{gh.parent}:{os.environ['PATH']}"
        argv = [str(PROJECT / ".ci" / "comment-github"), "comment.md"]
        subprocess.run(argv, cwd=tmp_path, env={**os.environ, **ours, "PATH": path}, check=True, capture_output=True)
        return [json.loads(line) for line in (tmp_path / "calls").read_text().splitlines()]

    return call


def comment(number: int, body: str, author: str = "github-actions[bot]") -> dict[str, Any]:
    return {"id": number, "body": body, "user": {"login": author}}


PULL = {"number": 7, "head": {"sha": "abc"}}


@pytest.mark.slow
def test_the_first_comment_is_made(post: Post) -> None:
    others = [comment(1, "looks good", "ann"), comment(2, MARKER, "ann"), comment(3, MARKER.replace("dsmlp", "other"))]
    assert post([PULL], others) == [
        ["GET", "repos/team/fleet/pulls", "head=fork:branch"],
        ["GET", "repos/team/fleet/issues/7/comments?per_page=100"],
        ["POST", "repos/team/fleet/issues/7/comments", "body=@comment.md"],
    ]


@pytest.mark.slow
def test_the_next_one_takes_its_place(post: Post) -> None:
    calls = post([PULL], [comment(1, "hello", "ann"), comment(12, f"{MARKER}\n### older"), comment(13, MARKER)])
    assert calls[-1] == ["PATCH", "repos/team/fleet/issues/comments/12", "body=@comment.md"]


@pytest.mark.slow
def test_a_preview_of_an_older_commit_writes_nothing(post: Post) -> None:
    assert len(post([{"number": 7, "head": {"sha": "newer"}}], [])) == 1


def scripts() -> dict[str, str]:
    """Every shell script of the workflows and of the example for GitLab, by its place."""
    found: dict[str, str] = {}
    for path in sorted((PROJECT / ".github" / "workflows").iterdir()):
        for job in yaml.safe_load(path.read_text())["jobs"].values():
            found |= {
                f"{path.stem}: {step.get('name', step['run'])}": step["run"] for step in job["steps"] if "run" in step
            }
    for name, job in yaml.safe_load((PROJECT / "docs" / "ci" / "gitlab-ci.yml").read_text()).items():
        for part in ("before_script", "script", "after_script"):
            if isinstance(job, dict) and part in job:
                found[f"gitlab: {name} {part}"] = "\n".join(job[part])
    return found


@pytest.mark.slow
def test_what_is_no_comment_of_ours_is_not_posted(post: Post, tmp_path: Path) -> None:
    (tmp_path / "comment.md").write_text("### text\n")
    with pytest.raises(subprocess.CalledProcessError) as caught:
        post([PULL], [])
    assert "has no marker" in caught.value.stderr.decode()
    assert not (tmp_path / "calls").exists()


@pytest.mark.slow
@pytest.mark.parametrize("place", scripts())
def test_a_script_of_ci_is_a_script(place: str) -> None:
    done = subprocess.run(["bash", "-n"], input=scripts()[place], text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_every_command_of_ours_in_ci_has_the_options_that_are_given(run: Callable[..., Any]) -> None:
    called = "\n".join(scripts().values())
    known = run("comment", "--help").stdout
    options = {
        option for line in called.splitlines() if "gpu-commons comment" in line for option in re.findall(r"--\w+", line)
    }
    assert options == {"--stack", "--format"}  # --base comes by a variable
    assert all(option in known for option in options | {"--base"})
    lab = subprocess.run(
        [sys.executable, "-m", "lab", "preview", "--help"], cwd=PROJECT, capture_output=True, text=True, check=True
    )
    assert "--events" in lab.stdout


def test_no_secret_is_needed_for_a_pull_request_from_a_fork() -> None:
    for path in (PROJECT / ".github" / "workflows").iterdir():
        assert "secrets." not in path.read_text()
    jobs = yaml.safe_load((PROJECT / "docs" / "ci" / "gitlab-ci.yml").read_text())
    with_token = [name for name, job in jobs.items() if "GPU_COMMONS_NOTES" in yaml.safe_dump(job)]
    assert with_token == ["note"]  # a fork does not have it, and then the job is not there
    assert all("GPU_COMMONS_NOTES" in rule["if"] for rule in jobs["note"]["rules"])
