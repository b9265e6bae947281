from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from imaging.spec.load import IMAGES
from lab import bases, image_pushes, processes
from lab.bases import Substitute
from lab.instance import Instance, LabError
from lab.machine import debian
from lab.servers import buildkit, registry
from lab.stand_ins.images import StandInImage
from lab.toolchain import Toolchain

ACCEPT = {"Accept": "application/vnd.oci.image.manifest.v1+json"}


def nothing_reachable(_: str) -> bool:
    return False


def all_reachable(_: str) -> bool:
    return True


@pytest.mark.parametrize(
    ("reference", "url"),
    [
        ("docker.io/library/debian:bookworm-slim", "https://registry-1.docker.io/v2/"),
        ("jupyter/scipy-notebook:1", "https://registry-1.docker.io/v2/"),
        ("quay.io/jupyter/datascience-notebook:1", "https://quay.io/v2/"),
        ("nvcr.io/nvidia/driver:418.88", "https://nvcr.io/v2/"),
        ("conda-forge", "https://conda.anaconda.org/conda-forge/noarch/repodata.json.zst"),
        ("https://download.example.org/whl/stable.html", "https://download.example.org/whl/stable.html"),
    ],
)
def test_each_source_has_one_url_that_shows_whether_it_is_reachable(reference: str, url: str) -> None:
    assert bases.question(reference) == url


def test_the_references_come_from_the_image_specs() -> None:
    wanted = bases.wanted_references(IMAGES)
    assert "conda-forge" in wanted
    assert any(reference.startswith("quay.io/jupyter/datascience-notebook:") for reference in wanted)
    assert len(set(wanted)) == len(wanted)


def test_a_spec_with_a_mistake_is_an_error_for_people(tmp_path: Path) -> None:
    (tmp_path / "hub").mkdir()
    (tmp_path / "hub" / "image.yaml").write_text("name: [\n")
    with pytest.raises(LabError, match=r"images/hub/image\.yaml"):
        bases.wanted_references(tmp_path)


def test_a_cuda_base_sets_the_variables_of_the_image_it_stands_for() -> None:
    text = bases.base_dockerfile("r/debian@sha256:1", "docker.io/nvidia/cuda:10.1.243-cudnn7-runtime-ubuntu18.04")
    assert (
        text
        == """\
# In the lab of gpu-commons, in place of docker.io/nvidia/cuda:10.1.243-cudnn7-runtime-ubuntu18.04.
FROM r/debian@sha256:1
LABEL org.gpu-commons.lab.substitute="docker.io/nvidia/cuda:10.1.243-cudnn7-runtime-ubuntu18.04"
ENV CUDA_VERSION="10.1.243"
ENV NVIDIA_REQUIRE_CUDA="cuda>=10.1"
ENV NVIDIA_VISIBLE_DEVICES="all"
ENV NVIDIA_DRIVER_CAPABILITIES="compute,utility"
"""
    )
    assert bases.variables("docker.io/library/debian:bookworm-slim") == {}


@pytest.mark.parametrize(("code", "answers"), [(200, True), (401, True), (403, False), (404, False), (502, False)])
def test_a_gateways_refusal_is_no_registry(monkeypatch: pytest.MonkeyPatch, code: int, answers: bool) -> None:
    monkeypatch.setattr(httpx, "head", lambda *_, **__: httpx.Response(code))
    assert bases.answers_at("https://quay.io/v2/") is answers


def test_no_answer_is_not_reachable() -> None:
    assert bases.answers_at("https://127.0.0.1:1/v2/") is False


