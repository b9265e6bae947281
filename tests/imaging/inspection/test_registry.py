"""The registry client against a real HTTP server: what it asks, how it logs in, what it does when things break."""

from __future__ import annotations

import json
import os
import stat
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest
from rows import each_row

from imaging.inspection.authorisation import read_challenges
from imaging.inspection.credentials import Login, find_login
from imaging.inspection.faults import InspectError
from imaging.inspection.image_locations import read_reference, registry_image
from imaging.inspection.reading import Inspected, inspect
from imaging.inspection.registry_errors import retry_after_s
from imaging.inspection.session import RetryPolicy, Session
from imaging.inspection.store import Store

sys.path.insert(0, str(Path(__file__).parent))
from made import SCHEMA_1, Image, digest, image
from registry_server import PASSWORD, USER, Fault, Registry

Read = Callable[..., Inspected]
ANA = Login(USER, PASSWORD)
NO_DIGEST = "sha256:" + "0" * 64


@pytest.fixture
def tiny() -> Image:
    return image({"etc/os-release": 'PRETTY_NAME="Debian 12"\n', "opt/data": bytes(1000)}, {"opt/more": b"x" * 500})


def files_below(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file()) if folder.exists() else []


# What it costs


def test_an_index_costs_three_requests_and_few_bytes(registry: Registry, read: Read, tiny: Image) -> None:
    arm = image({"a": b"1"}, architecture="arm64")
    found = read(registry.push_index({"linux/arm64": arm, "linux/amd64": tiny}))
    assert len(registry.seen) == 3
    assert found.contents.digest == digest(tiny.manifest)
    assert found.contents.platform == "linux/amd64"
    assert found.published is not None
    assert dict(found.published.images) == {
        "linux/amd64": digest(tiny.manifest), "linux/arm64": digest(arm.manifest),
    }  # fmt: skip
    assert found.contents.compressed_bytes == sum(map(len, tiny.layers))
    assert [layer.compression for layer in found.contents.layers] == ["gzip", "gzip"]
    assert [layer.made_by for layer in found.contents.layers] == ["step 0", "step 1"]
    assert found.contents.settings.user == "1000"


def test_what_is_known_by_digest_costs_one_request_or_none(
    registry: Registry, read: Read, tiny: Image, store: Store
) -> None:
    reference = registry.push(tiny)
    first = read(reference, store=store)
    assert not first.is_cached
    assert len(registry.seen) == 2
    again = read(reference, store=store)
    assert again.is_cached
    assert again.contents == first.contents
    assert len(registry.seen) == 3
    pinned = read(f"{reference}@{digest(tiny.manifest)}", store=store)
    assert pinned.contents == first.contents
    assert len(registry.seen) == 3


def test_a_pinned_index_is_known_without_a_request(registry: Registry, read: Read, tiny: Image, store: Store) -> None:
    registry.push_index({"linux/amd64": tiny})
    from made import index  # noqa: PLC0415

    pinned = f"{registry.host}/team/tiny@{digest(index({'linux/amd64': tiny}))}"
    read(pinned, store=store)
    before = len(registry.seen)
    assert read(pinned, store=store).is_cached
    assert len(registry.seen) == before


@pytest.mark.slow
def test_facts_without_layers_do_not_stand_for_facts_with_them(
    registry: Registry, read: Read, tiny: Image, store: Store
) -> None:
    reference = registry.push(tiny)
    read(reference, store=store)
    deep = read(reference, store=store, deep=True)
    assert deep.contents.deep is not None
    assert deep.contents.deep.system == "Debian 12"
    assert read(reference, store=store).contents == deep.contents


# How it logs in


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["bearer", "basic"])
def test_it_logs_in_as_the_registry_wants_and_keeps_the_token(
    registry: Registry, read: Read, tiny: Image, scheme: str
) -> None:
    registry.auth = scheme
    names: list[str] = []

    def login(name: str) -> Login:
        names.append(name)
        return ANA

    read(registry.push(tiny, "team/private"), login=login, deep=True)
    assert names == [registry.host]
    assert registry.count("/token") == (1 if scheme == "bearer" else 0)
    assert registry.count("/v2/") == 5  # one refusal, manifest, config, two layers


