"""Stacks of another team's program: a stack file, resources as data, facts of images, a state of their own."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import own_stack
import yaml
from own_stack import Project, succeeded
from running_lab import Ended, RunningLab

from cli.engine_events import read_stream
from cli.review.findings import Finding, findings_of
from imaging.inspection.facts import ImageContents
from imaging.inspection.store import Store, store_folder
from policies.report import for_people

PROGRAM = Path(__file__).with_name("plain_program")
Resource = Mapping[str, Any]  # type, name, inputs; or `raise`, where the program fails
Config = dict[str, Any]


@dataclass(frozen=True)
class Previewed:
    """A preview: what a terminal showed, and the findings as the pull request's comment reads them."""

    ended: Ended
    findings: tuple[Finding, ...]

    @property
    def messages(self) -> list[tuple[str, str, str]]:
        """Level, name of the resource, text without what the policy is for."""
        events = [event["policyEvent"] for event in self.ended.events() if "policyEvent" in event]
        return [
            (
                each["enforcementLevel"],
                each["resourceUrn"].rpartition("::")[2],
                for_people(each["message"]).partition("\n")[2].strip(),
            )
            for each in events
        ]


class PlainStack(Project):
    """One stack of such a program. Its pools, images and courses are those of the user's stack, changed."""

    def make(self, *, own_images: bool = False) -> None:
        assert not own_images
        shutil.copytree(PROGRAM, self.project, dirs_exist_ok=True)
        (self.project / ".venv").symlink_to(sys.prefix)
        (self.project / "state").mkdir()
        (self.project / "stacks").mkdir()
        self.write({"config": {}})
        succeeded(self.pulumi("stack", "init", "--no-select"))

    def settings(self, change: Callable[[Config], None]) -> None:
        """The stack file of which the pack knows the site. The program itself reads none."""
        stack = own_stack.settings()
        change(stack["config"])
        self.write(stack)

    def write(self, stack: Mapping[str, Any]) -> None:
        (self.project / "stacks" / f"Pulumi.{self.stack}.yaml").write_text(yaml.safe_dump(dict(stack), sort_keys=False))

    def keep(self, facts: Iterable[ImageContents]) -> None:
        """What `gpu-commons inspect --deep` would have read of images, in a cache of this stack's own."""
        for each in facts:
            Store(store_folder(self.cache)).keep(each)

    @property
    def cache(self) -> dict[str, str]:
        return {"XDG_CACHE_HOME": str(self.project / "cache")}

    def preview(self, resources: Iterable[Resource], **variables: str) -> Previewed:
        self.shows(resources)
        stream = {"PULUMI_ENABLE_STREAMING_JSON_PREVIEW": "true"}
        ended = self.pulumi("preview", "--json", **{**self.cache, "GPU_COMMONS_SITE": "", **stream, **variables})
        return Previewed(ended, findings_of(read_stream(ended.out.encode())))

    def shows(self, resources: Iterable[Resource]) -> None:
        (self.project / "resources.json").write_text(json.dumps(list(resources)))


def plain_stack(lab: RunningLab, folder: Path) -> PlainStack:
    made = PlainStack(lab, folder, "plain")
    made.make()
    return made
