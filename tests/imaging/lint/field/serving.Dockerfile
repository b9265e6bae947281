# Like a model server: wheel built on devel, installed on devel as well.
ARG CUDA_VERSION=12.8.1
ARG FINAL_BASE_IMAGE=nvidia/cuda:${CUDA_VERSION}-devel-ubuntu22.04
ARG PIP_INDEX_URL
ARG PIP_KEYRING_PROVIDER=disabled
FROM nvidia/cuda:${CUDA_VERSION}-devel-ubuntu22.04 AS build
WORKDIR /workspace
COPY requirements/build.txt requirements/build.txt
RUN --mount=type=cache,target=/root/.cache/uv \
    uv pip install --system -r requirements/build.txt \
    --extra-index-url https://download.pytorch.org/whl/cu$(echo $CUDA_VERSION | cut -d. -f1,2 | tr -d '.')
COPY . .
ENV MAX_JOBS=2
RUN --mount=type=cache,target=/root/.cache/ccache \
    if [ "$USE_SCCACHE" != "1" ]; then \
        # Clean any existing artifacts
        rm -rf .deps && \
        python3 setup.py bdist_wheel --dist-dir=dist; \
    fi
FROM ${FINAL_BASE_IMAGE} AS server
RUN for i in 1 2 3; do \
        add-apt-repository -y ppa:deadsnakes/ppa && break || { echo "Attempt $i"; sleep 5; }; \
    done
RUN --mount=type=bind,from=build,src=/workspace/dist,target=/dist \
    --mount=type=cache,target=/root/.cache/uv \
    uv pip install --system /dist/*.whl
ENV TOKENIZERS_PARALLELISM=false MAX_TOKENS=4096
ENTRYPOINT ["python3", "-m", "server"]