def test_a_public_image_behind_tokens_needs_no_login(registry: Registry, read: Read, tiny: Image) -> None:
    registry.auth = "bearer"
    assert read(registry.push(tiny)).contents.digest == digest(tiny.manifest)
    token = next(each for each in registry.seen if each.path.startswith("/token"))
    assert "proxy=1" in token.path  # the realm's own query stays
    assert "scope=repository%3Ateam%2Ftiny%3Apull" in token.path
    assert not token.authorization


def test_an_identity_token_is_exchanged(registry: Registry, read: Read, tiny: Image) -> None:
    registry.auth, registry.refresh_token = "bearer", "identity"
    read(registry.push(tiny, "team/private"), login=lambda name: Login(identity_token="identity"))  # noqa: ARG005
    assert [each.method for each in registry.seen if each.path.startswith("/token")] == ["POST"]


def test_a_token_that_ended_on_the_way_is_renewed(registry: Registry, read: Read, tiny: Image) -> None:
    registry.auth = "bearer"
    reference = registry.push(tiny)
    last = digest(tiny.layers[1])
    registry.fail(last, Fault(401, {"WWW-Authenticate": f'Bearer realm="http://{registry.host}/token"'}))
    assert read(reference, deep=True).contents.deep is not None
    assert registry.count("/token") == 2


@pytest.mark.slow
def test_many_threads_ask_for_one_token(registry: Registry, tiny: Image, retries: RetryPolicy) -> None:
    registry.auth = "bearer"
    reference = registry.push(tiny)
    with Session(retries=retries) as session, ThreadPoolExecutor(8) as pool:
        sources = [registry_image(session, reference) for _ in range(16)]
        found = list(pool.map(inspect, sources))
    assert len({each.contents.digest for each in found}) == 1
    assert registry.issued == 1


def test_credentials_stay_with_their_host(registry: Registry, read: Read, tiny: Image) -> None:
    other = Registry()
    try:
        registry.auth, registry.blob_host = "basic", other.host.replace("127.0.0.1", "localhost")
        reference = registry.push(tiny)
        other.content = registry.content
        assert read(reference, deep=True, login=lambda name: ANA).contents.deep is not None  # noqa: ARG005
        assert other.seen
        assert not any(each.authorization for each in other.seen)
    finally:
        other.close()


def test_challenges_are_read_as_registries_write_them() -> None:
    both = 'Basic realm="a, b", Bearer realm="https://x/token",service="s",scope="repository:a/b:pull,push"'
    bearer, basic = read_challenges(both)
    assert (bearer.scheme, bearer.realm, bearer.service) == ("bearer", "https://x/token", "s")
    assert bearer.scope == "repository:a/b:pull,push"
    assert (basic.scheme, basic.realm) == ("basic", "a, b")
    assert read_challenges("") == read_challenges("Negotiate abc") == []


# What it does when things break


def sent_for_a_token(realm: str) -> Fault:
    return Fault(401, {"WWW-Authenticate": f'Bearer realm="{realm}",service="x"'})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("end", "fault", "reason", "fix"),
    [
        ("/manifests/*", Fault(401), "denies access", "docker login"),
        ("/manifests/*", Fault(403), "denies access", "docker login"),
        ("/manifests/*", Fault(404), "has no such repository, or no tag ", "spelling"),
        ("/manifests/*", Fault(429), "is rate-limiting us", "docker login raises the limit"),
        ("/manifests/*", Fault(500), "server error", "later"),
        ("/manifests/*", Fault(503), "server error", "later"),
        ("/manifests/*", Fault(418), "answered 418", "reference"),
        ("/manifests/1.0", Fault(307, {"Location": "http://blobs.example.org/x"}), "not https", "operator"),
        (
            "/manifests/*",
            Fault(307, {"Location": "/v2/team/tiny/manifests/1.0"}),
            "redirected more than 5 times",
            "operator",
        ),
        ("/manifests/1.0", Fault(headers={"Content-Encoding": "gzip"}), "compresses its answers", "operator"),
        ("/manifests/1.0", Fault(headers={"Docker-Content-Digest": NO_DIGEST}), "does not match its digest", "again"),
        # A login never goes where others can read it.
        ("/manifests/1.0", sent_for_a_token("http://tokens.example.org/"), "not https", "do not log in"),
        ("/manifests/1.0", sent_for_a_token("ftp://x/"), "not https", "do not log in"),
        ("/manifests/1.0", sent_for_a_token("https:///"), "not https", "do not log in"),
        ("/manifests/1.0", sent_for_a_token("tokens"), "not https", "do not log in"),
        ("/manifests/1.0", sent_for_a_token("https://[::1"), "not https", "do not log in"),
    ],
)
def test_each_answer_that_is_not_an_image_gets_one_clear_error_and_leaves_nothing(
    registry: Registry, read: Read, tiny: Image, store: Store, end: str, fault: Fault, reason: str, fix: str
) -> None:
    reference = registry.push(tiny)
    registry.fail(end, fault)
    with pytest.raises(InspectError, match=reason) as error:
        read(reference, store=store, login=lambda name: ANA if fault.headers else None)  # noqa: ARG005
    assert fix in error.value.problem.fix
    assert error.value.problem.path == reference
    assert files_below(store.folder) == []