def test_the_key_changes_with_the_dockerfile_and_with_each_file(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1")
    image = bases.Wanted("lab/x", "FROM scratch", {"a": tmp_path / "a"})
    keys = [image.key, bases.Wanted("lab/x", "FROM other", {"a": tmp_path / "a"}).key]
    (tmp_path / "a").write_text("2")
    keys += [image.key, bases.Wanted("lab/x", "FROM scratch", {"b": tmp_path / "a"}).key]
    assert len(set(keys)) == 4


def test_a_new_system_keeps_nothing_of_the_machine_that_made_it(tmp_path: Path) -> None:
    files = {
        "etc/apt/sources.list": "deb http://mirror.internal/debian bookworm main",
        "etc/dpkg/dpkg.cfg.d/x": "",
        "etc/hostname": "my-machine",
        "etc/machine-id": "0123",
        "etc/resolv.conf": "nameserver 10.0.0.1",
        "usr/share/doc/bash/copyright": "kept",
        "usr/share/doc/bash/README": "",
        "usr/share/locale/de/x": "",
        "usr/bin/python3": "kept",
        "var/cache/apt/pkgcache.bin": "",
        "var/lib/apt/lists/mirror.internal_debian_dists_bookworm_InRelease": "",
        "var/log/dpkg.log": "",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    debian.tidy(tmp_path)
    left = {str(path.relative_to(tmp_path)): path.read_text() for path in tmp_path.rglob("*") if path.is_file()}
    assert "mirror.internal" not in str(left)
    assert left.pop("etc/apt/sources.list").splitlines()[0] == "deb http://deb.debian.org/debian bookworm main"
    assert "path-exclude=/usr/share/man/*" in left.pop("etc/dpkg/dpkg.cfg.d/lab")
    assert left == {
        "etc/dpkg/dpkg.cfg.d/x": "",
        "etc/machine-id": "",
        "usr/bin/python3": "kept",
        "usr/share/doc/bash/copyright": "kept",
    }


def test_times_come_from_the_archive(tmp_path: Path) -> None:
    lists = tmp_path / "var/lib/apt/lists"
    lists.mkdir(parents=True)
    with pytest.raises(LabError, match="no Release file"):
        debian.archive_date(tmp_path)
    (lists / "m_debian_dists_bookworm_InRelease").write_text("Origin: Debian\nDate: Sat, 10 Jun 2023 08:53:33 UTC\n")
    assert debian.archive_date(tmp_path) == 1686387213


# --- with a real registry and builder; in place of a whole Debian, one file of it


@dataclass(frozen=True)
class Lab:
    instance: Instance
    tools: Toolchain
    messages: list[str]

    def ensure(self, reachable: Callable[[str], bool] = nothing_reachable) -> list[Substitute]:
        self.messages.clear()
        return bases.ensure(self.instance, self.tools, self.messages.append, reachable)

    def restart_registry(self) -> None:
        processes.stop(self.instance, "registry")
        processes.start(self.instance, registry.server(self.instance, self.tools))


@pytest.fixture
def lab(tmp_path: Path, new_instance: Callable[..., Instance], monkeypatch: pytest.MonkeyPatch) -> Iterator[Lab]:
    tools = Toolchain()  # before the cache moves
    instance = new_instance(tmp_path / "lab", "registry")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    debian.rootfs().parent.mkdir(parents=True)
    processes.run(["tar", "-C", "/etc", "-cf", str(debian.rootfs()), "debian_version"])
    files = {"busybox": tools.path("busybox")}
    tool = StandInImage(
        "lab/tool", "nvcr.io/nvidia/tool:1", "no GPU", "FROM scratch\nCOPY busybox /b\n", files, drives_gpus=True
    )
    monkeypatch.setattr(bases.stand_ins, "images", lambda *_: [tool])
    monkeypatch.setattr(bases, "wanted_references", lambda _: ["conda-forge", "docker.io/library/debian:bookworm-slim"])
    for server in (registry.server(instance, tools), buildkit.server(instance, tools)):
        processes.start(instance, server)
    yield Lab(instance, tools, [])
    for name in ("buildkitd", "registry"):
        processes.stop(instance, name, within_s=30)


def labels_of(reference: str) -> dict[str, str]:
    address, path = reference.split("/", 1)
    repository, digest = path.split("@")
    url = f"http://{address}/v2/{repository}"
    config = httpx.get(f"{url}/manifests/{digest}", headers=ACCEPT).json()["config"]["digest"]
    return dict(httpx.get(f"{url}/blobs/{config}").json()["config"]["Labels"])


@pytest.mark.lab
def test_each_substitute_is_in_the_registry_and_says_what_it_stands_for(lab: Lab) -> None:
    conda, base, tool = lab.ensure()
    address = lab.instance.registry_address
    assert conda.as_setting() == {
        "reference": "conda-forge",
        "with": "nothing",
        "reason": "conda.anaconda.org cannot be reached from this machine",
    }
    assert base.reference == "docker.io/library/debian:bookworm-slim"
    assert base.replacement.startswith(f"{address}/lab/base/docker.io/library/debian-bookworm-slim@sha256:")
    assert labels_of(base.replacement) == {
        "org.gpu-commons.lab.base": "debian bookworm by debootstrap",
        "org.gpu-commons.lab.substitute": "docker.io/library/debian:bookworm-slim",
    }
    assert (tool.reference, tool.reason) == ("nvcr.io/nvidia/tool:1", "no GPU")
    assert image_pushes.has(f"{address}/lab/tool", tool.replacement.split("@")[1])


@pytest.mark.lab
def test_nothing_is_built_twice_not_even_after_the_cache_was_emptied(lab: Lab) -> None:
    before = lab.ensure()
    assert len(lab.messages) == 3
    debian.rootfs().unlink()
    assert lab.ensure() == before
    assert lab.messages == []


@pytest.mark.lab
def test_what_the_registry_lost_is_pushed_again_with_the_same_digest(lab: Lab) -> None:
    before = lab.ensure()
    processes.stop(lab.instance, "registry")
    shutil.rmtree(lab.instance.data / "registry")
    lab.restart_registry()
    assert lab.ensure() == before
    assert len(lab.messages) == 3


@pytest.mark.lab
def test_a_machine_that_reaches_everything_replaces_only_what_drives_gpus(lab: Lab) -> None:
    (tool,) = lab.ensure(all_reachable)
    assert (tool.reference, tool.reason) == ("nvcr.io/nvidia/tool:1", "no GPU")


@pytest.mark.lab
def test_reachability_is_checked_once_for_each_instance(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    urls: list[str] = []
    monkeypatch.setattr(bases, "answers_at", lambda url: urls.append(url) or False)
    first = bases.ensure(lab.instance, lab.tools, lab.messages.append)
    assert len(urls) == len(set(urls)) == 3
    assert bases.ensure(lab.instance, lab.tools, lab.messages.append) == first
    assert len(urls) == 3


@pytest.mark.lab
def test_a_registry_that_is_down_is_one_clear_error(lab: Lab) -> None:
    lab.ensure()
    processes.stop(lab.instance, "registry")
    with pytest.raises(LabError, match=r"the registry 127.0.0.1:\d+ does not answer"):
        lab.ensure()
