# Like the scientific notebook of the Jupyter stacks.
ARG REGISTRY=quay.io
ARG BASE_IMAGE=$REGISTRY/jupyter/minimal-notebook
FROM $BASE_IMAGE
SHELL ["/bin/bash", "-o", "pipefail", "-c"]
USER root
RUN apt-get update --yes && \
    apt-get install --yes --no-install-recommends \
    # for cython
    build-essential \
    # for matplotlib anim
    ffmpeg && \
    apt-get clean && rm -rf /var/lib/apt/lists/*
RUN rm -rf "/home/${NB_USER}/.cache/"
USER ${NB_UID}
RUN mamba install --yes \
    'dask' \
    'conda-forge::blas=*=openblas' && \
    mamba clean --all -f -y && \
    fix-permissions "${CONDA_DIR}"
RUN rm -rf "/home/${NB_USER}/.cache/"
WORKDIR "${HOME}"
