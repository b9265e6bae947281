"""Nodes that tests of units, of joining and of whole configs are about."""

from __future__ import annotations

import base64

from fleet.labels import Taint
from platforms.aws.driver_request import WantedDriver
from platforms.aws.flatcar.driver import Driver, choose
from platforms.aws.flatcar.ignition import Config, KeyReference, User
from platforms.aws.flatcar.joining import Cluster, Joining, Program, Programs
from platforms.aws.flatcar.releases import release_of
from platforms.aws.flatcar_node import node_config
from platforms.aws.instances import find_instance, group_of

RELEASE = release_of("4593.2.5")
KEY = KeyReference.parse("ssm-parameter:/gpu/ssh/ana")
PUBLIC = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIMadeUpForTestsOnly ana@example.edu"
PEM = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"


def driver(wanted: str = "newest", instance: str = "g4dn.xlarge") -> Driver:
    found = choose(group_of([find_instance(instance)]), RELEASE, WantedDriver.parse(wanted))
    assert isinstance(found, Driver), found
    return found


def program(name: str) -> Program:
    return Program(f"https://downloads.example.edu/{name}", "c0ffee" + "0" * 58)


def cluster(**other: str) -> Cluster:
    values = {
        "name": "flatcar-ec2",
        "region": "us-east-1",
        "endpoint": "https://0123456789ABCDEF.gr7.us-east-1.eks.amazonaws.com",
        "certificate_authority": base64.b64encode(PEM.encode()).decode(),
        "dns": "172.20.0.10",
    }
    return Cluster(**{**values, **other})


def joining() -> Joining:
    return Joining(
        cluster(),
        Programs(*map(program, ("kubelet", "aws-iam-authenticator", "ecr-credential-provider", "nvidia-runtime.raw"))),
        vcpu=4,
        max_pods=29,
        labels={"nvidia.com/gpu.product": "Tesla-T4", "gpu-commons.org/pool": "g4dn"},
        taints=(Taint("nvidia.com/gpu", "present", "NoSchedule"),),
    )


def config(wanted: str = "newest", instance: str = "g4dn.xlarge") -> Config:
    return node_config(RELEASE, driver(wanted, instance), joining(), (User(name="core", ssh_keys=(KEY,)),))
