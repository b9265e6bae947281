# Like the machine learning notebook of a university's cluster.
ARG BASE_TAG=latest
FROM ghcr.io/ucsd-ets/datascience-notebook:2023.4
USER root
RUN apt-get update && \
  apt-get install -y libtinfo5 && \
  apt-get clean && rm -rf /var/lib/apt/lists/*
COPY activate.sh /tmp/activate.sh
USER jovyan
RUN mamba install \
  cudatoolkit=11.8 \
  nccl \
  -y && \
  mamba clean -a -y
RUN mamba install -c "nvidia/label/cuda-11.8.0" cuda-nvcc -y && \
  mamba clean -a -y
RUN mamba install protobuf=3.20.3
RUN pip install nvidia-cudnn-cu11==8.6.0.163 tensorrt==8.5.3.1 && \
  mamba clean -a -y
RUN pip install --no-cache-dir tensorflow==2.13.1
USER $NB_UID:$NB_GID
