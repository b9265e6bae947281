# Like the old TensorFlow GPU image: CUDA's libraries by apt on the base flavour.
ARG UBUNTU_VERSION=18.04
ARG ARCH=
ARG CUDA=10.1
FROM nvidia/cuda${ARCH:+-$ARCH}:${CUDA}-base-ubuntu${UBUNTU_VERSION} as base
ARG CUDA
ARG CUDNN=7.6.4.38-1
RUN apt-get update && apt-get install -y --no-install-recommends \
        cuda-command-line-tools-${CUDA/./-} \
        libcublas10 \
        libcudnn7=${CUDNN}+cuda${CUDA} \
        curl
RUN ln -s /usr/local/cuda/lib64/stubs/libcuda.so /usr/local/cuda/lib64/stubs/libcuda.so.1 \
    && ldconfig
RUN python3 -m pip --no-cache-dir install --upgrade pip setuptools
ARG TF_PACKAGE_VERSION=2.3.0
RUN python3 -m pip install --no-cache-dir tensorflow==${TF_PACKAGE_VERSION}
USER 1000
