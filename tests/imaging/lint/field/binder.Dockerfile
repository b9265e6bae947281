# Like a base image for notebooks: most of it happens in the image that stands on it.
FROM ubuntu:22.04
ENV CONDA_DIR=/srv/conda NB_USER=jovyan NB_UID=1000
ENV PATH=${CONDA_DIR}/bin:${PATH}
RUN apt-get update --fix-missing \
    && apt-get install -y apt-utils 2> /dev/null \
    && apt-get install -y wget \
    && apt-get clean \
    && rm -rf /var/lib/apt/lists/*
USER ${NB_USER}
RUN URL="https://example.org/Miniforge3-Linux-x86_64.sh" \
    && wget --quiet ${URL} -O miniconda.sh \
    && /bin/bash miniconda.sh -u -b -p ${CONDA_DIR} \
    && rm miniconda.sh \
    && conda install -y -c conda-forge mamba \
    && mamba clean -afy
ONBUILD USER root
ONBUILD COPY --chown=jovyan:jovyan . /home/jovyan
ONBUILD RUN [ -d binder ] && cd binder ; \
        if test -f "requirements.txt" ; then \
        ${NB_PYTHON_PREFIX}/bin/pip install --no-cache-dir -r requirements.txt ; fi
ONBUILD USER ${NB_USER}
