"""Flatcar keys of a pool: release, SSH keys, and programs that the OS lacks."""

import re
from typing import Annotated, Final

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, PositiveInt

from errors.faults import FORM, Misfit, matching, quoted
from fleet.driver_key import DriverKey, image_of
from platforms.aws.flatcar.ignition import KeyReference
from platforms.aws.flatcar.joining import Program, Programs
from platforms.aws.flatcar.releases import UnknownRelease, release_of

_URL: Final = re.compile(r"https://[A-Za-z0-9.-]+/[!-~]+", re.ASCII)
_SHA256: Final = re.compile(r"[0-9a-f]{64}", re.ASCII)
_TOOLKIT: Final = re.compile(r"1\.\d{1,3}\.\d{1,3}", re.ASCII)


def _release(value: str) -> str:
    try:
        return release_of(value).version
    except UnknownRelease as error:
        raise Misfit(error.reason, f"use a known release: {', '.join(error.nearest)}") from None


def _key_reference(value: str) -> str:
    try:
        return str(KeyReference.parse(value))
    except ValueError:
        reason = "is not a reference to an ssh key"
        fix = "keep the public key in a parameter of SSM, and write ssm-parameter:/its/name"
        raise Misfit(reason, fix) from None


_in_a_parameter = matching(
    r"ssm-parameter:.*", "is kept where no node group on AWS can read it", "write ssm-parameter:/its/name"
)


def _driver_container(value: str) -> str:
    try:
        DriverKey.named(value)
    except ValueError:
        reason = "is not a driver container: its tag is its key, and its digest is named"
        fix = "write registry.example.edu/driver:580-6.12.102-flatcar-flatcar4593.2.5@sha256:…, or the key alone"
        raise Misfit(reason, fix) from None
    return value.strip()


Url = Annotated[str, matching(_URL, "is not an https address", "write where nodes find it: https://dl.k8s.io/…")]
Sha256 = Annotated[
    str, matching(_SHA256, "is not a SHA-256", "write the 64 digits that the publisher states beside it")
]
SshKey = Annotated[str, AfterValidator(_key_reference), _in_a_parameter]


class DownloadedProgram(BaseModel):
    """A program downloaded at first boot, with its checksum."""

    model_config = FORM
    url: Url = Field(description="Address that nodes can reach: the publisher's, or a mirror of yours.")
    sha256: Sha256 = Field(description="Its SHA-256 as the publisher states it, 64 digits.")

    @property
    def program(self) -> Program:
        """Form for a node's config."""
        return Program(self.url, self.sha256)


class DownloadedPrograms(BaseModel):
    """Programs that a Flatcar node needs to join an EKS cluster but its image lacks."""

    model_config = FORM
    kubelet: DownloadedProgram = Field(description="The kubelet, of the Kubernetes version of the nodes.")
    authenticator: DownloadedProgram = Field(description="aws-iam-authenticator: tokens from the role of a node.")
    credential_provider: DownloadedProgram = Field(description="ecr-credential-provider: pulls from ECR.")
    toolkit: DownloadedProgram = Field(description="Extension nvidia-runtime of Flatcar's sysext bakery.")

    @property
    def programs(self) -> Programs:
        """Form for a node's config."""
        return Programs(
            self.kubelet.program, self.authenticator.program, self.credential_provider.program, self.toolkit.program
        )


class FlatcarKeys(BaseModel):
    """Nodes on Flatcar instead of an EKS machine image."""

    model_config = FORM
    release: Annotated[str, BeforeValidator(quoted), AfterValidator(_release)] = Field(
        description='Release of Flatcar, quoted: "4593.2.5". Kernel and driver follow from it.'
    )
    driver_container: Annotated[str, AfterValidator(_driver_container)] | None = Field(
        None,
        description="Precompiled driver container in place of the extension of the release: its image by digest, whose "
        "tag is its key, registry.example.edu/driver:580-6.12.102-flatcar-flatcar4593.2.5@sha256:…, which an "
        "NvidiaRuntime with `driver_containers` then runs; or the key alone, where the site runs it itself.",
    )
    container_toolkit: Annotated[
        str,
        BeforeValidator(quoted),
        matching(_TOOLKIT, "is not a version of the container toolkit", 'write it whole, quoted: "1.17.8"'),
    ] = Field(description='NVIDIA container toolkit in the extension nvidia-runtime, quoted: "1.17.8".')
    ssh_keys: tuple[SshKey, ...] = Field(
        (),
        description="Where public keys of those who may log in as core are kept: ssm-parameter:/gpu/ssh/ana; none: "
        "nobody logs in.",
    )
    max_pods: PositiveInt = Field(
        description="Pods that the network interfaces of an instance have addresses for, as AWS's calculator prints it."
    )
    programs: DownloadedPrograms = Field(description="Programs that the image of Flatcar does not have.")

    @property
    def driver_key(self) -> DriverKey | None:
        """Key of the driver container's modules; None without one."""
        return DriverKey.named(self.driver_container) if self.driver_container else None

    @property
    def driver_image(self) -> str:
        """Driver container image run by the runtime; empty without one, or if the site runs it."""
        return image_of(self.driver_container or "")

    @property
    def key_references(self) -> tuple[KeyReference, ...]:
        """SSH key references."""
        return tuple(map(KeyReference.parse, self.ssh_keys))

    @property
    def key_parameters(self) -> tuple[str, ...]:
        """Names of the SSM parameters with the public keys."""
        return tuple(each.name for each in self.key_references)
