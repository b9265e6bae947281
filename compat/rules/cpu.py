"""R-CPU: image and wheels must match the host's processor."""

from packaging.version import Version

from compat.rules.rule import Rule
from compat.values.fact import Fact
from compat.values.findings import Finding, refuse, unknown, warn
from compat.values.hosts import PoolFacts
from compat.values.images import ImageFacts

ID = "R-CPU"
_DATE = "2026-11-21"
_OCI = "https://github.com/opencontainers/image-spec/blob/main/image-index.md"
_PYPI = "https://pypi.org/project/torch/#files"
_TORCH_ARM = Version("2.11")  # first with CUDA in its aarch64 wheel on PyPI; before, only on the project's own index

_NOT_ALWAYS_MADE = frozenset({"tensorflow", "mxnet", "cupy", "onnxruntime", "bitsandbytes"})  # with CUDA for arm64


def check(image: ImageFacts, pool: PoolFacts) -> tuple[Finding, ...]:
    host = pool.cpu_architecture
    if not host or image.gpu_free:
        return ()
    if image.cpu_architectures:
        fact = Fact(f"the image is published for {', '.join(image.cpu_architectures)}", _OCI, _DATE)
        if host not in image.cpu_architectures:
            return (refuse(ID, f"{image.name} is for {', '.join(image.cpu_architectures)}; the host is {host}", fact),)
        return ()
    is_wheel = image.framework and not image.requires and not image.own_build
    return _wheel(image) if host == "arm64" and is_wheel else ()


def _wheel(image: ImageFacts) -> tuple[Finding, ...]:
    version = image.framework_version
    if image.framework == "pytorch" and version is not None and version < _TORCH_ARM:
        if image.of_project_index:
            return ()
        fact = Fact("up to 2.10 the aarch64 wheels of torch on PyPI are built for the CPU", _PYPI, _DATE)
        message = f"torch {version} from PyPI is a build for the CPU on arm64"
        if image.system_cuda is not None:  # the case states a CUDA, which that build lacks
            return (warn(ID, f"{message}: it is taken for one of the project's own index", fact),)
        return (refuse(ID, message, fact),)
    if image.framework in _NOT_ALWAYS_MADE and version is None:
        fact = Fact(f"no table says which releases of {image.framework} have one", "framework.csv", "", verified=False)
        message = f"it is not known whether there is a CUDA build of {image.framework} for arm64"
        return (unknown(ID, f"{message}: gpu-commons inspect --deep reads what an image has", fact),)
    return ()


RULE = Rule(ID, check, sources=(_OCI, _PYPI))