@pytest.mark.slow
@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
def test_a_passing_fault_is_waited_for(registry: Registry, read: Read, tiny: Image, status: int) -> None:
    reference = registry.push(tiny)
    registry.fail("/manifests/1.0", Fault(status), Fault(status))
    assert read(reference).contents.digest == digest(tiny.manifest)
    assert registry.count("/manifests/") == 3


@pytest.mark.slow
def test_the_registry_says_how_long_to_wait(registry: Registry, read: Read, tiny: Image) -> None:
    reference = registry.push(tiny)
    registry.fail("/manifests/1.0", Fault(429, {"Retry-After": "1"}))
    began = time.monotonic()
    read(reference)
    assert 1.0 <= time.monotonic() - began < 3.0


def test_a_long_retry_after_is_reported_at_once(registry: Registry, read: Read, tiny: Image) -> None:
    reference = registry.push(tiny)
    registry.fail("/manifests/*", Fault(429, {"Retry-After": "7200"}))
    began = time.monotonic()
    with pytest.raises(InspectError, match="try again in 7200 s"):
        read(reference)
    assert time.monotonic() - began < 1
    assert registry.count("/manifests/") == 1


def test_retry_after_is_seconds_or_a_day() -> None:
    now = datetime(2026, 11, 21, tzinfo=UTC)
    assert retry_after_s({"retry-after": "12"}, now) == 12
    assert retry_after_s({"retry-after": format_datetime(now + timedelta(seconds=90))}, now) == 90
    assert retry_after_s({"retry-after": "soon"}, now) is None
    assert retry_after_s({}, now) is None


@pytest.mark.slow
def test_a_broken_connection_goes_on_where_it_broke(registry: Registry, read: Read) -> None:
    big = image({"opt/noise": os.urandom(3_000_000)})
    reference = registry.push(big)
    blob = digest(big.layers[0])
    registry.fail(blob, Fault(cut=1_000_000), Fault(cut=1_000_000))
    assert read(reference, deep=True).contents.deep is not None
    ranges = [each.range for each in registry.seen if each.path.endswith(blob)]
    assert ranges[0] == ""
    assert all(each.startswith("bytes=") for each in ranges[1:])
    assert len(ranges) == 3


@pytest.mark.slow
def test_a_download_restarts_where_a_registry_has_no_ranges(registry: Registry, read: Read) -> None:
    big = image({"opt/noise": os.urandom(600_000)})
    reference = registry.push(big)
    blob = digest(big.layers[0])
    registry.fail(blob, Fault(cut=300_000), Fault(200, body=big.layers[0]))
    assert read(reference, deep=True).contents.deep is not None


@pytest.mark.slow
def test_a_registry_that_says_nothing_is_given_up(registry: Registry, tiny: Image) -> None:
    reference = registry.push(tiny)
    registry.fail("/manifests/*", Fault(wait_s=1.0))
    impatient = RetryPolicy(attempts=2, first_wait_s=0.01, longest_wait_s=0.02, read_s=0.2)
    with Session(retries=impatient) as session, pytest.raises(InspectError, match="does not answer"):
        inspect(registry_image(session, reference))


def test_a_host_that_is_not_there_is_named(read: Read) -> None:
    with pytest.raises(InspectError, match=r"127\.0\.0\.1 cannot be reached"):
        read("127.0.0.1:9/team/tiny:1.0")


# What it believes


