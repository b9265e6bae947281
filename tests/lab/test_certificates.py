from __future__ import annotations

import json
import shutil
import stat
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml
from cryptography import x509
from cryptography.x509.oid import NameOID

from lab import certificates
from lab.instance import Instance

NOW = datetime(2026, 3, 1, tzinfo=UTC)
PORTS = {"apiserver": 6443}


@pytest.fixture
def instance(tmp_path: Path) -> Instance:
    instance = Instance("default", 0, tmp_path, PORTS)
    instance.config.mkdir()
    return instance


def test_the_second_run_writes_nothing(instance: Instance) -> None:
    certificates.ensure(instance, real_node="n01", now=NOW)
    before = contents(instance)
    assert certificates.ensure(instance, real_node="n01", now=NOW + timedelta(days=1)) == ()
    assert contents(instance) == before


def test_private_keys_and_kubeconfigs_are_for_their_owner_only(instance: Instance) -> None:
    certificates.ensure(instance, real_node="n01", now=NOW)
    private = [*instance.config.rglob("*.key"), *(instance.config / "kubeconfigs").iterdir(), instance.kubeconfig]
    assert len(private) == 20
    assert {stat.S_IMODE(path.stat().st_mode) for path in private} == {0o600}


def test_the_api_server_is_known_by_every_name_that_clients_call_it(instance: Instance) -> None:
    certificates.ensure(instance, real_node=None, now=NOW)
    names = load(instance, "apiserver").extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == [
        "kubernetes",
        "kubernetes.default",
        "kubernetes.default.svc",
        "kubernetes.default.svc.cluster.local",
        "localhost",
    ]
    addresses = names.get_values_for_type(x509.IPAddress)
    assert [str(address) for address in addresses] == ["10.201.0.1", "10.89.0.1", "127.0.0.1"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "user", "group"),
    [
        ("admin", "gpu-commons-admin", "system:masters"),
        ("controller-manager", "system:kube-controller-manager", "gpu-commons-lab"),
        ("scheduler", "system:kube-scheduler", "gpu-commons-lab"),
        ("kube-proxy", "system:kube-proxy", "gpu-commons-lab"),
        ("kwok", "kwok", "gpu-commons-lab"),
        ("kubelet", "system:node:n01", "system:nodes"),
    ],
)
def test_a_client_is_the_user_that_kubernetes_gives_rights_to(
    instance: Instance, name: str, user: str, group: str
) -> None:
    certificates.ensure(instance, real_node="n01", now=NOW)
    certificate = load(instance, name)
    assert attributes(certificate, NameOID.COMMON_NAME) == [user]
    assert attributes(certificate, NameOID.ORGANIZATION_NAME) == [group]


def test_a_certificate_that_ends_within_a_month_is_renewed_by_the_same_authority(instance: Instance) -> None:
    certificates.ensure(instance, real_node=None, now=NOW)
    authority = certificates.authority(instance).read_bytes()
    late = NOW + timedelta(days=340)
    renewed = certificates.ensure(instance, real_node=None, now=late)
    assert "apiserver" in renewed
    assert "ca" not in renewed
    assert "service-account" not in renewed
    assert load(instance, "apiserver").not_valid_after_utc > late + timedelta(days=300)
    assert certificates.authority(instance).read_bytes() == authority


def test_a_new_authority_signs_everything_anew(instance: Instance) -> None:
    certificates.ensure(instance, real_node=None, now=NOW)
    certificates.authority(instance).unlink()
    renewed = certificates.ensure(instance, real_node=None, now=NOW)
    assert set(renewed) == {"ca", *(subject.name for subject in certificates.subjects(instance, None))}
    issuer = x509.load_pem_x509_certificate(certificates.authority(instance).read_bytes())
    load(instance, "apiserver").verify_directly_issued_by(issuer)


def test_an_authority_outlives_by_a_month_what_it_signs(instance: Instance) -> None:
    certificates.ensure(instance, real_node="n01", now=NOW)
    issued = [subject.name for subject in certificates.subjects(instance, "n01")]
    last = max(load(instance, name).not_valid_after_utc for name in issued)
    assert load(instance, "ca").not_valid_after_utc >= last + timedelta(days=30)


def test_an_authority_that_would_end_before_what_it_signs_is_replaced(instance: Instance) -> None:
    certificates.ensure(instance, real_node=None, now=NOW)
    enough = load(instance, "ca").not_valid_after_utc - timedelta(days=395)
    assert "ca" not in certificates.ensure(instance, real_node=None, now=enough)
    assert "ca" in certificates.ensure(instance, real_node=None, now=enough + timedelta(seconds=1))


def test_a_key_without_its_certificate_is_replaced(instance: Instance) -> None:
    """What a crash between two writes, or a copied file, leaves behind."""
    certificates.ensure(instance, real_node=None, now=NOW)
    shutil.copy(certificates.pair(instance, "kwok").key, certificates.pair(instance, "scheduler").key)
    certificates.pair(instance, "admin").certificate.write_text("half a certif")
    assert certificates.ensure(instance, real_node=None, now=NOW) == ("admin", "scheduler")


def test_another_real_node_gets_certificates_of_its_own_name(instance: Instance) -> None:
    certificates.ensure(instance, real_node="n01", now=NOW)
    assert certificates.ensure(instance, real_node="n10", now=NOW) == ("kubelet", "kubelet-serving")
    assert attributes(load(instance, "kubelet"), NameOID.COMMON_NAME) == ["system:node:n10"]


def test_another_address_range_gets_serving_certificates_of_its_own_addresses(instance: Instance) -> None:
    certificates.ensure(instance, real_node=None, now=NOW)
    moved = replace(instance, slot=3)
    assert certificates.ensure(moved, real_node=None, now=NOW) == ("apiserver", "kwok-serving")


def test_a_kubeconfig_names_files_and_holds_no_secret(instance: Instance) -> None:
    certificates.ensure(instance, real_node=None, now=NOW)
    text = instance.kubeconfig.read_text()
    config = yaml.safe_load(text)
    assert config["current-context"] == "gpu-commons-default"
    assert config["clusters"][0]["cluster"]["server"] == "https://10.89.0.1:6443"
    assert "data" not in json.dumps(config)
    assert "PRIVATE" not in text


def load(instance: Instance, name: str) -> x509.Certificate:
    return x509.load_pem_x509_certificate(certificates.pair(instance, name).certificate.read_bytes())


def attributes(certificate: x509.Certificate, kind: x509.ObjectIdentifier) -> list[str | bytes]:
    return [attribute.value for attribute in certificate.subject.get_attributes_for_oid(kind)]


def contents(instance: Instance) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in instance.config.rglob("*") if path.is_file()}
