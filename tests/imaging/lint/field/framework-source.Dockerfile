# syntax=docker/dockerfile:1
# Like a framework's own multi-stage build: compilers and downloads stay in other stages.
ARG BASE_IMAGE=ubuntu:22.04
FROM ${BASE_IMAGE} as dev-base
RUN apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
        build-essential \
        git && \
    rm -rf /var/lib/apt/lists/*
FROM dev-base as conda
ARG TARGETPLATFORM
RUN case ${TARGETPLATFORM} in \
         "linux/arm64")  ARCH=aarch64  ;; \
         *)              ARCH=x86_64   ;; \
    esac && \
    curl -fsSL -o ~/miniconda.sh -O "https://example.org/Miniforge3-Linux-${ARCH}.sh"
COPY requirements.txt .
RUN bash ~/miniconda.sh -b -p /opt/conda && \
    rm ~/miniconda.sh && \
    /opt/conda/bin/python -mpip install -r requirements.txt && \
    /opt/conda/bin/conda clean -ya
FROM dev-base as submodules
WORKDIR /opt/src
COPY . .
RUN git submodule update --init --recursive
FROM ${BASE_IMAGE} as official
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates && rm -rf /var/lib/apt/lists/*
COPY --from=conda /opt/conda /opt/conda
ENV PATH /opt/conda/bin:$PATH
ENV NVIDIA_DRIVER_CAPABILITIES compute,utility
WORKDIR /workspace