@pytest.mark.slow
@pytest.mark.parametrize("deep", [False, True])
@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (Fault(body=b"{}"), "ended after 2 of"),
        (Fault(body=b"x" * 50), "ended after 50 of"),
        (Fault(body=b""), "ended after 0 of"),
    ],
)
@pytest.mark.parametrize("part", ["manifests", "blobs"])
def test_other_content_than_promised_is_refused(
    registry: Registry, read: Read, tiny: Image, store: Store, fault: Fault, reason: str, part: str, *, deep: bool
) -> None:
    reference = registry.push_index({"linux/amd64": tiny})
    end = digest(tiny.manifest) if part == "manifests" else digest(tiny.config_bytes)
    registry.fail(f"/{part}/{end}*", fault)
    with pytest.raises(InspectError, match=reason):
        read(reference, store=store, deep=deep)
    assert files_below(store.folder) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda blob: blob[:-1] + b"x", "does not match its digest"),
        (lambda blob: blob[: len(blob) // 2], "ended after"),
        (lambda blob: blob + b"more", "longer than"),
    ],
)
def test_a_damaged_layer_is_refused_and_leaves_nothing(
    registry: Registry, read: Read, store: Store, change: Callable[[bytes], bytes], reason: str
) -> None:
    made = image({"opt/noise": os.urandom(5000)}, form="none")
    reference = registry.push(made)
    blob = digest(made.layers[0])
    registry.fail(f"{blob}*", Fault(body=change(made.layers[0])))
    with pytest.raises(InspectError, match=reason):
        read(reference, deep=True, store=store)
    assert files_below(store.folder) == []


@pytest.mark.slow
@pytest.mark.parametrize("has_length", [True, False])
def test_a_manifest_bomb_is_cut_short(registry: Registry, read: Read, *, has_length: bool) -> None:
    reference = registry.put("1.0", b'{"layers": [' + b" " * 20_000_000 + b"]}")
    if not has_length:
        registry.fail("/manifests/*", Fault(headers={"Content-Length": "999999999"}))
    with pytest.raises(InspectError, match="more than 1,000,000 bytes"):
        read(reference)


def test_many_small_documents_share_one_budget(registry: Registry, read: Read, tiny: Image) -> None:
    tiny.config["history"] = [{"created_by": "x" * 600_000, "empty_layer": True}]
    tiny.config["config"]["Labels"] = {"big": "y" * 600_000}
    with pytest.raises(InspectError, match="more than 1,000,000 bytes"):
        read(registry.push(tiny))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"<html>", "not a JSON object"),
        (b"[" * 100_000, "not a JSON object"),
        (b"{}", "is not an image"),
        (b'{"schemaVersion": 1, "fsLayers": []}', "schema-1"),
        (b'{"config": {}, "layers": []}', "config.digest is missing"),
        (json.dumps({"manifests": [{"digest": "sha256:x", "size": 1}] * 3}).encode(), "digest"),
        (json.dumps({"manifests": [{"digest": NO_DIGEST, "size": -1}]}).encode(), "size"),
        (json.dumps({"manifests": [{"digest": NO_DIGEST, "size": 1}] * 501}).encode(), "at most 500"),
        (json.dumps({"manifests": []}).encode(), "has no image for linux/amd64"),
    ],
)
def test_content_that_is_not_a_manifest_is_refused(registry: Registry, read: Read, content: bytes, reason: str) -> None:
    with pytest.raises(InspectError, match=reason):
        read(registry.put("1.0", content, "application/json"))


def test_schema_1_is_refused_politely(registry: Registry, read: Read) -> None:
    reference = registry.put("1.0", b'{"name": "old"}', SCHEMA_1)
    # Its digest is that of the text without signatures.
    registry.fail("/manifests/1.0", Fault(headers={"Docker-Content-Digest": NO_DIGEST}))
    with pytest.raises(InspectError, match="schema-1") as error:
        read(reference)
    assert "push it again" in error.value.problem.fix


def test_an_index_in_an_index_is_not_followed(registry: Registry, read: Read) -> None:
    inner = b'{"schemaVersion": 2, "manifests": []}'
    registry.put(digest(inner), inner, "application/vnd.oci.image.index.v1+json")
    outer = {
        "manifests": [
            {"digest": digest(inner), "size": len(inner), "platform": {"os": "linux", "architecture": "amd64"}}
        ]
    }
    with pytest.raises(InspectError, match="index of indexes"):
        read(registry.put("1.0", json.dumps(outer).encode(), "application/vnd.oci.image.index.v1+json"))


