"""What servers read is written when it differs and left alone when it does not, for every server of the lab."""

from __future__ import annotations

import os
import pkgutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lab import certificates, files, servers
from lab.instance import Instance, open_instance
from lab.processes import Server
from lab.servers import (
    apiserver,
    buildkit,
    containerd,
    controller_manager,
    coredns,
    docker,
    etcd,
    kube_proxy,
    kubelet,
    kwok,
    local_path,
    mariadb,
    moto,
    munge,
    persistenced,
    registry,
    scheduler,
    slurm_files,
    slurmctld,
    slurmd,
    slurmdbd,
    slurmrestd,
    sshd,
)
from tests.lab.programs import Programs

Describe = Callable[[Instance, servers.Tools], Server]
NODE = "n01"


def containerd_server(instance: Instance, tools: servers.Tools) -> Server:
    containerd.configure(instance, tools, "127.0.0.1:5000/lab/pause:1", instance.run / "cdi")
    return containerd.server(instance, tools)


def account(instance: Instance) -> Path:
    return files.write(instance.config / "kubeconfigs" / "an-account", "token: one\n", mode=0o600)


def slurm(describe: Describe) -> Describe:
    """With the configuration that all of Slurm's servers read."""

    def described(instance: Instance, tools: servers.Tools) -> Server:
        for name in ("slurm.conf", "gres.conf", "slurmdbd.conf"):
            files.write(slurm_files.config(instance).with_name(name), f"# {name}\n")
        return describe(instance, tools)

    return described


def sshd_server(instance: Instance, tools: servers.Tools) -> Server:
    for key in ("host_key", "identity"):
        files.write(sshd.identity(instance).with_name(f"{key}.pub"), "ssh-ed25519 AAAA\n")
    return sshd.server(instance, tools, "/usr/bin")


NO_SERVERS = {"cri", "listening", "nfs_exports", "nvidia_runtime", "slurm_config", "slurm_files"}  # what others need
ALL: dict[str, Describe] = {
    "apiserver": apiserver.server,
    "buildkit": buildkit.server,
    "containerd": containerd_server,
    "controller_manager": controller_manager.server,
    "coredns": lambda instance, tools: coredns.server(instance, tools, account(instance)),
    "docker": lambda instance, tools: docker.server(instance, tools, instance.run / "cdi"),
    "etcd": etcd.server,
    "kube_proxy": lambda instance, tools: kube_proxy.server(instance, tools, NODE),
    "kubelet": lambda instance, tools: kubelet.server(instance, tools, NODE),
    "kwok": kwok.server,
    "local_path": lambda instance, tools: local_path.server(instance, tools, account(instance), "busybox:1"),
    "mariadb": mariadb.server,
    "moto": lambda instance, _: moto.server(
        instance, cluster_endpoint=instance.apiserver_url, cluster_authority=certificates.authority(instance)
    ),
    "munge": munge.server,
    "persistenced": lambda instance, _: persistenced.server(instance),
    "registry": registry.server,
    "scheduler": scheduler.server,
    "slurmctld": slurm(slurmctld.server),
    "slurmd": slurm(lambda instance, tools: slurmd.server(instance, tools, "gpu-1", 7001, ["nvidia0"])),
    "slurmdbd": slurm(slurmdbd.server),
    "slurmrestd": slurm(slurmrestd.server),
    "sshd": sshd_server,
}


@pytest.fixture
def instance(monkeypatch: pytest.MonkeyPatch) -> Iterator[Instance]:
    """In a short folder: the paths of sockets are below it."""
    monkeypatch.setattr(coredns, "_is_free", bool)
    monkeypatch.setattr(coredns, "does_answer", bool)
    with tempfile.TemporaryDirectory() as folder:
        monkeypatch.setenv("XDG_STATE_HOME", folder)
        instance = open_instance("files")
        monkeypatch.setattr(slurm_files, "SHARED", instance.config)
        certificates.ensure(instance, real_node=NODE)
        yield instance


def written(folder: Path) -> dict[str, tuple[int, int]]:
    """Which file it is and when it was last changed, by path."""
    return {
        str(path.relative_to(folder)): (path.stat().st_ino, path.stat().st_mtime_ns)
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_every_server_of_the_lab_is_looked_at_here() -> None:
    assert set(ALL) == {module.name for module in pkgutil.iter_modules(servers.__path__)} - NO_SERVERS


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL)
def test_a_second_up_touches_no_file_and_describes_the_same_server(instance: Instance, name: str) -> None:
    first = ALL[name](instance, Programs())
    for path in instance.config.rglob("*"):
        os.utime(path, (1, 1))
    before = written(instance.config)
    certificates.ensure(instance, real_node=NODE)
    second = ALL[name](instance, Programs())
    assert written(instance.config) == before
    assert second.pin == first.pin


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL)
def test_another_content_of_a_file_that_is_read_at_the_start_is_another_pin(instance: Instance, name: str) -> None:
    server = ALL[name](instance, Programs())
    arguments = {word.rpartition("=")[2] for word in server.argv}
    mentioned = {path for path in instance.config.rglob("*") if path.is_file() and str(path) in arguments}
    # A certificate can be renewed under a server that runs, and a kubeconfig that only names files never changes.
    at_the_start = {path for path in mentioned if path.parent.name not in ("certificates", "kubeconfigs")}
    at_the_start -= {instance.config / "munge.key"}  # is made once
    assert at_the_start <= set(server.files)
    for path in server.files:
        before = server.pin
        path.write_text(f"{path.read_text()}\n# another content\n")
        assert server.pin != before, path


def test_a_broken_file_is_put_right_again(instance: Instance) -> None:
    (path,) = kube_proxy.server(instance, Programs(), NODE).files
    good = path.read_text()
    path.write_text("no configuration")
    kube_proxy.server(instance, Programs(), NODE)
    assert path.read_text() == good


def test_readers_see_the_old_file_or_the_new_one(tmp_path: Path) -> None:
    path = files.write(tmp_path / "folder" / "settings", "old")
    with path.open() as reader:
        files.write(path, "new")
        assert reader.read() == "old"
    assert path.read_text() == "new"
    assert [each.name for each in path.parent.iterdir()] == ["settings"]


def test_a_private_file_is_private_and_a_program_can_be_run(tmp_path: Path) -> None:
    for mode in (0o600, 0o755):
        path = files.write(tmp_path / str(mode), "content", mode=mode)
        assert path.stat().st_mode & 0o777 == mode
        path.chmod(0o666)
        assert files.write(path, "content", mode=mode).stat().st_mode & 0o777 == mode


def test_a_draft_that_a_killed_run_left_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / ".settings.draft").write_text("half of")
    assert files.write(tmp_path / "settings", "whole").read_text() == "whole"


def test_a_folder_is_removed_with_all_that_is_in_it_and_what_its_links_name_stays(tmp_path: Path) -> None:
    kept, folder = tmp_path / "kept", tmp_path / "folder"
    kept.mkdir()
    (kept / "file").write_text("x")
    for number in range(40):
        below = folder / f"a{number}" / "b" / "c"
        below.mkdir(parents=True)
        (below / "file").write_text("x")
    os.mkfifo(folder / "a1" / "pipe")
    (folder / "link").symlink_to(kept)
    (folder / "a2" / "link").symlink_to(kept / "file")
    (folder / "a3" / "broken").symlink_to(tmp_path / "nowhere")
    (folder / "a4" / "b").chmod(0o500)
    files.remove_tree(folder)
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]
    assert (kept / "file").read_text() == "x"


def test_a_folder_that_is_not_there_is_not_removed_in_silence(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        files.remove_tree(tmp_path / "folder")
