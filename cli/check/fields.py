"""The fields of a case, described for the options of `check` and for the published schema."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from compat.evidence.case import CLASSES, FIELDS, HOSTS, MODULES, SYSTEMS


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a case. `choices` is empty if any text is allowed."""

    name: str
    metavar: str
    text: str
    choices: tuple[str, ...] = ()

    @property
    def option(self) -> str:
        return "--" + self.name.replace("_", "-")


# Name, placeholder of its value, description; in the order of a case.
_TEXTS: Final = {
    "id": ("TEXT", "Name of the case; the answer repeats it."),
    "gpu": ("MODEL", "GPU as people or drivers call it: GTX 1080 Ti, Tesla-T4, A100 2g.10gb, g4dn.xlarge."),
    "compute_capability": ("X.Y", "Compute capability, in addition to a model or instead of it: 7.5."),
    "gpu_class": ("CLASS", "Class of the GPU, if no model implies it."),
    "driver": ("VERSION", "Driver such as 418.88, or a branch such as 535 if the release is not known."),
    "host": ("HOST", "Where the image runs; wsl is answered `unknown`."),
    "container_toolkit": ("VERSION", "NVIDIA container toolkit on the host: 1.17.8."),
    "image": ("REFERENCE", "Image reference: nvidia/cuda:12.4.1-runtime-ubuntu22.04."),
    "cuda": ("VERSION", "CUDA of the image: 10.1, 12.4.1, cu124."),
    "framework": ("NAME", "Framework: torch, tensorflow, jax, cupy, vllm, onnxruntime, …"),
    "framework_version": ("VERSION", "Version of the framework: 2.6.0, 2.6.0+cu124."),
    "build": ("BUILD", "Build of the framework, by a pin, tag or targets: jax[cuda12]==0.4.30, cu118, sm_70;8.0+PTX."),
    "sm_list": ("TARGETS", "Targets that the image has machine code for: sm_70;sm_80."),
    "ptx": ("TARGETS", "Targets that the image has PTX for, or none: compute_90."),
    "compressed": (
        "TARGETS",
        "Targets whose code zstd compresses (nvcc --compress-mode=size or balance), all, or none: sm_90;compute_90.",
    ),
    "cudnn": ("VERSION", "cuDNN of the image: 8.9.7."),
    "cuda_compat": ("yes|no|unknown", "Whether the image has NVIDIA's forward-compatibility package."),
    "cpu_arch": ("ARCH", "CPU of the host: amd64 or arm64."),
    "os": ("OS", "Operating system of the host; windows and l4t are answered `unknown`."),
    "instance_type": ("TYPE", "EC2 instance type: g5.xlarge."),
    "ami_release": ("RELEASE", "Release of the EKS-optimised AMI: 20250403."),
    "kernel_module": ("MODULE", "Flavour of the driver's kernel modules."),
    "operator": ("VERSION", "GPU operator of the cluster: v25.3.0."),
    "env": ("KEY=VALUE;…", "Environment variables of the container that concern the GPU."),
    "image_glibc": ("VERSION", "C library of the image: 2.31."),
    "host_glibc": ("VERSION", "C library of the host: 2.28."),
}
_CHOICES: Final = {
    "gpu_class": CLASSES,
    "host": HOSTS,
    "cuda_compat": ("yes", "no", "unknown"),
    "os": SYSTEMS,
    "kernel_module": MODULES,
}


def case_fields() -> Iterator[Field]:
    """Every field of a case, in order; a field that is not described here has only its name."""
    for name in FIELDS:
        metavar, text = _TEXTS.get(name, ("TEXT", ""))
        yield Field(name, metavar, text, _CHOICES.get(name, ()))