def test_a_config_without_architecture_is_refused(registry: Registry, read: Read) -> None:
    with pytest.raises(InspectError, match="config that cannot be read: architecture is missing"):
        read(registry.push(image({"a": b"1"}, architecture=None)))


@pytest.mark.slow
def test_an_image_for_another_processor_is_refused_with_the_option_to_add(registry: Registry, read: Read) -> None:
    reference = registry.push(image({"a": b"1"}, architecture="arm64"))
    with pytest.raises(InspectError, match="for linux/arm64, not for linux/amd64") as error:
        read(reference)
    assert error.value.problem.fix == "add --platform linux/arm64"
    assert read(reference, platform="linux/arm64").contents.platform == "linux/arm64"


def test_an_index_without_the_platform_names_those_it_has(registry: Registry, read: Read, tiny: Image) -> None:
    with pytest.raises(InspectError, match="there is linux/amd64"):
        read(registry.push_index({"linux/amd64": tiny}), platform="linux/arm64")


@each_row(
    ("text", "fix"),
    [
        ("Team/Tiny:1.0", "repositories are in lower case: team/tiny:1.0"),
        ("registry.example.edu/Team/tiny", "registry.example.edu/team/tiny"),
        ("tiny:", "leave out the last colon"),
        ("tiny 1.0", "spaces"),
        ("tiny@sha256:12", "64 of 0-9a-f"),
        ("https://registry.example.edu/tiny", "leave out https://"),
        ("../../etc/passwd", "--docker-archive"),
        ("-layout", "write [HOST/]NAME"),
        ("", "write [HOST/]NAME"),
    ],
)
def test_a_wrong_reference_is_refused_with_what_to_write(text: str, fix: str) -> None:
    with pytest.raises(InspectError) as error:
        read_reference(text)
    assert fix in error.value.problem.fix


def test_an_invalid_host_is_reported(read: Read) -> None:
    with pytest.raises(InspectError, match=r"invalid host|cannot be reached"):
        read("registry.example.edu:99999/tiny:1.0")


def test_docker_hub_has_its_own_host_and_library() -> None:
    with Session() as session:
        image_ = registry_image(session, "debian:12")
        assert image_._base == "https://registry-1.docker.io/v2/library/debian"  # noqa: SLF001
        assert registry_image(session, "docker://index.docker.io/nvidia/cuda")._base.endswith("/nvidia/cuda")  # noqa: SLF001


# Credentials


def write_config(folder: Path, **config: object) -> dict[str, str]:
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    return {"DOCKER_CONFIG": str(folder), "HOME": str(folder), "PATH": f"{folder}:/usr/bin:/bin"}


def write_helper(folder: Path, script: str) -> None:
    path = folder / "docker-credential-tests"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def test_credentials_are_those_of_the_registry_and_of_no_other(tmp_path: Path) -> None:
    auths = {
        "registry.example.edu": {"auth": "YW5hOmE6Yg=="},
        "https://index.docker.io/v1/": {"username": "bob", "password": "c"},
        "https://quay.io/v2/": {"identitytoken": "t", "username": "x"},
    }
    environment = write_config(tmp_path / "docker", auths=auths)
    login = find_login("registry.example.edu", environment)
    assert login is not None
    assert (login.user, login.password) == ("ana", "a:b")
    hub, quay = find_login("docker.io", environment), find_login("quay.io", environment)
    assert hub is not None
    assert quay is not None
    assert (hub.user, quay.identity_token) == ("bob", "t")
    assert find_login("evil.example.edu", environment) is None
    assert "a:b" not in repr(login)


def test_a_credential_helper_gets_the_name_of_the_registry(tmp_path: Path) -> None:
    environment = write_config(tmp_path / "docker", credHelpers={"registry.example.edu": "tests"})
    write_helper(tmp_path / "docker", 'read host; printf \'{"Username": "<token>", "Secret": "for-%s"}\' "$host"')
    login = find_login("registry.example.edu", environment)
    assert login is not None
    assert login.identity_token == "for-registry.example.edu"  # noqa: S105
    assert find_login("quay.io", environment) is None


def test_a_helper_without_credentials_means_anonymous(tmp_path: Path) -> None:
    environment = write_config(tmp_path / "docker", credsStore="tests")
    write_helper(tmp_path / "docker", "echo credentials not found in native keychain; exit 1")
    assert find_login("quay.io", environment) is None


