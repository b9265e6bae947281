"""R-MATHLIB: the math libraries of a CUDA release (cuBLAS, cuDNN, ...) have kernels for the GPUs of its time."""

from dataclasses import dataclass

from packaging.version import Version

from compat.facts import tables
from compat.rules.rule import Rule
from compat.values.fact import Fact
from compat.values.findings import Finding, note, refuse, unknown, warn
from compat.values.hosts import Gpu, PoolFacts
from compat.values.images import ImageFacts
from compat.values.versions import ComputeCapability, CudaVersion

ID = "R-MATHLIB"
_DATE = "2026-11-23"
_TURING = ComputeCapability(7, 5)
_MOSTLY_RUNS = CudaVersion(9, 2)
# TensorFlow 1.12 with cuDNN 7.3 trains there; with 7.1 and 7.2, or in TensorRT with any, it fails.
_CUDNN_FOR_TURING, _OF_CUBLAS = Version("7.3"), frozenset({"tensorrt"})
_PYTORCH = "https://github.com/pytorch/pytorch/pull/21468"
_RUNS_ON_9_2 = "https://github.com/traveller59/second.pytorch/issues/43"
_REPORTS = (
    "https://github.com/tensorflow/tensorflow/issues/25002 ; https://github.com/apache/mxnet/issues/13337 ; "
    "https://github.com/AlexeyAB/darknet/issues/2836 ; https://github.com/facebookresearch/Detectron/issues/807 ; "
    "https://github.com/NVIDIA/TensorRT/issues/1453"
)
# They call cuDNN, cuBLAS or cuRAND at every step.
_CALL_ALWAYS = frozenset(
    {"tensorflow", "mxnet", "darknet", "caffe", "caffe2", "chainer", "keras", "theano", "cntk", "digits", "torch7"}
    | {"paddle", "tensorrt"}
)


@dataclass(frozen=True, slots=True)
class _Failing:
    """How programs fail that call these libraries, if older than that CUDA."""

    before: CudaVersion
    how: str
    reports: str


_ON_PASCAL = _Failing(
    CudaVersion(8, 0),
    "CURAND_STATUS_LAUNCH_FAILURE, or a loss that never falls",
    "https://github.com/NVIDIA/caffe/issues/270 ; https://github.com/tensorflow/tensorflow/issues/3507 ; "
    "https://github.com/microsoft/CNTK/issues/655",
)
# With 10.1 and 10.2 some run on Ampere after a long start (tensorflow/tensorflow issues 48069 and 48450).
_FROM_AMPERE_ON = _Failing(
    CudaVersion(10, 1),
    "CUBLAS_STATUS_EXECUTION_FAILED, wrong results or no end",
    "https://github.com/NVlabs/stylegan2-ada/issues/61 ; https://github.com/weizhepei/CasRel/issues/62 ; "
    "https://github.com/alexanderkroner/saliency/issues/25 ; https://github.com/YudongGuo/AD-NeRF/issues/132",
)
# PyTorch calls them in every layer; with PTX it starts on Ampere, and cuDNN of CUDA 10 then fails to execute.
_PYTORCH_ON_AMPERE = _Failing(
    CudaVersion(11, 0),
    "CUDNN_STATUS_EXECUTION_FAILED, or no kernel image",
    "https://github.com/zzhang1987/Factor-Graph-Neural-Network/issues/4 ; "
    "https://github.com/pytorch/pytorch/issues/32881 ; https://github.com/yulunzhang/RCAN/issues/143 ; "
    "https://github.com/yanx27/Pointnet_Pointnet2_pytorch/issues/229",
)
_PYTORCH_ON_BLACKWELL = _Failing(
    CudaVersion(12, 0), "no kernel image", "https://github.com/jonfanlab/metachat/issues/3"
)
_KNOWN = (_ON_PASCAL, _FROM_AMPERE_ON, _PYTORCH_ON_AMPERE, _PYTORCH_ON_BLACKWELL)

# cuFFT of CUDA 11.7 and older has no code for 8.9 and fails, while every other library runs the code for 8.0.
_ADA, _FFT_FOR_ADA = ComputeCapability(8, 9), CudaVersion(11, 8)
_ALWAYS_FFT = frozenset(
    {"warptools", "relion", "cryosparc", "motioncor2", "motioncor3", "whisperx", "audioldm", "audioldm2", "demucs"}
    | {"sovitssvc", "sovitssvcfork", "rvc", "gptsovits", "pyannote", "pyannoteaudio"}
)
_FFT_FAILS = Fact(
    "cuFFT before CUDA 11.8 fails on GPUs of 8.9 (CUFFT_INTERNAL_ERROR)",
    "https://github.com/pytorch/pytorch/issues/88038 ; https://github.com/m-bain/whisperX/issues/254 ; "
    "https://github.com/haoheliu/AudioLDM/issues/49 ; https://github.com/warpem/warp/issues/178",
    "2026-11-26",
)


