# syntax=docker/dockerfile:1
ARG CUDA_VER=12.0.1
ARG RAPIDS_VER=23.12
FROM rapidsai/ci-conda:latest AS dependencies
COPY notebooks.sh /notebooks.sh
RUN /notebooks.sh
FROM rapidsai/miniforge-cuda:cuda${CUDA_VER}-base-ubuntu22.04-py3.10 as base
ARG CUDA_VER
ARG RAPIDS_VER
SHELL ["/bin/bash", "-euo", "pipefail", "-c"]
RUN useradd -rm -d /opt/rapids -s /bin/bash -g conda -u 1001 rapids
USER rapids
WORKDIR /opt/rapids
RUN <<EOF
mamba install -y -n base \
    "rapids=${RAPIDS_VER}.*" \
    "cuda-version=${CUDA_VER%.*}.*" \
    ipython
conda clean -afy
EOF
FROM base as notebooks
COPY --from=dependencies --chown=rapids /notebooks /opt/rapids/notebooks
RUN <<EOF
pip install jupyterlab-nvdashboard
conda clean -afy
pip cache purge
EOF
CMD [ "sh", "-c", "jupyter-lab --ip=0.0.0.0 --no-browser --NotebookApp.token='' " ]