@pytest.mark.slow
def test_a_helper_that_hangs_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    environment = write_config(tmp_path / "docker", credsStore="tests")
    write_helper(tmp_path / "docker", f"sleep 300 & echo $! > {tmp_path}/child; wait")
    began = time.monotonic()
    with pytest.raises(InspectError, match=r"docker-credential-tests.*no answer within 0.5 s"):
        find_login("quay.io", environment, helper_timeout_s=0.5)
    assert time.monotonic() - began < 3
    child = Path(f"/proc/{(tmp_path / 'child').read_text().strip()}")
    for _ in range(50):
        if not child.exists() or "Z" in (child / "stat").read_text().split()[2]:
            break
        threading.Event().wait(0.05)
    else:
        pytest.fail("the helper's child still runs")


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("echo my-secret; exit 3", "ended with 3"),
        ("echo my-secret", "is not a credential"),
        ("echo '[]'", "is not a credential"),
    ],
)
def test_a_helper_that_fails_is_named_and_its_words_are_not_repeated(tmp_path: Path, script: str, reason: str) -> None:
    environment = write_config(tmp_path / "docker", credsStore="tests")
    write_helper(tmp_path / "docker", script)
    with pytest.raises(InspectError, match=reason) as error:
        find_login("quay.io", environment)
    assert "my-secret" not in str(error.value)


@pytest.mark.parametrize("name", ["../../bin/sh", "a b", "x;y"])
def test_a_helper_has_the_name_of_a_program(tmp_path: Path, name: str) -> None:
    with pytest.raises(InspectError, match="not the name of a helper"):
        find_login("quay.io", write_config(tmp_path / "docker", credsStore=name))


def test_a_missing_helper_and_a_broken_config_are_reported(tmp_path: Path) -> None:
    with pytest.raises(InspectError, match="cannot be started"):
        find_login("quay.io", write_config(tmp_path / "docker", credsStore="nowhere"))
    environment = write_config(tmp_path / "docker")
    (tmp_path / "docker" / "config.json").write_text('{"auths": {"quay.io": {"auth": "secret')
    with pytest.raises(InspectError, match="is not a Docker configuration") as error:
        find_login("quay.io", environment)
    assert "secret" not in str(error.value)


@pytest.mark.slow
def test_no_secret_reaches_an_error_or_the_store(
    registry: Registry, read: Read, store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    made = image(
        {"a": b"1"},
        env=["HF_TOKEN=hf_abcdefghijklmnopqrstuvwx", "TOKENIZERS_PARALLELISM=false", "PROXY=http://u:pw@h:1/"],
        labels={"build.password": "tulip-99"},
    )
    made.config["history"] = [{"created_by": "RUN |1 DB_PASSWORD=orchid-1 make TOKEN_FILE=/run/secrets/t"}]
    made.config["config"]["Cmd"] = ["serve", "--api-token", "daisy-7", "--password=rose-3", "--port", "80"]
    registry.auth, registry.blob_host = "bearer", registry.host.replace("127.0.0.1", "localhost")
    reference = registry.push(made, "team/private")
    found = read(reference, store=store, login=lambda name: ANA, deep=True)  # noqa: ARG005
    assert dict(found.contents.settings.env) == {
        "HF_TOKEN": "(not shown)", "TOKENIZERS_PARALLELISM": "false", "PROXY": "http://(not shown)@h:1/",
    }  # fmt: skip
    assert set(found.contents.settings.secrets) == {"HF_TOKEN", "PROXY", "build.password"}
    assert found.contents.layers[0].made_by == "RUN |1 DB_PASSWORD=(not shown) make TOKEN_FILE=/run/secrets/t"
    assert found.contents.settings.command == (
        "serve", "--api-token", "(not shown)", "--password=(not shown)", "--port", "80",
    )  # fmt: skip
    registry.fail("/store*", Fault(500))
    with pytest.raises(InspectError) as error:
        read(reference, login=lambda name: ANA)  # noqa: ARG005
    written = " ".join(path.read_text() for path in store.folder.rglob("*.json")) + str(error.value)
    for secret in ("hf_abc", "tulip", "orchid", "daisy", "rose", "u:pw", PASSWORD, "token-", "very-secret"):
        assert secret not in written
    assert PASSWORD not in caplog.text
    assert "token-1" not in caplog.text