def check(image: ImageFacts, pool: PoolFacts) -> tuple[Finding, ...]:
    if image.gpu_free:
        return ()
    gpu = pool.gpu
    if (fft := _of_fft(image, gpu)) is not None:
        return (fft,)
    if image.cuda is None:
        if image.framework not in _CALL_ALWAYS or gpu.capability != _TURING:
            return ()
        fact = Fact("Turing needs the math libraries of CUDA 10 or newer", _PYTORCH, _DATE)
        message = f"it is not known which CUDA the math libraries of {image.name} are of"
        return (unknown(ID, f"{message}: state cuda, or gpu-commons inspect --deep reads it", fact),)
    cuda, first = max(filter(None, (image.cuda, image.built_with))).line, _first_with_kernels(gpu.capability)
    if first is None or cuda >= first or not image.framework:
        return ()
    made = f"the math libraries of CUDA {cuda} (cuBLAS, cuDNN) were made before {gpu.name} ({gpu.capability})"
    needs = f"{gpu.name} needs those of CUDA {first} or newer"
    if gpu.capability == _TURING and _fails_on_turing(image, cuda):
        fact = Fact(f"CUDA 9 fails on Turing with a cuDNN before {_CUDNN_FOR_TURING}: {needs}", _REPORTS, _DATE)
        return (refuse(ID, f"{made}: {image.framework} fails or crashes in them; {needs}", fact),)
    failing = _failing(image.framework, gpu.capability.major)
    if failing is not None and cuda < failing.before:
        fact = Fact(f"libraries of CUDA before {failing.before} fail there: {needs}", failing.reports, _DATE)
        return (refuse(ID, f"{made}: {image.framework} fails in them ({failing.how}); {needs}", fact),)
    fact = Fact(needs, _PYTORCH if gpu.capability == _TURING else _REPORTS.split(maxsplit=1)[0], _DATE)
    message = f"{made}: what calls them may fail; {needs}"
    # PyTorch wheels with CUDA 9.0 train many models on Turing, and fail in batched matrix products.
    is_wheel = image.framework == "pytorch" and not image.own_build
    return (note(ID, message, fact) if is_wheel else warn(ID, message, fact),)


def _fails_on_turing(image: ImageFacts, cuda: CudaVersion) -> bool:
    """CUDA 9.1 and older fail unless cuDNN is new enough, 9.2 only if it is too old."""
    if image.framework not in _CALL_ALWAYS:
        return False
    if image.framework in _OF_CUBLAS or image.cudnn is None:
        return cuda < _MOSTLY_RUNS
    return image.cudnn < _CUDNN_FOR_TURING


def _failing(framework: str, major: int) -> _Failing | None:
    """Volta is not among them: with CUDA 8.0 it is slow to start (tensorflow/tensorflow issue 14701)."""
    if framework == "pytorch":
        return _PYTORCH_ON_BLACKWELL if major >= 10 else _PYTORCH_ON_AMPERE if major >= 8 else None
    if framework not in _CALL_ALWAYS:
        return None
    return _FROM_AMPERE_ON if major >= 8 else _ON_PASCAL if major == 6 else None


def _of_fft(image: ImageFacts, gpu: Gpu) -> Finding | None:
    """Refused if the framework always calls cuFFT; else a note."""
    cuda = image.cuda
    if gpu.capability != _ADA or cuda is None or not CudaVersion(11, 0) <= cuda.line < _FFT_FOR_ADA:
        return None
    if not image.framework:
        return None  # nothing is known to run
    if image.framework in _ALWAYS_FFT:
        message = f"it calls cuFFT, and {_FFT_FAILS.text}; that of CUDA 11.8 or newer runs on {gpu.name}"
        return refuse(ID, message, _FFT_FAILS)
    return note(ID, f"{_FFT_FAILS.text}: what calls it needs CUDA 11.8 or newer on {gpu.name}", _FFT_FAILS)


def _first_with_kernels(gpu: ComputeCapability) -> CudaVersion | None:
    """The first CUDA for GPUs of that major; Turing came a release after Volta."""
    if gpu == _TURING:
        return tables.architectures()[_TURING].first_cuda
    same = (arch.first_cuda for arch in tables.architectures().values() if arch.capability.major == gpu.major)
    return min((first for first in same if first is not None), default=None)


RULE = Rule(
    ID,
    check,
    sources=(
        _PYTORCH,
        _RUNS_ON_9_2,
        *(
            each
            for text in (_FFT_FAILS.source, _REPORTS, *(known.reports for known in _KNOWN))
            for each in text.split(" ; ")
        ),
    ),
)
