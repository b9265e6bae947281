from __future__ import annotations

from pathlib import Path

import yaml

from lab import site
from lab.bases import Substitute
from lab.instance import Instance

SUBSTITUTE = Substitute("quay.io/a/b:1", "127.0.0.1:5001/lab/base@sha256:" + "0" * 64, "not reachable")


def an_instance(home: Path) -> Instance:
    instance = Instance("x", 0, home, {"registry": 5001})
    instance.config.mkdir()
    return instance


def test_the_overlay_names_registry_builder_and_substitutes(tmp_path: Path) -> None:
    instance = an_instance(tmp_path)
    assert site.overlay(instance, [SUBSTITUTE], ca_bundle=None) == {
        "lab": True,
        "name": "lab-x",
        "registry": "127.0.0.1:5001/gpu-commons",
        "allowed_registries": ["127.0.0.1:5001"],
        "builder": "gpu-commons",
        "authenticator": {"kind": "dummy", "admins": ["admin"]},
        "kubeconfig": f"{tmp_path}/config/kubeconfig",
        "substitutes": [
            {
                "reference": "quay.io/a/b:1",
                "with": "127.0.0.1:5001/lab/base@sha256:" + "0" * 64,
                "reason": "not reachable",
            }
        ],
    }


def test_the_context_is_that_of_the_labs_kubeconfig(tmp_path: Path) -> None:
    instance = an_instance(tmp_path)
    instance.kubeconfig.write_text("current-context: gpu-commons-x\n")
    written = yaml.safe_load(site.write(instance, []).read_text())
    assert written["kube_context"] == "gpu-commons-x"


def test_certificates_of_a_private_authority_are_found_where_people_name_them(tmp_path: Path) -> None:
    bundle, system, local = tmp_path / "bundle.pem", tmp_path / "system.crt", tmp_path / "local"
    for path in (bundle, system):
        path.touch()
    local.mkdir()

    def found(**environment: str) -> Path | None:
        return site.ca_bundle(environment, local=local, system=system)

    assert found() is None
    assert found(PIP_CERT=str(bundle)) == bundle
    assert found(PIP_CERT=str(tmp_path / "gone.pem"), SSL_CERT_FILE=str(bundle)) == bundle
    (local / "site.crt").touch()
    assert found() == system
