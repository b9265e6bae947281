"""Homes on an NFS export, deployed in a stack of its own: what people read when it fails, and that a file stays.

The file server is the lab's stand-in: an export is a folder below `data/exports`.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import own_stack
import pytest
import yaml
from hub_users import Administrator, administrator
from own_stack import Project, succeeded
from running_lab import Object, RunningLab, wait_for

from lab.instance import open_instance
from lab.servers import nfs_exports

NAME = "e2e-homes"
PORT = 30086
HUB = f"http://127.0.0.1:{PORT}/"
SERVER = "files.e2e.example.edu"
HOMES = "/export/homes"
POD = f"/api/v1/namespaces/{NAME}/pods/jupyter-admin"


@dataclass(frozen=True)
class Site:
    lab: RunningLab
    stack: Project
    export: Path
    admin: Administrator

    def request(self, profile: str) -> None:
        answer = self.admin.call("POST", "users/admin/server", json={"profile": profile})
        assert answer.is_success, answer.text

    def started(self, profile: str) -> None:
        """A running server of that profile."""
        self.request(profile)
        wait_for(lambda: self._server().get("ready"), what=f"the server {profile} answers", within_s=180)

    def stop(self) -> None:
        def stopped() -> bool:
            self.admin.call("DELETE", "users/admin/server")
            return not self._server() and self.lab.cluster.get(POD) is None

        wait_for(stopped, what="the server is stopped", within_s=90)

    def failure(self) -> str:
        """The sentence with which a start ends."""
        path = "hub/api/users/admin/server/progress"
        with self.admin.http.stream("GET", path, params={"_xsrf": self.admin.token}, timeout=180) as stream:
            events = [
                json.loads(line.removeprefix("data: ")) for line in stream.iter_lines() if line.startswith("data")
            ]
        return str(events[-1]["message"])

    def inside(self, *argv: str) -> str:
        pod = ("kubectl", "exec", "--namespace", NAME, "jupyter-admin", "--container", "notebook", "--")
        return succeeded(self.lab.run(*pod, *argv))

    def _server(self) -> Object:
        return dict(self.admin.call("GET", "users/admin").json()["servers"].get("") or {})


@pytest.fixture(scope="module")
def site(lab: RunningLab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The hub, on an export that the file server does not have yet."""
    settings = own_stack.settings(NAME, port=PORT)
    config = settings["config"]
    homes, database = {"nfs": {"server": SERVER, "path": HOMES}}, {"storage_class": "local-path"}
    config["gpu-commons:hubs"][0].update(
        pre_pull=False, storage={"homes": homes, "database": database}, start_timeout_s=60
    )
    del config["gpu-commons:jobs"], config["gpu-commons:courses"]
    stack = Project(lab, tmp_path_factory.mktemp("homes"), NAME)
    stack.make()
    stack.write(settings)
    gone = ("kubectl", "delete", "namespace", NAME, "--ignore-not-found")
    succeeded(lab.run(*gone))  # of a run that was killed
    export = nfs_exports.folder(open_instance(os.environ["GPU_COMMONS_LAB"])) / SERVER / HOMES.lstrip("/")
    shutil.rmtree(export, ignore_errors=True)
    try:
        succeeded(stack.pulumi("stack", "init", "--no-select"))
        succeeded(stack.pulumi("up", "--yes", "--skip-preview", "--suppress-progress"))

        def answers() -> bool:
            try:
                return httpx.get(f"{HUB}hub/health", trust_env=False).is_success
            except httpx.TransportError:
                return False

        wait_for(answers, what="the hub answers", within_s=120)
        with administrator(lab, HUB, NAME) as admin:
            yield Site(lab, stack, export, admin)
    finally:
        stack.pulumi("destroy", "--yes", "--skip-preview", "--suppress-progress")
        succeeded(lab.run(*gone))
        shutil.rmtree(export.parents[1], ignore_errors=True)


def test_an_export_that_cannot_be_mounted_is_said(site: Site) -> None:
    site.request("cpu")
    assert "cannot reach your home directory" in site.failure()
    events = succeeded(site.lab.run("kubectl", "get", "events", "--namespace", NAME, "--output", "json"))
    assert f"access denied by server while mounting {SERVER}:{HOMES}" in events
    site.stop()


def test_an_export_that_users_may_not_write_to_is_said(site: Site) -> None:
    site.export.mkdir(parents=True)
    site.request("cpu")
    assert "Your home directory could not be made: Permission denied." in site.failure()
    site.stop()


def test_a_file_is_there_in_the_profile_of_another_pool(site: Site) -> None:
    os.chown(site.export, *nfs_exports.OWNER)
    site.started("cpu")
    site.inside("sh", "-c", "echo kept > ~/notes.txt")
    assert site.inside("ls", "/home/jovyan").split() == ["notes.txt"], "the homes of others are not there"
    folder = site.export / "admin"
    assert (folder.stat().st_uid, oct(folder.stat().st_mode)[-3:]) == (1000, "700")
    site.stop()
    site.started("gtx1080ti")
    assert site.inside("cat", "/home/jovyan/notes.txt") == "kept\n"


def test_another_size_of_the_database_is_previewed_and_leaves_the_volume_that_is_there(site: Site) -> None:
    path = f"/apis/apps/v1/namespaces/{NAME}/statefulsets/hub"
    before = (site.lab.cluster.get(path) or {})["metadata"]["uid"]
    settings = yaml.safe_load(site.stack.file.read_text())
    settings["config"]["gpu-commons:hubs"][0]["storage"]["database"] = {"storage_class": "local-path", "size_gib": 2}
    site.stack.write(settings)
    succeeded(site.stack.pulumi("up", "--yes", "--suppress-progress"))
    assert (site.lab.cluster.get(path) or {})["metadata"]["uid"] == before


def test_destroy_leaves_the_files_and_nothing_that_names_the_export(site: Site) -> None:
    succeeded(site.stack.pulumi("destroy", "--yes", "--skip-preview", "--suppress-progress"))
    assert (site.export / "admin" / "notes.txt").read_text() == "kept\n"
    assert site.lab.cluster.get(f"/api/v1/persistentvolumes/gpu-commons-homes-{NAME}") is None
    assert site.lab.cluster.get(f"/api/v1/namespaces/{NAME}/persistentvolumeclaims/homes") is None
